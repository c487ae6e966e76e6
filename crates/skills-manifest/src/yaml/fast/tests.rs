//! Compares the fast parser with the YAML library itself, not with this crate's use of it.

mod generated;

use serde_json::Value;

use super::{parse_mapping, peek_name};
use crate::invisible::has_visible_text;

/// Parses a text with the library alone; an error if JSON cannot express the value.
fn library(yaml: &str) -> Result<Value, String> {
    let value: serde_yaml::Value = serde_yaml::from_str(yaml).map_err(|error| error.to_string())?;
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// Compares both uses of the fast parser with the library; returns whether it accepts the text.
fn agrees(yaml: &str) -> Result<bool, String> {
    let Some(map) = parse_mapping(yaml) else {
        return match peek_name(yaml) {
            Some(name) => Err(format!("{yaml:?}: rejected, but peek returns {name:?}")),
            None => Ok(false),
        };
    };
    let parsed = Ok(Value::Object(map));
    let expected = library(yaml);
    // Decimal numbers are restored to the text of the file by this crate.
    let restored = crate::yaml::library::parse(yaml).map(|parsed| parsed.value);
    if parsed != expected && parsed != restored.map_err(|error| error.message) {
        return Err(format!(
            "{yaml:?}: {parsed:?}, but the library returns {expected:?}"
        ));
    }
    if let Some(name) = peek_name(yaml) {
        let name = name.as_deref();
        let field = |key: &str| expected.as_ref().ok()?.get(key)?.as_str();
        if name != field("name") || !field("description").is_some_and(has_visible_text) {
            return Err(format!("{yaml:?}: peek returns {name:?} for {expected:?}"));
        }
    }
    Ok(true)
}

/// The positions of a scalar in frontmatter.
const POSITIONS: [&str; 5] = [
    "a: @\n",
    "a: @\nb: c\n",
    "m:\n  a: @\n  b: c\n",
    "l:\n- @\n- c\n",
    "l:\n  - c\n  - @\n",
];

/// Scalars that the fast parser accepts.
const COMMON_SCALARS: [&str; 38] = [
    "word",
    "Two words",
    "Reads PDFs, fast (don't ask).",
    "Größe 12",
    "漢字",
    "(optional) text",
    "/usr/bin",
    "_private",
    "$HOME/bin",
    "https://example.com/a:b#c",
    "a:b",
    "C# and F#",
    "a - b",
    "say \"so\"",
    "[",
    "yes",
    "no",
    "on",
    "Off",
    "y",
    "true",
    "True",
    "TRUE",
    "false",
    "False",
    "FALSE",
    "null",
    "Null",
    "NULL",
    "nUll",
    "0",
    "7",
    "42",
    "999999999999999",
    "3 files",
    "\"double: # [x] 'y'\"",
    "'single: # {x} \"y\" \\d'",
    "''",
];

/// Scalars that the fast parser leaves to the library, or parses in the same way.
const UNUSUAL_SCALARS: [&str; 88] = [
    "017",
    "00",
    "08",
    "0o17",
    "0x1F",
    "0b11",
    "1_000",
    "9999999999999999",
    "18446744073709551616",
    "+1",
    "-1",
    "+",
    "-",
    ".5",
    "5.",
    "1.10",
    "1.0",
    "1e3",
    "1E3",
    "1.5e+3",
    "12e03",
    "0e0",
    "1e400",
    ".inf",
    "-.INF",
    ".nan",
    "inf",
    "NaN",
    "~",
    "~a",
    "2024-01-01",
    "2024-01-01 12:30:00",
    "12:30",
    "1:30:00",
    "1 000",
    "1 #x",
    "1 # x",
    "1: x",
    "1:",
    "a: b",
    "a:",
    "a :b",
    "a #b",
    "a# b",
    "#a",
    "# a",
    "\"",
    "'",
    "\"\"",
    "\"a",
    "'a",
    "a\"",
    "\"a\" b",
    "\"a\"b\"",
    "'it''s'",
    "'''",
    "\"a\\tb\"",
    "\"a\\\"",
    "\"a\\\\\"",
    "'a' # b",
    "\"a\" # b",
    "\"true\"",
    "'017'",
    "[a, b]",
    "[a",
    "{a: b}",
    "{{a}}",
    "&a b",
    "*a",
    "!a b",
    "!!str 1",
    "|",
    ">-",
    "|a",
    "%a",
    "@a",
    "`a`",
    "? a",
    "- a",
    "-a",
    ", a",
    "]",
    "}",
    "<<",
    "=",
    "a\tb",
    "\u{85}a",
    "é\u{2028}",
];

#[test]
fn common_scalars_match_the_library() {
    for (scalar, position) in COMMON_SCALARS
        .into_iter()
        .flat_map(|scalar| POSITIONS.map(|position| (scalar, position)))
    {
        // An opening bracket starts a collection, except inside of a text.
        let scalar = if scalar == "[" { "a [b {c" } else { scalar };
        assert_eq!(agrees(&position.replace('@', scalar)), Ok(true), "{scalar}");
        assert_eq!(
            agrees(&position.replace('@', &format!("  {scalar}  "))),
            Ok(true),
            "{scalar}"
        );
    }
}

#[test]
fn unusual_scalars_match_the_library_or_are_left_to_it() {
    for (scalar, position) in UNUSUAL_SCALARS
        .into_iter()
        .flat_map(|scalar| POSITIONS.map(|position| (scalar, position)))
    {
        agrees(&position.replace('@', scalar)).unwrap();
        agrees(&position.replace('@', &format!("{scalar} "))).unwrap();
    }
}

#[test]
fn common_texts_match_the_library() {
    let longest = format!("{}: v\n", "k".repeat(1_000));
    for yaml in [
        "name: a\n",
        "name: a\ndescription: b\n",
        "\n\nname: a\n\n\ndescription: b\n\n",
        "# one\nname: a\n# two\n  # three\n\ndescription: b\n# four\n",
        "name: a   \nB-c_1: d\n",
        "a:\n",
        "a:\nb:\nc: d\n",
        "a:\n\n# x\nb: c\n",
        "a:   \nb: c\n",
        "a:\n# x\n",
        "m:\n  a: b\n  c: 1\n",
        "m:\n    a: b\n\n    # x\n  # y\n    c: d\nn: e\n",
        "m:\n  a: b\n# x\n  c: d\n",
        "m:\n a: b\nn:\n   a: b\n",
        "m:\n  a: b\n\nn: c\n",
        "l:\n- a\n- 1\n- true\nm: b\n",
        "l:\n  - a\n\n  - b # c\n".replace(" # c", "").as_str(),
        "l:\n# x\n- a\n  # y\n- b\n# z\nm: c\n",
        "l:\n  -   a  \n  - 'b: c'\nm: d\n",
        "l:\n- a\n",
        "t: |\n  one\n  two\n",
        "t: |\n one\n\n\n two\n\nb: c\n",
        "t: |\n\n\n    one: two\n    # three\n    - four\nb: c\n",
        "t: |-\n  one\n\nb: c\n",
        "t: |+\n  one\n\n\nb: c\n",
        "t: |+\n  one\n",
        "t: >\n  one\n  two\n\n  three\n\n\n  four\n",
        "t: >-\n  one\n  two\n",
        "t: >+\n  one\n\n# x\nb: c\n",
        "t: >-\n\n  one\nb: |\n  two\nc: >\n  three\n",
        "t: |\n  é 漢\n  \"x\" 'y' \\z\n",
        longest.as_str(),
    ] {
        assert_eq!(agrees(yaml), Ok(true), "{yaml:?}");
        let crlf = yaml.replace('\n', "\r\n");
        assert_eq!(agrees(&crlf), Ok(true), "{crlf:?}");
    }
}

/// Frontmatter in the notations of published skills that are more than `key: value`.
#[test]
fn texts_like_published_ones_match_the_library() {
    for yaml in [
        // Versions, dates, times and decimal numbers.
        "version: 1.0.0\nd: 2024-01-31\nt: 12:30\nn: 1.5\nv: 1.10\nw: 0.1\nx: 2.0.0-rc.1\n",
        "p: 24/7 support\nq: 80%\nr: 40k+\ns: <file-or-pattern>\n",
        "m: {\n  \"a\": 1\n}\nl: [\n  b\n]\n",
        // Flow lists and mappings.
        "tags: [a, b-c, d_e]\nempty: []\nmap: {}\n",
        "tags: [Read, \"Bash(git:*)\", 'x y', Bash(ls:*), 3, true]\n",
        "tags: [a, b,]\n",
        "tags: [\n    a,\n    b\n  ]\nname: x\n",
        "m: {\"openclaw\":{\"emoji\":\"📄\",\"requires\":{\"bins\":[\"jq\",\"curl\"],\"env\":[]},\"always\":true}}\n",
        "m: {a: b, c: {d: [e, f]}}\n",
        "m:\n  {\n    \"openclaw\":\n      {\n        \"requires\": { \"bins\": [\"jq\"] },\n        \"install\": [ {\"id\": \"brew\", \"n\": 1} ],\n      },\n  }\n",
        // Quotes with escapes and on several lines.
        "d: \"a \\\"b\\\" c\\\\d\\ne\\tf\\/g\"\ne: 'it''s'\n",
        "d: \"one\n  two\n\n  three\"\ne: 'one\n    two '\n",
        "d: \"x\" # comment\ne: y # comment\nf: 'z' # c\ng: [a] # c\n",
        // Text on several lines.
        "d: one\n  two\n\n  three - four\n    * five\ne: f\n",
        "d:\n  one two\n  three\ne: f\n",
        "d:\n  \"one: two\n   three\"\n",
        "d: 1\n  2\n",
        // Nested mappings and lists.
        "m:\n  a:\n    b:\n      c: d\n    e: f\n  g: h\ni: j\n",
        "m:\n  l:\n    - a\n    - b\n  k:\n  - c\n  n: 1\n",
        "m:\n  - id: a\n    kind: b\n    bins: [x]\n  - id: c\n",
        "m:\n- id: a\n  kind:\n  - b\n- id: c\nn: d\n",
        "m:\n  a:\n  b: c\n",
        "m:\n  t: |\n    one\n      two\n   \n    three\n  u: >-\n    four\n    five\n",
        "h:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: \"./x.sh\"\n",
        "a: # comment\n  b: c\nd: # null\n",
        "t: |\n  one\n   two\n",
    ] {
        assert_eq!(agrees(yaml), Ok(true), "{yaml:?}");
        let crlf = yaml.replace('\n', "\r\n");
        assert_eq!(agrees(&crlf), Ok(true), "{crlf:?}");
    }
}

#[test]
fn unusual_texts_match_the_library_or_are_left_to_it() {
    let long_key = format!("{}: v\n", "k".repeat(1_025));
    for yaml in [
        "",
        "\n",
        "# x\n",
        "a",
        "a\n",
        "a: b",
        "a: |\n  b",
        "a: |\n  b\n  c",
        " a: b\n",
        "  a: b\n  c: d\n",
        "a: b\n c: d\n",
        "a: b\n  c\n",
        "a: b\n\n  c\n",
        "a: b\n\n\n c\nd: e\n",
        "a: b\n  # c\n",
        "a: 1\n  2\n",
        "a: 'b\n  c'\n",
        "a: b\na: c\n",
        "m:\n  a: b\n  a: c\n",
        "m:\n  a: b\n   c: d\n",
        "m:\n  a: b\n c: d\n",
        "m:\n  a: b\n  - c\n",
        "m:\n  a:\n  b: c\n",
        "m:\n  a:\n    b: c\n",
        "m:\n  a: |\n    b\n",
        "m:\n  a: >\n    b\n",
        "m:\n  a: b\n    c\n",
        "m:\n  a\n",
        "m:\n  -\n",
        "m:\n  -a: b\n",
        "l:\n- a\n - b\n",
        "l:\n  - a\n- b\n",
        "l:\n  - a\n    b\n",
        "l:\n  - a: b\n",
        "l:\n  - - a\n",
        "l:\n  -\n  - a\n",
        "l:\n- \n- a\n",
        "l:\n-a\n",
        "l:\n- a\n-b\n",
        "l:\n- a\n--- b\n",
        "- a\n",
        "a: b\n- c\n",
        "a: b\n---\nc: d\n",
        "--- \na: b\n",
        "a: b\n...\n",
        "%YAML 1.2\n---\na: b\n",
        "a : b\n",
        "a b: c\n",
        "\"a\": b\n",
        "'a': b\n",
        "a:b\n",
        "a:b: c\n",
        "a:'b'\n",
        "a: b: c\n",
        "a: b\nc\n",
        "? a\n: b\n",
        "1: a\n",
        "1a: b\n",
        "-a: b\n",
        "_a: b\n",
        "é: b\n",
        "a.b: c\n",
        "true: a\n",
        "True: a\n",
        "TRUE: a\n",
        "false: a\n",
        "False: a\n",
        "FALSE: a\n",
        "null: a\n",
        "Null: a\n",
        "NULL: a\n",
        "~: a\n",
        "yes: a\n",
        "<<: a\n",
        ": a\n",
        "m:\n  true: a\n",
        "m:\n  null: a\n",
        "a: |\n",
        "a: |\n\n",
        "a: |\nb: c\n",
        "a: |\n  one\n   two\n",
        "a: |\n   one\n  two\n",
        "a: |\n  one\n \n  two\n",
        "a: |\n \n  one\n",
        "a: |\n   \n  one\n",
        "a: >\n  one\n   two\n  three\n",
        "a: |\n  one\n  \nb: c\n",
        "a: |2\n  one\n",
        "a: |1\n  one\n",
        "a: |-2\n   one\n",
        "a: | # x\n  one\n",
        "a: |-+\n  one\n",
        "a: >x\n  one\n",
        "a: |\n  one\n# x\n  two\n",
        "a: |\n  one\n\n# x\n\nb: c\n",
        "a: |+\n  one\n\n# x\n\nb: c\n",
        "a: |\n  one\n # x\nb: c\n",
        "a: |\n\tone\n",
        "a:\tb\n",
        "a:\n\tb: c\n",
        "a: b\rc: d\n",
        "a: b\r\r\nc: d\r\n",
        "a: b\u{85}c: d\n",
        "a: b\u{2028}c: d\n",
        "a: b\u{2029}c: d\n",
        "\u{FEFF}a: b\n",
        "a: b\u{FEFF}\n",
        "a: b\u{FFFE}\n",
        "a: b\u{7F}\n",
        "a: b\u{1}\n",
        "a: b\u{80}\n",
        "a: b\u{9F}\n",
        "a: \u{A0}b\u{A0}\n",
        "a: b\0\n",
        "a: &x b\nc: *x\n",
        long_key.as_str(),
    ] {
        agrees(yaml).unwrap();
    }
}

#[test]
fn peek_returns_the_name_of_a_valid_manifest() {
    let keys = |count: usize| {
        (0..count)
            .map(|index| format!("k{index}: v\n"))
            .collect::<String>()
    };
    let maximum = format!("description: d\n{}", keys(23));
    for (yaml, name) in [
        ("name: a\ndescription: d\n", Some("a")),
        ("description: 'd'\nname: \"My Skill\"\n", Some("My Skill")),
        ("description: d\n", None),
        ("name:\ndescription: d\n", None),
        ("name: null\ndescription: d\n", None),
        ("name: a\ndescription: |\n  \u{200B}\n  d\n", Some("a")),
        ("name: a\ndescription: |\n  d\n  \u{200B}\n", Some("a")),
        (
            "name: a\ndescription: é\nversion: 1\nuser-invocable: no\nx:\ny: true\n",
            Some("a"),
        ),
        (
            "name: a\ndescription: d\nmetadata:\n  name: b\n  description: 7\ntags:\n- c\nt: |\n  e\n",
            Some("a"),
        ),
        ("name: a\ndescription: d\nwhen_to_use: often\n", Some("a")),
        ("name: a\ndescription: d\nUser_Invocable: no\n", Some("a")),
        (maximum.as_str(), None),
    ] {
        assert_eq!(peek_name(yaml), Some(name.map(str::to_owned)), "{yaml}");
        assert_eq!(agrees(yaml), Ok(true), "{yaml}");
    }
}

#[test]
fn peek_leaves_uncertain_manifests_to_the_full_parser() {
    let many: String = (0..24).map(|index| format!("k{index}: v\n")).collect();
    let with_description = |fields: &str| format!("description: d\n{fields}");
    for yaml in [
        "name: a\n".to_owned(),
        "name: a\ndescription: ''\n".to_owned(),
        "name: a\ndescription: \u{200B}\n".to_owned(),
        "name: a\ndescription: 7\n".to_owned(),
        "name: a\ndescription: true\n".to_owned(),
        "name: a\ndescription:\n".to_owned(),
        "name: a\ndescription:\n- d\n".to_owned(),
        "name: a\ndescription:\n  d: e\n".to_owned(),
        "name: a\ndescription: |\n  \u{200B}\n".to_owned(),
        "name: a\ntext: |\n  d\n".to_owned(),
        with_description("name: 7\n"),
        with_description("name: true\n"),
        with_description("name: |\n  a\n"),
        with_description("name:\n- a\n"),
        with_description("name:\n  a: b\n"),
        with_description("Name: a\n"),
        with_description("na-me: a\n"),
        with_description("name: \"a\\tb\"\n"),
        with_description("name: a\n  b\n"),
        with_description("name: a\nDescription: e\n"),
        with_description("x: 1\nx: 2\n"),
        with_description(&many),
    ] {
        assert_eq!(peek_name(&yaml), None, "{yaml}");
        agrees(&yaml).unwrap();
    }
}
