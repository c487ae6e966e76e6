//! Malformed frontmatter in the forms of published skills.

use insta::assert_snapshot;
use skills_manifest::{Document, Requirements};

use crate::parse::read;

#[test]
fn invalid_values_are_quoted() {
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
fn valid_block_scalars_and_flow_collections_are_kept() {
    let text = "---\nname: a\ndescription: |\n  Use when: this\n  - and `that`\nhint: [x] [y]\ntags: [next, react]\nmap: {a: 1}\n---\n";
    assert_snapshot!(read(text), @r#"
    name Some("a")
    description "Use when: this\n- and `that`\n"
    extra hint = "[x] [y]"
    extra tags = ["next","react"]
    extra map = {"a":1}
    warning yaml-recovered: line 6: invalid YAML, repaired: did not find expected key, while parsing a block mapping
    warning value-quoted: line 6: the value of `hint` is not valid YAML; read as text, put it in quotes
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
fn name_and_description_are_recovered_as_a_last_resort() {
    let text = "---\nname: a\ndescription: \"one\n  two\nallowed-tools: [Read\nother: }\n---\n";
    assert_snapshot!(read(text));
}

#[test]
fn unrecoverable_text_is_an_error() {
    assert_snapshot!(read("---\nname: [a\nother: }\n---\n"), @"DescriptionMissing at Some(2): missing field `description`: say what the skill does and when to use it");
    assert_snapshot!(read("---\nname: a\0\ndescription: b\n---\n"), @"Encoding at Some(2): the frontmatter contains the character NUL; save the file as text");
}

#[test]
fn non_standard_delimiters_are_accepted_with_warnings() {
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
        ("none", "name: a\ndescription: b\n\n# Body\n"),
        ("no_opening", "name: a\ndescription: b\n---\nBody\n"),
        ("only_fields", "name: a\ndescription: b\n"),
        ("long", "---\nname: a\ndescription: b\n--------\nBody\n"),
        ("escaped", "\\---\nname: a\ndescription: b\n\\---\nBody\n"),
        (
            "carriage_returns",
            "---\rname: a\rdescription: b\r---\rBody\r",
        ),
    ] {
        assert_snapshot!(format!("delimiters_{name}"), read(text));
    }
}

#[test]
fn misspelled_fields_are_recognized() {
    assert_snapshot!(read(
        "---\nName: a\nDESCRIPTION: b\nallowed_tools: Read\ndisable_model_invocation: yes\nuser-invokable: false\n---\n"
    ));
}

#[test]
fn an_unparsed_restriction_disables_the_skill_for_models() {
    for text in [
        "allowed-tools: {a: b}",
        "allowed-tools: Bash(git",
        "hooks: [x]",
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
    // Recovery from lines parses none of them, so all that are present count as unparsed.
    let text = "---\ndescription: d\nAllowed-Tools: Read\nhooks: {a: b}\nstray\n---\n";
    let document = skills_manifest::Document::parse(text.as_bytes()).unwrap();
    assert_eq!(
        document.manifest().unparsed_restrictions(),
        ["allowed-tools", "hooks"]
    );
}

#[test]
fn invisible_text_is_reported_and_decoded() {
    let tags: String = "obey"
        .chars()
        .map(|c| char::from_u32(0xE0000 + c as u32).unwrap())
        .collect();
    assert_snapshot!(read(format!(
        "---\nname: a\ndescription: fine{tags}\n---\nok\nzero\u{200B}width\n"
    )));
    // Joiners between letters and in emoji, and line ends, are allowed.
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

/// A restriction in a malformed text is parsed, or it counts as unparsed.
#[test]
fn no_malformed_text_loses_a_restriction() {
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
    let duplicate = "---\ndescription: d\nDisable-Model-Invocation: false\nDisable-Model-Invocation: true\n---\n";
    assert_snapshot!(read(duplicate), @"DuplicateKey at Some(4): duplicate field `Disable-Model-Invocation`; remove one");
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

/// The values of a hostile text of maximum size are not larger than the text, and its warnings few.
#[test]
fn results_of_hostile_texts_are_bounded() {
    let head = "---\nname: a\ndescription: d\n";
    let repeated = |text: &str, times: usize| text.repeat(times);
    for text in [
        format!("name: a\ndescription: b\n{}x: y\n", repeated("\n", 500_000)),
        format!("---\n{}name: a\ndescription: b\n", repeated("\n", 500_000)),
        format!("{head}---\n{}", repeated("#\n", 400_000)),
        format!(
            "{head}{}allowed-tools: {}\n---\n",
            repeated("#\n", 15_000),
            repeated(") ", 16_000)
        ),
        format!("{head}m:\n{}---\n", repeated(" x: 1\n", 10_000)),
        format!("{head}x: {}\n---\n", repeated("[\"]\",", 12_000)),
        format!("{head}metadata: '{}'\n---\n", repeated("[\"]\",", 10_000)),
        format!("{head}{}---\n", repeated("a: b: c\n", 8_000)),
        format!("{head}---\n{}", repeated("`scripts/é.py` ", 60_000)),
        format!("{head}---\n{}", repeated("> ", 300_000)),
        format!("{head}---\n{}", repeated("[a](b", 200_000)),
        format!(
            "<!-- {}\n---\nname: a\ndescription: d\n---\n",
            repeated("<!-- ", 200_000)
        ),
    ] {
        let errors = skills_ref_compat::validate(text.as_bytes(), "a");
        let start = &text[..text.floor_char_boundary(60)];
        assert!(errors.len() <= 2, "{start}: {errors:?}");
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
    assert!(skills_ref_compat::validate(merged.as_bytes(), "a").is_empty());
}

/// Returns the programs that the metadata of a hub requires, the description and the warnings.
fn read_metadata(fields: &str) -> String {
    let file = format!("---\nname: a\ndescription: d\n{fields}---\n");
    let document = Document::parse(file.as_bytes()).unwrap();
    let manifest = document.manifest();
    let requirements = Requirements::new(manifest, None);
    let mut out = format!("{requirements:?}\n");
    for warning in document.warnings() {
        out.push_str(&format!("{warning}\n"));
    }
    out
}

/// A hub writes JSON5 below `metadata:` in the first column, where YAML has no value.
#[test]
fn json_of_metadata_in_the_first_column_is_read_as_an_indented_one() {
    let objects = [
        "{\n  \"openclaw\": { \"requires\": { \"bins\": [\"curl\",], }, }, // why\n}\n",
        "{ openclaw: { requires: { bins: ['curl'] } } }\n",
    ];
    for object in objects {
        let indented: String = object.lines().map(|line| format!("  {line}\n")).collect();
        let first = read_metadata(&format!("metadata:\n{object}license: MIT\n"));
        let other = read_metadata(&format!("metadata:\n{indented}license: MIT\n"));
        assert_eq!(first.lines().next(), other.lines().next(), "{object}");
        assert!(first.contains("curl"), "{first}");
    }
}

/// A line of it that could be a field is one, and a restriction after it is read.
#[test]
fn json_of_metadata_in_the_first_column_hides_no_field() {
    let hidden = "metadata:\n{\n  \"a\": \"\ndisable-model-invocation: true\n\"\n}\n";
    let after = "metadata:\n{\n  \"a\": 1\n}\ndisable-model-invocation: true\n";
    let inside = "metadata:\n{\n  \"a\": [\n  disable-model-invocation: true\n  ]\n}\n";
    for fields in [hidden, after, inside] {
        let file = format!("---\nname: a\ndescription: d\n{fields}---\n");
        let document = Document::parse(file.as_bytes()).unwrap();
        assert!(!document.manifest().model_invocable(), "{fields}");
    }
    let unclosed = "metadata:\n{\n  \"a\": 1\nlicense: MIT\n";
    let deep = format!(
        "metadata:\n{{\n  \"a\": {}{}\n}}\n",
        "[".repeat(100),
        "]".repeat(100)
    );
    let other = "hooks:\n{\n  \"a\": 1\n}\n";
    for fields in [unclosed, &deep, other] {
        assert!(
            read_metadata(fields).contains("recovered from its line"),
            "{fields}"
        );
    }
}

/// Returns the warnings about a description.
fn cut(description: &str) -> String {
    let file = format!("---\nname: a\n{description}\nlicense: MIT\n---\n");
    let document = Document::parse(file.as_bytes()).unwrap();
    let warnings = document.warnings().iter().map(|warning| {
        let position = warning.position().unwrap();
        format!("{}:{} {warning}", position.line, position.column)
    });
    warnings.collect::<Vec<_>>().join("\n")
}

/// Authors write `#channel` and never see that the text ends there.
#[test]
fn a_description_that_a_comment_cuts_has_a_warning_with_its_column() {
    assert_snapshot!(cut("description: Posts to the #deploys channel."), @"3:27 line 3: `description` ends at column 27, where ` #` starts a comment; put the text in quotes");
    assert_snapshot!(cut("description: Gr\u{fc}\u{df}e\t#b"), @"3:20 line 3: `description` ends at column 20, where ` #` starts a comment; put the text in quotes");
    assert_snapshot!(cut("description:\n  Posts to\n  the #deploys channel."), @"5:7 line 5: `description` ends at column 7, where ` #` starts a comment; put the text in quotes");
    assert_snapshot!(cut("description: Posts\n  # to\n"), @"4:3 line 4: `description` ends at column 3, where ` #` starts a comment; put the text in quotes");
}

#[test]
fn a_number_sign_in_a_text_cuts_nothing() {
    for description in [
        "description: C# and issue#1",
        "description: \"Posts to the #deploys channel.\"",
        "description: 'a #b'",
        "description: \"quoted\" # of the author",
        "description: >\n  Posts to the #deploys channel.",
        "description: |- # a comment\n  a #b",
        "description: a\n# of the next field",
        "description: a\nmodel: b # of another field",
    ] {
        assert_eq!(cut(description), "", "{description}");
    }
}
