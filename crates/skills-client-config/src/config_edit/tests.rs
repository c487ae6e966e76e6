//! Tests of edits, and property tests of adding an entry to arbitrary files.

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use proptest::prelude::*;
use serde_json::Value;
use similar::ChangeTag;

use super::*;
use crate::server_entry::{EntryOrigin, Transport};

mod additions;
mod opencode;
mod toml;
mod yaml;

const NAME: &str = "skills";

fn named(name: &str) -> ServerClient {
    ServerClient::from_name(name).unwrap()
}

fn entry_with_root() -> ServerEntry {
    let arguments = ["mcp", "--root", "/a \"b\" \\c"]
        .map(str::to_owned)
        .to_vec();
    ServerEntry {
        name: NAME.to_owned(),
        transport: Transport::Stdio {
            command: "/opt/skills/bin/skills".to_owned(),
            arguments,
        },
        origin: EntryOrigin::ThisProgram,
    }
}

/// Adds the entry and checks that all previous content is preserved byte for byte: text is inserted
/// at one position only, except for the comma that JSON needs after the last member.
fn added(client: ServerClient, before: &str) -> Result<String, TestCaseError> {
    let planned = plan_edit(client, Some(before), &entry_with_root())
        .map_err(|error| TestCaseError::fail(format!("{error}\n{before}")))?;
    prop_assert_eq!(planned.change, EntryChange::Added);
    let again = plan_edit(client, Some(&planned.text), &entry_with_root()).unwrap();
    prop_assert_eq!(
        (again.change, &again.text),
        (EntryChange::Unchanged, &planned.text)
    );
    prop_assert!(
        has_all_of(before, &planned.text),
        "{:?}\n{:?}",
        before,
        planned.text
    );
    let changes = diff::changed_lines(before, &planned.text);
    let removed: Vec<_> = changes
        .iter()
        .filter(|(tag, _)| *tag == ChangeTag::Delete)
        .collect();
    prop_assert!(removed.len() <= 1, "{:?}", removed);
    Ok(planned.text)
}

/// Returns true if `before` remains when characters are removed from `after`.
fn has_all_of(before: &str, after: &str) -> bool {
    let mut rest = after.chars();
    before
        .chars()
        .all(|wanted| rest.any(|there| there == wanted))
}

fn line_end() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("\n"), Just("\r\n")]
}

fn json_value() -> impl Strategy<Value = String> {
    let text = "\\PC{0,8}".prop_map(|text| Value::from(text).to_string());
    prop_oneof![
        text,
        Just("[ 1,2 ]".to_owned()),
        Just("{ \"x\":null}".to_owned()),
        Just("-1.50e3".to_owned()),
        Just("{}".to_owned())
    ]
}

/// Lines of an object: a value, a comment and the line end.
fn json_lines(max: usize) -> impl Strategy<Value = Vec<(String, &'static str, &'static str)>> {
    let comment = prop_oneof![Just(""), Just(" // one, \"two\""), Just(" /* } */")];
    prop::collection::vec((json_value(), comment, line_end()), 0..max)
}

/// Renders members, each on its own line, with a comma between them and optionally after the last.
fn members(lines: &[(String, &str, &str)], indent: &str, has_last_comma: bool) -> String {
    let line = |(index, (value, comment, end)): (usize, &(String, &str, &str))| {
        let comma = if has_last_comma || index + 1 < lines.len() {
            ","
        } else {
            ""
        };
        format!("{indent}\"k{index}\": {value}{comma}{comment}{end}")
    };
    lines.iter().enumerate().map(line).collect()
}

fn json() -> impl Strategy<Value = String> {
    let mark = prop_oneof![Just(""), Just("\u{feff}")];
    (
        mark,
        json_lines(4),
        json_lines(4),
        any::<[bool; 3]>(),
        line_end(),
    )
        .prop_map(|(mark, top, servers, [above, comma, last], end)| {
            let section = format!(
                "  \"mcpServers\": {{{end}{}  }}",
                members(&servers, "    ", comma)
            );
            if above {
                let separator = if top.is_empty() && !last { "" } else { "," };
                format!(
                    "{mark}{{{end}{section}{separator}{end}{}}}{end}",
                    members(&top, "  ", last)
                )
            } else {
                format!("{mark}{{{end}{}{section}{end}}}", members(&top, "  ", true))
            }
        })
}

fn toml_line() -> impl Strategy<Value = String> {
    let text = "[a-z \"'#=\\[\\]é]{0,8}".prop_map(|text| toml_edit::Value::from(text).to_string());
    prop_oneof![
        text,
        Just("[ 1,\n  2, # two\n]".to_owned()),
        Just("{ x = 1 }".to_owned()),
        Just("  0x1F   # hex".to_owned())
    ]
}

fn toml() -> impl Strategy<Value = String> {
    let table = (
        prop_oneof![Just(""), Just("# ours\n"), Just("\n\n")],
        prop::collection::vec(toml_line(), 0..3),
    );
    let lines = |lines: Vec<String>| {
        lines
            .iter()
            .enumerate()
            .map(|(index, value)| format!("k{index} = {value}\n"))
            .collect::<String>()
    };
    let tables = prop::collection::vec((table, any::<bool>()), 0..4);
    (
        prop::collection::vec(toml_line(), 0..3),
        tables,
        any::<bool>(),
        line_end(),
    )
        .prop_map(move |(top, tables, ends, end)| {
            let mut text = lines(top);
            for (index, ((before, of_table), is_server)) in tables.into_iter().enumerate() {
                let section = if is_server { "mcp_servers." } else { "" };
                text.push_str(&format!("{before}[{section}t{index}]\n{}", lines(of_table)));
            }
            let text = if ends {
                text.as_str()
            } else {
                text.trim_end_matches('\n')
            };
            text.replace('\n', end)
        })
}

proptest! {
    #[test]
    fn json_gains_only_the_entry(before in json()) {
        let after = added(named("claude"), &before)?;
        let parsed = |text: &str| parse_to_serde_value::<Value>(text.trim_start_matches(BYTE_ORDER_MARK), &ParseOptions::default()).unwrap();
        let mut without = parsed(&after);
        let removed = without["mcpServers"].as_object_mut().and_then(|servers| servers.shift_remove(NAME));
        prop_assert!(removed.is_some());
        prop_assert_eq!(without, parsed(&before));
    }

    #[test]
    fn toml_gains_only_the_entry(before in toml()) {
        let after = added(named("codex"), &before)?;
        let mut without: ::toml::Table = after.parse().unwrap();
        let servers = without.get_mut("mcp_servers").and_then(::toml::Value::as_table_mut).unwrap();
        prop_assert!(servers.remove(NAME).is_some());
        if servers.is_empty() {
            without.remove("mcp_servers");
        }
        prop_assert_eq!(without, before.parse::<::toml::Table>().unwrap());
    }
}

fn entry(arguments: &[&str]) -> ServerEntry {
    let arguments = std::iter::once("mcp")
        .chain(arguments.iter().copied())
        .map(str::to_owned)
        .collect();
    ServerEntry {
        name: "skills".to_owned(),
        transport: Transport::Stdio {
            command: "/opt/skills/bin/skills".to_owned(),
            arguments,
        },
        origin: EntryOrigin::ThisProgram,
    }
}

/// Plans an edit, renders the change, and checks that a second edit changes nothing.
fn check(client: ServerClient, existing: &str, arguments: &[&str]) -> String {
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
        serde_json::json!(planned.change).as_str().unwrap(),
        diff::render(existing, &planned.text)
    )
}

fn http_entry() -> ServerEntry {
    ServerEntry {
        name: "skills".to_owned(),
        transport: Transport::Http {
            url: "http://127.0.0.1:8640/mcp".to_owned(),
            token_variable: Some("SKILLS_MCP_TOKEN".to_owned()),
        },
        origin: EntryOrigin::ThisProgram,
    }
}

/// Renders the new file of each client that supports the entry.
fn new_files(entry: &ServerEntry) -> String {
    let new = |client: ServerClient| {
        let planned = plan_edit(client, None, entry).unwrap();
        let again = plan_edit(client, Some(&planned.text), entry).unwrap();
        assert_eq!(again.change, EntryChange::Unchanged, "{client:?}");
        assert_eq!(again.text, planned.text, "{client:?}");
        format!("-- {}\n{}", client.title(), planned.text)
    };
    let clients = ServerClient::all().into_iter();
    clients
        .filter(|client| !client.entry_fields(entry).is_empty())
        .map(new)
        .collect()
}

#[test]
fn new_files_have_only_the_entry() {
    insta::assert_snapshot!(new_files(&entry(&[])));
}

#[test]
fn entries_over_http_name_the_variable_of_the_token() {
    let files = new_files(&http_entry());
    assert_eq!(files.matches("SKILLS_MCP_TOKEN").count(), 13);
    insta::assert_snapshot!(files);
}

/// A file as users of the client write it, with a comment and another server.
fn file_of(client: ServerClient) -> String {
    let section = client.format.section;
    match client.format.language {
        ConfigLanguage::Json => format!(
            "{{\n  // mine\n  \"other\": 1,\n  \"{section}\": {{\n    \"x\": {{\"command\": \"x\"}} // kept\n  }}\n}}\n"
        ),
        ConfigLanguage::Toml => {
            format!("# mine\nother = 1\n\n[{section}.x] # kept\ncommand = \"x\"\n")
        }
        ConfigLanguage::Yaml => format!(
            "# mine\nother: 1\n\n{section}:\n  x: # kept\n    type: stdio\n    cmd: x\n    args:\n    - a\n\n# last\nGOOSE_MODEL: m\n"
        ),
    }
}

#[test]
fn every_client_keeps_the_rest_of_its_file() {
    for client in ServerClient::all() {
        let file = file_of(client);
        for entry in [entry(&[]), http_entry()] {
            if client.entry_fields(&entry).is_empty() {
                continue;
            }
            let planned = plan_edit(client, Some(&file), &entry).unwrap();
            assert_eq!(planned.change, EntryChange::Added, "{client:?}");
            assert!(has_all_of(&file, &planned.text), "{}", planned.text);
            let again = plan_edit(client, Some(&planned.text), &entry).unwrap();
            assert_eq!(again.change, EntryChange::Unchanged, "{client:?}");
        }
        // Other arguments change the arguments only.
        let first = plan_edit(client, Some(&file), &entry(&[])).unwrap().text;
        let diff = check(client, &first, &["--no-workspace"]);
        let lines: Vec<_> = diff
            .lines()
            .filter(|line| line.starts_with(['+', '-']))
            .collect();
        assert!(diff.starts_with("updated\n"), "{client:?}: {diff}");
        assert!(lines.iter().all(|line| line.contains("mcp")), "{diff}");
        // A server of another kind is another server.
        if client.supports_urls() {
            let planned = plan_edit(client, Some(&first), &http_entry()).unwrap();
            assert_eq!(planned.change, EntryChange::Replaced, "{client:?}");
            assert!(has_all_of(&file, &planned.text), "{}", planned.text);
        }
    }
}

#[test]
fn other_headers_and_fields_of_a_url_are_preserved() {
    let file = r#"{"mcpServers": {"skills": {
  "url": "http://127.0.0.1:8640/mcp",
  "headers": {"X-Team": "a"}, // ours
  "disabled": true
}}}
"#;
    let planned = plan_edit(named("kiro"), Some(file), &http_entry()).unwrap();
    insta::assert_snapshot!(diff::render(file, &planned.text), @r#"
    @@ -1,5 +1,8 @@
     {"mcpServers": {"skills": {
       "url": "http://127.0.0.1:8640/mcp",
    -  "headers": {"X-Team": "a"}, // ours
    +  "headers": {
    +        "X-Team": "a",
    +        "Authorization": "Bearer ${SKILLS_MCP_TOKEN}"
    +      }, // ours
       "disabled": true
     }}}
    "#);
    assert_eq!(planned.change, EntryChange::Updated);
    let other = file.replace("127.0.0.1", "tools.example");
    let planned = plan_edit(named("kiro"), Some(&other), &http_entry()).unwrap();
    assert_eq!(planned.change, EntryChange::Replaced);
}

#[test]
fn comments_between_headers_are_preserved() {
    let file = r#"{"mcpServers": {"skills": {
  "url": "http://127.0.0.1:8640/mcp",
  "headers": {
    // of the team
    "X-Team": "a", // ours
    "authorization": "old",
    /* last */ "X-Other": "b"
  }
}}}
"#;
    let planned = plan_edit(named("kiro"), Some(file), &http_entry()).unwrap();
    insta::assert_snapshot!(diff::render(file, &planned.text), @r#"
    @@ -4,6 +4,6 @@
         // of the team
         "X-Team": "a", // ours
    -    "authorization": "old",
    -    /* last */ "X-Other": "b"
    +    /* last */ "X-Other": "b",
    +    "Authorization": "Bearer ${SKILLS_MCP_TOKEN}"
       }
     }}}
    "#);
    let again = plan_edit(named("kiro"), Some(&planned.text), &http_entry()).unwrap();
    assert_eq!(again.change, EntryChange::Unchanged);
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
    insta::assert_snapshot!(check(named("gemini"), file, &["--root", "/a \"b\""]), @r#"
    added
    @@ -4,4 +4,9 @@
     	"mcpServers": {
     		"other": {"command": "x"}, /* y */
    +		"skills": {
    +			"command": "/opt/skills/bin/skills",
    +			"args": ["mcp", "--root", "/a \"b\""],
    +			"timeout": 600000,
    +		},
     	},
     	"last": [1,
    "#);
    insta::assert_snapshot!(check(named("vscode"), "{\"inputs\": []}\n", &[]), @r#"
    added
    @@ -1 +1,10 @@
    -{"inputs": []}
    +{
    +  "inputs": [],
    +  "servers": {
    +    "skills": {
    +      "type": "stdio",
    +      "command": "/opt/skills/bin/skills",
    +      "args": ["mcp"]
    +    }
    +  }
    +}
    "#);
    insta::assert_snapshot!(check(named("claude"), "{\n    \"mcpServers\": {}\n}\n", &[]), @r#"
    added
    @@ -1,3 +1,9 @@
     {
    -    "mcpServers": {}
    +    "mcpServers": {
    +        "skills": {
    +            "type": "stdio",
    +            "command": "/opt/skills/bin/skills",
    +            "args": ["mcp"]
    +        }
    +    }
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
    insta::assert_snapshot!(check(named("cursor"), file, &[]), @r#"
    updated
    @@ -3,6 +3,6 @@
         "skills": {
           // since May
    -      "command": "/usr/bin/skills",
    -      "args": ["mcp", "--root", "/old"],
    +      "command": "/opt/skills/bin/skills",
    +      "args": ["mcp"],
           "env": {"A": "b"}
         }
    "#);
    let same = file.replace("/usr/bin", "/opt/skills/bin");
    assert_eq!(
        check(named("cursor"), &same, &["--root", "/old"]),
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
    insta::assert_snapshot!(check(named("claude"), file, &[]), @r#"
    replaced
    @@ -2,6 +2,7 @@
       "mcpServers": {
         "skills": {
    -      "command": "/bin/other",
    -      "env": {"KEY": "secret"}
    +      "type": "stdio",
    +      "command": "/opt/skills/bin/skills",
    +      "args": ["mcp"]
         }
       }
    "#);
    for other in [
        r#"{"mcpServers": {"skills": {"command": "/bin/skills", "args": ["mcp"], "url": "http://x"}}}"#,
        r#"{"mcpServers": {"skills": {"command": "/bin/skills", "args": ["list"]}}}"#,
        r#"{"mcpServers": {"skills": null}}"#,
    ] {
        assert!(
            check(named("claude"), other, &[]).starts_with("replaced\n"),
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
    insta::assert_snapshot!(check(named("codex"), file, &[]), @r#"
    replaced
    @@ -3,8 +3,8 @@
     # the old one
     [mcp_servers.skills]
    -url = "http://localhost"
    -
    -[mcp_servers.skills.env]
    -A = "b"
    +command = "/opt/skills/bin/skills"
    +args = ["mcp"]
    +tool_timeout_sec = 600
    +default_tools_approval_mode = "approve"
     
     [tools]
    "#);
}

#[test]
fn byte_order_marks_and_line_ends_are_preserved() {
    let check = |client: ServerClient, before: &str, after: &str, added: &str| {
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
        named("claude"),
        "{\r\n  \"a\": 1,\n  \"mcpServers\": {\r\n",
        "  }\r\n}\n",
        &server,
    );
    let before = "a = 1\r\n\n[mcp_servers.x]\r\nargs = [\r\n  \"1\", # one\r\n]\n\r\n";
    let server = "[mcp_servers.skills]\r\ncommand = \"/opt/skills/bin/skills\"\r\nargs = [\"mcp\"]\r\ntool_timeout_sec = 600\r\ndefault_tools_approval_mode = \"approve\"\r\n\r\n";
    check(
        named("codex"),
        before,
        "[z]\nm = \"\"\"\r\nx\n\"\"\"",
        server,
    );
}

#[test]
fn invalid_files_are_not_changed() {
    let json = |text| check(named("claude"), text, &[]);
    let toml = |text| check(named("codex"), text, &[]);
    insta::assert_snapshot!(json("{\n  \"a\": 1\n  \"b\": 2\n}"), @"line Some(2): invalid JSON: Expected comma");
    insta::assert_snapshot!(json("{\n  \"a\": [1,\n}"), @"line Some(3): invalid JSON: Unexpected close brace");
    insta::assert_snapshot!(json("{'a': 1}"), @"line Some(1): invalid JSON: Single-quoted strings are not allowed");
    insta::assert_snapshot!(json("[1]"), @"line None: invalid configuration: expected an object");
    insta::assert_snapshot!(json("{\"mcpServers\": []}"), @"line None: invalid `mcpServers`: expected a table");
    insta::assert_snapshot!(json("{\"mcpServers\": {}, \"mcpS\\u0065rvers\": {}}"), @"line None: duplicate key `mcpServers`");
    insta::assert_snapshot!(json("{\"mcpServers\": {\"skills\": {}, \"skills\": {}}}"), @"line None: duplicate key `skills`");
    insta::assert_snapshot!(toml("a = 1\nb = \n"), @"line Some(2): invalid TOML: string values must be quoted, expected literal string");
    insta::assert_snapshot!(toml("a = 1\na = 2\n"), @"line Some(2): invalid TOML: duplicate key");
    insta::assert_snapshot!(toml("mcp_servers = 1\n"), @"line None: invalid `mcp_servers`: expected a table");
    insta::assert_snapshot!(toml("[[mcp_servers]]\nx = 1\n"), @"line None: invalid `mcp_servers`: expected a table");
    assert!(json(&"[".repeat(100_000)).contains("depth"));
}
