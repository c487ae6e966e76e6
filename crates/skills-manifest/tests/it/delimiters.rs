//! The start and the end of the frontmatter, with all accepted delimiters.

use skills_manifest::{FrontmatterScan, MAX_FRONTMATTER_BYTES, ManifestErrorKind};

/// The YAML with its first line, and the body with its first line.
#[derive(Debug, PartialEq)]
struct Found {
    yaml: String,
    first_line: usize,
    body: String,
    body_line: usize,
}

fn found(file: &str) -> Found {
    let frontmatter = FrontmatterScan::parse_file(file.as_bytes())
        .unwrap_or_else(|error| panic!("{file:?}: {error}"));
    let body = file[frontmatter.body_offset()..].to_owned();
    Found {
        yaml: frontmatter.yaml().to_owned(),
        first_line: frontmatter.first_line(),
        body,
        body_line: frontmatter.body_line(),
    }
}

/// Checks the result for a file, and that each prefix has the same result or none.
#[track_caller]
fn check(file: &str, yaml: &str, first_line: usize, body: &str, body_line: usize) {
    let expected = Found {
        yaml: yaml.to_owned(),
        first_line,
        body: body.to_owned(),
        body_line,
    };
    assert_eq!(found(file), expected, "{file:?}");
    for cut in 0..=file.len() {
        match FrontmatterScan::scan_prefix(&file.as_bytes()[..cut]) {
            Ok(FrontmatterScan::Partial) => {}
            Ok(FrontmatterScan::Complete(prefix)) => {
                assert_eq!(
                    (prefix.yaml(), prefix.first_line()),
                    (yaml, first_line),
                    "{cut} bytes of {file:?}"
                );
                assert_eq!(
                    (file.get(prefix.body_offset()..), prefix.body_line()),
                    (Some(body), body_line),
                    "{cut} bytes of {file:?}"
                );
            }
            Err(error) => panic!("{cut} bytes of {file:?}: {error}"),
        }
    }
}

/// Returns the length of the shortest prefix with a result.
fn shortest_complete_prefix(file: &str) -> Option<usize> {
    (0..=file.len()).find(|cut| {
        matches!(
            FrontmatterScan::scan_prefix(&file.as_bytes()[..*cut]),
            Ok(FrontmatterScan::Complete(_))
        )
    })
}

const FIELDS: &str = "name: a\ndescription: b\n";

#[test]
fn dashes_delimit_the_frontmatter() {
    check(&format!("---\n{FIELDS}---\nBody\n"), FIELDS, 2, "Body\n", 5);
    check(
        &format!("---\n{FIELDS}---\n---\nBody\n"),
        FIELDS,
        2,
        "---\nBody\n",
        5,
    );
    check(&format!("---\n{FIELDS}---"), FIELDS, 2, "", 5);
    check(&format!("---\n{FIELDS}--- \t\nBody"), FIELDS, 2, "Body", 5);
    check(&format!("--- \n{FIELDS}---\nBody"), FIELDS, 2, "Body", 5);
    check("---\n---\nBody", "", 2, "Body", 3);
    check(
        "---\n----\n ---\n---x\n...\n---\nBody",
        "----\n ---\n---x\n...\n",
        2,
        "Body",
        7,
    );
    check(
        "\u{FEFF}---\r\na: b\r\n---\r\nBody\r\n",
        "a: b\r\n",
        2,
        "Body\r\n",
        4,
    );
    check("---\ra: b\r---\rBody", "a: b\r", 2, "Body", 4);
    check(" \n\n\t\n---\na: b\n---\nBody", "a: b\n", 5, "Body", 7);
    // Without a line end, more dashes may follow.
    let file = format!("---\n{FIELDS}---\nBody");
    assert_eq!(shortest_complete_prefix(&file), Some(file.len() - 4));
    assert_eq!(
        shortest_complete_prefix("---\r\na: b\r\n---\r\nB"),
        Some(16)
    );
    assert_eq!(shortest_complete_prefix(&format!("---\n{FIELDS}---")), None);
}

#[test]
fn comments_and_code_blocks_around_the_frontmatter_are_skipped() {
    check("<!-- a -->\n---\na: b\n---\nBody", "a: b\n", 3, "Body", 5);
    check(
        "<!-- a\nb\n-->\n\n<!-- c -->\n\n---\na: b\n---\nBody",
        "a: b\n",
        8,
        "Body",
        10,
    );
    check(
        "```yaml\n---\na: b\n---\n```\nBody",
        "a: b\n",
        3,
        "```\nBody",
        5,
    );
    check("```\n\n---\na: b\n---\n", "a: b\n", 4, "", 6);
    check("```yaml\nname: a\n```\nBody", "name: a\n", 2, "Body", 4);
    check(
        "````\nname: a\n```\n````\nBody",
        "name: a\n```\n",
        2,
        "Body",
        5,
    );
    check(
        "~~~~\nname: a\n~~~\n````\n~~~~~\nBody",
        "name: a\n~~~\n````\n",
        2,
        "Body",
        6,
    );
    check("~~~\nname: a\n---\nBody", "name: a\n", 2, "Body", 4);
    check("<!-- x -->\n```\nname: a\n```\n", "name: a\n", 3, "", 5);
    assert_eq!(
        shortest_complete_prefix("```yaml\nname: a\n```\nBody"),
        Some(20)
    );
}

#[test]
fn non_standard_delimiters_count_if_there_is_no_standard_one() {
    check(&format!("---\n{FIELDS}----\nBody"), FIELDS, 2, "Body", 5);
    check(&format!("---\n{FIELDS}\\---\nBody"), FIELDS, 2, "Body", 5);
    check(&format!("\\---\n{FIELDS}---\nBody"), FIELDS, 2, "Body", 5);
    check(
        &format!("---\n{FIELDS}----\nBody\n---\nmore"),
        &format!("{FIELDS}----\nBody\n"),
        2,
        "more",
        7,
    );
    // Two dashes are not a delimiter, nor are dashes with other characters between them.
    check(
        &format!("---\n{FIELDS}--\n-----\nBody"),
        &format!("{FIELDS}--\n"),
        2,
        "Body",
        6,
    );
    check(
        &format!("---\n{FIELDS}--x--\n-----\nBody"),
        &format!("{FIELDS}--x--\n"),
        2,
        "Body",
        6,
    );
    assert_eq!(
        shortest_complete_prefix(&format!("---\n{FIELDS}----\nBody")),
        None
    );
}

#[test]
fn unclosed_fields_end_at_the_first_text() {
    for open in ["---\n", ""] {
        let line = 1 + open.lines().count();
        let whole = |text: &str| format!("{open}{text}");
        check(&whole(FIELDS), FIELDS, line, "", line + 2);
        check(
            &whole("name: a\ndescription: b\n\n# Body\n"),
            FIELDS,
            line,
            "\n# Body\n",
            line + 2,
        );
        check(
            &whole("name: a\ndescription: b\n# Body\ntext\n"),
            FIELDS,
            line,
            "# Body\ntext\n",
            line + 2,
        );
        check(
            &whole("name: a\n\ndescription: b\n\n\nBody"),
            "name: a\n\ndescription: b\n",
            line,
            "\n\nBody",
            line + 3,
        );
        check(
            &whole("name: a\n# Why\ndescription: b\n\nBody"),
            "name: a\n# Why\ndescription: b\n",
            line,
            "\nBody",
            line + 3,
        );
        check(
            &whole("name: a\n\n  more\n\tstill\n\nBody"),
            "name: a\n\n  more\n\tstill\n",
            line,
            "\nBody",
            line + 4,
        );
        check(
            &whole("name: a\n\nx-y_1:\n\nBody: b\n"),
            "name: a\n\nx-y_1:\n\nBody: b\n",
            line,
            "",
            line + 5,
        );
        check(
            &whole("name: a\n\nBody:b\n"),
            "name: a\n",
            line,
            "\nBody:b\n",
            line + 1,
        );
        check(
            &whole("name: a\n\n: b\n"),
            "name: a\n",
            line,
            "\n: b\n",
            line + 1,
        );
        check(
            &whole("name: a\n\nBo dy: b\n"),
            "name: a\n",
            line,
            "\nBo dy: b\n",
            line + 1,
        );
        check(
            &whole("name: a\nstray\n\nBody"),
            "name: a\nstray\n",
            line,
            "\nBody",
            line + 2,
        );
    }
    check("name: a\n---\nBody", "name: a\n", 1, "Body", 3);
    check(
        "Description: a\n\nBody\n---\nrule",
        "Description: a\n",
        1,
        "\nBody\n---\nrule",
        2,
    );
    check(
        "---\n\n## name: a\ndescription: b\n\nBody",
        "\n## name: a\ndescription: b\n",
        2,
        "\nBody",
        5,
    );
    assert_eq!(shortest_complete_prefix("name: a\n---\nBody"), Some(12));
    assert_eq!(shortest_complete_prefix("name: a\n\n# Body\n"), None);
}

#[test]
fn missing_frontmatter_is_an_error_as_soon_as_it_is_certain() {
    let kind = |bytes: &[u8]| {
        FrontmatterScan::parse_file(bytes)
            .map(|found| found.yaml().to_owned())
            .map_err(|error| (error.kind(), error.line()))
    };
    for (file, line) in [
        ("# Title\n", 1),
        ("text", 1),
        ("- name: a\n", 1),
        ("title: a\n", 1),
        ("name a\n", 1),
        ("name\n", 1),
        ("description\n", 1),
        ("\n\n# Title\n", 3),
        ("--\n", 1),
        ("<!-- a -->\n\ntext\n", 3),
        ("...\n", 1),
    ] {
        assert_eq!(
            kind(file.as_bytes()),
            Err((ManifestErrorKind::FrontmatterMissing, Some(line))),
            "{file:?}"
        );
        assert!(
            FrontmatterScan::scan_prefix(file.trim_end_matches("text").as_bytes()).is_err()
                || !file.ends_with('\n'),
            "{file:?}"
        );
    }
    for (file, line) in [
        ("---\n", 1),
        ("---\ntext\n", 1),
        ("\n---\n- a\n", 2),
        ("```\nname: a\n", 1),
        ("<!-- a\n---\nname: a\n---\n", 1),
        ("---\n# Title\n", 1),
    ] {
        assert_eq!(
            kind(file.as_bytes()),
            Err((ManifestErrorKind::FrontmatterUnclosed, Some(line))),
            "{file:?}"
        );
        assert!(
            matches!(
                FrontmatterScan::scan_prefix(file.as_bytes()),
                Ok(FrontmatterScan::Partial)
            ),
            "{file:?}"
        );
    }
    for file in ["", "\n", " \r\n\t", "\u{FEFF}", "\u{FEFF}\n"] {
        assert_eq!(
            kind(file.as_bytes()),
            Err((ManifestErrorKind::Empty, None)),
            "{file:?}"
        );
    }
    for bytes in [
        &b"\xFF\xFE-\0"[..],
        b"\xFE\xFF\0-",
        b"---\na: \xE9\n---\n",
        b"---\r\na: \xE9\r\n---\r\n",
    ] {
        assert_eq!(
            kind(bytes).unwrap_err().0,
            ManifestErrorKind::Encoding,
            "{bytes:?}"
        );
    }
    assert_eq!(
        kind(b"---\na: b\nc: \xE9\n---\n"),
        Err((ManifestErrorKind::Encoding, Some(3)))
    );
    // A prefix may end within the first line, which could still become a delimiter or a field.
    for prefix in [
        "", "-", "--", "---", "nam", "name: a", "<", "``", "\n", "# Tit",
    ] {
        assert!(
            matches!(
                FrontmatterScan::scan_prefix(prefix.as_bytes()),
                Ok(FrontmatterScan::Partial)
            ),
            "{prefix:?}"
        );
    }
    assert!(matches!(
        FrontmatterScan::scan_prefix("x".repeat(63).as_bytes()),
        Ok(FrontmatterScan::Partial)
    ));
    assert!(FrontmatterScan::scan_prefix("x".repeat(64).as_bytes()).is_err());
}

#[test]
fn frontmatter_has_at_most_64_kibibytes() {
    for (open, close) in [
        ("---\n", "---\n"),
        ("---\r\n", "---\n"),
        ("\u{FEFF}---\n", "---\n"),
        ("```\n", "```\n"),
        ("---\n", "----\n"),
    ] {
        let file = |bytes: usize| format!("{open}name: {}\n{close}Body", "x".repeat(bytes - 7));
        assert_eq!(
            found(&file(MAX_FRONTMATTER_BYTES)).yaml.len(),
            MAX_FRONTMATTER_BYTES,
            "{open:?}"
        );
        let error =
            FrontmatterScan::parse_file(file(MAX_FRONTMATTER_BYTES + 1).as_bytes()).unwrap_err();
        assert_eq!(
            error.kind(),
            ManifestErrorKind::FrontmatterUnclosed,
            "{open:?}"
        );
    }
    let blank = |count: usize| {
        FrontmatterScan::parse_file("\n".repeat(count).as_bytes())
            .unwrap_err()
            .kind()
    };
    assert_eq!(
        (
            blank(MAX_FRONTMATTER_BYTES - 1),
            blank(MAX_FRONTMATTER_BYTES)
        ),
        (
            ManifestErrorKind::Empty,
            ManifestErrorKind::FrontmatterMissing
        )
    );
    // A field may follow after blank lines up to the limit; after that, the fields before them
    // count.
    for open in ["", "---\n"] {
        let spread =
            |offset: usize| format!("{open}{FIELDS}{}x: y\n", "\n".repeat(offset - FIELDS.len()));
        let error =
            FrontmatterScan::parse_file(spread(MAX_FRONTMATTER_BYTES).as_bytes()).unwrap_err();
        assert_eq!(
            error.kind(),
            ManifestErrorKind::FrontmatterUnclosed,
            "{open:?}"
        );
        assert_eq!(
            found(&spread(MAX_FRONTMATTER_BYTES + 1)).yaml,
            FIELDS,
            "{open:?}"
        );
    }
}

#[test]
fn unambiguous_delimiters_add_no_restriction() {
    let unparsed = |open: &str| {
        let file = format!("{open}---\ndescription: d\nmetadata: {{hooks: a}}\n---\n");
        skills_manifest::Document::parse(file.as_bytes())
            .unwrap()
            .manifest()
            .unparsed_restrictions()
            .to_vec()
    };
    for open in ["", "\u{FEFF}", "\n\n", "<!-- a -->\n"] {
        assert_eq!(unparsed(open), [""; 0], "{open:?}");
    }
    // Values that were read restrict nothing, also where the end is inferred.
    assert_eq!(unparsed("```\n"), [""; 0]);
}

/// Counts only where the whole file has no exact delimiter.
#[test]
fn a_heading_joined_to_the_delimiter_starts_the_body() {
    for (delimiter, body) in [
        ("---# Title", "# Title\nText\n"),
        ("--- # Title", " # Title\nText\n"),
        ("---## Title", "## Title\nText\n"),
    ] {
        check(
            &format!("---\ndescription: d\n{delimiter}\nText\n"),
            "description: d\n",
            2,
            body,
            3,
        );
    }
    check(
        "---\ndescription: d\n---# x\n---\nText\n",
        "description: d\n---# x\n",
        2,
        "Text\n",
        5,
    );
}

#[test]
fn indented_delimiters_count_where_no_exact_one_exists() {
    check(
        "  ---\n  description: d\n  ---\nText\n",
        "  description: d\n",
        2,
        "Text\n",
        4,
    );
    check(
        "---\ndescription: d\n  ---\nText\n",
        "description: d\n",
        2,
        "Text\n",
        4,
    );
    check(
        "---\ndescription: |\n  a\n  ---\n  b\n---\nText\n",
        "description: |\n  a\n  ---\n  b\n",
        2,
        "Text\n",
        7,
    );
}
