//! The two tables of servers of opencode.

use super::*;

/// opencode 2 has a table of its own, and reads that of opencode 1, too.
#[test]
fn an_entry_of_opencode_is_written_where_both_versions_read_it() {
    let with_table = "{\n  \"mcp\": {\n    \"servers\": {\n      \"a\": {\"type\": \"local\", \"command\": [\"x\"]}\n    }\n  }\n}\n";
    insta::assert_snapshot!(check(named("opencode"), with_table, &[]), @r#"
    added
    @@ -2,5 +2,12 @@
       "mcp": {
         "servers": {
    -      "a": {"type": "local", "command": ["x"]}
    +      "a": {"type": "local", "command": ["x"]},
    +      "skills": {
    +        "type": "local",
    +        "command": ["/opt/skills/bin/skills", "mcp"],
    +        "timeout": {
    +          "execution": 600000
    +        }
    +      }
         }
       }
    "#);
    let planned = plan_edit(named("opencode"), Some(with_table), &http_entry()).unwrap();
    insta::assert_snapshot!(diff::render(with_table, &planned.text), @r#"
    @@ -2,5 +2,15 @@
       "mcp": {
         "servers": {
    -      "a": {"type": "local", "command": ["x"]}
    +      "a": {"type": "local", "command": ["x"]},
    +      "skills": {
    +        "type": "remote",
    +        "url": "http://127.0.0.1:8640/mcp",
    +        "headers": {
    +          "Authorization": "Bearer {env:SKILLS_MCP_TOKEN}"
    +        },
    +        "timeout": {
    +          "execution": 600000
    +        }
    +      }
         }
       }
    "#);
    // An entry of the older table stays the only one.
    let older = r#"{"mcp": {"servers": {}, "skills": {"type": "local", "command": ["/old/skills", "mcp"]}}}"#;
    let planned = plan_edit(named("opencode"), Some(older), &entry(&[])).unwrap();
    assert_eq!(
        planned.text,
        older.replace("/old/skills", "/opt/skills/bin/skills")
    );
    // A server of opencode 1 with the name `servers`.
    let server = r#"{"mcp": {"servers": {"type": "local", "command": ["x"]}}}"#;
    let planned = plan_edit(named("opencode"), Some(server), &entry(&[])).unwrap();
    let value: Value = serde_json::from_str(&planned.text).unwrap();
    assert_eq!(value["mcp"]["skills"]["enabled"], true);
    assert_eq!(value["mcp"]["servers"]["command"][0], "x");
}
