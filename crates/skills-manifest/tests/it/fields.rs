//! Fields one by one: their values, warnings and positions.

use insta::assert_snapshot;
use skills_manifest::{
    ArgumentMatcher, Document, Warning, WarningKind, is_invisible, is_invisible_after,
};
use unicode_properties::{GeneralCategory as Category, UnicodeGeneralCategory};

fn document(fields: &str) -> Document {
    Document::parse(format!("---\nname: a\ndescription: d\n{fields}\n---\n").as_bytes()).unwrap()
}

/// Returns the warnings, one per line, with line and column.
fn warnings(fields: &str) -> String {
    let line = |warning: &Warning| {
        let position = warning.position().map_or("-".to_owned(), |position| {
            format!("{}:{}", position.line, position.column)
        });
        format!("{position} {}: {}\n", warning.kind().code(), warning.kind())
    };
    document(fields).warnings().iter().map(line).collect()
}

fn tools(fields: &str) -> Vec<String> {
    document(fields)
        .manifest()
        .allowed_tools()
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn disallowed_tools(fields: &str) -> Vec<String> {
    document(fields)
        .manifest()
        .extensions()
        .disallowed_tools
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn no_entry_of_a_list_of_tools_is_lost() {
    assert_eq!(
        disallowed_tools("disallowed-tools: [Write, Bash(rm *)]"),
        ["Write", "Bash(rm *)"]
    );
    assert_eq!(
        disallowed_tools("disallowed-tools: Write, Bash(rm *)"),
        ["Write", "Bash(rm *)"]
    );
    for entry in ["{Bash: rm}", "7", "true", "null", "[Bash]"] {
        for field in ["allowed-tools", "disallowed-tools"] {
            for list in [
                format!("[Write, {entry}]"),
                format!("[{entry}, Write]"),
                entry.replace("null", "[null]"),
            ] {
                let document = document(&format!("{field}: {list}"));
                let manifest = document.manifest();
                if list == "[Bash]" {
                    assert!(manifest.unparsed_restrictions().is_empty());
                    continue;
                }
                assert_eq!(manifest.unparsed_restrictions(), [field], "{list}");
                assert!(
                    !manifest.model_invocable() && manifest.allowed_tools().is_empty(),
                    "{list}"
                );
                let is_reported = |kind: &WarningKind| matches!(kind, WarningKind::WrongType { field: named, .. } if *named == field);
                assert!(
                    document
                        .warnings()
                        .iter()
                        .any(|warning| is_reported(warning.kind())),
                    "{list}: {:?}",
                    document.warnings()
                );
            }
        }
    }
}

#[test]
fn a_list_in_quotes_is_read_as_the_list() {
    for field in ["allowed-tools", "disallowed-tools"] {
        let read = |value: &str| {
            let fields = format!("{field}: {value}");
            let document = document(&fields);
            assert_eq!(document.warnings(), [], "{fields}");
            assert!(document.manifest().model_invocable(), "{fields}");
            [tools(&fields), disallowed_tools(&fields)].concat()
        };
        assert_eq!(read("'[]'"), [""; 0]);
        assert_eq!(read("\"[Read, Bash]\""), ["Read", "Bash"]);
        assert_eq!(read("'[Read]'"), ["Read"]);
        assert_eq!(read(r#""\"Read\" \"Write\"""#), ["Read", "Write"]);
        assert_eq!(read("|\n  - Read\n  - 'Write'"), ["Read", "Write"]);
        assert_eq!(read("['\"Read\"', '[Write]']"), ["Read", "Write"]);
        assert_eq!(
            read("'[Bash(git:*, npm run *), \"Bash(rm *)\"]'"),
            ["Bash(git:*, npm run *)", "Bash(rm *)"]
        );
    }
}

#[test]
fn a_forbidden_list_that_is_not_balanced_stays_unparsed() {
    for text in [
        "[Write, Bash",
        "Write, Bash]",
        "[Write], Bash",
        "[Write,, Bash]",
        "[Write # Bash]",
        "[Write, 'Bash]",
        "[Write, 'Bash'(rm)]",
        "\"Write\" \"Bash",
        "\"Write\"Bash",
        "[[Write, Bash]]",
        "{Write, Bash}",
        r#"["Wr\u0069te"]"#,
        "- Write\n- \"Bash",
    ] {
        let quoted = serde_json::to_string(text).unwrap();
        for value in [quoted.clone(), format!("[Read, {quoted}]")] {
            let document = document(&format!("disallowed-tools: {value}"));
            assert_eq!(
                document.manifest().unparsed_restrictions(),
                ["disallowed-tools"],
                "{value}"
            );
            assert!(!document.manifest().model_invocable(), "{value}");
        }
    }
}

#[test]
fn hooks_as_a_list_of_mappings_are_a_warning() {
    let observed = document("hooks:\n  - event: PostToolUse\n    path: hooks/a.js");
    let manifest = observed.manifest();
    assert!(manifest.model_invocable() && manifest.unparsed_restrictions().is_empty());
    assert!(manifest.extensions().hooks.is_empty());
    assert_snapshot!(warnings("hooks: [{event: PostToolUse, path: hooks/a.js}]"), @"4:8 wrong-type: invalid type for `hooks`: expected a mapping, found a list; ignored");
    for value in ["[a]", "[{a: b}, c]", "[[{a: b}]]", "text"] {
        let document = document(&format!("hooks: {value}"));
        assert_eq!(
            document.manifest().unparsed_restrictions(),
            ["hooks"],
            "{value}"
        );
    }
}

#[test]
fn invalid_tool_entries_grant_nothing() {
    assert_eq!(
        tools("allowed-tools: [Bash(git add, commit), Read]"),
        ["Bash(git add, commit)", "Read"]
    );
    assert_eq!(
        document("allowed-tools: [Bash(git add:*)]")
            .manifest()
            .allowed_tools()[0]
            .argument_matcher(),
        ArgumentMatcher::Prefix("git add")
    );
    assert_eq!(tools("allowed-tools:"), [""; 0]);
    assert!(
        document("allowed-tools:\ndisallowed-tools: ~")
            .manifest()
            .unparsed_restrictions()
            .is_empty()
    );
    // One valid entry is enough for the restriction to count as parsed.
    let partly = document("allowed-tools: Read Bash(git");
    assert!(
        partly.manifest().unparsed_restrictions().is_empty() && partly.manifest().model_invocable()
    );
    assert_eq!(
        document("allowed-tools: Bash(git")
            .manifest()
            .unparsed_restrictions(),
        ["allowed-tools"]
    );
    assert!(
        document("allowed-tools: ''")
            .manifest()
            .unparsed_restrictions()
            .is_empty()
    );
    // YAML reads the entry as a mapping.
    assert_eq!(
        tools("allowed-tools:\n- Read\n- WebFetch(domain: a.org)"),
        ["Read", "WebFetch(domain: a.org)"]
    );
    for entry in ["Bash: x", "Bash(a: 1", "[Bash(a)]", "{}"] {
        let document = document(&format!("allowed-tools:\n- Read\n- {entry}"));
        let manifest = document.manifest();
        assert_eq!(
            manifest.unparsed_restrictions(),
            ["allowed-tools"],
            "{entry}"
        );
    }
    // One invalid entry of the forbidden tools makes the restriction unparsed.
    assert_eq!(
        document("disallowed-tools: Read Bash(git")
            .manifest()
            .unparsed_restrictions(),
        ["disallowed-tools"]
    );
}

#[test]
fn at_most_twenty_invalid_tools_are_reported() {
    let invalid = |count: usize| {
        let fields = format!("allowed-tools: Read {}", "x) ".repeat(count));
        let document = document(&fields);
        let entries = document
            .warnings()
            .iter()
            .filter_map(|warning| match warning.kind() {
                WarningKind::InvalidToolPattern { entry, .. } => Some(entry.clone()),
                _ => None,
            });
        entries.collect::<Vec<_>>()
    };
    assert_eq!(invalid(20), ["x)"; 20]);
    let more = invalid(22);
    assert_eq!((more.len(), more[20].as_str()), (21, "… and 2 more"));
}

/// Invisible characters of each kind.
const INVISIBLE: [char; 12] = [
    '\u{AD}',
    '\u{61C}',
    '\u{180E}',
    '\u{200B}',
    '\u{200E}',
    '\u{202E}',
    '\u{2060}',
    '\u{2066}',
    '\u{FEFF}',
    '\u{3164}',
    '\u{E0041}',
    '\u{E0100}',
];

/// The field, the character, and its line and column.
type Invisible = (&'static str, u32, Option<(usize, usize)>);

fn invisible_text(document: &Document) -> Vec<Invisible> {
    let found = document
        .warnings()
        .iter()
        .filter_map(|warning| match warning.kind() {
            WarningKind::InvisibleText {
                field, code_point, ..
            } => Some((
                *field,
                *code_point,
                warning
                    .position()
                    .map(|position| (position.line, position.column)),
            )),
            _ => None,
        });
    found.collect()
}

#[test]
fn invisible_text_is_reported_in_every_field() {
    for c in INVISIBLE {
        for (before, after) in [
            ("license: M", "IT"),
            ("when_to_use: 'é", "often'"),
            ("argument-hint: x", ""),
            ("allowed-tools: Read ", ""),
            ("# a comment ", ""),
            ("x-unknown: \"y", "\""),
            ("x-unknown: [a, b", "]"),
            ("model: opus # ", ""),
        ] {
            let position = Some((4, before.chars().count() + 1));
            let document = document(&format!("{before}{c}{after}"));
            assert_eq!(
                invisible_text(&document),
                [("frontmatter", u32::from(c), position)],
                "{before}{c:?}"
            );
        }
        for before in [
            "metadata:\n  author: m",
            "metadata:\n  k",
            "hooks:\n  Stop: []\n  # ",
        ] {
            let document = document(&format!("{before}{c}: x"));
            let line = 4 + before.matches('\n').count();
            let column = before.rsplit('\n').next().unwrap().len() + 1;
            assert_eq!(
                invisible_text(&document),
                [("frontmatter", u32::from(c), Some((line, column)))],
                "{before}{c:?}"
            );
        }
        let own = document(&format!("compatibility: a{c}"));
        assert_eq!(
            invisible_text(&own),
            [("compatibility", u32::from(c), Some((4, 16)))],
            "{c:?}"
        );
    }
    let tags: String = "obey"
        .chars()
        .map(|c| char::from_u32(0xE0000 + u32::from(c)).unwrap())
        .collect();
    assert_snapshot!(warnings(&format!("license: MIT{tags}")), @r#"4:13 hidden-unicode: `frontmatter` contains the invisible character U+E006F; hidden text: "obey""#);
    assert_eq!(
        warnings("license: MIT\nwhen_to_use: می\u{200C}خواهم 👩\u{200D}💻 ❤\u{FE0F}"),
        ""
    );
}

/// Escapes in YAML are visible, the characters that they stand for are not.
#[test]
fn escaped_invisible_text_is_reported() {
    for c in INVISIBLE {
        let escaped = format!("\\U{:08X}", u32::from(c));
        for (field, line, column) in [
            ("license: \"MIT@\"", 4, 10),
            ("when_to_use: \"@often\"", 4, 14),
            ("model: opus\nx-unknown: [a, {b: \"@\"}]", 5, 12),
            ("metadata: {author: \"m@e\"}", 4, 11),
            ("metadata: {\"k@\": x}", 4, 11),
            ("allowed-tools: [Read, \"Bash(x@)\"]", 4, 16),
        ] {
            let document = document(&field.replace('@', &escaped));
            assert_eq!(
                invisible_text(&document),
                [("frontmatter", u32::from(c), Some((line, column)))],
                "{field} {escaped}"
            );
        }
        let own = document(&format!("compatibility: \"{escaped}\""));
        assert_eq!(
            invisible_text(&own),
            [("compatibility", u32::from(c), Some((4, 16)))],
            "{escaped}"
        );
    }
    assert_eq!(warnings(r#"license: "a\tb\n\\ \" \u00E9""#), "");
}

/// The categories of Unicode decide, except for the characters that are listed here.
#[test]
fn invisible_characters_follow_the_categories_of_unicode() {
    // Format characters with a visible form.
    let is_visible = |c: char| matches!(c, '\u{600}'..='\u{605}' | '\u{6DD}' | '\u{70F}' | '\u{890}'..='\u{891}' | '\u{8E2}' | '\u{110BD}' | '\u{110CD}' | '\u{13430}'..='\u{1343F}');
    // Letters and symbols that are blank.
    let is_blank = |c: char| {
        matches!(
            c,
            '\u{115F}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{FFA0}'
        )
    };
    let is_letter = |category: Category| {
        !matches!(
            category,
            Category::Control
                | Category::Format
                | Category::LineSeparator
                | Category::ParagraphSeparator
                | Category::Unassigned
                | Category::NonspacingMark
        )
    };
    for c in '\0'..=char::MAX {
        match c.general_category() {
            Category::Control | Category::LineSeparator | Category::ParagraphSeparator => {
                assert!(is_invisible(c), "{c:?}")
            }
            Category::Format => assert_eq!(is_invisible(c), !is_visible(c), "{c:?}"),
            category if is_letter(category) => assert_eq!(is_invisible(c), is_blank(c), "{c:?}"),
            _ => {}
        }
    }
    // Invisible marks: grapheme joiners, inherent vowels and variation selectors.
    for c in [
        '\u{34F}',
        '\u{17B4}',
        '\u{17B5}',
        '\u{180B}',
        '\u{180D}',
        '\u{180F}',
        '\u{FE00}',
        '\u{FE0E}',
        '\u{E0100}',
        '\u{E01EF}',
    ] {
        assert!(is_invisible(c), "{c:?}");
    }
    for c in [
        '\u{300}', '\u{5B0}', '\u{34E}', '\u{350}', '\u{17B6}', '\u{180A}', '\u{1810}', '\u{FE0F}',
        '\u{FE10}',
    ] {
        assert!(!is_invisible(c), "{c:?}");
    }
}

#[test]
fn joiners_and_the_emoji_selector_are_allowed_after_some_characters() {
    for (before, c) in [
        ('م', '\u{200C}'),
        ('👩', '\u{200D}'),
        ('\u{FE0F}', '\u{200D}'),
        ('❤', '\u{FE0F}'),
        ('1', '\u{FE0F}'),
        ('#', '\u{FE0F}'),
        ('*', '\u{FE0F}'),
        ('a', 'b'),
        (' ', 'é'),
    ] {
        assert!(!is_invisible_after(before, c), "{c:?} after {before:?}");
    }
    for (before, c) in [
        ('a', '\u{200D}'),
        (' ', '\u{200C}'),
        ('\u{A0}', '\u{200D}'),
        ('\u{200B}', '\u{200D}'),
        ('1', '\u{200D}'),
        ('a', '\u{FE0F}'),
        (' ', '\u{FE0F}'),
        ('\u{3000}', '\u{FE0F}'),
        ('é', '\u{200B}'),
        ('é', '\u{FE0E}'),
    ] {
        assert!(is_invisible_after(before, c), "{c:?} after {before:?}");
    }
}

#[test]
fn joiners_that_join_nothing_are_reported() {
    let first = |text: &str| {
        invisible_text(&document(&format!("compatibility: '{text}'")))
            .first()
            .map(|(_, code_point, _)| *code_point)
    };
    for (text, joiner) in [
        ("a\u{200D}b", 0x200D),
        ("\u{200C}é", 0x200C),
        ("é\u{3000}\u{200D}é", 0x200D),
        ("é\u{200C}\u{200D}é", 0x200D),
        ("é \u{200C}é", 0x200C),
    ] {
        assert_eq!(first(text), Some(joiner), "{text:?}");
    }
    for text in [
        "é\u{200D}é",
        "❤\u{FE0F}\u{200D}🔥",
        "1\u{FE0F}\u{20E3}",
        "©\u{FE0E}",
    ] {
        assert_eq!(first(text), None, "{text:?}");
    }
}

#[test]
fn misspelled_fields_are_parsed_and_reported() {
    for spelling in [
        "Allowed-Tools",
        "allowed_tools",
        "allowedTools",
        "ALLOWEDTOOLS",
        "\" allowed-tools \"",
    ] {
        let fields = format!("{spelling}: Read");
        assert_eq!(tools(&fields), ["Read"], "{spelling}");
        assert!(
            warnings(&fields).starts_with("4:"),
            "{spelling}: {}",
            warnings(&fields)
        );
    }
    for spelling in [
        "user-invocable",
        "userInvocable",
        "user-invokable",
        "User_Invokable",
    ] {
        assert!(
            !document(&format!("{spelling}: false"))
                .manifest()
                .user_invocable(),
            "{spelling}"
        );
    }
    for spelling in [
        "allowed-tool",
        "my-tools",
        "disable-model-invokable",
        "user-tools",
        "allowed.tools",
    ] {
        let document = document(&format!("{spelling}: Read"));
        assert!(
            document.warnings().is_empty() && document.manifest().extra().contains_key(spelling),
            "{spelling}"
        );
    }
    // Spellings of fields have at most 64 bytes.
    let hyphens = |count: usize| {
        document(&format!("model{}: m", "-".repeat(count)))
            .manifest()
            .extensions()
            .model
            .clone()
    };
    assert_eq!((hyphens(59).as_deref(), hyphens(60)), (Some("m"), None));
    assert_eq!(warnings("model: m\nwhen_to_use: w"), "");
}

/// Published skills list wishes, clients or files in `tools`.
#[test]
fn a_tools_field_is_kept_as_written_and_restricts_nothing() {
    for value in [
        "{Bash: rm}",
        "7",
        "[Read, {Bash: rm}]",
        "true",
        "Read, Grep",
        "[claude, cursor]",
        "Bash(git",
    ] {
        let document = document(&format!("tools: {value}"));
        let manifest = document.manifest();
        assert!(
            manifest.extra().contains_key("tools") && document.warnings().is_empty(),
            "{value}"
        );
        assert!(manifest.model_invocable(), "{value}");
        assert!(manifest.allowed_tools().is_empty(), "{value}");
    }
}

#[test]
fn an_unknown_context_is_reported_and_restricts_nothing() {
    for value in ["spoon", "main", "Fork", "[a, b]", "{audience: all}", "7"] {
        let document = document(&format!("context: {value}"));
        assert_eq!(document.warnings().len(), 1, "{value}");
        assert!(document.manifest().model_invocable(), "{value}");
        assert_eq!(document.manifest().extensions().context, None, "{value}");
    }
}

#[test]
fn conflicting_spellings_of_a_restriction_count_as_unparsed() {
    for (fields, unparsed) in [
        (
            "allowed-tools: Read\nAllowed_Tools: Write",
            &["allowed-tools"][..],
        ),
        ("allowed-tools: Read\nAllowed_Tools: Read", &[]),
        (
            "user-invocable: true\nuserInvocable: false",
            &["user-invocable"],
        ),
        ("license: MIT\nLicense: Apache", &[]),
        ("model: a\nModel: b", &[]),
    ] {
        assert_eq!(
            document(fields).manifest().unparsed_restrictions(),
            unparsed,
            "{fields}"
        );
    }
    assert_eq!(
        document("license: MIT\nLicense: Apache")
            .manifest()
            .license(),
        Some("MIT")
    );
}

#[test]
fn warnings_have_the_position_of_the_value() {
    assert_snapshot!(warnings("License: 7\n\"Compatibility\" : [a, 1]\nwhen-to-use: {a: b}\nmodel: []\nshell: [a, null]\nDisallowed_Tools: 7"), @"
    4:10 field-spelling: unknown field `License`; read as `license`
    5:19 field-spelling: unknown field `Compatibility`; read as `compatibility`
    6:14 field-spelling: unknown field `when-to-use`; read as `when_to_use`
    9:19 field-spelling: unknown field `Disallowed_Tools`; read as `disallowed-tools`
    4:10 not-text: `license` is not text; read as text, put it in quotes
    5:19 not-text: `compatibility` is not text; read as text, put it in quotes
    6:14 wrong-type: invalid type for `when_to_use`: expected text, found a mapping; ignored
    9:19 wrong-type: invalid type for `disallowed-tools`: expected text or a list, found a number; ignored
    9:19 restriction-unread: cannot parse `disallowed-tools`; the skill is disabled for the model and its scripts do not run
    7:8 wrong-type: invalid type for `model`: expected text, found a list; ignored
    8:8 wrong-type: invalid type for `shell`: expected text, found a list; ignored
    ");
}

#[test]
fn scalars_and_lists_of_scalars_become_text() {
    let license = |value: &str| {
        document(&format!("license: {value}"))
            .manifest()
            .license()
            .map(str::to_owned)
    };
    for (value, text) in [
        ("MIT", "MIT"),
        ("7", "7"),
        ("1.10", "1.10"),
        ("true", "true"),
        ("[MIT, 7, false]", "MIT, 7, false"),
        ("[MIT]", "MIT"),
    ] {
        assert_eq!(license(value).as_deref(), Some(text), "{value}");
        assert_eq!(
            document(&format!("compatibility: {value}"))
                .manifest()
                .compatibility(),
            Some(text),
            "{value}"
        );
    }
    for value in ["~", "", "[]", "{a: b}", "[MIT, ~]", "[MIT, [7]]"] {
        assert_eq!(license(value), None, "{value}");
    }
}

#[test]
fn wrong_types_are_reported_in_terms_of_yaml() {
    for (value, found) in [
        ("7", "a number"),
        ("text", "text"),
        ("[a]", "a list"),
        ("true", "a boolean"),
    ] {
        let warnings = warnings(&format!("hooks: {value}"));
        assert!(
            warnings.contains(&format!(
                "invalid type for `hooks`: expected a mapping, found {found}; ignored"
            )),
            "{warnings}"
        );
    }
}

#[test]
fn words_are_separated_by_spaces_or_commas() {
    let paths = |value: &str| {
        document(&format!("paths: {value}"))
            .manifest()
            .extensions()
            .paths
            .clone()
    };
    for value in [
        "a b c",
        "a, b,c",
        "'a,, b  ,c '",
        "[a, b, c]",
        "|\n  a\n  b\n  c",
        "'[a, b, \"c\"]'",
        "'\"a\" \"b\", c'",
    ] {
        assert_eq!(paths(value), ["a", "b", "c"], "{value}");
    }
    assert_eq!(paths("[src/*.rs, 7, true]"), ["src/*.rs", "7", "true"]);
    for value in ["[a, [b]]", "{a: b}", "7", "[a, ~]"] {
        assert_eq!(paths(value), [""; 0], "{value}");
        assert!(
            warnings(&format!("paths: {value}"))
                .contains("invalid type for `paths`: expected text or a list"),
            "{value}"
        );
    }
    assert_eq!(paths(""), [""; 0]);
    assert_eq!(warnings("paths:"), "");
}

#[test]
fn flags_are_parsed_in_all_spellings_of_yaml() {
    for (value, flag) in [
        ("true", true),
        ("yes", true),
        ("On", true),
        ("1", true),
        ("y", true),
        ("' TRUE '", true),
    ] {
        let document = document(&format!(
            "disable-model-invocation: {value}\nuser-invocable: {value}\nbackground: {value}"
        ));
        let manifest = document.manifest();
        let read = (
            !manifest.model_invocable(),
            manifest.user_invocable(),
            manifest.extensions().background,
        );
        assert_eq!(read, (flag, flag, Some(flag)), "{value}");
        assert!(
            document.warnings().is_empty() && manifest.unparsed_restrictions().is_empty(),
            "{value}"
        );
    }
    for value in ["false", "no", "OFF", "0", "n", "' False '"] {
        let document = document(&format!(
            "disable-model-invocation: {value}\nuser-invocable: {value}\nbackground: {value}"
        ));
        let manifest = document.manifest();
        let read = (
            manifest.model_invocable(),
            manifest.user_invocable(),
            manifest.extensions().background,
        );
        assert_eq!(read, (true, false, Some(false)), "{value}");
        assert!(
            document.warnings().is_empty() && manifest.unparsed_restrictions().is_empty(),
            "{value}"
        );
    }
    for value in ["2", "maybe", "[true]", "{a: b}", "''", "1.0"] {
        let document = document(&format!(
            "disable-model-invocation: {value}\nuser-invocable: {value}\nbackground: {value}"
        ));
        let manifest = document.manifest();
        assert_eq!(
            manifest.unparsed_restrictions(),
            ["user-invocable", "disable-model-invocation"],
            "{value}"
        );
        assert!(
            !manifest.model_invocable()
                && !manifest.user_invocable()
                && manifest.extensions().background.is_none(),
            "{value}"
        );
        assert_eq!(
            warnings(&format!("background: {value}"))
                .matches("wrong-type")
                .count(),
            1,
            "{value}"
        );
    }
    let missing = document("disable-model-invocation:\nuser-invocable: ~");
    assert!(
        missing.manifest().model_invocable()
            && missing.manifest().user_invocable()
            && missing.warnings().is_empty()
    );
}

#[test]
fn texts_above_the_limits_of_the_specification_are_reported() {
    let long = |field: &str, characters: usize| {
        let text = format!("{}é", "x".repeat(characters - 1));
        let other = if field == "description" {
            ""
        } else {
            "description: d\n"
        };
        let document =
            Document::parse(format!("---\nname: a\n{other}{field}: {text}\n---\n").as_bytes())
                .unwrap();
        document
            .warnings()
            .iter()
            .map(ToString::to_string)
            .collect::<String>()
    };
    assert_eq!(
        (long("description", 1024), long("compatibility", 500)),
        (String::new(), String::new())
    );
    assert_eq!(
        long("description", 1025),
        "line 3: `description` is 1025 characters, limit 1024"
    );
    assert_eq!(
        long("compatibility", 501),
        "line 4: `compatibility` is 501 characters, limit 500"
    );
    assert_eq!(long("license", 5_000), "");
}

#[test]
fn a_description_has_visible_text() {
    let described = |text: &str| {
        Document::parse(format!("---\nname: a\ndescription: {text}\n---\n").as_bytes()).is_ok()
    };
    for text in ["a", "漢", "\"\\u200Ba\"", "' !'", "\"\\u3000é\"", "[x]"] {
        assert!(described(text), "{text}");
    }
    for text in [
        "''",
        "' '",
        "\"\\u200B\"",
        "\"\\u3000 \\u00AD\"",
        "\"\\x01\"",
        "\"\\n\\t\"",
        "~",
        "[]",
    ] {
        assert!(!described(text), "{text}");
    }
}
