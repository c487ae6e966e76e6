//! What is to be written, as plain data.

use std::fmt;

use super::client::{Client, ConfigFormat, ConfigLanguage};
use super::{diff, json, toml};

/// The mark that some editors of Windows begin a file with.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A server as a client starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerEntry {
    pub(crate) name: String,
    /// The absolute path of the program.
    pub(crate) command: String,
    /// Its arguments, of which the first is `mcp`.
    pub(crate) arguments: Vec<String>,
}

/// What a file is to hold, and how that differs from what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigEdit {
    pub(crate) text: String,
    pub(crate) change: EntryChange,
}

/// What happens to the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryChange {
    /// It is there already; the text is that of the file.
    Unchanged,
    /// There is none of its name.
    Added,
    /// It starts this command otherwise; what else stands in it stays.
    Updated,
    /// It starts something else, and goes.
    Replaced,
}

impl EntryChange {
    /// Returns the word for it in documents.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Unchanged => "nothing",
            Self::Added => "added",
            Self::Updated => "updated",
            Self::Replaced => "replaced",
        }
    }
}

/// Why a file cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConfigEditError {
    /// It is not written in its language. The line counts from 1.
    Syntax {
        language: ConfigLanguage,
        line: usize,
        message: String,
    },
    /// This key, or the file itself, holds something that has no keys.
    NotATable { key: Option<String> },
    /// This key is there more than once, and clients differ in which they take.
    DuplicateKey { key: String },
    /// It is written in a way that the change cannot be put into.
    UnsupportedLayout,
}

impl fmt::Display for ConfigEditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax {
                language: ConfigLanguage::Json,
                message,
                ..
            } => write!(f, "it is not JSON: {message}"),
            Self::Syntax {
                language: ConfigLanguage::Toml,
                message,
                ..
            } => write!(f, "it is not TOML: {message}"),
            Self::NotATable { key: None } => f.write_str("it is JSON, but no object"),
            Self::NotATable { key: Some(key) } => write!(f, "`{key}` has no keys"),
            Self::DuplicateKey { key } => write!(f, "`{key}` is there more than once"),
            Self::UnsupportedLayout => {
                f.write_str("it is written in a way that the server cannot be put into")
            }
        }
    }
}

impl std::error::Error for ConfigEditError {}

impl ConfigEditError {
    /// Returns the line that it is about, counted from 1.
    pub(crate) fn line(&self) -> Option<usize> {
        if let Self::Syntax { line, .. } = self {
            Some(*line)
        } else {
            None
        }
    }
}

/// Puts an entry into the text of a client's file; nothing is a file that is not there. What is not
/// of the entry keeps its bytes.
///
/// # Errors
/// When the text is not in the client's language, or holds something else where servers should be.
pub(crate) fn plan_edit(
    client: Client,
    existing: Option<&str>,
    entry: &ServerEntry,
) -> Result<ConfigEdit, ConfigEditError> {
    let whole = existing.unwrap_or_default();
    let text = whole.strip_prefix(BYTE_ORDER_MARK).unwrap_or(whole);
    let format = client.format();
    let (edited, change) = edit_text(format, text, entry)?;
    if change == EntryChange::Unchanged {
        return Ok(ConfigEdit {
            text: whole.to_owned(),
            change,
        });
    }
    let mark = &whole[..whole.len() - text.len()];
    let edited = diff::merge_line_ends(text, &edited);
    // What is written is read first: nothing may leave a client with a file that it cannot use.
    match edit_text(format, &edited, entry) {
        Ok((_, EntryChange::Unchanged)) => Ok(ConfigEdit {
            text: format!("{mark}{edited}"),
            change,
        }),
        _ => Err(ConfigEditError::UnsupportedLayout),
    }
}

fn edit_text(
    format: ConfigFormat,
    text: &str,
    entry: &ServerEntry,
) -> Result<(String, EntryChange), ConfigEditError> {
    match format.language {
        ConfigLanguage::Json => json::edit_json(text, format, entry),
        ConfigLanguage::Toml => toml::edit_toml(text, format.section, entry),
    }
}

/// Says whether an entry with this command and first argument starts this program, wherever it
/// lies: then what else stands in it is for us.
pub(crate) fn is_this_program(
    entry: &ServerEntry,
    command: Option<&str>,
    first: Option<&str>,
) -> bool {
    let name = |path: &str| path.rsplit(['/', '\\']).next().map(str::to_owned);
    command.is_some_and(|command| name(command) == name(&entry.command))
        && first == entry.arguments.first().map(String::as_str)
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    fn entry(arguments: &[&str]) -> ServerEntry {
        let arguments = std::iter::once("mcp")
            .chain(arguments.iter().copied())
            .map(str::to_owned)
            .collect();
        ServerEntry {
            name: "skills".to_owned(),
            command: "/opt/skills/bin/skills".to_owned(),
            arguments,
        }
    }

    /// Plans, shows what changes, and looks whether the same plan changes nothing more.
    fn check(client: Client, existing: &str, arguments: &[&str]) -> String {
        let entry = entry(arguments);
        let planned = match plan_edit(client, Some(existing), &entry) {
            Ok(planned) => planned,
            Err(error) => return format!("line {:?}: {error}", error.line()),
        };
        let again = plan_edit(client, Some(&planned.text), &entry).unwrap();
        assert_eq!(
            (again.change, &again.text),
            (EntryChange::Unchanged, &planned.text),
            "{client:?}"
        );
        format!(
            "{}\n{}",
            planned.change.as_str(),
            diff::render_diff(existing, &planned.text)
        )
    }

    #[test]
    fn new_files() {
        let new = |client: &Client| {
            format!(
                "{}\n{}",
                client.title(),
                plan_edit(*client, None, &entry(&[])).unwrap().text
            )
        };
        insta::assert_snapshot!(Client::value_variants().iter().map(new).collect::<String>(), @r#"
        Claude Code
        {
          "mcpServers": {
            "skills": {
              "type": "stdio",
              "command": "/opt/skills/bin/skills",
              "args": ["mcp"]
            }
          }
        }
        Codex
        [mcp_servers.skills]
        command = "/opt/skills/bin/skills"
        args = ["mcp"]
        Cursor
        {
          "mcpServers": {
            "skills": {
              "type": "stdio",
              "command": "/opt/skills/bin/skills",
              "args": ["mcp"]
            }
          }
        }
        VS Code
        {
          "servers": {
            "skills": {
              "type": "stdio",
              "command": "/opt/skills/bin/skills",
              "args": ["mcp"]
            }
          }
        }
        Gemini CLI
        {
          "mcpServers": {
            "skills": {
              "command": "/opt/skills/bin/skills",
              "args": ["mcp"]
            }
          }
        }
        "#);
    }

    #[test]
    fn json_keeps_what_is_not_ours() {
        let file = r#"{
	// mine
	"theme": "dark",
	"mcpServers": {
		"other": {"command": "x"}, /* y */
	},
	"last": [1,
 2]
}"#;
        insta::assert_snapshot!(check(Client::Gemini, file, &["--root", "/a \"b\""]), @r#"
        added
          	"mcpServers": {
          		"other": {"command": "x"}, /* y */
        + 		"skills": {
        + 			"command": "/opt/skills/bin/skills",
        + 			"args": ["mcp", "--root", "/a \"b\""],
        + 		},
          	},
          	"last": [1,
        "#);
        insta::assert_snapshot!(check(Client::VsCode, "{\"inputs\": []}\n", &[]), @r#"
        added
        - {"inputs": []}
        + {
        +   "inputs": [],
        +   "servers": {
        +     "skills": {
        +       "type": "stdio",
        +       "command": "/opt/skills/bin/skills",
        +       "args": ["mcp"]
        +     }
        +   }
        + }
        "#);
        insta::assert_snapshot!(check(Client::Claude, "{\n    \"mcpServers\": {}\n}\n", &[]), @r#"
        added
          {
        -     "mcpServers": {}
        +     "mcpServers": {
        +         "skills": {
        +             "type": "stdio",
        +             "command": "/opt/skills/bin/skills",
        +             "args": ["mcp"]
        +         }
        +     }
          }
        "#);
    }

    #[test]
    fn an_entry_that_starts_this_command_keeps_the_rest() {
        let file = r#"{
  "mcpServers": {
    "skills": {
      // since May
      "command": "/usr/bin/skills",
      "args": ["mcp", "--root", "/old"],
      "env": {"A": "b"}
    }
  }
}
"#;
        insta::assert_snapshot!(check(Client::Cursor, file, &[]), @r#"
        updated
              "skills": {
                // since May
        -       "command": "/usr/bin/skills",
        -       "args": ["mcp", "--root", "/old"],
        +       "command": "/opt/skills/bin/skills",
        +       "args": ["mcp"],
                "env": {"A": "b"}
              }
        "#);
        let same = file.replace("/usr/bin", "/opt/skills/bin");
        assert_eq!(
            check(Client::Cursor, &same, &["--root", "/old"]),
            "nothing\n"
        );
    }

    #[test]
    fn an_entry_that_starts_something_else_goes() {
        let file = r#"{
  "mcpServers": {
    "skills": {
      "command": "/bin/other",
      "env": {"KEY": "secret"}
    }
  }
}
"#;
        insta::assert_snapshot!(check(Client::Claude, file, &[]), @r#"
        replaced
            "mcpServers": {
              "skills": {
        -       "command": "/bin/other",
        -       "env": {"KEY": "secret"}
        +       "type": "stdio",
        +       "command": "/opt/skills/bin/skills",
        +       "args": ["mcp"]
              }
            }
        "#);
        for other in [
            r#"{"mcpServers": {"skills": {"command": "/bin/skills", "args": ["mcp"], "url": "http://x"}}}"#,
            r#"{"mcpServers": {"skills": {"command": "/bin/skills", "args": ["list"]}}}"#,
            r#"{"mcpServers": {"skills": null}}"#,
        ] {
            assert!(
                check(Client::Claude, other, &[]).starts_with("replaced\n"),
                "{other}"
            );
        }
        let file = r#"model = "m"

# the old one
[mcp_servers.skills]
url = "http://localhost"

[mcp_servers.skills.env]
A = "b"

[tools]
x = 1
"#;
        insta::assert_snapshot!(check(Client::Codex, file, &[]), @r#"
        replaced
          # the old one
          [mcp_servers.skills]
        - url = "http://localhost"
        - 
        - [mcp_servers.skills.env]
        - A = "b"
        + command = "/opt/skills/bin/skills"
        + args = ["mcp"]
          
          [tools]
        "#);
    }

    #[test]
    fn toml_keeps_what_is_not_ours() {
        let file = "# mine\nmodel   = 'm' # yes\n\n[mcp_servers.other]\ncommand = \"x\"\n\n[tools]\nlist = [ 1,\n 2 ]\n";
        insta::assert_snapshot!(check(Client::Codex, file, &["--root", "C:\\x"]), @r#"
        added
          command = "x"
          
        + [mcp_servers.skills]
        + command = "/opt/skills/bin/skills"
        + args = ["mcp", "--root", 'C:\x']
        + 
          [tools]
          list = [ 1,
        "#);
        insta::assert_snapshot!(check(Client::Codex, "model = \"m\"", &[]), @r#"
        added
          model = "m"
        + 
        + [mcp_servers.skills]
        + command = "/opt/skills/bin/skills"
        + args = ["mcp"]
        "#);
        insta::assert_snapshot!(check(Client::Codex, "[mcp_servers]\nother = { command = \"x\" }\n", &[]), @r#"
        added
          [mcp_servers]
          other = { command = "x" }
        + 
        + [mcp_servers.skills]
        + command = "/opt/skills/bin/skills"
        + args = ["mcp"]
        "#);
        insta::assert_snapshot!(check(Client::Codex, "mcp_servers = { other = { command = \"x\" } } # all\n", &[]), @r#"
        added
        - mcp_servers = { other = { command = "x" } } # all
        + mcp_servers = { other = { command = "x" } , skills = { command = "/opt/skills/bin/skills", args = ["mcp"] } } # all
        "#);
        insta::assert_snapshot!(check(Client::Codex, "mcp_servers.other.command = \"x\"\n[tools]\n", &[]), @r#"
        added
          mcp_servers.other.command = "x"
        + 
        + [mcp_servers.skills]
        + command = "/opt/skills/bin/skills"
        + args = ["mcp"]
          [tools]
        "#);
    }

    #[test]
    fn toml_updates_in_place() {
        let file = r#"[mcp_servers.skills]
startup_timeout_sec = 20
command = "/usr/bin/skills" # ours
args = ["mcp", "--old"]

[mcp_servers.skills.env]
A = "b"
"#;
        insta::assert_snapshot!(check(Client::Codex, file, &[]), @r#"
        updated
          [mcp_servers.skills]
          startup_timeout_sec = 20
        - command = "/usr/bin/skills" # ours
        - args = ["mcp", "--old"]
        + command = "/opt/skills/bin/skills" # ours
        + args = ["mcp"]
          
          [mcp_servers.skills.env]
        "#);
        let inline =
            "[mcp_servers]\nskills = { command = \"skills\", args = [\"mcp\"], enabled = false }\n";
        insta::assert_snapshot!(check(Client::Codex, inline, &["-x"]), @r#"
        updated
          [mcp_servers]
        - skills = { command = "skills", args = ["mcp"], enabled = false }
        + skills = { command = "/opt/skills/bin/skills", args = ["mcp", "-x"], enabled = false }
        "#);
    }

    #[test]
    fn marks_and_line_ends_stay() {
        let check = |client: Client, before: &str, after: &str, added: &str| {
            let text = plan_edit(
                client,
                Some(&format!("\u{feff}{before}{after}")),
                &entry(&[]),
            )
            .unwrap()
            .text;
            assert_eq!(text, format!("\u{feff}{before}{added}{after}"));
        };
        let program = "\"command\": \"/opt/skills/bin/skills\"";
        let server = format!(
            "    \"skills\": {{\r\n      \"type\": \"stdio\",\r\n      {program},\r\n      \"args\": [\"mcp\"]\r\n    }}\r\n"
        );
        check(
            Client::Claude,
            "{\r\n  \"a\": 1,\n  \"mcpServers\": {\r\n",
            "  }\r\n}\n",
            &server,
        );
        let before = "a = 1\r\n\n[mcp_servers.x]\r\nargs = [\r\n  \"1\", # one\r\n]\n\r\n";
        let server = "[mcp_servers.skills]\r\ncommand = \"/opt/skills/bin/skills\"\r\nargs = [\"mcp\"]\r\n\r\n";
        check(
            Client::Codex,
            before,
            "[z]\nm = \"\"\"\r\nx\n\"\"\"",
            server,
        );
    }

    #[test]
    fn what_cannot_be_read_is_left_alone() {
        let json = |text| check(Client::Claude, text, &[]);
        let toml = |text| check(Client::Codex, text, &[]);
        insta::assert_snapshot!(json("{\n  \"a\": 1\n  \"b\": 2\n}"), @"line Some(2): it is not JSON: Expected comma");
        insta::assert_snapshot!(json("{\n  \"a\": [1,\n}"), @"line Some(3): it is not JSON: Unexpected close brace");
        insta::assert_snapshot!(json("{'a': 1}"), @"line Some(1): it is not JSON: Single-quoted strings are not allowed");
        insta::assert_snapshot!(json("[1]"), @"line None: it is JSON, but no object");
        insta::assert_snapshot!(json("{\"mcpServers\": []}"), @"line None: `mcpServers` has no keys");
        insta::assert_snapshot!(json("{\"mcpServers\": {}, \"mcpS\\u0065rvers\": {}}"), @"line None: `mcpServers` is there more than once");
        insta::assert_snapshot!(json("{\"mcpServers\": {\"skills\": {}, \"skills\": {}}}"), @"line None: `skills` is there more than once");
        insta::assert_snapshot!(toml("a = 1\nb = \n"), @"line Some(2): it is not TOML: string values must be quoted, expected literal string");
        insta::assert_snapshot!(toml("a = 1\na = 2\n"), @"line Some(2): it is not TOML: duplicate key");
        insta::assert_snapshot!(toml("mcp_servers = 1\n"), @"line None: `mcp_servers` has no keys");
        insta::assert_snapshot!(toml("[[mcp_servers]]\nx = 1\n"), @"line None: `mcp_servers` has no keys");
        assert!(json(&"[".repeat(100_000)).contains("depth"));
    }
}
