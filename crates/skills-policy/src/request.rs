//! What a program asks for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::{Capability, Limits};

/// What a program asks for, and what its host offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    directory: PathBuf,
    workspace: Option<PathBuf>,
    asked: Vec<Asked>,
    without: BTreeSet<Capability>,
    limits: Limits,
}

/// One tool and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) tool: String,
    pub(crate) pattern: Option<String>,
    pub(crate) capability: Capability,
}

impl Request {
    /// Asks for the least: to read `directory`, where the program lies, under the default [`Limits`].
    ///
    /// An empty or missing `allowed-tools` ends here. The OpenSkills flow reads it as "everything is allowed"; here it restricts no
    /// tool *of the agent* and gives the *program* nothing beyond the default.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        let limits = Limits::default();
        Self { directory: directory.into(), workspace: None, asked: Vec::new(), without: BTreeSet::new(), limits }
    }

    /// Asks for what a tool stands for (see [`Capability::of_tool`]); other tools ask for nothing.
    ///
    /// `pattern` narrows: `git:*` or `git *` of `Bash` asks for that one program, `domain:example.com` of `WebFetch` for that one host.
    #[must_use]
    pub fn tool(mut self, tool: &str, pattern: Option<&str>) -> Self {
        if let Some(capability) = Capability::of_tool(tool) {
            self.asked.push(Asked { tool: tool.to_owned(), pattern: pattern.map(str::to_owned), capability });
        }
        self
    }

    /// Offers a directory for the program's input and output files: readable with [`Capability::Read`], writable with
    /// [`Capability::Write`]. Without it these two grant nothing.
    #[must_use]
    pub fn workspace(mut self, directory: impl Into<PathBuf>) -> Self {
        self.workspace = Some(directory.into());
        self
    }

    /// Gives up a capability that a tool asked for: the program runs without it.
    #[must_use]
    pub fn without(mut self, capability: Capability) -> Self {
        self.without.insert(capability);
        self
    }

    /// Asks for other limits; the rules' ceiling still holds.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Lists the capabilities that are asked for, in order.
    #[must_use]
    pub fn capabilities(&self) -> BTreeSet<Capability> {
        self.asked().map(|asked| asked.capability).collect()
    }

    pub(crate) fn asked(&self) -> impl Iterator<Item = &Asked> {
        self.asked.iter().filter(|asked| !self.without.contains(&asked.capability))
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn workspace_directory(&self) -> Option<&Path> {
        self.workspace.as_deref()
    }

    pub(crate) fn wanted_limits(&self) -> &Limits {
        &self.limits
    }
}

impl Asked {
    pub(crate) fn text(&self) -> String {
        self.pattern.as_ref().map_or_else(|| self.tool.clone(), |pattern| format!("{}({pattern})", self.tool))
    }

    /// Returns the one program that a pattern of a shell tool names: `git` of `git:*`, `git *`, `git status`.
    ///
    /// `None` means any program; a pattern that names none (`*`) restricts nothing.
    pub(crate) fn program(&self) -> Option<&str> {
        let word = self.pattern.as_deref()?.split([':', ' ', '*']).next()?.trim();
        (!word.is_empty()).then_some(word)
    }

    /// Returns the one host that a pattern of a network tool names: `domain:example.com`.
    pub(crate) fn host(&self) -> Option<&str> {
        self.pattern.as_deref()?.strip_prefix("domain:").map(str::trim).filter(|host| !host.is_empty())
    }
}
