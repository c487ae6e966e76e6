//! Keys that are not text.

use insta::assert_snapshot;
use skills_manifest::{
    AmbiguousYaml, Document, FrontmatterScan, ManifestErrorKind, OpenAiMetadata, WarningKind,
};

use crate::parse::read;

/// Returns mappings as keys of mappings, in all notations of YAML.
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

/// In ascending order: without a limit, the text of the keys doubles with each level.
const LEVELS: [usize; 4] = [2, 4, 12, 40];

#[test]
fn keys_that_are_mappings_or_lists_are_rejected_in_frontmatter() {
    for yaml in LEVELS.into_iter().flat_map(nested) {
        let file = format!("---\n{yaml}\n---\n");
        let error = Document::parse(file.as_bytes()).unwrap_err();
        // If the key is in a value, the value is quoted, and the error is the missing description.
        let is_expected = matches!(
            error.kind(),
            ManifestErrorKind::YamlKey | ManifestErrorKind::DescriptionMissing
        );
        assert!(is_expected && error.line().is_some(), "{yaml}: {error}");
        assert_eq!(
            FrontmatterScan::parse_file(file.as_bytes())
                .unwrap()
                .portable_fields(),
            Err(AmbiguousYaml::NonTextKey),
            "{yaml}"
        );
        // The strict parser parses such keys as its reference does, without rendering them.
        assert!(
            !skills_ref_compat::validate(file.as_bytes(), "a").is_empty(),
            "{yaml}"
        );
    }
}

/// A skill with a recoverable description loads, without the rejected keys.
#[test]
fn the_description_is_recovered_despite_rejected_keys() {
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
        let is_reported = document
            .warnings()
            .iter()
            .any(|warning| matches!(warning.kind(), WarningKind::KeyNotScalar { .. }));
        assert!(is_reported, "{yaml}: {:?}", document.warnings());
    }
}

#[test]
fn keys_that_are_mappings_or_lists_are_rejected_in_openai_metadata() {
    for yaml in LEVELS.into_iter().flat_map(nested) {
        let (metadata, warnings) = OpenAiMetadata::parse(yaml.as_bytes(), None);
        assert!(metadata.policy.allows_implicit_invocation(), "{yaml}");
        assert!(
            warnings.len() == 1 && warnings[0].reason.contains("invalid key"),
            "{yaml}: {warnings:?}"
        );
        // A policy in the same file is not lost.
        let (metadata, _) = OpenAiMetadata::parse(
            format!("{yaml}\npolicy:\n  products: [x]\n").as_bytes(),
            None,
        );
        assert!(!metadata.policy.allows_implicit_invocation(), "{yaml}");
    }
}

#[test]
fn a_rejected_key_is_reported_with_its_line() {
    assert_snapshot!(read("---\nname: a\n? {b: c}\n: d\n---\n"), @"YamlKey at Some(3): invalid key in frontmatter: expected text, found a mapping");
    assert_snapshot!(read("---\nname: a\ndescription: {{purpose}}\nhint: {{ file }}\n---\n"), @r#"
    name Some("a")
    description "{{purpose}}"
    extra hint = "{{ file }}"
    warning yaml-key: line 3: a key is a mapping; write keys as text and quote values that contain `{{`
    warning value-quoted: line 3: the value of `description` is not valid YAML; read as text, put it in quotes
    warning value-quoted: line 4: the value of `hint` is not valid YAML; read as text, put it in quotes
    body from line 6: ""
    "#);
    assert_snapshot!(read("---\nname: a\ndescription: d\nmetadata:\n  ? [x, y]\n  : z\n---\n"), @r#"
    name Some("a")
    description "d"
    warning yaml-key: line 5: a key is a list; write keys as text and quote values that contain `{{`
    warning line-read: line 3: `description` recovered from its line; other fields are ignored
    warning line-read: line 2: `name` recovered from its line; other fields are ignored
    body from line 8: ""
    "#);
    let (_, warnings) = OpenAiMetadata::parse(b"interface:\n  display_name: {{name}}\n", None);
    assert_snapshot!(warnings[0].reason, @"line 2: invalid key: expected text, found a mapping");
}

#[test]
fn scalar_keys_become_text() {
    assert_snapshot!(read("---\ndescription: d\n1: a\n1.5: b\ntrue: c\n~: d\n? e\n: f\n? !t g\n: h\n---\n"), @r#"
    name None
    description "d"
    extra 1 = "a"
    extra 1.5 = "b"
    extra true = "c"
    extra null = "d"
    extra e = "f"
    extra g = "h"
    warning tag-dropped: YAML tags (`!…`) are ignored; write plain values
    body from line 12: ""
    "#);
}
