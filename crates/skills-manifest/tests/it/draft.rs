//! Drafts: valid files that parse to the texts of the draft.

use insta::assert_snapshot;
use proptest::prelude::*;
use skills_manifest::{Document, Draft, DraftError, DraftErrorKind, is_invisible};

/// Texts that YAML parses as something else if they are not quoted.
const AMBIGUOUS_TEXTS: [&str; 36] = [
    "1.10",
    "yes",
    "No",
    "null",
    "~",
    "true",
    "0x1F",
    "1e3",
    "2024-01-01",
    "12:30:00",
    ".inf",
    "=",
    "<<",
    "- x",
    "-",
    "? x",
    "# x",
    "x # y",
    "a: b",
    "a:",
    ": a",
    "'",
    "\"",
    "''",
    "it's",
    "\\n",
    " leading",
    "trailing ",
    "a  b",
    "[x]",
    "{a: b}",
    "*x",
    "&x y",
    "!tag x",
    "---",
    "a---b----c",
];

fn pairs(entries: &[(&str, &str)]) -> Vec<(String, String)> {
    entries
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

/// Renders a draft and parses it with the lenient and the strict parser.
fn check(
    draft: &Draft,
    description: &str,
    license: Option<&str>,
    metadata: &[(String, String)],
    body: &str,
) -> Result<(), TestCaseError> {
    let text = draft.render();
    let document = Document::parse(text.as_bytes())
        .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
    let manifest = document.manifest();
    prop_assert_eq!(
        manifest.name().map(|name| name.as_str()),
        Some(draft.name())
    );
    prop_assert_eq!(manifest.description(), description);
    prop_assert_eq!(manifest.license(), license);
    let parsed: Vec<_> = manifest
        .metadata()
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let expected: Vec<_> = metadata
        .iter()
        .map(|(key, value)| (key.clone(), serde_json::Value::from(value.as_str())))
        .collect();
    prop_assert_eq!(parsed, expected);
    prop_assert_eq!(document.body(), body);
    prop_assert!(
        document.warnings().is_empty(),
        "{:?}\n{}",
        document.warnings(),
        text
    );
    let errors = skills_ref_compat::validate(text.as_bytes(), draft.name());
    prop_assert!(errors.is_empty(), "{:?}\n{}", errors, text);
    check_strict(&text, description, license, metadata)
}

/// Checks that the strict parser returns the same texts.
fn check_strict(
    text: &str,
    description: &str,
    license: Option<&str>,
    metadata: &[(String, String)],
) -> Result<(), TestCaseError> {
    let properties = skills_ref_compat::read_properties(text.as_bytes())
        .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
    let json: serde_json::Value = serde_json::from_str(&properties.to_json()).unwrap();
    prop_assert_eq!(json["description"].as_str(), Some(description.trim()));
    prop_assert_eq!(json["license"].as_str(), license);
    for (key, value) in metadata {
        prop_assert_eq!(
            json["metadata"][key].as_str(),
            Some(value.as_str()),
            "{}",
            text
        );
    }
    Ok(())
}

fn text_of_a_line(max_characters: usize) -> impl Strategy<Value = String> {
    let any =
        proptest::collection::vec(any::<char>(), 1..max_characters).prop_map(String::from_iter);
    let special = "[-a\\\\'\"#:&*!?|>{}\\[\\], \u{a0}\u{fffe}\u{ffff}\u{e000}é漢😀]{1,60}";
    let text = prop_oneof![
        any,
        special,
        proptest::sample::select(&AMBIGUOUS_TEXTS[..]).prop_map(str::to_owned)
    ];
    // The strict parser represents halves of surrogate pairs with this unassigned block.
    let is_usable = |c: &char| !is_invisible(*c) && !('\u{D0000}'..='\u{D07FF}').contains(c);
    text.prop_map(move |text| {
        text.chars()
            .filter(is_usable)
            .take(max_characters)
            .collect::<String>()
    })
}

fn visible_line(max_characters: usize) -> impl Strategy<Value = String> {
    text_of_a_line(max_characters).prop_filter("the text is blank", |text| !text.trim().is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn drafts_parse_to_their_texts(
        name in "[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,8}){0,3}",
        description in visible_line(1024),
        license in proptest::option::of(visible_line(200)),
        metadata in proptest::collection::btree_map(visible_line(40), text_of_a_line(80), 0..6),
        body in "([#a-z][-#a-z:`\n ]{0,80}[a-z])?",
    ) {
        let metadata: Vec<_> = metadata.into_iter().collect();
        let mut draft = Draft::new(&name, &description).unwrap().metadata(metadata.clone()).unwrap().instructions(&body).unwrap();
        if let Some(license) = &license {
            draft = draft.license(license).unwrap();
        }
        let below = if body.is_empty() { String::new() } else { format!("\n{body}\n") };
        check(&draft, &description, license.as_deref(), &metadata, &below)?;
    }

    /// Any draft that is accepted renders a valid file.
    #[test]
    fn accepted_drafts_are_valid(name in "[a-zA-Z0-9_. /-]{0,12}", description in any::<String>(), body in "[-a \r\n]{0,40}") {
        let Ok(draft) = Draft::new(&name, &description) else { return Ok(()) };
        let Ok(draft) = draft.instructions(&body) else { return Ok(()) };
        let text = draft.render();
        let document = Document::parse(text.as_bytes()).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(document.manifest().description(), &description);
        prop_assert_eq!(document.body().trim(), body.trim());
        prop_assert!(document.warnings().is_empty() && skills_ref_compat::validate(text.as_bytes(), &name).is_empty(), "{}", text);
    }

    /// A suggested name is valid.
    #[test]
    fn suggested_names_are_accepted(name in "[a-zA-Z0-9_. -]{0,70}") {
        if let Err(error) = Draft::new(&name, "d") {
            prop_assert_eq!(error.kind(), DraftErrorKind::Name);
            prop_assert!(error.suggestion().is_none_or(|name| Draft::new(name, "d").is_ok()), "{:?}", error);
        }
    }
}

#[test]
fn a_rendered_file() {
    let draft = Draft::new(
        "data-analyzer",
        "Analyses tables: finds what's odd. Use for CSV --- and only CSV.",
    )
    .unwrap();
    let draft = draft
        .license("MIT")
        .unwrap()
        .metadata(pairs(&[
            ("author", "Ada"),
            ("version", "1.10"),
            ("is it", "yes"),
        ]))
        .unwrap();
    let draft = draft
        .instructions("\n \n# Steps\n\n1. Read the table.\n---\n2. Say what is odd. \n\n")
        .unwrap();
    assert_snapshot!(draft.render());
}

#[test]
fn texts_that_look_like_yaml_stay_text() {
    let metadata = pairs(&AMBIGUOUS_TEXTS.map(|text| (text, text)));
    let check_with = |description: &str| {
        let draft = Draft::new("true", description)
            .unwrap()
            .license(description)
            .unwrap()
            .metadata(metadata.clone())
            .unwrap();
        check(&draft, description, Some(description), &metadata, "").unwrap();
    };
    AMBIGUOUS_TEXTS.into_iter().for_each(check_with);
    check_with("Größe 漢字 👍 ✔\u{FE0F}");
}

#[test]
fn texts_of_maximum_length_are_accepted() {
    for pattern in [
        "a", "'", "\"", "\\", "-", "[", "{", "]", "😀", "\u{FFFE}", ": ", "# ",
    ] {
        let filled = |characters: usize| -> String {
            pattern
                .chars()
                .cycle()
                .take(characters - 1)
                .chain(['x'])
                .collect()
        };
        let license = filled(200);
        let bytes = 1024 / pattern.len().max(1);
        let metadata: Vec<_> = (0..7)
            .map(|index| {
                (
                    format!("{index}{}", filled(1000 / pattern.len())),
                    pattern.repeat(bytes),
                )
            })
            .collect();
        let draft = Draft::new(&"n".repeat(64), &filled(1024))
            .unwrap()
            .license(&license)
            .unwrap()
            .metadata(metadata.clone())
            .unwrap();
        check(&draft, &filled(1024), Some(&license), &metadata, "").unwrap();
    }
    let metadata: Vec<_> = (0..50)
        .map(|index| (format!("key-{index}"), "a ".repeat(511) + "aa"))
        .collect();
    let body = "a".repeat(64 * 1024);
    let draft = Draft::new("n", "d")
        .unwrap()
        .metadata(metadata.clone())
        .unwrap()
        .instructions(&body)
        .unwrap();
    check(&draft, "d", None, &metadata, &format!("\n{body}\n")).unwrap();
}

#[test]
fn invalid_names_report_the_rule_and_a_suggestion() {
    for name in [
        "code-reviewer",
        "data-analyzer",
        "pdf2image",
        "a",
        "a-1",
        &"a".repeat(64),
    ] {
        assert_eq!(Draft::new(name, "d").unwrap().name(), name);
    }
    let long = "a".repeat(65);
    let names = [
        "",
        "Code-Reviewer",
        "dataAnalyzer",
        "my_tool",
        "My Tool v1.2",
        "..",
        "/tmp/x",
        "a\\b",
        "a-",
        "-a",
        "a--b",
        "2d",
        "-",
        "é",
        "скилл",
        "a\nb",
        "a\u{200B}",
        &long,
    ];
    let lines = names.map(|name| {
        let error = Draft::new(name, "d").unwrap_err();
        assert_eq!(
            (error.kind(), error.field()),
            (DraftErrorKind::Name, "name")
        );
        let shown = if name.len() > 20 { "(long)" } else { name };
        format!("{shown:?}: {error}")
    });
    assert_snapshot!(lines.join("\n"));
}

#[test]
fn invalid_texts_report_the_rule() {
    let draft = || Draft::new("a", "d").unwrap();
    let pair = |key: &str, value: &str| draft().metadata(pairs(&[(key, value)]));
    let many: Vec<_> = (0..51)
        .map(|index| (format!("k{index}"), String::new()))
        .collect();
    let wide: Vec<_> = (0..50)
        .map(|index| (format!("{index}"), "'".repeat(1024)))
        .collect();
    let cases: Vec<(&str, Result<Draft, DraftError>)> = vec![
        ("no description", Draft::new("a", "")),
        ("blank description", Draft::new("a", " \u{3000}")),
        ("long description", Draft::new("a", &"é".repeat(1025))),
        ("two lines", Draft::new("a", "b\nc")),
        ("carriage return", Draft::new("a", "b\rc")),
        ("tab", Draft::new("a", "b\tc")),
        ("line separator", Draft::new("a", "b\u{2028}c")),
        ("tag", Draft::new("a", "b\u{E0041}")),
        ("blank license", draft().license(" ")),
        ("long license", draft().license(&"a".repeat(201))),
        ("license of two lines", draft().license("a\nb")),
        ("blank key", pair(" ", "v")),
        ("key of two lines", pair("a\nb: c", "v")),
        ("value of two lines", pair("k", "v\nname: b")),
        ("invisible value", pair("k", "\u{202E}v")),
        ("long key", pair(&"k".repeat(1025), "v")),
        ("long value", pair("k", &"é".repeat(513))),
        ("reserved", pair("openclaw", "{install: []}")),
        ("reserved scripts", pair("scripts", "a.sh")),
        (
            "duplicate key",
            draft().metadata(pairs(&[("k", "1"), ("k", "2")])),
        ),
        ("many entries", draft().metadata(many)),
        ("much metadata", draft().metadata(wide)),
        (
            "long instructions",
            draft().instructions(&"a".repeat(64 * 1024 + 1)),
        ),
        ("delimiter", draft().instructions("---\nname: b\n---\n")),
        (
            "delimiter after white space",
            draft().instructions(" \n\t---\n"),
        ),
        ("NUL", draft().instructions("a\0b")),
        ("override", draft().instructions("a\u{202E}b")),
        ("isolate", draft().instructions("a\u{2066}b")),
        ("tag in instructions", draft().instructions("a\u{E0041}b")),
    ];
    let show = |(case, result): (&str, Result<Draft, DraftError>)| {
        let error = result.map(|draft| draft.render()).unwrap_err();
        format!(
            "{case}: {} of {}: {error}",
            error.kind().code(),
            error.field()
        )
    };
    assert_snapshot!(cases.into_iter().map(show).collect::<Vec<_>>().join("\n"));
}

#[test]
fn instructions_are_trimmed_and_otherwise_kept() {
    let body = |text: &str| {
        let rendered = Draft::new("a", "d")
            .unwrap()
            .instructions(text)
            .unwrap()
            .render();
        Document::parse(rendered.as_bytes())
            .unwrap()
            .body()
            .to_owned()
    };
    assert_eq!(body("\n\n    code\n\n"), "\n    code\n");
    assert_eq!(body("a\r\nb\r\n"), "\na\r\nb\n");
    assert_eq!(
        body("- a\n\n---\n\n\u{200D}b"),
        "\n- a\n\n---\n\n\u{200D}b\n"
    );
    assert_eq!(body(" \n"), "");
}

#[test]
fn a_second_call_replaces_the_first() {
    let draft = Draft::new("a", "d")
        .unwrap()
        .metadata(pairs(&[("k", "1")]))
        .unwrap()
        .metadata(pairs(&[("l", "2")]))
        .unwrap();
    assert_eq!(
        draft
            .instructions("x")
            .unwrap()
            .instructions("y")
            .unwrap()
            .render(),
        "---\nname: a\ndescription: d\nmetadata:\n  l: '2'\n---\n\ny\n"
    );
}

#[test]
fn a_draft_suggests_a_name_if_one_is_obvious() {
    let longest = "a_".repeat(64);
    let at_limit = format!("{}{}", "a".repeat(64), "_".repeat(64));
    for (name, suggestion) in [
        ("Code-Reviewer", Some("code-reviewer")),
        ("dataAnalyzer", Some("data-analyzer")),
        ("My Tool v1.2", Some("my-tool-v1-2")),
        ("..", None),
        ("a/b", None),
        ("\u{e9}", None),
        (longest.as_str(), None),
        (at_limit.as_str(), Some(&at_limit[..64])),
        (&format!("{at_limit}_"), None),
    ] {
        assert_eq!(
            Draft::new(name, "d").unwrap_err().suggestion(),
            suggestion,
            "{name}"
        );
    }
    assert_eq!(Draft::new("a", "").unwrap_err().suggestion(), None);
}
