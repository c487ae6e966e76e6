//! Property tests of adding an entry to arbitrary files.

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use proptest::prelude::*;
use serde_json::Value;

use super::*;

const NAME: &str = "skills";

fn entry() -> ServerEntry {
    let arguments = ["mcp", "--root", "/a \"b\" \\c"]
        .map(str::to_owned)
        .to_vec();
    ServerEntry {
        name: NAME.to_owned(),
        command: "/opt/skills/bin/skills".to_owned(),
        arguments,
    }
}

/// Adds the entry and checks that all previous content is preserved byte for byte: text is inserted
/// at one position only, except for the comma that JSON needs after the last member.
fn added(client: Client, before: &str) -> Result<String, TestCaseError> {
    let planned = plan_edit(client, Some(before), &entry())
        .map_err(|error| TestCaseError::fail(format!("{error}\n{before}")))?;
    prop_assert_eq!(planned.change, EntryChange::Added);
    let again = plan_edit(client, Some(&planned.text), &entry()).unwrap();
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
    let (removed, _) = diff::changed_lines(before, &planned.text);
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
        let after = added(Client::Claude, &before)?;
        let parsed = |text: &str| parse_to_serde_value::<Value>(text.trim_start_matches(BYTE_ORDER_MARK), &ParseOptions::default()).unwrap();
        let mut without = parsed(&after);
        let removed = without["mcpServers"].as_object_mut().and_then(|servers| servers.shift_remove(NAME));
        prop_assert!(removed.is_some());
        prop_assert_eq!(without, parsed(&before));
    }

    #[test]
    fn toml_gains_only_the_entry(before in toml()) {
        let after = added(Client::Codex, &before)?;
        let mut without: ::toml::Table = after.parse().unwrap();
        let servers = without.get_mut("mcp_servers").and_then(::toml::Value::as_table_mut).unwrap();
        prop_assert!(servers.remove(NAME).is_some());
        if servers.is_empty() {
            without.remove("mcp_servers");
        }
        prop_assert_eq!(without, before.parse::<::toml::Table>().unwrap());
    }
}
