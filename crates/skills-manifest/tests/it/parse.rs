//! Whole files: values, warnings and errors.

use std::fmt::Write;

use insta::assert_snapshot;
use skills_manifest::{Document, FrontmatterScan, Manifest};

/// Renders all parsed values and warnings, one per line.
pub(crate) fn read(bytes: impl AsRef<[u8]>) -> String {
    let document = match Document::parse(bytes.as_ref()) {
        Ok(document) => document,
        Err(error) => return format!("{:?} at {:?}: {error}", error.kind(), error.line()),
    };
    let manifest = document.manifest();
    let mut out = String::new();
    writeln!(out, "name {:?}", manifest.name().map(ToString::to_string)).unwrap();
    writeln!(out, "description {:?}", manifest.description()).unwrap();
    for tool in manifest.allowed_tools() {
        writeln!(out, "tool {tool}").unwrap();
    }
    for (key, value) in manifest.extra() {
        writeln!(out, "extra {key} = {value}").unwrap();
    }
    for warning in document.warnings() {
        writeln!(out, "warning {}: {warning}", warning.kind().code()).unwrap();
    }
    writeln!(
        out,
        "body from line {}: {:?}",
        document.body_line(),
        document.body()
    )
    .unwrap();
    out
}

#[test]
fn every_typed_field_is_parsed() {
    let text = "---\nname: code-review\ndescription: Reviews code.\nlicense: MIT\ncompatibility: any\nallowed-tools: [Read, \"Bash(git:*)\"]\n\
                context: fork\nagent: Explore\nmodel: inherit\nargument-hint: [file] [line]\nuser-invocable: no\n\
                disable-model-invocation: true\nmetadata:\n  author: x\n  nested: {a: 1}\nhooks:\n  Stop: []\nversion: 2\n---\nBody\n";
    // `[file] [line]` is not valid YAML, so the whole frontmatter needs a repair.
    assert_snapshot!(read(text), @r#"
    name Some("code-review")
    description "Reviews code."
    tool Read
    tool Bash(git:*)
    extra context = "fork"
    extra agent = "Explore"
    extra model = "inherit"
    extra argument-hint = "[file] [line]"
    extra user-invocable = "no"
    extra disable-model-invocation = true
    extra hooks = {"Stop":[]}
    extra version = 2
    warning yaml-recovered: line 10: invalid YAML, repaired: did not find expected key, while parsing a block mapping
    warning value-quoted: line 10: the value of `argument-hint` is not valid YAML; read as text, put it in quotes
    body from line 20: "Body\n"
    "#);
    let document = Document::parse(text.replace("[file] [line]", "[file]").as_bytes()).unwrap();
    insta::assert_debug_snapshot!(document.manifest());
}

#[test]
fn plain_file() {
    assert_snapshot!(read("---\nname: greet\ndescription: Says hello.\nallowed-tools: Read, Grep\n---\n\n# Hi\n"), @r#"
    name Some("greet")
    description "Says hello."
    tool Read
    tool Grep
    body from line 6: "\n# Hi\n"
    "#);
}

#[test]
fn windows_line_ends_and_byte_order_mark() {
    assert_snapshot!(read("\u{FEFF}---\r\nname: greet\r\ndescription: Says hello.\r\n---\r\nHi\r\n"), @r#"
    name Some("greet")
    description "Says hello."
    warning byte-order-mark: line 1: byte order mark skipped; save the file without one
    body from line 5: "Hi\r\n"
    "#);
}

#[test]
fn delimiters_are_whole_lines() {
    let text =
        "\n---  \nname: greet\ndescription: |\n  a --- b\n  ---\n  c\n--- \nBody\n---\nrule\n";
    assert_snapshot!(read(text), @r#"
    name Some("greet")
    description "a --- b\n---\nc\n"
    warning blank-before-fence: line 1: blank lines before the opening `---`; other clients reject them
    body from line 9: "Body\n---\nrule\n"
    "#);
    assert_snapshot!(read("---\nname: a\ndescription: b\n---"), @r#"
    name Some("a")
    description "b"
    body from line 5: ""
    "#);
}

#[test]
fn unusable_files_report_the_reason_and_the_line() {
    assert_snapshot!(read(""), @"Empty at None: the file is empty; a skill starts with a `---` line, `name:` and `description:`");
    assert_snapshot!(read(" \n\n"), @"Empty at None: the file is empty; a skill starts with a `---` line, `name:` and `description:`");
    assert_snapshot!(read("# Title\n"), @"FrontmatterMissing at Some(1): missing frontmatter: the first line must be `---`");
    assert_snapshot!(read("../a/SKILL.md"), @"FrontmatterMissing at Some(1): missing frontmatter: the file is the path of a symlink; replace it with its target");
    assert_snapshot!(read("----\nname: a\n----\n"), @"FrontmatterMissing at Some(1): missing frontmatter: the first line must be `---`");
    assert_snapshot!(read("---\nname: a\n...\n"), @"DescriptionMissing at Some(2): missing field `description`: say what the skill does and when to use it");
    assert_snapshot!(read("---\n- a\n---\n"), @"NotMapping at Some(2): invalid type for the frontmatter: expected a mapping, found a list");
    assert_snapshot!(read("---\n---\n"), @"NotMapping at Some(2): invalid type for the frontmatter: expected a mapping, found nothing");
    assert_snapshot!(read("---\nname: a\n---\n"), @"DescriptionMissing at Some(2): missing field `description`: say what the skill does and when to use it");
    assert_snapshot!(read("---\nname: a\ndescription: ' '\n---\n"), @"DescriptionMissing at Some(3): missing field `description`: say what the skill does and when to use it");
    assert_snapshot!(read("---\ndescription: c\n1: a\n\"1\": b\n---\n"), @r#"
    name None
    description "c"
    extra 1 = "a"
    warning duplicate-key: line 4: duplicate key `1`; using the first
    body from line 6: ""
    "#);
    assert_snapshot!(read("---\ndescription: \"\\u200b\\u200b\"\n---\n"), @"DescriptionMissing at Some(2): missing field `description`: say what the skill does and when to use it");
    assert_snapshot!(read("---\nname: a\nname: b\ndescription: c\n---\n"), @"DuplicateKey at Some(3): duplicate field `name`; remove one");
    assert_snapshot!(read("---\ndescription: Use when: x\n---\n"), @r#"
    name None
    description "Use when: x"
    warning yaml-recovered: line 2: invalid YAML, repaired: mapping values are not allowed in this context
    warning value-quoted: line 2: the value of `description` is not valid YAML; read as text, put it in quotes
    body from line 4: ""
    "#);
    assert_snapshot!(read(b"\xFF\xFE-\0-\0-\0"), @"Encoding at None: the file is UTF-16; save it as UTF-8");
    assert_snapshot!(read(b"---\nname: a\ndescription: \xE9\n---\n"), @"Encoding at Some(3): invalid UTF-8 at byte 25; save the file as UTF-8");
    assert_snapshot!(read(b"---\nname: a\ndescription: b\n---\nok\n\xE9\n"), @"Encoding at Some(6): invalid UTF-8 at byte 34; save the file as UTF-8");
}

#[test]
fn expansion_bombs_are_rejected() {
    let mut bomb = String::from("---\nname: a\ndescription: b\na0: &a0 [x]\n");
    for level in 1..60 {
        let previous = level - 1;
        writeln!(
            bomb,
            "a{level}: &a{level} [*a{previous}, *a{previous}, *a{previous}]"
        )
        .unwrap();
    }
    assert_snapshot!(read(bomb + "---\n"), @"YamlBudget at Some(4): the frontmatter exceeds a limit of the parser: a9[0][1][0][1][2][1][1][2][0][0]: aliases expand to more than 262144 bytes");
    let wide = format!(
        "---\ndescription: b\nq: &a {}\nb: &b [{}]\n---\n",
        "a".repeat(40_000),
        "*a, ".repeat(3_000)
    );
    assert_snapshot!(read(wide), @"YamlBudget at Some(3): the frontmatter exceeds a limit of the parser: b[5]: aliases expand to more than 262144 bytes");
    let dashes = format!("---\ndescription: b\na:\n {}\n---\n", "- ".repeat(30_000));
    assert_snapshot!(read(dashes), @"YamlBudget at Some(4): the frontmatter exceeds a limit of the parser: recursion limit exceeded");
    let huge = "---\ndescription: b\nx: 123456789012345678901234567890123\n---\n";
    assert_snapshot!(read(huge), @r#"
    name None
    description "b"
    extra x = "123456789012345678901234567890123"
    body from line 5: ""
    "#);
    let deep = format!("---\ndescription: b\na: {}\n---\n", "[".repeat(10_000));
    assert_snapshot!(read(deep), @"YamlBudget at Some(3): the frontmatter exceeds a limit of the parser: more than 500 open brackets, or 2000 in total");
    let long = format!("---\ndescription: b\n#{}\n---\n", "x".repeat(70_000));
    assert_snapshot!(read(long), @"FrontmatterUnclosed at Some(1): missing closing `---` in the first 65536 bytes");
}

#[test]
fn an_invalid_field_is_dropped_and_never_grants() {
    let text = "---\nname: My_Skill\ndescription: true\nallowed-tools: 7\ncontext: spoon\nmetadata: text\ndisable-model-invocation: perhaps\n---\n";
    assert_snapshot!(read(text), @r#"
    name Some("My_Skill")
    description "true"
    extra context = "spoon"
    extra disable-model-invocation = "perhaps"
    warning name-rule: line 2: `name` contains uppercase letters; the specification allows lowercase
    warning name-rule: line 2: `name` contains `_`; the specification allows letters, digits and hyphens
    warning not-text: line 3: `description` is not text; read as text, put it in quotes
    warning metadata-unreadable: line 6: `metadata` is not valid JSON; ignored
    warning wrong-type: line 4: invalid type for `allowed-tools`: expected text or a list, found a number; ignored
    warning restriction-unread: line 4: cannot parse `allowed-tools`; the skill is disabled for the model and its scripts do not run
    warning wrong-type: line 7: invalid type for `disable-model-invocation`: expected true or false, found text; ignored
    warning restriction-unread: line 7: cannot parse `disable-model-invocation`; the skill is disabled for the model and its scripts do not run
    warning unknown-context: line 5: invalid value `spoon` for `context`: expected `fork`; ignored
    body from line 9: ""
    "#);
    let manifest = Document::parse(text.as_bytes()).unwrap().manifest().clone();
    assert!(
        !manifest.model_invocable(),
        "an unparsed restriction disables the skill for models"
    );
}

#[test]
fn outline_lists_headings_and_relative_links() {
    let text = "---\nname: a\ndescription: b\n---\n# One `x`\n\n[ref](references/a.md#part) ![p](assets/p.png)\n\n## Two\n\
                [web](https://example.com/a) [mail](mailto:a@b) [abs](/etc/passwd) [frag](#one)\n";
    insta::assert_debug_snapshot!(Document::parse(text.as_bytes()).unwrap().outline());
}

#[test]
fn peek_returns_the_name_of_a_plain_file() {
    let peek = |fields: &str| {
        let file = format!("---\n{fields}---\n");
        let peek = Manifest::peek_name(&FrontmatterScan::parse_file(file.as_bytes()).unwrap());
        peek.map(|peek| peek.name.map(|name| name.to_string()))
    };
    assert_eq!(
        peek("name: greet\ndescription: Says hello.\n"),
        Some(Some("greet".to_owned()))
    );
    assert_eq!(peek("description: Says hello.\n"), Some(None));
    assert_eq!(peek("name: a/b\ndescription: Says hello.\n"), Some(None));
    assert_eq!(peek("name: greet\n"), None);
}
