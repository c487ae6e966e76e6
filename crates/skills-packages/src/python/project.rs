//! The packages that a skill declares for Python.

use std::collections::{BTreeMap, BTreeSet};

use crate::grammar::PythonRequirement;
use crate::listed::ListedPackage;
use crate::shown_text::shown;

/// Maximum number of declared packages.
const MAX_REQUIREMENTS: usize = 512;

/// The packages that a skill declares for Python.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PythonProject {
    /// The files that declare them, as paths in the skill.
    pub sources: Vec<String>,
    /// The declared packages, with their versions and the systems for which they count.
    pub requirements: Vec<PythonRequirement>,
    /// Versions that a lock file fixes, as requirements.
    pub constraints: Vec<String>,
    /// The SHA-256 digests that files may have, by package, as a lock file lists them.
    pub locked_hashes: BTreeMap<String, BTreeSet<String>>,
    /// The versions of Python that the skill supports, in the normalized form of their specifiers.
    pub requires_python: Option<String>,
    /// Declarations that cannot be installed, each with its file, line and reason.
    pub problems: Vec<String>,
}

impl PythonProject {
    /// Adds listed packages.
    pub(crate) fn with_listed<'a>(
        declared: Option<Self>,
        listed: impl Iterator<Item = &'a ListedPackage>,
    ) -> Option<Self> {
        let mut project = declared.unwrap_or_default();
        let sources = project.sources.len();
        for package in listed {
            project.add_source(&package.source);
            project.add(&package.source, None, &package.requirement);
        }
        let has_more = project.sources.len() > sources;
        (has_more || !project.is_empty()).then_some(project)
    }

    /// Returns true if a lock file fixes versions or files of packages.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        !(self.constraints.is_empty() && self.locked_hashes.is_empty())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requirements.is_empty() && self.problems.is_empty()
    }

    pub(super) fn of_file(file: &str) -> Self {
        Self {
            sources: vec![file.to_owned()],
            ..Self::default()
        }
    }

    pub(super) fn add_source(&mut self, file: &str) {
        if !self.sources.iter().any(|known| known == file) {
            self.sources.push(file.to_owned());
        }
    }

    /// Adds a requirement by its text.
    pub(super) fn add(&mut self, file: &str, line: Option<usize>, text: &str) {
        let text = text.trim();
        if self.requirements.len() >= MAX_REQUIREMENTS {
            return self.add_problem(file, line, "more than 512 packages");
        }
        match PythonRequirement::parse(text) {
            Ok(requirement) => self.requirements.push(requirement),
            Err(invalid) => {
                let reason = match invalid.package_of_url() {
                    Some(name) => format!("`{name}` is not from an index"),
                    None => format!("cannot parse `{}`: {invalid}", shown(text)),
                };
                self.add_problem(file, line, &reason);
            }
        }
    }

    pub(super) fn add_problem(&mut self, file: &str, line: Option<usize>, reason: &str) {
        // Bounded, since a file can contain any number of lines.
        if self.problems.len() < 16 {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            self.problems.push(format!("{file}{line}: {reason}"));
        }
    }
}
