//! Puts a runtime together.

use std::path::PathBuf;
use std::sync::Arc;

use skills_discovery::{Discovery, Limits, Precedence, Root, Rule};
use skills_policy::Rules;
use skills_prompt::Modes;
use skills_sandbox::Sandbox;

use crate::SkillRuntime;
use crate::backends::Backends;

/// Puts a [`SkillRuntime`] together.
///
/// Defaults: no roots, the limits of Codex, rules that allow reading only, scratch directories below `/tmp`, and the backends that this
/// build and this system have.
#[derive(Clone)]
#[must_use]
pub struct Builder {
    roots: Vec<Root>,
    discovery: Discovery,
    rules: Rules,
    scratch: PathBuf,
    backends: Backends,
    modes: Modes,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            discovery: Discovery::new([]),
            rules: Rules::default(),
            scratch: PathBuf::from("/tmp"),
            backends: Backends::default(),
            modes: Modes::default(),
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

    /// Looks for skills as this says; its roots come behind those that are added one by one.
    pub fn discovery(mut self, discovery: Discovery) -> Self {
        self.discovery = discovery;
        self
    }

    /// Sets the limits of a scan.
    pub fn discovery_limits(mut self, limits: Limits) -> Self {
        self.discovery = self.discovery.limits(limits);
        self
    }

    /// Sets the rules that enable and disable skills; later ones win.
    pub fn skill_rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.discovery = self.discovery.rules(rules);
        self
    }

    /// Chooses what several skills of one name mean. Default: all are kept.
    pub fn precedence(mut self, precedence: Precedence) -> Self {
        self.discovery = self.discovery.precedence(precedence);
        self
    }

    /// Names the product that the runtime is part of; skills that are for others only are left out.
    pub fn product(mut self, product: impl Into<String>) -> Self {
        self.discovery = self.discovery.product(product);
        self
    }

    /// Sets what programs may be granted.
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// Says how skills stand in the catalogue of the model. Default: as the budget allows.
    pub fn modes(mut self, modes: Modes) -> Self {
        self.modes = modes;
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
        SkillRuntime::new(
            {
                let roots = self.roots.into_iter().chain(self.discovery.roots().to_vec()).collect::<Vec<_>>();
                self.discovery.with_roots(roots)
            },
            self.rules,
            backends,
            self.modes,
        )
    }
}
