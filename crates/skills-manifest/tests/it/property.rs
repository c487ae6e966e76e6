use proptest::prelude::*;
use skills_manifest::{Document, Fence, Manifest};

fn yaml_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

proptest! {
    #[test]
    fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = Document::parse(&bytes);
    }

    #[test]
    fn never_panics_behind_a_fence(text in "---\n[ -~\n]{0,200}\n---\n.*") {
        let _ = Document::parse(text.as_bytes());
    }

    #[test]
    fn never_panics_on_almost_yaml(text in "[-a-c:&*!?|>{}\\[\\],\"'#\n ]{0,120}") {
        let _ = Document::parse(format!("---\ndescription: d\n{text}\n---\n").as_bytes()).map(|document| document.outline());
    }

    /// What a glance promises, the full reading keeps.
    #[test]
    fn a_glance_keeps_its_word(text in "((name|description|Name|x): ?[ -~]{0,12}\n|(name|description): [|>]-?\n  [a-z]{0,3}\n| {0,2}- ?[a-z:]{0,4}\n){1,5}") {
        let file = format!("---\n{text}---\n");
        let frontmatter = Fence::of_file(file.as_bytes()).unwrap();
        if let Some(glance) = Manifest::glance(&frontmatter) {
            let (manifest, _) = Manifest::from_frontmatter(&frontmatter).unwrap();
            prop_assert_eq!(glance.name.as_ref(), manifest.name());
        }
    }

    /// What is plain to everybody is what is loaded.
    #[test]
    fn plain_fields_are_those_that_are_loaded(
        text in "((name|x|name|metadata): ?[ -~]{0,12}\n| {0,2}- ?[a-z:&*!<{}]{0,6}\n| {1,2}[a-z]: [a-z&*.0-9]{0,4}\n){0,5}",
        description in "[ -~]{1,20}",
    ) {
        let file = format!("---\ndescription: {description}\n{text}---\n");
        let frontmatter = Fence::of_file(file.as_bytes()).unwrap();
        if let (Ok(fields), Ok((manifest, _))) = (frontmatter.plain(), Manifest::from_frontmatter(&frontmatter)) {
            let written = |field: &str| fields.get(field).and_then(serde_json::Value::as_str);
            if let Some(text) = written("description") {
                prop_assert_eq!(text, manifest.description());
            }
            if let (Some(text), Some(name)) = (written("name"), manifest.name()) {
                prop_assert_eq!(text.trim(), name.as_str());
            }
        }
    }

    #[test]
    fn what_was_written_is_read(name in "[a-z][a-z0-9]{0,20}", description in "[ -~]{0,60}[!-~]", body in "[ -~\n]{0,200}") {
        let file = format!("---\nname: {}\ndescription: {}\n---\n{body}", yaml_text(&name), yaml_text(&description));
        let document = Document::parse(file.as_bytes()).unwrap();
        prop_assert_eq!(document.manifest().name().map(|name| name.as_str()), Some(name.as_str()));
        prop_assert_eq!(document.manifest().description(), &description);
        prop_assert_eq!(document.body(), &body);
        prop_assert!(document.warnings().is_empty());
    }

    /// A prefix never gives another answer than the whole file: it gives the same one, or asks for more.
    #[test]
    fn a_prefix_agrees_with_the_file(body in "[-a-z\n ]{0,80}", cut in 0usize..200) {
        let file = format!("---\nname: a\ndescription: b\n---\n{body}");
        let whole = Fence::of_file(file.as_bytes()).unwrap();
        let prefix = &file.as_bytes()[..cut.min(file.len())];
        match Fence::find(prefix).unwrap() {
            Fence::Closed(found) => {
                prop_assert_eq!(found.yaml(), whole.yaml());
                prop_assert_eq!(found.body_offset(), whole.body_offset());
            }
            Fence::Open => prop_assert!(prefix.len() < whole.body_offset()),
        }
    }
}
