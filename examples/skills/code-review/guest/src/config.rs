//! The rules file of the skill.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::Issue;
use crate::check::Finding;

#[derive(Deserialize)]
pub struct Config {
    #[serde(rename = "max-line-length")]
    pub max_line_length: usize,
    #[serde(rename = "max-function-lines")]
    pub max_function_lines: usize,
    rules: HashMap<String, Rule>,
}

#[derive(Deserialize)]
struct Rule {
    severity: Severity,
    message: String,
}

#[derive(Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info,
    Warning,
    Error,
}

impl Config {
    pub fn read(path: &str) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))
    }

    /// Gives a finding its severity and message; a rule that the file does not name is switched off.
    pub fn issue(&self, finding: Finding) -> Option<Issue> {
        let rule = self.rules.get(finding.rule)?;
        Some(Issue { line: finding.line, severity: rule.severity, rule: finding.rule, message: rule.message.clone() })
    }
}
