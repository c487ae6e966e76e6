//! Edits of TOML files.

use super::*;

#[test]
fn other_toml_content_is_preserved() {
    let file = "# mine\nmodel   = 'm' # yes\n\n[mcp_servers.other]\ncommand = \"x\"\n\n[tools]\nlist = [ 1,\n 2 ]\n";
    insta::assert_snapshot!(check(named("codex"), file, &["--root", "C:\\x"]), @r#"
    added
    @@ -5,4 +5,10 @@
     command = "x"
     
    +[mcp_servers.skills]
    +command = "/opt/skills/bin/skills"
    +args = ["mcp", "--root", 'C:\x']
    +tool_timeout_sec = 600
    +default_tools_approval_mode = "approve"
    +
     [tools]
     list = [ 1,
    "#);
    insta::assert_snapshot!(check(named("codex"), "model = \"m\"", &[]), @r#"
    added
    @@ -1 +1,7 @@
    -model = "m"
    \ No newline at end of file
    +model = "m"
    +
    +[mcp_servers.skills]
    +command = "/opt/skills/bin/skills"
    +args = ["mcp"]
    +tool_timeout_sec = 600
    +default_tools_approval_mode = "approve"
    "#);
    insta::assert_snapshot!(check(named("codex"), "[mcp_servers]\nother = { command = \"x\" }\n", &[]), @r#"
    added
    @@ -1,2 +1,8 @@
     [mcp_servers]
     other = { command = "x" }
    +
    +[mcp_servers.skills]
    +command = "/opt/skills/bin/skills"
    +args = ["mcp"]
    +tool_timeout_sec = 600
    +default_tools_approval_mode = "approve"
    "#);
    insta::assert_snapshot!(check(named("codex"), "mcp_servers = { other = { command = \"x\" } } # all\n", &[]), @r#"
    added
    @@ -1 +1 @@
    -mcp_servers = { other = { command = "x" } } # all
    +mcp_servers = { other = { command = "x" } , skills = { command = "/opt/skills/bin/skills", args = ["mcp"], tool_timeout_sec = 600, default_tools_approval_mode = "approve" } } # all
    "#);
    insta::assert_snapshot!(check(named("codex"), "mcp_servers.other.command = \"x\"\n[tools]\n", &[]), @r#"
    added
    @@ -1,2 +1,8 @@
     mcp_servers.other.command = "x"
    +
    +[mcp_servers.skills]
    +command = "/opt/skills/bin/skills"
    +args = ["mcp"]
    +tool_timeout_sec = 600
    +default_tools_approval_mode = "approve"
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
    insta::assert_snapshot!(check(named("codex"), file, &[]), @r#"
    updated
    @@ -1,6 +1,6 @@
     [mcp_servers.skills]
     startup_timeout_sec = 20
    -command = "/usr/bin/skills" # ours
    -args = ["mcp", "--old"]
    +command = "/opt/skills/bin/skills" # ours
    +args = ["mcp"]
     
     [mcp_servers.skills.env]
    "#);
    let inline =
        "[mcp_servers]\nskills = { command = \"skills\", args = [\"mcp\"], enabled = false }\n";
    insta::assert_snapshot!(check(named("codex"), inline, &["-x"]), @r#"
    updated
    @@ -1,2 +1,2 @@
     [mcp_servers]
    -skills = { command = "skills", args = ["mcp"], enabled = false }
    +skills = { command = "/opt/skills/bin/skills", args = ["mcp", "-x"], enabled = false }
    "#);
}
