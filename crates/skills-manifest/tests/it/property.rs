//! Property tests of the parsers.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use skills_manifest::{Document, Frontmatter, FrontmatterScan, Manifest};

/// Generates values that all YAML parsers read in the same way.
fn json() -> impl Strategy<Value = Value> {
    let text = "[ -~é漢😀\n\t]{0,12}";
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    let key = text.prop_filter("merge keys are rejected", |key| key != "<<");
    scalar.prop_recursive(3, 12, 4, move |value| {
        let map = proptest::collection::btree_map(key.clone(), value.clone(), 0..4);
        prop_oneof![
            proptest::collection::vec(value, 0..4).prop_map(Value::from),
            map.prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn yaml_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

proptest! {
    #[test]
    fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = Document::parse(&bytes);
    }

    #[test]
    fn never_panics_after_a_delimiter(text in "---\n[ -~\n]{0,200}\n---\n.*") {
        let _ = Document::parse(text.as_bytes());
    }

    #[test]
    fn never_panics_on_almost_yaml(text in "[-a-c:&*!?|>{}\\[\\],\"'#\n ]{0,120}") {
        let _ = Document::parse(format!("---\ndescription: d\n{text}\n---\n").as_bytes()).map(|document| document.outline());
    }

    /// JSON is YAML: values in JSON notation parse to themselves, with `portable_fields` too.
    #[test]
    fn json_values_are_parsed_as_written(
        description in "[ -~é漢]{0,20}[!-~]",
        extra in proptest::collection::btree_map("x-[a-z]{1,6}", json(), 0..5),
    ) {
        let mut file = format!("---\ndescription: {}\n", json!(description));
        for (key, value) in &extra {
            file.push_str(&format!("{key}: {value}\n"));
        }
        file.push_str("---\n");
        let frontmatter = FrontmatterScan::parse_file(file.as_bytes()).unwrap();
        let mut expected: Map<String, Value> = extra.into_iter().collect();
        let (manifest, _) = Manifest::from_frontmatter(&frontmatter).unwrap();
        prop_assert_eq!((manifest.description(), manifest.extra()), (description.as_str(), &expected));
        expected.insert("description".to_owned(), description.into());
        prop_assert_eq!(frontmatter.portable_fields(), Ok(expected), "{}", file);
    }

    /// The list has the same meaning however it is spelled, as a list or as text.
    #[test]
    fn a_spelled_list_of_tools_is_the_list(
        tools in proptest::collection::vec(r"[A-Za-z_*][A-Za-z0-9_*.-]{0,8}(\([a-z:*,./' \[-]{0,10}[a-z*]\))?", 0..5),
        quotes in proptest::collection::vec(0..4usize, 5),
        form in 0..3usize,
    ) {
        let spell = |(tool, quote): (&String, &usize)| match (quote, form) {
            // Without brackets, a list is recognized by its quotes.
            (0 | 1, _) | (3, 1) => yaml_text(tool),
            (2, _) => format!("'{}'", tool.replace('\'', "''")),
            _ => tool.clone(),
        };
        let items: Vec<String> = tools.iter().zip(&quotes).map(spell).collect();
        let text = match form {
            0 => format!("[{}]", items.join(", ")),
            1 => items.join(" "),
            _ => items.iter().map(|item| format!("- {item}\n")).collect(),
        };
        for field in ["allowed-tools", "disallowed-tools"] {
            let read = |value: Value| {
                let file = format!("---\ndescription: d\n{field}: {value}\n---\n");
                let document = Document::parse(file.as_bytes()).unwrap();
                let manifest = document.manifest();
                let patterns = manifest.allowed_tools().iter();
                let patterns = patterns.chain(&manifest.extensions().disallowed_tools);
                let texts: Vec<String> = patterns.map(ToString::to_string).collect();
                (texts, manifest.unparsed_restrictions().to_vec())
            };
            prop_assert_eq!(read(json!(text)), read(json!(tools)), "{}", text);
        }
    }

    #[test]
    fn written_files_are_parsed_as_written(name in "[a-z][a-z0-9]{0,20}", description in "[ -~]{0,60}[!-~]", body in "[ -~\n]{0,200}") {
        let file = format!("---\nname: {}\ndescription: {}\n---\n{body}", yaml_text(&name), yaml_text(&description));
        let document = Document::parse(file.as_bytes()).unwrap();
        prop_assert_eq!(document.manifest().name().map(|name| name.as_str()), Some(name.as_str()));
        prop_assert_eq!(document.manifest().description(), &description);
        prop_assert_eq!(document.body(), &body);
        prop_assert!(document.warnings().is_empty());
    }

    /// The frontmatter is the text between the first line, `---`, and the next such line. A prefix
    /// of the file has the same result, or none.
    #[test]
    fn frontmatter_is_the_text_between_the_delimiters(
        lines in proptest::collection::vec("[ -]{0,2}[a-z]{0,4}:? ?(---|----)?[a-z]?( {0,2}|\t)", 0..8),
        closing in "---[ \t]{0,2}",
        line_end in proptest::sample::select(&["\n", "\r\n", "\r"][..]),
        mark in proptest::sample::select(&["", "\u{FEFF}"][..]),
        body in "(a|---\n|-|\n){0,8}",
        cut in any::<proptest::sample::Index>(),
    ) {
        let yaml: String = lines.iter().filter(|line| line.trim_end() != "---").map(|line| format!("{line}{line_end}")).collect();
        let head = format!("{mark}---{line_end}{yaml}{closing}{line_end}");
        let file = format!("{head}{body}");
        let check = |found: &Frontmatter<'_>| {
            prop_assert_eq!((found.yaml(), found.body_offset()), (yaml.as_str(), head.len()));
            prop_assert_eq!((found.first_line(), found.body_line()), (2, 3 + yaml.matches(line_end).count()));
            Ok(())
        };
        // A body that starts with LF would make CRLF of a delimiter line that ends with CR.
        prop_assume!(line_end != "\r" || !body.starts_with('\n'));
        check(&FrontmatterScan::parse_file(file.as_bytes()).unwrap())?;
        let cut = cut.index(file.len() + 1);
        match FrontmatterScan::scan_prefix(&file.as_bytes()[..cut]).unwrap() {
            FrontmatterScan::Complete(found) => {
                prop_assert!(cut >= head.len(), "{} of {:?}", cut, file);
                check(&found)?;
            }
            // The LF of a CRLF may follow after the prefix.
            FrontmatterScan::Partial => prop_assert!(cut < head.len() || (line_end == "\r" && cut == head.len()), "{} of {:?}", cut, file),
        }
    }
}
