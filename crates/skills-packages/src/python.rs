//! Declarations of Python packages.

mod inline;
pub(crate) mod lock;
mod pyproject;
mod requirements;

use std::collections::{BTreeMap, BTreeSet};

use crate::files::ReadFile;
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
    /// Reads the first declaration in `directories`; `None` if there is none, or if it is empty.
    pub(crate) fn read(
        files: &ReadFile<'_>,
        script: Option<&str>,
        directories: &[String],
    ) -> Option<Self> {
        let inline = script
            .filter(|script| script.ends_with(".py"))
            .and_then(|script| inline::read(script, &files(script)?));
        let declared = inline.or_else(|| {
            directories.iter().find_map(|directory| {
                pyproject::read(files, directory)
                    .or_else(|| requirements::read(files, &format!("{directory}requirements.txt")))
            })
        });
        declared.filter(|project| !project.is_empty())
    }

    /// Reads each file of a directory that declares packages, also those after the first.
    pub(crate) fn read_all(files: &ReadFile<'_>, directory: &str) -> Option<Self> {
        let of_file = requirements::read(files, &format!("{directory}requirements.txt"));
        let mut project = pyproject::read(files, directory).unwrap_or_default();
        let of_file = of_file.unwrap_or_default();
        project.requirements.extend(of_file.requirements);
        project.problems.extend(of_file.problems);
        (!project.is_empty()).then_some(project)
    }

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

    fn is_empty(&self) -> bool {
        self.requirements.is_empty() && self.problems.is_empty()
    }

    fn of_file(file: &str) -> Self {
        Self {
            sources: vec![file.to_owned()],
            ..Self::default()
        }
    }

    fn add_source(&mut self, file: &str) {
        if !self.sources.iter().any(|known| known == file) {
            self.sources.push(file.to_owned());
        }
    }

    /// Adds a requirement by its text.
    fn add(&mut self, file: &str, line: Option<usize>, text: &str) {
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

    fn add_problem(&mut self, file: &str, line: Option<usize>, reason: &str) {
        // Bounded, since a file can contain any number of lines.
        if self.problems.len() < 16 {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            self.problems.push(format!("{file}{line}: {reason}"));
        }
    }
}
