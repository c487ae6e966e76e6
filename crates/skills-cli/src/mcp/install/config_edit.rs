//! Edits of a client's configuration, as pure functions from text to text.

use std::fmt;

use super::client::{Client, ConfigFormat, ConfigLanguage};
use super::{diff, json, toml};

/// Byte order mark, which some Windows editors write at the start of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A server entry of a client's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerEntry {
    pub(crate) name: String,
    /// The absolute path of the program.
    pub(crate) command: String,
    /// Its arguments, starting with `mcp`.
    pub(crate) arguments: Vec<String>,
}

/// The new content of a file, and the kind of change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigEdit {
    pub(crate) text: String,
    pub(crate) change: EntryChange,
}

/// The change to the server entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryChange {
    /// The entry already exists; the text is unchanged.
    Unchanged,
    /// No entry of this name existed.
    Added,
    /// The entry started this command with other arguments; its other fields are preserved.
    Updated,
    /// The entry started another program, and was replaced.
    Replaced,
}

impl EntryChange {
    /// Returns its name in JSON output.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Unchanged => "nothing",
            Self::Added => "added",
            Self::Updated => "updated",
            Self::Replaced => "replaced",
        }
    }
}

/// Why a file cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConfigEditError {
    /// Invalid JSON or TOML. Lines are counted from 1.
    Syntax {
        language: ConfigLanguage,
        line: usize,
        message: String,
    },
    /// The value of this key, or the whole file, is not a table or object.
    NotATable { key: Option<String> },
    /// A duplicate key; clients differ in which value they use.
    DuplicateKey { key: String },
    /// The layout of the file does not allow the change.
    UnsupportedLayout,
}

impl fmt::Display for ConfigEditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax {
                language: ConfigLanguage::Json,
                message,
                ..
            } => write!(f, "invalid JSON: {message}"),
            Self::Syntax {
                language: ConfigLanguage::Toml,
                message,
                ..
            } => write!(f, "invalid TOML: {message}"),
            Self::NotATable { key: None } => {
                f.write_str("invalid configuration: expected a JSON object")
            }
            Self::NotATable { key: Some(key) } => write!(f, "invalid `{key}`: expected a table"),
            Self::DuplicateKey { key } => write!(f, "duplicate key `{key}`"),
            Self::UnsupportedLayout => f.write_str("cannot add the server: unsupported layout"),
        }
    }
}

impl std::error::Error for ConfigEditError {}

impl ConfigEditError {
    /// Returns the line of the error, counted from 1.
    pub(crate) fn line(&self) -> Option<usize> {
        if let Self::Syntax { line, .. } = self {
            Some(*line)
        } else {
            None
        }
    }
}

/// Adds or updates an entry in the text of a client's file. `None` is a file that does not exist.
/// Bytes outside the entry are preserved.
///
/// # Errors
/// Fails if the text is invalid, or if the servers are not a table.
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
    // The result is parsed before it is written: a client must never get an unusable file.
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

/// Returns true if an entry with this command and first argument starts this program, in any
/// directory. Its other fields then apply to this program.
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

    /// Plans an edit, renders the change, and checks that a second edit changes nothing.
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
    fn new_files_have_only_the_entry() {
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
    fn other_json_content_is_preserved() {
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
    fn an_entry_that_starts_this_command_keeps_its_other_fields() {
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
    fn an_entry_that_starts_another_program_is_replaced() {
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
    fn other_toml_content_is_preserved() {
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
    fn toml_entries_are_updated_in_place() {
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
    fn byte_order_marks_and_line_ends_are_preserved() {
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
    fn invalid_files_are_not_changed() {
        let json = |text| check(Client::Claude, text, &[]);
        let toml = |text| check(Client::Codex, text, &[]);
        insta::assert_snapshot!(json("{\n  \"a\": 1\n  \"b\": 2\n}"), @"line Some(2): invalid JSON: Expected comma");
        insta::assert_snapshot!(json("{\n  \"a\": [1,\n}"), @"line Some(3): invalid JSON: Unexpected close brace");
        insta::assert_snapshot!(json("{'a': 1}"), @"line Some(1): invalid JSON: Single-quoted strings are not allowed");
        insta::assert_snapshot!(json("[1]"), @"line None: invalid configuration: expected a JSON object");
        insta::assert_snapshot!(json("{\"mcpServers\": []}"), @"line None: invalid `mcpServers`: expected a table");
        insta::assert_snapshot!(json("{\"mcpServers\": {}, \"mcpS\\u0065rvers\": {}}"), @"line None: duplicate key `mcpServers`");
        insta::assert_snapshot!(json("{\"mcpServers\": {\"skills\": {}, \"skills\": {}}}"), @"line None: duplicate key `skills`");
        insta::assert_snapshot!(toml("a = 1\nb = \n"), @"line Some(2): invalid TOML: string values must be quoted, expected literal string");
        insta::assert_snapshot!(toml("a = 1\na = 2\n"), @"line Some(2): invalid TOML: duplicate key");
        insta::assert_snapshot!(toml("mcp_servers = 1\n"), @"line None: invalid `mcp_servers`: expected a table");
        insta::assert_snapshot!(toml("[[mcp_servers]]\nx = 1\n"), @"line None: invalid `mcp_servers`: expected a table");
        assert!(json(&"[".repeat(100_000)).contains("depth"));
    }
}
