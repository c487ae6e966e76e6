//! The findings about one skill.

use std::collections::BTreeMap;

use crate::finding::{Finding, Severity};

/// Maximum number of findings of one rule in a report.
const MAX_OF_RULE: usize = 20;

/// The findings about one skill, the most severe first, then by path and line. At most 20 of each
/// rule; the rest is counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Report {
    findings: Vec<Finding>,
    omitted: usize,
}

impl Report {
    pub(crate) fn new(mut findings: Vec<Finding>, mut omitted: usize) -> Self {
        findings.sort_by(|a, b| {
            let key = |finding: &Finding| (std::cmp::Reverse(finding.severity()), finding.line());
            (key(a).0, a.path(), key(a).1, a.rule()).cmp(&(key(b).0, b.path(), key(b).1, b.rule()))
        });
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let found = findings.len();
        findings.retain(|finding| {
            let count = counts.entry(finding.rule()).or_default();
            *count += 1;
            *count <= MAX_OF_RULE
        });
        omitted += found - findings.len();
        Self { findings, omitted }
    }

    /// Returns the findings.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the number of findings that were left out because their rule has more than 20.
    #[must_use]
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// Returns the highest severity, or none without findings.
    #[must_use]
    pub fn highest(&self) -> Option<Severity> {
        self.findings.first().map(Finding::severity)
    }
}
