//! Edits of YAML files.

use super::*;

#[test]
fn yaml_entries_are_added_to_block_tables() {
    let yaml = |text: &str| check(named("goose"), text, &["--root", "/a \"b\": #c"]);
    insta::assert_snapshot!(yaml("GOOSE_MODEL: m"), @r#"
    added
    @@ -1 +1,10 @@
    -GOOSE_MODEL: m
    \ No newline at end of file
    +GOOSE_MODEL: m
    +extensions:
    +  skills:
    +    enabled: true
    +    type: stdio
    +    name: skills
    +    description: Agent skills
    +    cmd: /opt/skills/bin/skills
    +    args: [mcp, "--root", "/a \"b\": #c"]
    +    timeout: 600
    "#);
    insta::assert_snapshot!(yaml("extensions: {} # none\nGOOSE_MODEL: m\n"), @r#"
    added
    @@ -1,2 +1,10 @@
    -extensions: {} # none
    +extensions: # none
    +  skills:
    +    enabled: true
    +    type: stdio
    +    name: skills
    +    description: Agent skills
    +    cmd: /opt/skills/bin/skills
    +    args: [mcp, "--root", "/a \"b\": #c"]
    +    timeout: 600
     GOOSE_MODEL: m
    "#);
    insta::assert_snapshot!(
        yaml("extensions:\n    developer:\n        type: builtin\n\n        # last\n\nlast: |\n  extensions:\n    skills:\n"),
        @r#"
    added
    @@ -2,4 +2,12 @@
         developer:
             type: builtin
    +    skills:
    +      enabled: true
    +      type: stdio
    +      name: skills
    +      description: Agent skills
    +      cmd: /opt/skills/bin/skills
    +      args: [mcp, "--root", "/a \"b\": #c"]
    +      timeout: 600
     
             # last
    "#
    );
}

#[test]
fn yaml_entries_are_updated_in_place() {
    let file = "extensions:
  skills:
    # since May
    args:
    - mcp
    - --old
    cmd: /usr/bin/skills # ours
    timeout: 30 # short
  z:
    type: builtin
";
    insta::assert_snapshot!(check(named("goose"), file, &[]), @"
    updated
    @@ -2,8 +2,6 @@
       skills:
         # since May
    -    args:
    -    - mcp
    -    - --old
    -    cmd: /usr/bin/skills # ours
    +    args: [mcp]
    +    cmd: /opt/skills/bin/skills # ours
         timeout: 30 # short
       z:
    ");
    let other = file.replace("- mcp", "- serve");
    insta::assert_snapshot!(check(named("goose"), &other, &[]), @"
    replaced
    @@ -1,10 +1,11 @@
     extensions:
       skills:
    -    # since May
    -    args:
    -    - serve
    -    - --old
    -    cmd: /usr/bin/skills # ours
    -    timeout: 30 # short
    +    enabled: true
    +    type: stdio
    +    name: skills
    +    description: Agent skills
    +    cmd: /opt/skills/bin/skills
    +    args: [mcp]
    +    timeout: 600
       z:
         type: builtin
    ");
}

#[test]
fn unusual_yaml_is_not_edited() {
    let yaml = |text: &str| check(named("goose"), text, &[]);
    insta::assert_snapshot!(yaml("extensions: {x: {type: builtin}}\n"), @"line None: cannot add the server: unsupported layout");
    insta::assert_snapshot!(yaml("{GOOSE_MODEL: m}\n"), @"line None: cannot add the server: unsupported layout");
    insta::assert_snapshot!(yaml("a: &x\n  skills: {cmd: /bin/skills, args: [mcp, -x]}\nextensions: *x\n"), @"line None: cannot add the server: unsupported layout");
    insta::assert_snapshot!(yaml("extensions:\n  skills: {cmd: /bin/other}\n  ? y\n  : {cmd: x}\n"), @"
    replaced
    @@ -1,4 +1,11 @@
     extensions:
    -  skills: {cmd: /bin/other}
    +  skills:
    +    enabled: true
    +    type: stdio
    +    name: skills
    +    description: Agent skills
    +    cmd: /opt/skills/bin/skills
    +    args: [mcp]
    +    timeout: 600
       ? y
       : {cmd: x}
    ");
    insta::assert_snapshot!(yaml("extensions:\n- x\n"), @"line None: invalid `extensions`: expected a table");
    insta::assert_snapshot!(yaml("- x\n"), @"line None: invalid configuration: expected an object");
    insta::assert_snapshot!(yaml("a: 1\na: 2\n"), @r#"line Some(1): invalid YAML: duplicate entry with key "a""#);
    insta::assert_snapshot!(yaml("a: [\n"), @"line Some(2): invalid YAML: did not find expected node content at line 2 column 1, while parsing a flow node");
    insta::assert_snapshot!(yaml("a: 1\n---\nb: 1\n"), @"line Some(1): invalid YAML: deserializing from YAML containing more than one document is not supported");
}

#[test]
fn comments_between_headers_of_yaml_are_preserved() {
    let file = "extensions:\n  skills:\n    type: streamable_http\n    uri: http://127.0.0.1:8640/mcp\n    env_keys: [SKILLS_MCP_TOKEN]\n    headers:\n      # of the team\n      X-Team: a # ours\n      authorization: old\n    enabled: true\n";
    let planned = plan_edit(named("goose"), Some(file), &http_entry()).unwrap();
    insta::assert_snapshot!(diff::render(file, &planned.text), @r#"
    @@ -7,4 +7,4 @@
           # of the team
           X-Team: a # ours
    -      authorization: old
    +      Authorization: "Bearer ${SKILLS_MCP_TOKEN}"
         enabled: true
    "#);
    let again = plan_edit(named("goose"), Some(&planned.text), &http_entry()).unwrap();
    assert_eq!(again.change, EntryChange::Unchanged);
}
