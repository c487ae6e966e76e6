//! The rules for quoting invalid values and for recovering fields from their lines.

use serde_json::{Map, Value};
use skills_manifest::{Document, WarningKind};

fn document(frontmatter: &str) -> Document {
    let file = format!("---\n{frontmatter}---\n");
    Document::parse(file.as_bytes()).unwrap_or_else(|error| panic!("{file}\n{error}"))
}

/// Returns the values of a repaired skill: description, metadata and all extra fields.
fn values(document: &Document) -> Value {
    let manifest = document.manifest();
    let mut map = Map::new();
    map.insert("description".to_owned(), manifest.description().into());
    if !manifest.metadata().is_empty() {
        map.insert("metadata".to_owned(), manifest.metadata().clone().into());
    }
    map.extend(manifest.extra().clone());
    Value::Object(map)
}

/// Returns line, column and key of each quoted value, and `tab` for replaced tabs.
fn edits(document: &Document) -> Vec<String> {
    let edits = document.warnings().iter().filter_map(|warning| {
        let position = warning
            .position()
            .unwrap_or_else(|| panic!("{warning} has no position"));
        match warning.kind() {
            WarningKind::ValueQuoted { key } => {
                Some(format!("{}:{} {key}", position.line, position.column))
            }
            WarningKind::TabIndentation => {
                Some(format!("{}:{} tab", position.line, position.column))
            }
            WarningKind::RecoveredFromLine { field } => Some(format!(
                "{}:{} line of {field}",
                position.line, position.column
            )),
            _ => None,
        }
    });
    edits.collect()
}

#[track_caller]
fn check(frontmatter: &str, expected: Value, expected_edits: &[&str]) {
    let document = document(frontmatter);
    assert_eq!(values(&document), expected, "{frontmatter}");
    assert_eq!(edits(&document), expected_edits, "{frontmatter}");
}

macro_rules! json {
    ($($json:tt)+) => { serde_json::json!($($json)+) };
}

#[test]
fn a_value_is_quoted_with_its_continuation_lines() {
    check(
        "description: Use when: x\n  and: y\n\n  or z\nmodel: m\n",
        json!({"description": "Use when: x and: y or z", "model": "m"}),
        &["2:14 description"],
    );
    check(
        "model:   m: n\ndescription: d\n",
        json!({"description": "d", "model": "m: n"}),
        &["2:10 model"],
    );
    check(
        "é: a: b\ndescription:\tc: d\n",
        json!({"description": "c: d", "é": "a: b"}),
        &["2:4 é", "3:14 description"],
    );
    // A line with the same indentation belongs to another value.
    check(
        "description: d\nx:\n  y: a: b\n  z: c\n",
        json!({"description": "d", "x": {"y": "a: b", "z": "c"}}),
        &["4:6 y"],
    );
    check(
        "description: d\nx: a: b\n# c: d: e\n  # f\ny: z\n",
        json!({"description": "d", "x": "a: b", "y": "z"}),
        &["3:4 x"],
    );
}

#[test]
fn valid_values_are_not_quoted() {
    let broken = "description: a: b\n";
    for (line, value) in [
        ("x: 7", json!({"x": 7})),
        ("x: [a, {b: c}]", json!({"x": ["a", {"b": "c"}]})),
        (
            "x: {a: [b, c],\n  d: e}",
            json!({"x": {"a": ["b", "c"], "d": "e"}}),
        ),
        ("x:\n  [a,\n  b]", json!({"x": ["a", "b"]})),
        ("x: 'a: b'", json!({"x": "a: b"})),
        ("x: \"a: \\t\"", json!({"x": "a: \t"})),
        ("x: two\n  lines", json!({"x": "two lines"})),
        ("x:", json!({"x": null})),
        (
            "x: |\n  a: b: c\n  - d\n\n  # e",
            json!({"x": "a: b: c\n- d\n\n# e\n"}),
        ),
        ("x: |2-\n    a: b: c", json!({"x": "  a: b: c"})),
        (
            "x: >+ # why\n  a: b: c\n  @d\n",
            json!({"x": "a: b: c @d\n\n"}),
        ),
        ("x: >-\n  a: b\n  {c", json!({"x": "a: b {c"})),
        (
            "x:\n  - a\n  - b: c\n    d: e\n  - |\n    f: g: h",
            json!({"x": ["a", {"b": "c", "d": "e"}, "f: g: h\n"]}),
        ),
        ("x-y_z.1: a", json!({"x-y_z.1": "a"})),
    ] {
        let mut expected = json!({"description": "a: b"});
        expected
            .as_object_mut()
            .unwrap()
            .extend(value.as_object().unwrap().clone());
        check(
            &format!("{broken}{line}\n"),
            expected,
            &["2:14 description"],
        );
    }
}

#[test]
fn list_items_are_quoted_separately() {
    let fields =
        "description: d\nx:\n  - @a\n  - b: c: d\n    e: f: g\n  - plain\n  -   `h`\n    i\n";
    let expected =
        json!({"description": "d", "x": ["@a", {"b": "c: d", "e": "f: g"}, "plain", "`h` i"]});
    check(fields, expected, &["4:5 -", "5:8 b", "6:8 e", "8:7 -"]);
    check(
        "description: d\nx:\n- %a\n- b\n",
        json!({"description": "d", "x": ["%a", "b"]}),
        &["4:3 -"],
    );
    check(
        "description: d\nx: - a\ny: ? b\n",
        json!({"description": "d", "x": "- a", "y": "? b"}),
        &["3:4 x", "4:4 y"],
    );
}

#[test]
fn text_before_a_colon_is_not_always_a_key() {
    check(
        "description: d\nx:\n  - Use when: a: b\n",
        json!({"description": "d", "x": ["Use when: a: b"]}),
        &["4:5 -"],
    );
    for line in ["x:y: z: w", ": a: b", "Use when: a: b"] {
        check(
            &format!("description: d\n{line}\n"),
            json!({"description": "d"}),
            &["2:1 line of description"],
        );
    }
}

#[test]
fn invalid_values_become_the_intended_text() {
    for (value, intended) in [
        ("a: b", "a: b"),
        ("it's: so", "it's: so"),
        ("a:   b", "a: b"),
        ("a: b # c", "a: b"),
        ("a: b#c", "a: b#c"),
        ("\"a\" is \"b\"", "\"a\" is \"b\""),
        ("\"a: \\\"b\\\" \\d\"", "a: \"b\" \\d"),
        ("'it's'", "it's"),
        ("'a' or 'b", "'a' or 'b"),
        ("'a' or 'b'", "'a' or 'b'"),
        ("'the cats' food'", "the cats' food"),
        ("'it's \\\"so\\\"'", "it's \\\"so\\\""),
        ("see: a\n  [b]", "see: a [b]"),
        ("[a] b:\n  c", "[a] b: c"),
        ("\"Use \"this\" only\"", "Use \"this\" only"),
        ("\"a\" \"b\"", "\"a\" \"b\""),
        ("\"open: end", "open: end"),
        ("'open: end", "open: end"),
        ("| a: b", "a: b"),
        (">- a: b", "a: b"),
        ("|+a", "a"),
        ("{{a}} b", "{{a}} b"),
        ("[a] b", "[a] b"),
        ("{a} b]", "{a} b]"),
        ("*a* b", "*a* b"),
        ("%a", "%a"),
        ("a\\: b\\", "a\\: b\\"),
        ("- a: [", "- a: ["),
        ("a: {", "a: {"),
    ] {
        let fields = format!("description: d\nx: {value}\ny: 1: 2\n");
        let document = document(&fields);
        assert_eq!(
            document.manifest().extra().get("x"),
            Some(&Value::from(intended)),
            "{fields}{:?}",
            document.warnings()
        );
    }
}

#[test]
fn json_with_comments_in_metadata_is_parsed() {
    let json = "{\n    // \"why\": a\\b\n    a: 1, \"b\": 'c\td',\n  }";
    for head in ["metadata: ", "metadata:\n  ", "metadata:   \n\n  "] {
        let document = document(&format!("description: d\n{head}{json}\n"));
        assert_eq!(
            values(&document)["metadata"],
            json!({"a": 1, "b": "c\td"}),
            "{head}{:?}",
            document.warnings()
        );
        let line_and_column = if head.len() == 10 {
            "3:11 metadata".to_owned()
        } else {
            format!("3:{} metadata", head.find('\n').unwrap() + 1)
        };
        assert_eq!(edits(&document), [line_and_column], "{head:?}");
    }
}

#[test]
fn only_tabs_in_the_indentation_are_replaced() {
    check(
        "description: d\nx:\n\ta: b\n\tc:\n\t\td: e\ty\n",
        json!({"description": "d", "x": {"a": "b", "c": {"d": "e\ty"}}}),
        &["4:1 tab", "5:1 tab", "6:1 tab"],
    );
    check(
        "description: d\nx: |\n\ta\n\n\t  b\n",
        json!({"description": "d", "x": "a\n\n  b\n"}),
        &["4:1 tab", "6:1 tab"],
    );
    check(
        "description: d\nx: a: b\n\tc\n",
        json!({"description": "d", "x": "a: b c"}),
        &["3:4 x"],
    );
    check(
        "description: d\nx: two\n\tlines\n",
        json!({"description": "d", "x": "two lines"}),
        &["4:1 tab"],
    );
}

#[test]
fn at_most_two_hundred_values_are_quoted() {
    let with_invalid_values = |count: usize| {
        let broken: String = (0..count)
            .map(|index| format!("k{index}: a: b\n"))
            .collect();
        document(&format!("description: d\n{broken}"))
    };
    assert_eq!(
        (
            edits(&with_invalid_values(200)).len(),
            with_invalid_values(200).manifest().extra().len()
        ),
        (200, 200)
    );
    let above_limit = with_invalid_values(201);
    assert_eq!(
        (edits(&above_limit), above_limit.manifest().extra().len()),
        (vec!["2:1 line of description".to_owned()], 0)
    );
}

/// Checks the name and description that are recovered from their lines, with their positions.
#[track_caller]
fn check_recovered(frontmatter: &str, name: Option<&str>, description: &str, positions: &[&str]) {
    let document = document(&format!(": : [\n}}\n{frontmatter}"));
    let manifest = document.manifest();
    assert_eq!(
        (
            manifest.name().map(|name| name.as_str()),
            manifest.description()
        ),
        (name, description),
        "{frontmatter}"
    );
    assert_eq!(edits(&document), positions, "{frontmatter}");
}

#[test]
fn name_and_description_are_recovered_from_their_lines() {
    let both = &["5:1 line of description", "4:1 line of name"][..];
    for (text, description) in [
        ("description: d", "d"),
        ("Description:  d  ", "d"),
        ("description: \"d\"", "d"),
        ("description: 'it's'", "it's"),
        ("description: \"open", "\"open"),
        ("description: | d", "d"),
        ("description: >- d", "d"),
        ("description: |\n  d\n\n  e", "d e"),
        ("description: >+\nd\ne: f g\nh", "d"),
        ("description:\nd\n# e", "d"),
        (
            "description: |\nd\na:b\n: c\ne f: g\nh: i\nj",
            "d a:b : c e f: g",
        ),
        ("description: |\nd\nh:\nj", "d"),
        ("description: d\n  e\n\te\nf", "d e e"),
        ("description: d\n\n  e", "d e"),
        ("**description**: d", "d"),
        ("# description: d", "d"),
        ("- \"description\": d", "d"),
        ("description: d\u{7}e", "de"),
        ("description: a: b", "a: b"),
    ] {
        check_recovered(&format!("name: a\n{text}\n"), Some("a"), description, both);
    }
    check_recovered("description: d\n", None, "d", &["4:1 line of description"]);
    check_recovered(
        "x: y\nname: a description: d: e\n",
        Some("a"),
        "d: e",
        &["5:1 line of description", "5:1 line of name"],
    );
    check_recovered(
        "description: d\nx: y\nname: a\n",
        Some("a"),
        "d",
        &["4:1 line of description", "6:1 line of name"],
    );
    // A key that ends in the name of a field is another key.
    check_recovered(
        "my description: x\ndescription: d\n",
        None,
        "d",
        &["5:1 line of description"],
    );
}

#[test]
fn a_blank_recovered_description_is_an_error() {
    for text in [
        "name: a\n",
        "description:\n",
        "description: \"\\u200B\n\"",
        "description: \u{200B} \u{3000}\n",
        "name: a description:\n",
        "name: a description: ''\n",
    ] {
        let file = format!("---\n: : [\n}}\n{text}---\n");
        let description = Document::parse(file.as_bytes())
            .map(|document| document.manifest().description().to_owned());
        let is_blank = description
            .as_ref()
            .is_ok_and(|text| text.contains("\\u200B"));
        assert!(
            description.is_err() || is_blank,
            "{text:?}: {description:?}"
        );
    }
}

#[test]
fn restrictions_in_broken_text_count_as_unparsed() {
    let unparsed = |text: &str| {
        document(&format!("description: d\n{text}\n: : [\n}}\n"))
            .manifest()
            .unparsed_restrictions()
            .to_vec()
    };
    for (text, restrictions) in [
        (
            "disable-model-invocation: true",
            &["disable-model-invocation"][..],
        ),
        (
            "disableModelInvocation : true",
            &["disable-model-invocation"],
        ),
        ("## Allowed-Tools: Read", &["allowed-tools"]),
        ("**disallowed-tools**: Write", &["disallowed-tools"]),
        ("a\n 'allowed-tools' : Read", &["allowed-tools"]),
        ("allowed-tools:\n  - Read", &["allowed-tools"]),
        ("- user-invocable: no", &["user-invocable"]),
        ("context: fork # forks", &["context"]),
        (
            "disable-model-invocation: perhaps",
            &["disable-model-invocation"],
        ),
        // Only the start of a line declares a field.
        ("x: {\"hooks\": [}", &[]),
        ("x: context: fork", &[]),
        ("(user-invocable: no", &[]),
        ("tools: Read, disallowed-tools: Write", &[]),
        ("  and the git hooks: all of them", &[]),
        // The default, and what no client knows, restrict nothing.
        ("disable-model-invocation: false", &[]),
        ("user-invocable: \"true\"", &[]),
        ("context: the audience", &[]),
        ("allowed-tools:", &[]),
        ("hooks: {}", &[]),
        ("x: context", &[]),
        ("my-context: fork", &[]),
        ("hooks", &[]),
        ("hooks are: good", &[]),
        ("éhooks: a", &[]),
    ] {
        assert_eq!(unparsed(text), restrictions, "{text}");
    }
}

/// Lines of the description are text, whatever they start with.
#[test]
fn lines_of_values_that_were_read_declare_nothing() {
    for text in [
        // Read by quotes: the whole mapping was read.
        "description: Use when: x\n  - hooks: all\n  - allowed-tools: Read",
        "description: Use when: x, hooks: all, allowed-tools: Read",
        "description: d\nnotes: {hooks: [a}\nx: see context: fork",
        // Read by line: the lines of the description were read.
        "description: |\n  hooks: all\n  allowed-tools: Read\n: : [\n}",
    ] {
        let document = document(text);
        assert_eq!(
            document.manifest().unparsed_restrictions(),
            [""; 0],
            "{text}"
        );
    }
}

#[test]
fn a_field_with_wrong_indentation_is_not_lost_in_the_value_above() {
    for text in [
        "description: Use when: x\n  allowed-tools: Read",
        "description: Use when: x\n\tallowed-tools: Read",
        "name: a\n\tallowed-tools: Read\ndescription: d",
    ] {
        let manifest = document(text).manifest().clone();
        let is_read = manifest.allowed_tools().len() == 1;
        assert!(
            is_read || manifest.unparsed_restrictions() == ["allowed-tools"],
            "{text}"
        );
    }
}

#[test]
fn a_label_is_followed_by_its_paragraph() {
    for (text, description) in [
        (
            "name: a\ndescription: **Usage:**\nUse it for b.\nAnd c.\n",
            "**Usage:** Use it for b. And c.",
        ),
        (
            "name: a\ndescription: **Usage**:\n\nUse it for b.\nlicense: MIT\n",
            "**Usage**: Use it for b.",
        ),
        (
            "name: a\ndescription: **Usage:** for b\n",
            "**Usage:** for b",
        ),
    ] {
        assert_eq!(
            document(text).manifest().description(),
            description,
            "{text}"
        );
    }
}

#[test]
fn text_below_a_broken_description_belongs_to_it() {
    check(
        "description: **Bold**\nUse it #1 for b.\n- item\n\nAnd c.\nmodel: m\nallowed-tools: [Read]\n",
        json!({"description": "**Bold** Use it #1 for b. - item And c.", "model": "m"}),
        &["2:14 description"],
    );
    check(
        "description: @b\n---# Title\nBody.\n",
        json!({"description": "@b"}),
        &["2:1 line of description"],
    );
    // All other fields were read, and only a restriction within the text may be lost.
    for (text, tools, lost) in [
        (
            "description: **Usage:**\nFor b.\nallowed-tools: Read\n",
            &["Read"][..],
            &[][..],
        ),
        (
            "description: @b\nFor b.\n\"allowed-tools\": Read\n",
            &["Read"],
            &[],
        ),
        (
            "description: **Usage:**\n- allowed-tools: Read\n",
            &[],
            &["allowed-tools"],
        ),
        ("description: **Bold**\n  - allowed-tools: Read\n", &[], &[]),
    ] {
        let document = document(text);
        let manifest = document.manifest();
        let found: Vec<_> = manifest
            .allowed_tools()
            .iter()
            .map(|tool| tool.tool())
            .collect();
        assert_eq!(found, tools, "{text}");
        assert_eq!(manifest.unparsed_restrictions(), lost, "{text}");
    }
}
