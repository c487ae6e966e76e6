//! How to look: roots, limits, rules.

use crate::file_stamp::ScanStart;
use crate::{Catalog, ConfigRule, Precedence, Root, ScanLimits};

/// Finds the skills below `roots` with the defaults of [`Discovery`].
///
/// Never fails: what cannot be read is in [`Catalog::skipped`].
#[must_use]
pub fn discover(roots: &[Root], limits: &ScanLimits) -> Catalog {
    Discovery::new(roots.to_vec()).limits(limits.clone()).scan()
}

/// Where to look for skills and what to make of them.
///
/// Defaults: the limits of Codex, all skills of one name are kept, no rules, no product, as many
/// threads as there are cores, at most eight.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Discovery {
    pub(crate) roots: Vec<Root>,
    pub(crate) limits: ScanLimits,
    pub(crate) precedence: Precedence,
    pub(crate) rules: Vec<ConfigRule>,
    pub(crate) product: Option<String>,
    pub(crate) threads: Option<usize>,
}

impl Discovery {
    /// Takes the roots in the order in which they win: a directory that several lead to belongs to
    /// the first.
    pub fn new(roots: impl IntoIterator<Item = Root>) -> Self {
        Self {
            roots: roots.into_iter().collect(),
            limits: ScanLimits::default(),
            precedence: Precedence::KeepAll,
            rules: Vec::new(),
            product: None,
            threads: None,
        }
    }

    /// Sets the roots anew.
    pub fn with_roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        self.roots = roots.into_iter().collect();
        self
    }

    /// Sets the limits of a scan.
    pub fn limits(mut self, limits: ScanLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Chooses what several skills of one name mean.
    pub fn precedence(mut self, precedence: Precedence) -> Self {
        self.precedence = precedence;
        self
    }

    /// Sets the rules that enable and disable skills; later ones win.
    pub fn rules(mut self, rules: impl IntoIterator<Item = ConfigRule>) -> Self {
        self.rules = rules.into_iter().collect();
        self
    }

    /// Names the product that asks; skills whose `agents/openai.yaml` names others only are left
    /// out.
    pub fn product(mut self, product: impl Into<String>) -> Self {
        self.product = Some(product.into());
        self
    }

    /// Sets how many threads read skills, at least one.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Returns the roots.
    #[must_use]
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// Finds the skills.
    ///
    /// Each root is walked breadth-first, so that skills near it are found even when a limit bites;
    /// directories are taken in the order of their names. A directory with a `SKILL.md` is a skill
    /// and is not searched for more, unless it is the root itself or the root says so.
    ///
    /// Never fails: what cannot be read is in [`Catalog::skipped`].
    #[must_use]
    pub fn scan(&self) -> Catalog {
        crate::walk::walk(self, None, ScanStart::now())
    }

    /// Finds the skills again; nothing when `known` was found in the same way and the disk looks as
    /// it did then, which costs one look at each file's metadata. Else skills whose files look as
    /// before are taken over without reading them.
    #[must_use]
    pub fn rescan(&self, known: &Catalog) -> Option<Catalog> {
        if !known.was_scanned_with(self) {
            return Some(self.scan());
        }
        if known.scan_stamps().is_current(self.thread_count()) {
            None
        } else {
            Some(crate::walk::walk(self, Some(known), ScanStart::now()))
        }
    }

    /// Whether both look in the same way; how many threads do it does not matter.
    pub(crate) fn has_same_settings(&self, other: &Self) -> bool {
        let threads = other.threads;
        Self {
            threads,
            ..self.clone()
        } == *other
    }

    pub(crate) fn thread_count(&self) -> usize {
        self.threads
            .unwrap_or_else(crate::parallel::default_threads)
    }
}

#[cfg(test)]
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Scope;

    /// A second write in the same tick of the file system's clock would not show.
    #[test]
    fn a_catalog_is_current_only_when_its_files_were_written_before_the_last_tick() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a").join("SKILL.md");
        std::fs::create_dir(directory.path().join("a")).unwrap();
        std::fs::write(&path, "---\nname: a\ndescription: d\n---\n").unwrap();
        let discovery = Discovery::new([Root::new(directory.path(), Scope::Repo)]);
        for (age, is_current) in [(Duration::ZERO, false), (Duration::from_secs(4), true)] {
            let known = crate::walk::walk(&discovery, None, ScanStart::after_writing(&path, age));
            assert_eq!(known.scan_stamps().is_current(1), is_current, "{age:?}");
            assert_eq!(discovery.rescan(&known).is_none(), is_current, "{age:?}");
            assert_eq!(
                known.entries()[0].stamp().is_settled(),
                is_current,
                "{age:?}"
            );
        }
    }
}
