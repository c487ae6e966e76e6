//! Compares the fast parser with the library on generated frontmatter.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::TestRunner;

use super::{COMMON_SCALARS, UNUSUAL_SCALARS, agrees};

/// Fields of published skills.
const KEYS: [&str; 16] = [
    "name",
    "description",
    "license",
    "compatibility",
    "allowed-tools",
    "metadata",
    "version",
    "author",
    "tags",
    "when_to_use",
    "user-invocable",
    "disable-model-invocation",
    "argument-hint",
    "model",
    "homepage",
    "x-Team_2",
];

fn sentence() -> impl Strategy<Value = String> {
    "[A-Z][a-z]{0,7}( ([a-z]{1,8}|[0-9]{1,3}%?|\\(e\\.g\\.|don't|C#|https://a\\.b/c:d|é|12:30|\"x\"|—|`y`|\\[z\\]|&|-)){0,12}[.!?)]?"
}

/// Generates scalars on one line in the notations of nearly all skills.
fn common_scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => sentence(),
        2 => "[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,8}){0,2}",
        2 => "\"[A-Za-z0-9 :#',.{}\\[\\]-]{0,30}\"",
        1 => "'[A-Za-z0-9 :#\",.{}\\[\\]\\\\-]{0,30}'",
        1 => "0|[1-9][0-9]{0,14}",
        1 => "[0-9][0-9.:_xe-]{0,4}[0-9] [a-z]{1,5}",
        2 => select(&COMMON_SCALARS[15..30]).prop_map(str::to_owned),
        1 => "[A-Z][a-z]{2,5}(\\([a-z]{2,4}:\\*\\))?(, [A-Z][a-z]{2,5}){0,3}",
    ]
}

fn indented(indent: usize, lines: &[String]) -> String {
    lines
        .iter()
        .map(|line| {
            if line.is_empty() {
                "\n".to_owned()
            } else {
                format!("{}{line}\n", " ".repeat(indent))
            }
        })
        .collect()
}

/// Generates block scalars, from the indicator on.
fn common_block() -> impl Strategy<Value = String> {
    let line = prop_oneof![6 => sentence(), 1 => "(- |# |[a-z]+: |> |\\* )[a-z ]{0,9}[a-z]", 1 => Just(String::new())];
    let lines = (proptest::collection::vec(line, 0..6), sentence(), 0usize..3);
    (
        select(&["|", "|-", "|+", ">", ">-", ">+"][..]),
        1usize..5,
        lines,
    )
        .prop_map(|(indicator, indent, (mut lines, last, blanks))| {
            lines.push(last);
            format!(
                " {indicator}\n{}{}",
                indented(indent, &lines),
                "\n".repeat(blanks)
            )
        })
}

/// Generates the text after `key:`.
fn common_value() -> impl Strategy<Value = String> {
    let map = (
        1usize..5,
        subsequence(&KEYS[..], 1..5),
        proptest::collection::vec(common_scalar(), 5),
    );
    let list = (0usize..5, proptest::collection::vec(common_scalar(), 1..5));
    prop_oneof![
        8 => common_scalar().prop_map(|scalar| format!(" {scalar}\n")),
        4 => common_block(),
        2 => map.prop_map(|(indent, keys, scalars)| {
            let entries: Vec<String> = keys.iter().zip(scalars).map(|(key, scalar)| format!("{key}: {scalar}")).collect();
            format!("\n{}", indented(indent, &entries))
        }),
        2 => list.prop_map(|(indent, items)| {
            let items: Vec<String> = items.iter().map(|item| format!("- {item}")).collect();
            format!("\n{}", indented(indent, &items))
        }),
        1 => Just("\n".to_owned()),
        3 => folded_lines(),
        2 => flow_value(2).prop_map(|value| format!(" {value}\n")),
        1 => nested_block(),
    ]
}

/// Generates scalars over several lines, unquoted and in quotes.
fn folded_lines() -> impl Strategy<Value = String> {
    let word = "[A-Za-z][a-z0-9,.()/é-]{0,7}";
    let line = proptest::collection::vec(word, 1..6).prop_map(|words| words.join(" "));
    let line = prop_oneof![6 => line, 1 => Just(String::new())];
    let lines = proptest::collection::vec(line, 0..4);
    let ends = ("[A-Z][a-z]{0,5}", "[a-z]{1,6}[.!]?");
    (
        select(&["", "\"", "'"][..]),
        1usize..5,
        lines,
        ends,
        any::<bool>(),
    )
        .prop_map(|(quote, indent, lines, (first, last), is_below)| {
            let more: Vec<String> = lines
                .into_iter()
                .chain([format!("{last}{quote}")])
                .collect();
            let start = if is_below {
                format!("\n{}", " ".repeat(indent))
            } else {
                " ".to_owned()
            };
            format!("{start}{quote}{first}\n{}", indented(indent, &more))
        })
}

/// Generates flow lists and mappings, in the notations of YAML and of JSON.
fn flow_value(depth: u32) -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        4 => "[A-Za-z][a-z0-9-]{0,8}",
        2 => "[A-Z][a-z]{1,4} [a-z]{1,5}",
        2 => "\"[A-Za-z0-9 :#',.{}\\[\\]-]{0,12}\"",
        1 => "'[A-Za-z0-9 :#\",.{}\\[\\]-]{0,12}'",
        1 => "0|[1-9][0-9]{0,8}|true|false|null|1\\.5|2\\.0\\.1",
        1 => select(&["\"a\\\\b\\\"c\"", "'it''s'", "Bash(git:*)", "a:b", "https://a.b/c"][..]).prop_map(str::to_owned),
    ];
    let space = select(&[" ", "", "  "][..]);
    scalar.prop_recursive(depth, 12, 4, move |inner| {
        let items = proptest::collection::vec(inner.clone(), 0..4);
        let entries = proptest::collection::vec(inner, 0..4);
        prop_oneof![
            (items, space.clone()).prop_map(|(items, space)| {
                format!("[{space}{}{space}]", items.join(&format!(",{space}")))
            }),
            (entries, any::<bool>()).prop_map(|(values, is_json)| {
                let entries: Vec<String> = values
                    .iter()
                    .enumerate()
                    .map(|(index, value)| {
                        if is_json {
                            format!("\"k {index}\":{value}")
                        } else {
                            format!("k{index}: {value}")
                        }
                    })
                    .collect();
                format!("{{{}}}", entries.join(", "))
            }),
        ]
    })
}

/// Generates mappings and lists below each other, as in `metadata` of published skills.
fn nested_block() -> impl Strategy<Value = String> {
    let scalars = proptest::collection::vec(common_scalar(), 6);
    (1usize..4, scalars, flow_value(1)).prop_map(|(step, scalars, flow)| {
        let pad = |levels: usize| " ".repeat(step * levels);
        let [a, b, c, d, e, f] = <[String; 6]>::try_from(scalars).unwrap_or_default();
        format!(
            "\n{0}one:\n{1}two:\n{2}three: {a}\n{2}four: {flow}\n{1}list:\n{1}- {b}\n{2}\n{1}- {c}\n{0}five: {d}\n{0}items:\n{1}- id: {e}\n{1}  kind: {f}\n{1}- id: 1\n",
            pad(1),
            pad(2),
            pad(3)
        )
    })
}

/// Generates frontmatter in the notation of nearly all skills.
fn common_lines() -> impl Strategy<Value = Vec<String>> {
    let keys = subsequence(&KEYS[..], 1..8).prop_shuffle();
    let between = select(&["", "", "", "", "", "\n", "# a comment: x\n"][..]);
    (
        keys,
        proptest::collection::vec((common_value(), between), 8),
    )
        .prop_map(|(keys, values)| {
            let entries = keys.iter().zip(values);
            entries
                .map(|(key, (value, between))| format!("{key}:{value}{between}"))
                .collect()
        })
}

/// Generates frontmatter with one unusual line.
fn unusual_yaml() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        2 => select(&UNUSUAL_SCALARS[..]).prop_map(str::to_owned),
        4 => select(&COMMON_SCALARS[..]).prop_map(str::to_owned),
        1 => "[ -~]{0,12}",
        2 => "[a-z0-9 :#'\"-]{0,6}",
        1 => "[0-9+.-][0-9_.:xobe+-]{0,6}",
        4 => common_scalar(),
    ];
    let key = prop_oneof![9 => "[a-z][a-z-]{0,6}", 1 => select(&["true", "a b", "name", "1", "Null", "\"q\"", "Name"][..]).prop_map(str::to_owned)];
    let line = prop_oneof![
        8 => (key.clone(), scalar.clone()).prop_map(|(key, scalar)| format!("{key}: {scalar}\n")),
        4 => (key.clone(), common_block()).prop_map(|(key, block)| format!("{key}:{block}")),
        2 => (key.clone(), scalar.clone(), scalar.clone()).prop_map(|(key, first, second)| format!("{key}:\n  - {first}\n  - {second}\n")),
        2 => (key.clone(), scalar.clone(), scalar.clone()).prop_map(|(key, first, second)| format!("{key}:\n  a: {first}\n  b: {second}\n")),
        1 => (" {0,3}", key, scalar.clone()).prop_map(|(indent, key, scalar)| format!("{indent}{key}: {scalar}\n")),
        1 => (" {0,3}(- {0,2})?", scalar).prop_map(|(indent, scalar)| format!("{indent}{scalar}\n")),
        1 => " {0,3}(#[ a-z]{0,4})?\n",
        2 => (" {1,4}", flow_value(2), " {0,4}[]}\"'a-z:#,-]{0,5}").prop_map(|(indent, flow, rest)| format!("k:\n{indent}{flow}\n{rest}\n")),
        2 => "f: [\\[{]([a-z0-9\"':,\\[\\]{} #\n-]{0,12})[\\]}]\n",
        2 => "q: [\"']([a-z \\\\\"'#:\n-]{0,12})[\"']\n",
        2 => "p: [a-z]([a-z :#\"'\n-]{0,14})\n",
    ];
    (common_lines(), line, any::<proptest::sample::Index>()).prop_map(|(mut lines, line, index)| {
        lines.insert(index.index(lines.len() + 1), line);
        lines.concat()
    })
}

/// Minimum share of unusual texts that the fast parser accepts.
///
/// Rejected texts are not compared, so the property test would pass for a parser that rejects all.
const MIN_ACCEPTED_PERCENT: usize = 50;

#[test]
fn at_least_half_of_unusual_frontmatter_is_accepted() {
    let generated = Cell::new(0);
    let accepted = Cell::new(0);
    let config = ProptestConfig {
        cases: 1_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let rng = TestRunner::deterministic().new_rng();
    let run = TestRunner::new_with_rng(config, rng).run(&unusual_yaml(), |yaml| {
        let is_accepted = agrees(&yaml).map_err(TestCaseError::fail)?;
        generated.set(generated.get() + 1);
        accepted.set(accepted.get() + usize::from(is_accepted));
        Ok(())
    });
    run.unwrap();
    let percent = 100 * accepted.get() / generated.get();
    assert!(
        percent >= MIN_ACCEPTED_PERCENT,
        "{percent} % of {} texts",
        generated.get()
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn common_frontmatter_matches_the_library(lines in common_lines()) {
        let yaml = lines.concat();
        prop_assert_eq!(agrees(&yaml), Ok(true));
        prop_assert_eq!(agrees(&yaml.replace('\n', "\r\n")), Ok(true));
    }

    #[test]
    fn unusual_frontmatter_matches_the_library_or_is_left_to_it(yaml in unusual_yaml()) {
        agrees(&yaml).map_err(TestCaseError::fail)?;
    }
}
