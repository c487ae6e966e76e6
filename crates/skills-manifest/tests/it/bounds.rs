//! The exact limits of the YAML parser.

use skills_manifest::{Document, ManifestErrorKind, WarningKind};

fn parse(fields: &str) -> Result<Document, (ManifestErrorKind, Option<usize>)> {
    Document::parse(format!("---\ndescription: d\n{fields}\n---\n").as_bytes())
        .map_err(|error| (error.kind(), error.line()))
}

#[test]
fn brackets_in_quotes_count() {
    // The fast parser, which needs no limit, rejects the escape.
    let quoted = |brackets: &str| parse(&format!("# x\nx: \"\\x09{brackets}\"")).map(|_| ());
    for open in ["[", "{"] {
        assert_eq!(quoted(&open.repeat(500)), Ok(()), "{open}");
        assert_eq!(
            quoted(&open.repeat(501)),
            Err((ManifestErrorKind::YamlBudget, Some(4))),
            "{open}"
        );
    }
    for pair in ["[]", "{}", "[}", "]["] {
        assert_eq!(quoted(&pair.repeat(2_000)), Ok(()), "{pair}");
        assert_eq!(
            quoted(&pair.repeat(2_001)),
            Err((ManifestErrorKind::YamlBudget, Some(4))),
            "{pair}"
        );
    }
    // Closing brackets alone do not raise the limit.
    assert_eq!(
        quoted(&format!("{}{}", "]".repeat(100), "[".repeat(501))),
        Err((ManifestErrorKind::YamlBudget, Some(4)))
    );
    assert_eq!(quoted(&format!("{}]{}", "[".repeat(500), "[")), Ok(()));
}

#[test]
fn aliases_expand_to_at_most_four_times_the_maximum_frontmatter() {
    // Each value counts 1,000 letters and 8 bytes, the limit is 262,144 in total, and the mapping
    // and the other values count 1,070.
    let aliases = |count: usize| {
        parse(&format!(
            "q: &a {}\nb: [{}]",
            "a".repeat(1_000),
            "*a,".repeat(count)
        ))
        .map(|_| ())
    };
    assert_eq!(aliases(259), Ok(()));
    assert_eq!(aliases(260), Err((ManifestErrorKind::YamlBudget, Some(3))));
    // The smallest values count too.
    for value in ["~", "7", "x", "[]", "{}", "true", "1.5"] {
        let values = |count: usize| {
            parse(&format!(
                "q: &a [{}]\nb: [{}]",
                format!("{value},").repeat(1_000),
                "*a,".repeat(count)
            ))
            .map(|_| ())
        };
        assert_eq!(
            (values(2), values(40)),
            (Ok(()), Err((ManifestErrorKind::YamlBudget, Some(3)))),
            "{value}"
        );
    }
}

#[test]
fn at_most_fifty_nested_duplicate_keys_are_reported() {
    let duplicates = |fields: &str| {
        let document = parse(fields).unwrap();
        document
            .warnings()
            .iter()
            .filter(|warning| matches!(warning.kind(), WarningKind::DuplicateKey(_)))
            .count()
    };
    let inner = |count: usize| format!("x:\n{}", "  k: v\n".repeat(count + 1));
    assert_eq!(
        (
            duplicates(&inner(49)),
            duplicates(&inner(50)),
            duplicates(&inner(51))
        ),
        (49, 50, 50)
    );
    assert_eq!(
        duplicates(&format!("{}{}", inner(60), "y: 1\n".repeat(11))),
        60
    );
    let restriction = parse(&format!("{}context: fork\ncontext: fork", inner(60)));
    assert_eq!(
        restriction.map(|_| ()),
        Err((ManifestErrorKind::DuplicateKey, Some(66)))
    );
    // In a nested mapping, `name` is not the name of the skill.
    assert_eq!(duplicates("x: {name: a, name: b}"), 1);
}

#[test]
fn numbers_keep_their_text_at_every_position() {
    let extra =
        |fields: &str| serde_json::to_string(parse(fields).unwrap().manifest().extra()).unwrap();
    assert_eq!(
        extra("x: {a: [1.10, {b: 0x1F}], c: 2}\ny: -0\nz: 1.5"),
        r#"{"x":{"a":["1.10",{"b":"0x1F"}],"c":2},"y":"-0","z":1.5}"#
    );
    assert_eq!(
        extra("x: [null, true, 'a', 1.0]\ny:\n  1.10: 1.10"),
        r#"{"x":[null,true,"a",1.0],"y":{"1.1":"1.10"}}"#
    );
    assert_eq!(
        extra("x: &a 1.10\ny: *a\nz: !t 1e3"),
        r#"{"x":"1.10","y":"1.10","z":"1e3"}"#
    );
    assert_eq!(
        extra("w: -99999999999999999999\nx: 99999999999999999999\ny: .inf\nz: .nan"),
        r#"{"w":"-99999999999999999999","x":"99999999999999999999","y":"inf","z":"NaN"}"#
    );
}

#[test]
fn library_messages_contain_no_position() {
    for fields in [
        "x: [a\ny: b",
        "x: a\ny: {b: c\n",
        "x: @a",
        "x: 'a",
        "x: *a",
        "x: a\n y: b",
        "- x",
        "x: \"\\q\"",
    ] {
        // Positions with one digit and with two.
        for lines in [0, 20] {
            let document = parse(&format!("{}{fields}", "# a comment\n".repeat(lines))).unwrap();
            let problem = document
                .warnings()
                .iter()
                .find_map(|warning| match warning.kind() {
                    WarningKind::YamlRepaired { problem } => {
                        Some((problem.clone(), warning.line()))
                    }
                    _ => None,
                });
            let (problem, line) = problem.unwrap();
            assert!(
                !problem.contains(" at line") && !problem.contains("column"),
                "{problem}"
            );
            assert!(
                problem.len() > 10 && !problem.contains(|c: char| c.is_ascii_digit()),
                "{problem}"
            );
            assert!(
                line.is_some_and(|line| line >= lines + 3),
                "{line:?}: {problem}"
            );
        }
    }
}

#[test]
fn nul_is_reported_with_its_line() {
    for (fields, line) in [("x: \0", 3), ("x: a\n\n\ny: \0", 6)] {
        assert_eq!(
            parse(fields).map(|_| ()),
            Err((ManifestErrorKind::Encoding, Some(line))),
            "{fields:?}"
        );
    }
}
