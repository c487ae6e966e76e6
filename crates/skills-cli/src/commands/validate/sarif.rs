//! The report of `skills validate` as a SARIF 2.1.0 document.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::collection::{Target, Targets};
use super::finding::Finding;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Returns the document: one run, one rule for each code, one result for each finding.
pub(super) fn document(targets: &Targets, checks: &[Vec<Finding>]) -> Value {
    let mut results = Vec::new();
    let mut notifications: Vec<Value> = targets
        .notes
        .iter()
        .map(|note| json!({"level": "warning", "message": {"text": note}}))
        .collect();
    for (target, findings) in targets.list.iter().zip(checks) {
        match target {
            Target::Missing { message, .. } => {
                notifications.push(json!({"level": "error", "message": {"text": message}}));
            }
            Target::Skill(skill) => {
                results.extend(findings.iter().map(|finding| {
                    let file = finding.file(skill);
                    result(&to_uri(&file.to_string_lossy()), finding)
                }));
            }
        }
    }
    let codes: BTreeSet<&str> = checks
        .iter()
        .flatten()
        .map(|finding| finding.code)
        .collect();
    let rules: Vec<Value> = codes.iter().map(|code| json!({"id": code})).collect();
    let is_successful = !targets
        .list
        .iter()
        .any(|target| matches!(target, Target::Missing { .. }));
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "skills validate",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "invocations": [{
                "executionSuccessful": is_successful,
                "toolExecutionNotifications": notifications,
            }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(uri: &str, finding: &Finding) -> Value {
    let mut location = json!({"artifactLocation": {"uri": uri}});
    if let Some(line) = finding.line {
        location["region"] = json!({"startLine": line});
        if let Some(column) = finding.column {
            location["region"]["startColumn"] = json!(column);
        }
    }
    json!({
        "ruleId": finding.code,
        "level": if finding.is_error() { "error" } else { "warning" },
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": location}],
    })
}

/// Returns a path as a URI: relative as it is, absolute with its scheme.
fn to_uri(path: &str) -> String {
    let mut uri = String::new();
    if path.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
