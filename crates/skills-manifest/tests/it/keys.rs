//! Keys that are no text.

use insta::assert_snapshot;
use skills_manifest::{
    AmbiguousYaml, Document, ErrorKind, FrontmatterScan, OpenAiMetadata, WarningKind, strict,
};

use crate::parse::read;

/// Mappings that are keys of mappings, in the forms in which YAML writes them.
fn nested(levels: usize) -> [String; 4] {
    let flow = format!("{}a{}", "{".repeat(levels), "}".repeat(levels));
    let list = format!("{}a{}", "? [".repeat(levels), "]".repeat(levels));
    let alias = (1..levels)
        .map(|level| format!("k{level}: &k{level}\n ? *k{}\n : x\n", level - 1))
        .collect::<String>();
    [
        format!("{}a", "? ".repeat(levels)),
        flow,
        list,
        format!("k0: &k0 {{a: b}}\n{alias}"),
    ]
}

/// The fewest levels come first: without a bound, the text of the keys doubles with each of them.
const LEVELS: [usize; 4] = [2, 4, 12, 40];

#[test]
fn keys_that_are_mappings_or_lists_are_refused_in_frontmatter() {
    for yaml in LEVELS.into_iter().flat_map(nested) {
        let file = format!("---\n{yaml}\n---\n");
        let error = Document::parse(file.as_bytes()).unwrap_err();
        // Where the key is in a value, the value is read as one text, and what is missing then is
        // the description.
        let is_told = matches!(
            error.kind(),
            ErrorKind::YamlKey | ErrorKind::DescriptionMissing
        );
        assert!(is_told && error.line().is_some(), "{yaml}: {error}");
        assert_eq!(
            FrontmatterScan::parse_file(file.as_bytes())
                .unwrap()
                .portable_fields(),
            Err(AmbiguousYaml::NonTextKey),
            "{yaml}"
        );
        // The strict parser reads such keys as its reference does, without a text for each.
        assert!(!strict::validate(file.as_bytes(), "a").is_empty(), "{yaml}");
    }
}

/// A skill whose description can be made out still loads, and nothing of what was refused is kept.
#[test]
fn the_description_is_read_beside_keys_that_are_refused() {
    for yaml in LEVELS.into_iter().flat_map(nested) {
        let indented = yaml.replace('\n', "\n  ");
        let file =
            format!("---\nname: a\ndescription: d\nallowed-tools: Read\nx:\n  {indented}\n---\n");
        let document = Document::parse(file.as_bytes()).unwrap();
        let manifest = document.manifest();
        assert_eq!(manifest.description(), "d", "{yaml}");
        let kept: usize = manifest
            .extra()
            .iter()
            .map(|(key, value)| key.len() + value.to_string().len())
            .sum();
        assert!(kept <= 2 * file.len(), "{yaml}: {kept} bytes are kept");
        let is_told = document
            .warnings()
            .iter()
            .any(|warning| matches!(warning.kind(), WarningKind::KeyNotScalar { .. }));
        assert!(is_told, "{yaml}: {:?}", document.warnings());
    }
}

#[test]
fn keys_that_are_mappings_or_lists_are_refused_in_host_metadata() {
    for yaml in LEVELS.into_iter().flat_map(nested) {
        let (metadata, notes) = OpenAiMetadata::parse(yaml.as_bytes(), None);
        assert!(metadata.policy.allows_implicit_invocation(), "{yaml}");
        assert!(
            notes.len() == 1 && notes[0].reason.contains("write keys as text"),
            "{yaml}: {notes:?}"
        );
        // A policy beside it is not lost.
        let (metadata, _) = OpenAiMetadata::parse(
            format!("{yaml}\npolicy:\n  products: [x]\n").as_bytes(),
            None,
        );
        assert!(!metadata.policy.allows_implicit_invocation(), "{yaml}");
    }
}

#[test]
fn a_refused_key_says_where_it_is_and_what_to_do() {
    assert_snapshot!(read("---\nname: a\n? {b: c}\n: d\n---\n"), @"YamlKey at Some(3): a key in the frontmatter is a mapping; write keys as text");
    assert_snapshot!(read("---\nname: a\ndescription: {{purpose}}\nhint: {{ file }}\n---\n"), @r#"
    name Some("a")
    description "{{purpose}}"
    extra hint = "{{ file }}"
    warning yaml-key: line 3: a key is a mapping; write keys as text, and a value that holds `{{` in quotes
    warning value-quoted: line 3: the value of "description" was read as one text; put it in quotes
    warning value-quoted: line 4: the value of "hint" was read as one text; put it in quotes
    body from line 6: ""
    "#);
    assert_snapshot!(read("---\nname: a\ndescription: d\nmetadata:\n  ? [x, y]\n  : z\n---\n"), @r#"
    name Some("a")
    description "d"
    warning yaml-key: line 5: a key is a list; write keys as text, and a value that holds `{{` in quotes
    warning line-read: line 3: only the line of `description` was read
    warning line-read: line 2: only the line of `name` was read
    body from line 8: ""
    "#);
    let (_, notes) = OpenAiMetadata::parse(b"interface:\n  display_name: {{name}}\n", None);
    assert_snapshot!(notes[0].reason, @"line 2: a key is a mapping; write keys as text");
}

#[test]
fn keys_that_are_numbers_truth_values_or_null_are_text() {
    assert_snapshot!(read("---\ndescription: d\n1: a\n1.5: b\ntrue: c\n~: d\n? e\n: f\n? !t g\n: h\n---\n"), @r#"
    name None
    description "d"
    extra 1 = "a"
    extra 1.5 = "b"
    extra true = "c"
    extra null = "d"
    extra e = "f"
    extra g = "h"
    warning tag-dropped: YAML tags (`!…`) dropped; write plain values
    body from line 12: ""
    "#);
}
