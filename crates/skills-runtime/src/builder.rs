//! Puts a runtime together.

use std::path::PathBuf;
use std::sync::Arc;

use skills_discovery::{Limits, Root};
use skills_policy::Rules;
use skills_sandbox::Sandbox;

use crate::SkillRuntime;
use crate::backends::Backends;

/// Puts a [`SkillRuntime`] together.
///
/// Defaults: no roots, the limits of Codex, rules that allow reading only, scratch directories below `/tmp`, and the backends that this
/// build and this system have.
#[must_use]
pub struct Builder {
    roots: Vec<Root>,
    limits: Limits,
    rules: Rules,
    scratch: PathBuf,
    backends: Backends,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            limits: Limits::default(),
            rules: Rules::default(),
            scratch: PathBuf::from("/tmp"),
            backends: Backends::default(),
        }
    }
}

impl Builder {
    /// Adds a directory to look for skills in; earlier ones win when two lead to the same skill.
    pub fn root(mut self, root: Root) -> Self {
        self.roots.push(root);
        self
    }

    /// Adds several directories.
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        self.roots.extend(roots);
        self
    }

    /// Sets the limits of a scan.
    pub fn discovery_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets what programs may be granted.
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// Sets where private scratch directories are made.
    pub fn scratch_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.scratch = directory.into();
        self
    }

    /// Replaces the backend for WebAssembly.
    pub fn wasm_sandbox(mut self, sandbox: Arc<dyn Sandbox>) -> Self {
        self.backends.wasm = Some(sandbox);
        self
    }

    /// Replaces the backend for scripts.
    pub fn native_sandbox(mut self, sandbox: Arc<dyn Sandbox>) -> Self {
        self.backends.native = Some(sandbox);
        self
    }

    /// Finishes. Nothing is read or started yet.
    #[must_use]
    pub fn build(self) -> SkillRuntime {
        let backends = self.backends.or_built_in(&self.scratch);
        SkillRuntime::new(self.roots, self.limits, self.rules, backends)
    }
}
