//! The strict reading against what skills-ref 0.1.0 answered, case by case (`skills_ref.jsonl`).

use serde_json::Value;
use skills_manifest::strict::{read_properties, validate};

/// What the reference tool prints when it crashes; there the strict reading must refuse and say
/// why.
const CRASH: &str = "crash";

fn cases() -> impl Iterator<Item = Value> {
    include_str!("skills_ref.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
}

/// The bytes of the file that the tool reads: `SKILL.md` before `skill.md`, and no other spelling.
fn bytes(case: &Value) -> Option<Vec<u8>> {
    let files = match &case["file"] {
        Value::Array(files) => files.clone(),
        file => vec![file.clone()],
    };
    let contents = match &case["content"] {
        Value::Array(contents) => contents.clone(),
        content => vec![content.clone()],
    };
    let index = ["SKILL.md", "skill.md"]
        .iter()
        .find_map(|name| files.iter().position(|file| file == name))?;
    match &case["base64"] {
        Value::String(text) => Some(decode(text)),
        _ => contents[index]
            .as_str()
            .map(|text| text.as_bytes().to_vec()),
    }
}

fn decode(base64: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0);
    for digit in base64
        .bytes()
        .filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte))
    {
        (bits, held) = (bits << 6 | digit as u32, held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

/// The tool's output goes through a library that takes terminal sequences out of it.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap().to_owned();
    parts.for_each(|part| {
        out.push_str(
            part.trim_start_matches(|c: char| matches!(c, ';' | '?' | '0'..='9'))
                .get(1..)
                .unwrap(),
        )
    });
    out
}

#[test]
fn verdicts_and_messages_are_those_of_the_reference_tool() {
    let (mut checked, mut crashed, mut wrong) = (0, 0, Vec::new());
    for case in cases() {
        let Some(bytes) = bytes(&case) else { continue };
        let directory = case["directory"].as_str().unwrap();
        let errors = validate(&bytes, directory);
        // The tool ran on Python 3.11, which knows the characters of Unicode 14; ours are newer.
        if case["id"].as_str().unwrap().contains("-unicode1") {
            continue;
        }
        checked += 1;
        if case["validate"].get(CRASH).is_some() {
            crashed += 1;
            if errors.is_empty() {
                wrong.push(format!("{}: accepted, the tool crashes", case["id"]));
            }
            continue;
        }
        let ours: String = errors
            .iter()
            .map(|error| format!("  - {}\n", without_colours(error.message())))
            .collect();
        let theirs = case["validate"]["stderr"].as_str().unwrap();
        let theirs = theirs.split_once('\n').map_or("", |(_, errors)| errors);
        if ours != theirs {
            wrong.push(format!(
                "{}\n--- content\n{}\n--- ours\n{ours}--- theirs\n{theirs}",
                case["id"],
                String::from_utf8_lossy(&bytes)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {checked} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        checked > 200 && crashed > 5,
        "{checked} cases, {crashed} crashes"
    );
}

#[test]
fn properties_are_those_of_the_reference_tool() {
    let (mut checked, mut wrong) = (0, Vec::new());
    for case in cases() {
        let Some(bytes) = bytes(&case) else { continue };
        if case["read_properties"].get(CRASH).is_some() {
            continue;
        }
        let (ours, theirs) = match read_properties(&bytes) {
            Ok(properties) => (
                format!("{}\n", properties.to_json()),
                case["read_properties"]["stdout"].as_str().unwrap(),
            ),
            Err(error) => (
                format!("Error: {error}\n"),
                case["read_properties"]["stderr"].as_str().unwrap(),
            ),
        };
        checked += 1;
        if ours != theirs {
            wrong.push(format!(
                "{}\n--- ours\n{ours}--- theirs\n{theirs}",
                case["id"]
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {checked} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(checked > 200, "{checked}");
}
