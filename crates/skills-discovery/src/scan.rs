//! The entry points that run a scan, and that explain its result.

use crate::explain::explain;
use crate::file_stamp::ScanStart;
use crate::traversal::walk;
use crate::{Catalog, Discovery, Explanation, Root, ScanLimits};

/// Scans `roots` for skills with the defaults of [`Discovery`] and the given limits.
///
/// The scan never fails: roots, directories and skills that cannot be read are in
/// [`Catalog::skipped`], with the reason.
#[must_use]
pub fn discover(roots: &[Root], limits: &ScanLimits) -> Catalog {
    Discovery::new(roots.to_vec()).limits(limits.clone()).scan()
}

impl Discovery {
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
        walk(self, None, ScanStart::now())
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
        if previous.is_current_on(self.threads) {
            None
        } else {
            Some(walk(self, Some(previous), ScanStart::now()))
        }
    }

    /// Explains why a skill is available or not. `query` is a name, or the path of a skill
    /// directory or `SKILL.md`; relative paths are relative to the working directory. `catalog` is
    /// the result of a scan with these settings.
    ///
    /// ```
    /// use skills_discovery::{Discovery, Root, Scope, SkillStatus};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir(directory.path().join("pdf"))?;
    /// # std::fs::write(directory.path().join("pdf/SKILL.md"), "no frontmatter")?;
    /// let discovery = Discovery::new([Root::new(directory.path(), Scope::User)]);
    /// let explanation = discovery.explain(&discovery.scan(), "pdf");
    /// assert_eq!(explanation.status(), SkillStatus::Skipped);
    /// assert_eq!(explanation.steps()[0].code(), "frontmatter-missing");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn explain(&self, catalog: &Catalog, query: &str) -> Explanation {
        explain(self, catalog, query)
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
            let catalog = walk(&discovery, None, ScanStart::after_writing(&path, age));
            assert_eq!(catalog.is_current(1), is_current, "{age:?}");
            assert_eq!(discovery.rescan(&catalog).is_none(), is_current, "{age:?}");
            assert_eq!(
                catalog.entries()[0].stamp().is_settled(),
                is_current,
                "{age:?}"
            );
        }
    }
}
