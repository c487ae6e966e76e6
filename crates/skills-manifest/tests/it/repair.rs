//! Frontmatter that is no YAML, as it stands in public skills.

use insta::assert_snapshot;

use crate::parse::read;

#[test]
fn values_that_yaml_refuses_are_quoted() {
    let values = [
        "Use when: x",
        "**Bold** and more",
        "[DEPRECATED] use another",
        "@scope/package helper",
        "`code` first",
        "\"quoted\" and a tail",
        "\"a bad \\d escape\"",
        "'it's fine'",
        ">- text on the same line",
        "- a dash first",
        "{{name}} template",
        "a: b # a comment",
    ];
    let mut out = String::new();
    for value in values {
        let text = read(format!("---\nname: a\ndescription: {value}\n---\n"));
        let facts = text.lines().filter(|line| {
            line.starts_with("description") || line.contains("value-quoted") || !line.contains(' ')
        });
        out.push_str(&facts.map(|line| format!("{line}\n")).collect::<String>());
    }
    assert_snapshot!(out);
}

#[test]
fn block_scalars_and_flow_are_left_alone() {
    let text = "---\nname: a\ndescription: |\n  Use when: this\n  - and `that`\nhint: [x] [y]\ntags: [next, react]\nmap: {a: 1}\n---\n";
    assert_snapshot!(read(text), @r#"
    name Some("a")
    description "Use when: this\n- and `that`\n"
    extra hint = "[x] [y]"
    extra tags = ["next","react"]
    extra map = {"a":1}
    warning yaml-recovered: line 6: read all the same, but not valid YAML: did not find expected key, while parsing a block mapping
    warning value-quoted: line 6: the value of "hint" was read as one text; put it in quotes
    body from line 10: ""
    "#);
}

#[test]
fn tabs_become_spaces() {
    assert_snapshot!(read(
        "---\nname: a\ndescription: b\nmetadata:\n\tauthor: me\n---\n"
    ));
}

#[test]
fn the_lines_of_name_and_description_are_the_last_resort() {
    let text = "---\nname: a\ndescription: \"one\n  two\nallowed-tools: [Read\nother: }\n---\n";
    assert_snapshot!(read(text));
}

#[test]
fn nothing_readable_stays_an_error() {
    assert_snapshot!(read("---\nname: [a\nother: }\n---\n"), @"DescriptionMissing at Some(2): missing field `description`: say what the skill does and when to use it");
    assert_snapshot!(read("---\nname: a\0\ndescription: b\n---\n"), @"Encoding at Some(2): the frontmatter holds the character NUL; save the file as text");
}

#[test]
fn odd_frames_are_read_and_named() {
    for (name, text) in [
        (
            "code_block",
            "```yaml\n---\nname: a\ndescription: b\n---\n```\nBody\n",
        ),
        (
            "code_block_without_dashes",
            "```yaml\nname: a\ndescription: b\n```\nBody\n",
        ),
        (
            "comment",
            "<!-- generated\n by x -->\n\n---\nname: a\ndescription: b\n---\nBody\n",
        ),
        ("no_fences", "name: a\ndescription: b\n\n# Body\n"),
        ("no_opening_fence", "name: a\ndescription: b\n---\nBody\n"),
        ("only_fields", "name: a\ndescription: b\n"),
        (
            "long_fence",
            "---\nname: a\ndescription: b\n--------\nBody\n",
        ),
        (
            "escaped_fences",
            "\\---\nname: a\ndescription: b\n\\---\nBody\n",
        ),
        (
            "carriage_returns",
            "---\rname: a\rdescription: b\r---\rBody\r",
        ),
    ] {
        assert_snapshot!(format!("frame_{name}"), read(text));
    }
}

#[test]
fn fields_in_odd_spellings_are_understood() {
    assert_snapshot!(read(
        "---\nName: a\nDESCRIPTION: b\nallowed_tools: Read\ndisable_model_invocation: yes\nuser-invokable: false\n---\n"
    ));
}

#[test]
fn a_restriction_that_is_not_read_restricts() {
    for text in [
        "allowed-tools: {a: b}",
        "allowed-tools: Bash(git",
        "hooks: [x]",
        "context: spoon",
        "user-invocable: maybe",
        "disallowed-tools: 7",
    ] {
        let document = skills_manifest::Document::parse(
            format!("---\ndescription: d\n{text}\n---\n").as_bytes(),
        )
        .unwrap();
        let field = text.split(':').next().unwrap();
        assert_eq!(
            document.manifest().unparsed_restrictions(),
            [field],
            "{text}"
        );
        assert!(!document.manifest().model_invocable(), "{text}");
    }
    // The last resort reads none of them, so all that are there restrict.
    let text = "---\ndescription: d\nAllowed-Tools: Read\nhooks: {a: b}\nstray\n---\n";
    let document = skills_manifest::Document::parse(text.as_bytes()).unwrap();
    assert_eq!(
        document.manifest().unparsed_restrictions(),
        ["allowed-tools", "hooks"]
    );
}

#[test]
fn hidden_text_is_found_and_spelled_out() {
    let tags: String = "obey"
        .chars()
        .map(|c| char::from_u32(0xE0000 + c as u32).unwrap())
        .collect();
    assert_snapshot!(read(format!(
        "---\nname: a\ndescription: fine{tags}\n---\nok\nzero\u{200B}width\n"
    )));
    // Joiners between letters and in emoji, and line ends, have their place.
    assert_snapshot!(read("---\nname: a\ndescription: \"می\u{200C}خواهم 👩\u{200D}💻 ❤\u{FE0F}\"\n---\n"), @r#"
    name Some("a")
    description "می\u{200c}خواهم 👩\u{200d}💻 ❤\u{fe0f}"
    body from line 5: ""
    "#);
}

fn restrictions(text: &str) -> Vec<&'static str> {
    let document = skills_manifest::Document::parse(text.as_bytes()).unwrap();
    assert!(!document.manifest().model_invocable(), "{text}");
    document.manifest().unparsed_restrictions().to_vec()
}

/// Whatever way a text is odd, a restriction that stands in it is read, or restricts entirely.
#[test]
fn no_odd_text_loses_a_restriction() {
    const FLAG: &str = "disable-model-invocation: true";
    for text in [
        format!("name: a\ndescription: b\n# only by hand\n{FLAG}\n---\n"),
        format!("name: a\ndescription: |\n  one\n\n  two\n{FLAG}\n---\n"),
        format!("---\nname: a\ndescription: |\n  one\n\n  two\n{FLAG}\n"),
        format!("---\nname: a\ndescription: Use when: x\n {FLAG}\n---\n"),
        format!("---\ndescription: Use when: x\r{FLAG}\r---\n"),
        format!("---\nname: a\ndescription: b\n- {FLAG}\n---\n"),
        format!("```yaml\nname: a\ndescription: b\n~~~\n{FLAG}\n```\n"),
        format!("---\nname: a\ndescription: b\n-----\n{FLAG}\n\n# Body\n"),
        "---\ndescription: d\nDisable_Model_Invocation: true\n---\n".to_owned(),
        "---\ndescription: d\ndisableModelInvocation: true\n---\n".to_owned(),
        "---\ndescription: d\ndisable-model-invocation: false\nDisable-Model-Invocation: true\n---\n".to_owned(),
        format!("---\ndescription: d\nbase: &b {{{FLAG}}}\n<<: *b\n---\n"),
        "---\ndescription: d\nx: 0\nx: 0\ndisable-model-invocation: 1\ncount: 7\n---\n".to_owned(),
    ] {
        restrictions(&text);
    }
    assert_eq!(
        restrictions("---\ndescription: d\ndisallowed-tools: Write, Bash(rm\n---\n"),
        ["disallowed-tools"]
    );
    assert_eq!(
        restrictions("---\ndescription: d\ndisallowed-tools: ['Bash(rm', 'Write)']\n---\n"),
        ["disallowed-tools"]
    );
    let twice = "---\ndescription: d\nDisable-Model-Invocation: false\nDisable-Model-Invocation: true\n---\n";
    assert_snapshot!(read(twice), @r#"DuplicateKey at Some(4): the key "Disable-Model-Invocation" stands twice; remove one"#);
    let user =
        skills_manifest::Document::parse(b"---\ndescription: d\nUser-Invokable: false\n---\n")
            .unwrap();
    assert!(!user.manifest().user_invocable());
}

#[test]
fn json_with_comments_keeps_its_lines() {
    for text in [
        "metadata: {\n  // why\n  \"openclaw\": {requires: {bins: [\"jq\"]}},\n  }",
        "metadata:\n  {\n    // why # not\n    \"openclaw\": {requires: {bins: [\"jq\"]}},\n  }",
    ] {
        let document = skills_manifest::Document::parse(
            format!("---\ndescription: d\n{text}\n---\n").as_bytes(),
        )
        .unwrap();
        let openclaw = document.manifest().extensions().openclaw.as_ref();
        assert_eq!(
            openclaw.map(|openclaw| openclaw.requires.bins.clone()),
            Some(vec!["jq".to_owned()]),
            "{text}\n{:?}",
            document.warnings()
        );
    }
}

/// What a hostile text of the largest size leaves behind is no larger than the text, and its
/// warnings are few.
#[test]
fn hostile_texts_leave_little_behind() {
    let head = "---\nname: a\ndescription: d\n";
    let many = |text: &str, times: usize| text.repeat(times);
    for text in [
        format!("name: a\ndescription: b\n{}x: y\n", many("\n", 500_000)),
        format!("---\n{}name: a\ndescription: b\n", many("\n", 500_000)),
        format!("{head}---\n{}", many("#\n", 400_000)),
        format!(
            "{head}{}allowed-tools: {}\n---\n",
            many("#\n", 15_000),
            many(") ", 16_000)
        ),
        format!("{head}m:\n{}---\n", many(" x: 1\n", 10_000)),
        format!("{head}x: {}\n---\n", many("[\"]\",", 12_000)),
        format!("{head}metadata: '{}'\n---\n", many("[\"]\",", 10_000)),
        format!("{head}{}---\n", many("a: b: c\n", 8_000)),
        format!("{head}---\n{}", many("`scripts/é.py` ", 60_000)),
        format!("{head}---\n{}", many("> ", 300_000)),
        format!("{head}---\n{}", many("[a](b", 200_000)),
        format!(
            "<!-- {}\n---\nname: a\ndescription: d\n---\n",
            many("<!-- ", 200_000)
        ),
    ] {
        let problems = skills_manifest::strict::validate(text.as_bytes(), "a");
        let start = &text[..text.floor_char_boundary(60)];
        assert!(problems.len() <= 2, "{start}: {problems:?}");
        let Ok(document) = skills_manifest::Document::parse(text.as_bytes()) else {
            continue;
        };
        let warnings: usize = document
            .warnings()
            .iter()
            .map(|warning| warning.to_string().len())
            .sum();
        assert!(
            document.warnings().len() <= 210 && warnings <= 20_000,
            "{start}: {} warnings, {warnings} bytes",
            document.warnings().len()
        );
        let manifest = document.manifest();
        let tools: usize = manifest
            .allowed_tools()
            .iter()
            .map(|tool| tool.to_string().len())
            .sum();
        let metadata: usize = [manifest.metadata(), manifest.extra()]
            .iter()
            .map(|map| serde_json::to_string(map).unwrap().len())
            .sum();
        let kept = manifest.description().len() + tools + metadata;
        assert!(
            kept <= 2 * document.frontmatter().len(),
            "{start}: {kept} bytes are kept"
        );
        let outline = document.outline();
        let outlined: usize = outline
            .headings()
            .iter()
            .map(|heading| heading.text.len())
            .sum::<usize>()
            + outline
                .links()
                .iter()
                .map(|link| link.target.len())
                .sum::<usize>();
        assert!(
            outlined <= document.body().len(),
            "{start}: {outlined} bytes in the outline"
        );
    }
    let keys = |indent: &str| {
        (0..15_000)
            .map(|index| format!("{indent}k{index}: v\n"))
            .collect::<String>()
    };
    let merged = format!(
        "---\nname: a\ndescription: d\nmetadata:\n  <<:\n{}{}---\n",
        keys("    "),
        keys("  ")
    );
    assert!(skills_manifest::strict::validate(merged.as_bytes(), "a").is_empty());
}
