//! Fields one by one: what is read of each, what is reported, and where.

use insta::assert_snapshot;
use skills_manifest::{
    ArgumentMatcher, Document, Warning, WarningKind, is_invisible, is_invisible_after,
};
use unicode_properties::{GeneralCategory as Category, UnicodeGeneralCategory};

fn document(fields: &str) -> Document {
    Document::parse(format!("---\nname: a\ndescription: d\n{fields}\n---\n").as_bytes()).unwrap()
}

/// The warnings, one a line, with line and column.
fn warnings(fields: &str) -> String {
    let line = |warning: &Warning| {
        let place = warning
            .position()
            .map_or("-".to_owned(), |at| format!("{}:{}", at.line, at.column));
        format!("{place} {}: {}\n", warning.kind().code(), warning.kind())
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

fn refused_tools(fields: &str) -> Vec<String> {
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
        refused_tools("disallowed-tools: [Write, Bash(rm *)]"),
        ["Write", "Bash(rm *)"]
    );
    assert_eq!(
        refused_tools("disallowed-tools: Write, Bash(rm *)"),
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
fn tools_that_are_read_grant_and_unreadable_ones_do_not() {
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
    // One good entry is a restriction that could be read; none is not.
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
    // What a skill must not use is refused entirely when a part of it is unknown.
    assert_eq!(
        document("disallowed-tools: Read Bash(git")
            .manifest()
            .unparsed_restrictions(),
        ["disallowed-tools"]
    );
}

#[test]
fn of_many_unreadable_tools_twenty_are_named() {
    let unreadable = |count: usize| {
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
    assert_eq!(unreadable(20), ["x)"; 20]);
    let more = unreadable(22);
    assert_eq!((more.len(), more[20].as_str()), (21, "… and 2 more"));
}

/// Characters that no reader sees, of each kind.
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
type HiddenText = (&'static str, u32, Option<(usize, usize)>);

fn hidden_text(document: &Document) -> Vec<HiddenText> {
    let hidden = document
        .warnings()
        .iter()
        .filter_map(|warning| match warning.kind() {
            WarningKind::InvisibleText {
                field, code_point, ..
            } => Some((
                *field,
                *code_point,
                warning.position().map(|at| (at.line, at.column)),
            )),
            _ => None,
        });
    hidden.collect()
}

#[test]
fn invisible_text_is_reported_wherever_it_is() {
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
            let place = Some((4, before.chars().count() + 1));
            let document = document(&format!("{before}{c}{after}"));
            assert_eq!(
                hidden_text(&document),
                [("frontmatter", u32::from(c), place)],
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
                hidden_text(&document),
                [("frontmatter", u32::from(c), Some((line, column)))],
                "{before}{c:?}"
            );
        }
        let own = document(&format!("compatibility: a{c}"));
        assert_eq!(
            hidden_text(&own),
            [("compatibility", u32::from(c), Some((4, 16)))],
            "{c:?}"
        );
    }
    let tags: String = "obey"
        .chars()
        .map(|c| char::from_u32(0xE0000 + u32::from(c)).unwrap())
        .collect();
    assert_snapshot!(warnings(&format!("license: MIT{tags}")), @r#"4:13 hidden-unicode: `frontmatter` holds the invisible character U+E006F; hidden text: "obey""#);
    assert_eq!(
        warnings("license: MIT\nwhen_to_use: می\u{200C}خواهم 👩\u{200D}💻 ❤\u{FE0F}"),
        ""
    );
}

/// YAML's escapes write invisible text with visible letters.
#[test]
fn invisible_text_is_reported_where_it_is_escaped() {
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
                hidden_text(&document),
                [("frontmatter", u32::from(c), Some((line, column)))],
                "{field} {escaped}"
            );
        }
        let own = document(&format!("compatibility: \"{escaped}\""));
        assert_eq!(
            hidden_text(&own),
            [("compatibility", u32::from(c), Some((4, 16)))],
            "{escaped}"
        );
    }
    assert_eq!(warnings(r#"license: "a\tb\n\\ \" \u00E9""#), "");
}

/// The categories of Unicode decide, and the exceptions are named here.
#[test]
fn invisible_characters_are_those_of_unicode() {
    // Signs of format that have a shape, and the emoji selector, which has its place behind an
    // emoji.
    let is_shown = |c: char| matches!(c, '\u{600}'..='\u{605}' | '\u{6DD}' | '\u{70F}' | '\u{890}'..='\u{891}' | '\u{8E2}' | '\u{110BD}' | '\u{110CD}' | '\u{13430}'..='\u{1343F}');
    // Letters and signs that are blank.
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
            Category::Format => assert_eq!(is_invisible(c), !is_shown(c), "{c:?}"),
            category if is_letter(category) => assert_eq!(is_invisible(c), is_blank(c), "{c:?}"),
            _ => {}
        }
    }
    // Marks that show nothing by themselves: joiners of graphemes, vowels that are not written,
    // selectors of variants.
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
fn joiners_and_the_emoji_selector_have_a_place() {
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
        assert!(!is_invisible_after(before, c), "{c:?} behind {before:?}");
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
        assert!(is_invisible_after(before, c), "{c:?} behind {before:?}");
    }
}

#[test]
fn joiners_in_a_text_are_reported_where_they_join_nothing() {
    let first = |text: &str| {
        hidden_text(&document(&format!("compatibility: '{text}'")))
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
fn odd_spellings_of_fields_are_read_and_reported() {
    for written in [
        "Allowed-Tools",
        "allowed_tools",
        "allowedTools",
        "ALLOWEDTOOLS",
        "tools",
        "Tools",
        "\" allowed-tools \"",
    ] {
        let fields = format!("{written}: Read");
        assert_eq!(tools(&fields), ["Read"], "{written}");
        assert!(
            warnings(&fields).starts_with("4:"),
            "{written}: {}",
            warnings(&fields)
        );
    }
    for written in [
        "user-invocable",
        "userInvocable",
        "user-invokable",
        "User_Invokable",
    ] {
        assert!(
            !document(&format!("{written}: false"))
                .manifest()
                .user_invocable(),
            "{written}"
        );
    }
    for written in [
        "allowed-tool",
        "my-tools",
        "disable-model-invokable",
        "user-tools",
        "allowed.tools",
    ] {
        let document = document(&format!("{written}: Read"));
        assert!(
            document.warnings().is_empty() && document.manifest().extra().contains_key(written),
            "{written}"
        );
    }
    // The name of no field is longer than 64 bytes, however it is written.
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

#[test]
fn what_is_called_tools_and_is_no_list_of_tools_stays_as_it_is() {
    for value in ["{Bash: rm}", "7", "[Read, {Bash: rm}]", "[7]", "true"] {
        let document = document(&format!("tools: {value}"));
        assert!(
            document.manifest().extra().contains_key("tools") && document.warnings().is_empty(),
            "{value}"
        );
        assert!(document.manifest().model_invocable(), "{value}");
    }
    assert_eq!(tools("tools: [Read, Grep]"), ["Read", "Grep"]);
}

#[test]
fn two_spellings_of_a_restriction_that_differ_restrict() {
    for (fields, unread) in [
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
            unread,
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
fn warnings_point_to_the_value_in_the_spelling_of_the_file() {
    assert_snapshot!(warnings("License: 7\n\"Compatibility\" : [a, 1]\nwhen-to-use: {a: b}\nmodel: []\nshell: [a, null]\nDisallowed_Tools: 7"), @r#"
    4:10 field-spelling: "License" read as `license`
    5:19 field-spelling: "Compatibility" read as `compatibility`
    6:14 field-spelling: "when-to-use" read as `when_to_use`
    9:19 field-spelling: "Disallowed_Tools" read as `disallowed-tools`
    4:10 not-text: `license` is not text; put it in quotes
    5:19 not-text: `compatibility` is not text; put it in quotes
    6:14 wrong-type: `when_to_use` dropped: expected text, found a mapping
    9:19 wrong-type: `disallowed-tools` dropped: expected text or a list, found a number
    9:19 restriction-unread: `disallowed-tools` could not be read; until it is mended the model is not offered the skill and nothing of it runs
    7:8 wrong-type: `model` dropped: expected text, found a list
    8:8 wrong-type: `shell` dropped: expected text, found a list
    "#);
}

#[test]
fn scalars_and_lists_of_them_are_read_as_text() {
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
fn types_are_named_in_the_words_of_yaml() {
    for (value, found) in [
        ("7", "a number"),
        ("text", "text"),
        ("[a]", "a list"),
        ("true", "a boolean"),
    ] {
        let told = warnings(&format!("hooks: {value}"));
        assert!(
            told.contains(&format!(
                "`hooks` dropped: expected a mapping, found {found}"
            )),
            "{told}"
        );
    }
}

#[test]
fn lists_of_words_are_separated_by_spaces_and_commas() {
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
    ] {
        assert_eq!(paths(value), ["a", "b", "c"], "{value}");
    }
    assert_eq!(paths("[src/*.rs, 7, true]"), ["src/*.rs", "7", "true"]);
    for value in ["[a, [b]]", "{a: b}", "7", "[a, ~]"] {
        assert_eq!(paths(value), [""; 0], "{value}");
        assert!(
            warnings(&format!("paths: {value}"))
                .contains("`paths` dropped: expected text or a list"),
            "{value}"
        );
    }
    assert_eq!(paths(""), [""; 0]);
    assert_eq!(warnings("paths:"), "");
}

#[test]
fn flags_are_read_in_all_spellings_of_yaml() {
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
fn texts_beyond_the_bounds_of_the_specification_are_reported() {
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
        "line 3: `description` has 1025 characters, the specification allows 1024"
    );
    assert_eq!(
        long("compatibility", 501),
        "line 4: `compatibility` has 501 characters, the specification allows 500"
    );
    assert_eq!(long("license", 5_000), "");
}

#[test]
fn a_description_shows_something() {
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
