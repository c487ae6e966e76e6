//! Compares the strict parser with recorded results of skills-ref 0.1.0 (`skills_ref.jsonl`).

use serde_json::Value;
use skills_ref_compat::{read_properties, validate};

/// The key of a recorded crash of the reference validator; the strict parser must return an error.
const CRASH: &str = "crash";

fn cases() -> impl Iterator<Item = Value> {
    include_str!("skills_ref.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
}

/// Returns the file that the validator reads: `SKILL.md`, else `skill.md`, and no other spelling.
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
    let mut bytes = Vec::new();
    let mut bits = 0u32;
    let mut bit_count = 0;
    for digit in base64
        .bytes()
        .filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte))
    {
        bits = bits << 6 | digit as u32;
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            bytes.push((bits >> bit_count) as u8);
        }
    }
    bytes
}

/// Removes terminal sequences, as the library that prints the validator's output does.
fn without_terminal_sequences(text: &str) -> String {
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
fn results_and_messages_match_the_reference_validator() {
    let mut checked = 0;
    let mut crashed = 0;
    let mut differences = Vec::new();
    for case in cases() {
        let Some(bytes) = bytes(&case) else { continue };
        let directory = case["directory"].as_str().unwrap();
        let errors = validate(&bytes, directory);
        // The recorded results are those of Python 3.11 with Unicode 14; Rust's version is newer.
        if case["id"].as_str().unwrap().contains("-unicode1") {
            continue;
        }
        checked += 1;
        if case["validate"].get(CRASH).is_some() {
            crashed += 1;
            if errors.is_empty() {
                differences.push(format!("{}: accepted, the validator crashes", case["id"]));
            }
            continue;
        }
        let ours: String = errors
            .iter()
            .map(|error| format!("  - {}\n", without_terminal_sequences(error.message())))
            .collect();
        let theirs = case["validate"]["stderr"].as_str().unwrap();
        let theirs = theirs.split_once('\n').map_or("", |(_, errors)| errors);
        if ours != theirs {
            differences.push(format!(
                "{}\n--- content\n{}\n--- ours\n{ours}--- theirs\n{theirs}",
                case["id"],
                String::from_utf8_lossy(&bytes)
            ));
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {checked} differ\n{}",
        differences.len(),
        differences.join("\n")
    );
    assert!(
        checked > 200 && crashed > 5,
        "{checked} cases, {crashed} crashes"
    );
}

#[test]
fn properties_match_the_reference_validator() {
    let mut checked = 0;
    let mut differences = Vec::new();
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
            differences.push(format!(
                "{}\n--- ours\n{ours}--- theirs\n{theirs}",
                case["id"]
            ));
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {checked} differ\n{}",
        differences.len(),
        differences.join("\n")
    );
    assert!(checked > 200, "{checked}");
}
