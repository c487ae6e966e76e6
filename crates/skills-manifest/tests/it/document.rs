//! Documents and their errors, apart from the manifest; scripts, hooks, icons and the outline.

use skills_manifest::{
    Document, Draft, DraftErrorKind, ManifestError, ManifestErrorKind, OpenAiMetadata, SkillName,
};

fn error(file: &str) -> ManifestError {
    Document::parse(file.as_bytes()).unwrap_err()
}

#[test]
fn invisible_text_of_the_body_is_reported_with_line_and_column() {
    let head = "---\nname: a\ndescription: d\n---\n";
    for (body, line, column) in [
        ("\u{200B}", 5, 1),
        ("a\u{200B}", 5, 2),
        ("a\nbé\u{200B}\n", 6, 3),
        ("a\r\n\r\nb\u{202E}", 7, 2),
        ("a\rb\r\u{2066}", 7, 1),
        ("\n\r\n\rc\u{200B}", 8, 2),
    ] {
        let document = Document::parse(format!("{head}{body}").as_bytes()).unwrap();
        let positions: Vec<_> = document
            .warnings()
            .iter()
            .map(|warning| {
                warning
                    .position()
                    .map(|position| (position.line, position.column))
            })
            .collect();
        assert_eq!(positions, [Some((line, column))], "{body:?}");
    }
}

#[test]
fn the_frontmatter_is_kept_as_written() {
    let document = Document::parse(b"---\nname: a # why\n\ndescription: 'd'\n---\nBody\n").unwrap();
    assert_eq!(
        document.frontmatter(),
        "name: a # why\n\ndescription: 'd'\n"
    );
    assert_eq!(
        (
            document.field_line("name"),
            document.field_line("description"),
            document.field_line("license")
        ),
        (Some(2), Some(4), None)
    );
}

#[test]
fn errors_have_a_position_a_code_and_earlier_warnings() {
    let key = error("\n---\nname: a\n?  {b: c}\n: d\n---\n");
    assert_eq!(
        (key.kind(), key.line()),
        (ManifestErrorKind::YamlKey, Some(4))
    );
    assert!(key.column().is_some_and(|column| column > 1), "{key:?}");
    assert_eq!(
        key.warnings()
            .iter()
            .map(|warning| warning.kind().code())
            .collect::<Vec<_>>(),
        ["blank-before-fence"]
    );
    let yaml = error("---\n}\n---\n");
    assert_eq!(
        (yaml.kind(), yaml.line(), yaml.column().is_some()),
        (ManifestErrorKind::Yaml, Some(2), true)
    );
    let missing = error("---\nname: a\n---\n");
    assert_eq!((missing.column(), missing.warnings().len()), (None, 0));
    let codes = [
        "",
        "---\n\0",
        "text",
        "---\n",
        "---\n}\n---\n",
        "---\n? {b: c}\n---\n",
        "---\nx: &a [1]\n- b\n---\n",
        "---\nname: a\nname: b\n---\n",
        "---\n- a\n---\n",
        "---\nname: a\n---\n",
    ]
    .map(|file| error(file).kind().code());
    assert_eq!(codes[0], "empty");
    assert_eq!(
        &codes[2..4],
        ["frontmatter-missing", "frontmatter-unclosed"]
    );
    assert_eq!(&codes[4..6], ["yaml", "yaml-key"]);
    assert_eq!(
        &codes[7..],
        [
            "duplicate-key",
            "frontmatter-not-mapping",
            "description-missing"
        ]
    );
}

#[test]
fn restrictions_are_found_within_two_kibibytes_after_an_inferred_end() {
    let unparsed = |distance: usize| {
        let file = format!(
            "name: a\ndescription: b\n\n{}\ncontext: fork\n",
            "x".repeat(distance)
        );
        Document::parse(file.as_bytes())
            .unwrap()
            .manifest()
            .unparsed_restrictions()
            .to_vec()
    };
    assert_eq!(unparsed(2_000), ["context"]);
    assert!(unparsed(2_100).is_empty());
}

#[test]
fn more_than_a_hundred_hooks_count_as_an_unparsed_restriction() {
    let hooks = |count: usize| {
        let list = "{command: a},".repeat(count);
        let document = Document::parse(
            format!("---\ndescription: d\nhooks:\n  Stop: [{list}]\n---\n").as_bytes(),
        )
        .unwrap();
        (
            document.manifest().extensions().hooks.len(),
            document.manifest().unparsed_restrictions().to_vec(),
        )
    };
    assert_eq!((hooks(99), hooks(100)), ((99, vec![]), (100, vec![])));
    assert_eq!(
        (hooks(101), hooks(102)),
        ((100, vec!["hooks"]), (100, vec!["hooks"]))
    );
}

#[test]
fn hook_timeouts_are_positive() {
    let timeout = |value: &str| {
        let document = Document::parse(
            format!("---\ndescription: d\nhooks: {{Stop: {{command: a, {value}}}}}\n---\n")
                .as_bytes(),
        )
        .unwrap();
        document.manifest().extensions().hooks[0].timeout_seconds
    };
    assert_eq!(
        (
            timeout("timeout: 5"),
            timeout("timeout: 0.5"),
            timeout("timeout_ms: 1500")
        ),
        (Some(5.0), Some(0.5), Some(1.5))
    );
    assert_eq!(
        (
            timeout("timeout: 0"),
            timeout("timeout: -1"),
            timeout("timeout_ms: 0"),
            timeout("timeout: x")
        ),
        (None, None, None, None)
    );
}

#[test]
fn sibling_lists_in_json_do_not_count_as_nesting() {
    let metadata = |json: &str| {
        let document =
            Document::parse(format!("---\ndescription: d\nmetadata: '{json}'\n---\n").as_bytes())
                .unwrap();
        document.manifest().metadata().len()
    };
    assert_eq!(metadata(&format!("{{\"a\": [{}]}}", "[],".repeat(200))), 1);
    let nested = |depth: usize| format!("{{\"a\": {}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!((metadata(&nested(63)), metadata(&nested(64))), (1, 0));
}

#[test]
fn a_draft_is_limited_to_the_maximum_frontmatter() {
    // Each entry has five bytes in addition to its key and value, and the fields before them 35.
    let entries = |last: usize| {
        (0..50).map(move |index| {
            (
                format!("k{index:02}{}", "x".repeat(297)),
                "v".repeat(if index == 49 { last } else { 1_024 }),
            )
        })
    };
    let draft = |last: usize| {
        Draft::new("ab", "cd")
            .unwrap()
            .metadata(entries(last))
            .map(|draft| draft.render().len())
    };
    assert_eq!(draft(75).unwrap(), 64 * 1024 + 8);
    assert_eq!(draft(76).unwrap_err().kind(), DraftErrorKind::TooLong);
}

#[test]
fn an_outline_has_section_ranges_and_file_references() {
    let body = "# A\n\n## B\n`scripts/run.py --x` and `not/here.md`\n### C\n```sh\npython ./scripts/a.py && cat references/b.md\n\
                node \"assets/c.js\"\n```\nscripts/not-code.py\n## D\ntext\n# E\n![p](assets/p.png) [r](references/r.md)\n";
    let outline = Document::parse(format!("---\nname: a\ndescription: d\n---\n{body}").as_bytes())
        .unwrap()
        .outline();
    let headings: Vec<_> = outline
        .headings()
        .iter()
        .map(|heading| (heading.text.as_str(), heading.line, heading.last_line))
        .collect();
    assert_eq!(
        headings,
        [
            ("A", 5, 16),
            ("B", 7, 14),
            ("C", 9, 14),
            ("D", 15, 16),
            ("E", 17, 18)
        ]
    );
    let links: Vec<_> = outline
        .links()
        .iter()
        .map(|link| (link.target.as_str(), link.line, link.kind.as_str()))
        .collect();
    let expected = [
        ("scripts/run.py", 8, "code"),
        ("scripts/a.py", 11, "code"),
        ("references/b.md", 11, "code"),
        ("assets/c.js", 12, "code"),
        ("assets/p.png", 18, "image"),
        ("references/r.md", 18, "link"),
    ];
    assert_eq!(links, expected);
}

#[test]
fn only_paths_into_resource_directories_are_links() {
    let links = |code: &str| {
        let document =
            Document::parse(format!("---\ndescription: d\n---\n`{code}`\n").as_bytes()).unwrap();
        document
            .outline()
            .links()
            .iter()
            .map(|link| link.target.clone())
            .collect::<Vec<_>>()
    };
    for (code, target) in [
        ("scripts/a.py", "scripts/a.py"),
        ("./assets/b/c.png:", "assets/b/c.png"),
        ("(references/d.md).", "references/d.md"),
    ] {
        assert_eq!(links(code), [target], "{code}");
    }
    for code in [
        "scripts/",
        "scripts/a",
        "scripts/a.b/",
        "scripts/*.py",
        "assets/{a}.png",
        "other/a.py",
        "scripts/$a.sh",
        "a/scripts/a.py",
    ] {
        assert_eq!(links(code), [""; 0], "{code}");
    }
}

#[test]
fn script_timeouts_and_arguments_have_several_notations() {
    let script = |fields: &str| {
        let document = Document::parse(
            format!("---\ndescription: d\nscripts:\n  - {{name: a, {fields}}}\n---\n").as_bytes(),
        )
        .unwrap();
        document.manifest().extensions().scripts[0].clone()
    };
    let timeout = |value: &str| script(&format!("timeout: {value}")).timeout_seconds;
    assert_eq!(
        (
            timeout("30"),
            timeout("1.5"),
            timeout("'30'"),
            timeout("30s"),
            timeout("' 2.5s '")
        ),
        (Some(30.0), Some(1.5), Some(30.0), Some(30.0), Some(2.5))
    );
    for value in ["0", "-1", "0s", "x", "inf", "NaN", "[1]", "'-inf'"] {
        assert_eq!(timeout(value), None, "{value}");
    }
    let args = script("args: [city, {name: --n, type: integer}]")
        .args
        .unwrap();
    let names: Vec<_> = args
        .iter()
        .map(|arg| (arg.name.as_str(), arg.kind.as_str()))
        .collect();
    assert_eq!(names, [("city", "string"), ("n", "integer")]);
    let args = script("args: {a: integer, b: What to say}").args.unwrap();
    let kinds: Vec<_> = args
        .iter()
        .map(|arg| (arg.kind.as_str(), arg.description.as_deref()))
        .collect();
    assert_eq!(kinds, [("integer", None), ("string", Some("What to say"))]);
}

#[test]
fn icons_must_be_below_assets() {
    let icon = |path: &str| {
        OpenAiMetadata::parse(
            format!("interface:\n  icon_small: '{path}'\n").as_bytes(),
            Some("skills/a"),
        )
        .0
        .interface
        .icon_small
    };
    for path in ["assets/i.png", "assets/a/i.png", "../../assets/i.png"] {
        assert_eq!(icon(path).as_deref(), Some(path));
    }
    for path in [
        "assets",
        "assets/",
        "./assets/.",
        "i.png",
        "images/i.png",
        "../../assets",
        "../../images/i.png",
        "../assets/i.png",
        "c:/assets/i.png",
        "assets/a\\\\i.png",
    ] {
        assert_eq!(icon(path), None, "{path}");
    }
}

#[test]
fn an_invalid_invocation_policy_denies_implicit_invocation() {
    let allows = |text: &str| {
        OpenAiMetadata::parse(text.as_bytes(), None)
            .0
            .policy
            .allows_implicit_invocation()
    };
    for text in [
        "policy: {}",
        "policy: {color: red}",
        "interface: {display_name: a, display_name: b}",
        "policy:",
        "policy: {products: []}",
    ] {
        assert!(allows(text), "{text}");
    }
    for text in [
        "policy: 7",
        "policy: [a]",
        "policy: {Products: [a]}",
        "policy: {products: [codex, 7]}",
        "policy: {products: codex}",
        "policy: {<<: 1}",
    ] {
        assert!(!allows(text), "{text}");
    }
}

#[test]
fn interface_fields_have_a_format_and_a_limit() {
    let interface = |field: &str| {
        OpenAiMetadata::parse(format!("interface:\n  {field}\n").as_bytes(), None)
            .0
            .interface
    };
    assert_eq!(
        interface("brand_color: '#0aF9cC'").brand_color.as_deref(),
        Some("#0aF9cC")
    );
    for color in ["#0aF9c", "#0aF9cC1", "x0aF9cC", "#0aF9cG", "0aF9cC"] {
        assert_eq!(
            interface(&format!("brand_color: '{color}'")).brand_color,
            None,
            "{color}"
        );
    }
    let prompt = |characters: usize| {
        interface(&format!("default_prompt: {}", "é".repeat(characters)))
            .default_prompt
            .is_some()
    };
    assert_eq!((prompt(1_024), prompt(1_025)), (true, false));
}

#[test]
fn each_violated_rule_of_the_specification_is_reported() {
    let violations = |name: &str| SkillName::new(name).unwrap().spec_violations().len();
    assert_eq!(
        (violations(&"a".repeat(64)), violations(&"a".repeat(65))),
        (0, 1)
    );
    for name in ["-a", "a-", "a--b", "A", "a_b", "a b"] {
        assert_eq!(violations(name), 1, "{name}");
    }
    assert_eq!((violations("a-b"), violations("ünïcode-1")), (0, 0));
    assert_eq!(SkillName::new(" a ").unwrap().as_ref(), "a");
}

#[test]
fn a_valid_openclaw_block_has_no_warnings() {
    let fields =
        "metadata: {openclaw: {requires: {bins: [a]}, always: true, install: [], envVars: null}}";
    let document =
        Document::parse(format!("---\nname: a\ndescription: d\n{fields}\n---\n").as_bytes())
            .unwrap();
    assert!(document.warnings().is_empty(), "{:?}", document.warnings());
}
