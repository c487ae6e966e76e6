//! The configuration of a scan, and the entry points that run it.

use crate::file_stamp::ScanStart;
use crate::{Catalog, ConfigRule, Precedence, Root, ScanLimits};

/// Scans `roots` for skills with the defaults of [`Discovery`] and the given limits.
///
/// The scan never fails: roots, directories and skills that cannot be read are in
/// [`Catalog::skipped`], with the reason.
#[must_use]
pub fn discover(roots: &[Root], limits: &ScanLimits) -> Catalog {
    Discovery::new(roots.to_vec()).limits(limits.clone()).scan()
}

/// The configuration of a scan: roots, limits, rules, precedence.
///
/// Defaults: the limits of Codex ([`ScanLimits`]), all skills of the same name are kept
/// ([`Precedence::KeepAll`]), no rules, no product, and one thread for each core, at most eight. A
/// configuration is a value without open files; it can be cloned and scanned any number of times.
///
/// ```
/// use skills_discovery::{Discovery, Precedence, Root, Scope};
///
/// # let directory = tempfile::tempdir()?;
/// # for root in ["project", "user"] {
/// #     std::fs::create_dir_all(directory.path().join(root).join("pdf"))?;
/// #     let text = format!("---\nname: pdf\ndescription: Of the {root}.\n---\n");
/// #     std::fs::write(directory.path().join(root).join("pdf/SKILL.md"), text)?;
/// # }
/// let discovery = Discovery::new([
///     Root::new(directory.path().join("project"), Scope::Repo),
///     Root::new(directory.path().join("user"), Scope::User),
/// ])
/// .precedence(Precedence::FirstRoot);
/// let catalog = discovery.scan();
/// assert_eq!(catalog.entries()[0].manifest().description(), "Of the project.");
/// assert_eq!(catalog.inactive()[0].reason().code(), "shadowed");
/// # Ok::<(), std::io::Error>(())
/// ```
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
    /// Creates a configuration for `roots`, in order of precedence: a skill that can be reached
    /// through several roots belongs to the first. Trusted roots go before untrusted ones,
    /// whatever their order.
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

    /// Replaces the roots.
    pub fn with_roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        self.roots = roots.into_iter().collect();
        self
    }

    /// Sets the limits, which apply to each root separately.
    pub fn limits(mut self, limits: ScanLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets which of several skills with the same name are active.
    pub fn precedence(mut self, precedence: Precedence) -> Self {
        self.precedence = precedence;
        self
    }

    /// Replaces the rules that enable and disable skills; the last rule that matches a skill
    /// decides.
    pub fn rules(mut self, rules: impl IntoIterator<Item = ConfigRule>) -> Self {
        self.rules = rules.into_iter().collect();
        self
    }

    /// Sets the product that scans. Skills whose `agents/openai.yaml` lists only other products are
    /// inactive; for this the scan reads that file of every skill.
    pub fn product(mut self, product: impl Into<String>) -> Self {
        self.product = Some(product.into());
        self
    }

    /// Sets the number of threads that read skills, at least one. The result does not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Returns the roots in the order in which they were passed.
    #[must_use]
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// Scans the roots for skills.
    ///
    /// Each root is scanned breadth-first, so that skills near the root are found even if a limit
    /// is reached; directories are visited in the order of their names. A directory with a
    /// `SKILL.md` is a skill and is not searched further, unless it is the root itself or the root
    /// allows nested skills.
    ///
    /// The scan never fails: what cannot be read is in [`Catalog::skipped`], with the reason.
    #[must_use]
    pub fn scan(&self) -> Catalog {
        crate::walk::walk(self, None, ScanStart::now())
    }

    /// Scans incrementally: returns `None` if `previous` was scanned with the same settings and
    /// nothing changed since, which costs one `stat` per file. Otherwise it returns a new catalog,
    /// in which skills with unchanged files are reused without reading them.
    ///
    /// Files that were written just before the previous scan count as changed once more, because a
    /// second write in the same tick of the file system's clock cannot be noticed.
    ///
    /// ```
    /// use skills_discovery::{Discovery, Root, Scope};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// let discovery = Discovery::new([Root::new(directory.path().join("skills"), Scope::User)]);
    /// let previous = discovery.scan();
    /// assert!(discovery.rescan(&previous).is_none());
    /// std::fs::create_dir(directory.path().join("skills"))?;
    /// assert!(discovery.rescan(&previous).is_some());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn rescan(&self, previous: &Catalog) -> Option<Catalog> {
        // Other roots, rules or limits can change the result although no file changed.
        if !previous.was_scanned_with(self) {
            return Some(self.scan());
        }
        if previous.scan_stamps().is_current(self.thread_count()) {
            None
        } else {
            Some(crate::walk::walk(self, Some(previous), ScanStart::now()))
        }
    }

    /// Returns whether both configurations have the same result. The number of threads does not
    /// matter.
    pub(crate) fn has_same_settings(&self, other: &Self) -> bool {
        // Comparing whole values includes every setting that is added later.
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

    /// A second write in the same tick of the file system's clock would not be noticed.
    #[test]
    fn a_catalog_is_current_only_if_its_files_were_written_before_the_last_tick() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a").join("SKILL.md");
        std::fs::create_dir(directory.path().join("a")).unwrap();
        std::fs::write(&path, "---\nname: a\ndescription: d\n---\n").unwrap();
        let discovery = Discovery::new([Root::new(directory.path(), Scope::Repo)]);
        for (age, is_current) in [(Duration::ZERO, false), (Duration::from_secs(4), true)] {
            let catalog = crate::walk::walk(&discovery, None, ScanStart::after_writing(&path, age));
            assert_eq!(catalog.scan_stamps().is_current(1), is_current, "{age:?}");
            assert_eq!(discovery.rescan(&catalog).is_none(), is_current, "{age:?}");
            assert_eq!(
                catalog.entries()[0].stamp().is_settled(),
                is_current,
                "{age:?}"
            );
        }
    }
}
