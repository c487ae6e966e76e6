//! The observations of an isolation level.

use std::ops::{Deref, DerefMut};
use std::time::Instant;

use skills_sandbox_conformance::BackendVariant;
use skills_sandbox_linux::IsolationMode;

pub(crate) struct Observations {
    pub(crate) mode: IsolationMode,
    all: skills_sandbox_conformance::Observations,
    since: Instant,
}

impl Observations {
    pub(crate) fn new(column: BackendVariant, mode: IsolationMode) -> Self {
        Self {
            mode,
            all: skills_sandbox_conformance::Observations::new(column),
            since: Instant::now(),
        }
    }

    pub(crate) fn has_namespaces(&self) -> bool {
        self.column() == BackendVariant::LinuxNamespaces
    }

    /// Prints how long a group of cases took.
    pub(crate) fn finish_group(&mut self, group: &str) {
        eprintln!(
            "{}: {group} took {} ms",
            self.column(),
            self.since.elapsed().as_millis()
        );
        self.since = Instant::now();
    }

    pub(crate) fn into_inner(self) -> skills_sandbox_conformance::Observations {
        self.all
    }
}

impl Deref for Observations {
    type Target = skills_sandbox_conformance::Observations;

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

impl DerefMut for Observations {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.all
    }
}
