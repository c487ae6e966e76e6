//! The state of a scan, which a catalog keeps to tell whether it is current.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::Catalog;
use super::resolve::{self, LockCheck, SourceReasons};
use crate::file_stamp::ScanStart;
use crate::locked_content::SharedDigests;
use crate::openai_file::OPENAI_FILE;
use crate::parallel;
use crate::stamp_set::is_stamp_current;
use crate::thread_count::ThreadCount;
use crate::trusted_skills::TrustedContents;
use crate::unread_skills::UnreadSkills;
use crate::{CatalogSummary, Discovery, Entry, FileStamp, Root, Skipped, StampSet};

/// What a catalog keeps of its scan.
#[derive(Debug, Clone, Default)]
pub(super) struct ScanState {
    /// The stamps of what the scan read other than skill files: listed directories, plugin
    /// manifests, missing roots.
    stamps: StampSet,
    /// The skill files that the scan did not read, found on the first access.
    unread: OnceLock<UnreadSkills>,
    /// The digests of the files of locked skills, for the next scan.
    digests: SharedDigests,
    /// The revision of each source before it was listed.
    revisions: Vec<u64>,
    /// The skills that were trusted by their content.
    trusted: TrustedContents,
    /// The configuration of the scan; `None` for an empty catalog that no scan made.
    settings: Option<Arc<Discovery>>,
}

/// The collected results of walking all roots, in the order of the walk.
#[derive(Default)]
pub(crate) struct WalkOutput {
    pub(crate) entries: Vec<Entry>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) stamps: StampSet,
    /// The symlinks that were followed, including roots, with their canonical targets.
    pub(crate) symlinks: Vec<(PathBuf, PathBuf)>,
    /// The revision of each source before it was listed.
    pub(crate) revisions: Vec<u64>,
    pub(crate) source_reasons: SourceReasons,
}

impl Catalog {
    pub(crate) fn new(
        output: WalkOutput,
        discovery: &Discovery,
        digests: SharedDigests,
        scan_start: ScanStart,
    ) -> Self {
        let WalkOutput {
            entries,
            mut skipped,
            mut stamps,
            symlinks,
            revisions,
            source_reasons,
        } = output;
        let canonical = |root: &Root| {
            symlinks
                .iter()
                .find(|(from, _)| from == root.path())
                .map_or(root.path(), |(_, to)| to)
                .to_owned()
        };
        let roots = discovery.roots().iter();
        let trusted_roots: Vec<PathBuf> = roots
            .filter(|root| root.is_trusted())
            .map(canonical)
            .collect();
        let trusted = discovery.trusted_skills.contents();
        let (mut entries, mut inactive) = resolve::resolve_active(
            entries,
            discovery,
            &LockCheck {
                digests: &digests,
                scan_start,
                roots: &trusted_roots,
                trusted: &trusted,
            },
            &source_reasons,
            &mut stamps,
            &mut skipped,
        );
        // Sorted only after precedence, which needs the order of the roots.
        entries.sort_by(compare_entries);
        inactive.sort_by(|a, b| compare_entries(&a.entry, &b.entry));
        resolve::add_name_warnings(&mut entries);
        // The walk is breadth-first and root by root; users look for a path.
        skipped.sort_by(|a, b| (a.path(), a.reason().code()).cmp(&(b.path(), b.reason().code())));
        // Roots may overlap, and then each reports the same path.
        skipped.dedup_by(|a, b| a.path() == b.path() && a.reason().code() == b.reason().code());
        let roots = discovery
            .roots()
            .iter()
            .map(|root| (root.path().to_owned(), canonical(root)))
            .collect();
        Self {
            entries,
            inactive,
            skipped,
            symlinks,
            roots,
            scan: ScanState {
                stamps,
                unread: OnceLock::new(),
                digests,
                revisions,
                trusted,
                settings: Some(Arc::new(discovery.clone())),
            },
        }
    }

    /// Returns the skill files that the scan did not read because it did not search their
    /// directories: below other skills, in hidden directories and beyond the depth; and those in
    /// another spelling beside a `SKILL.md`. Ordered by path.
    ///
    /// The first call lists those directories, which a scan avoids, within the limits of their
    /// roots; a limit that is reached is part of the result. From then on a change of these
    /// directories makes the catalog outdated.
    #[must_use]
    pub fn unread_skills(&self) -> &[Skipped] {
        &self
            .scan
            .unread
            .get_or_init(|| UnreadSkills::find(self))
            .found
    }

    /// Returns the digests of the files of locked skills.
    pub(crate) fn shared_digests(&self) -> SharedDigests {
        Arc::clone(&self.scan.digests)
    }

    /// Returns the configuration of the scan; `None` for an empty catalog that no scan made.
    pub(crate) fn settings(&self) -> Option<&Discovery> {
        self.scan.settings.as_deref()
    }

    /// Returns how many skills were read, rejected and not searched for, and why. The first call
    /// looks for [`unread_skills`](Self::unread_skills).
    #[must_use]
    pub fn summary(&self) -> CatalogSummary {
        CatalogSummary::new(self)
    }

    /// Returns true if nothing changed since the scan, so that a new one would have the same
    /// result. Reads the metadata of what the scan read, and of all files of locked skills, on up to
    /// `threads` threads, but no content. Files with stamps from the clock tick of the scan count as changed.
    #[must_use]
    pub fn is_current(&self, threads: usize) -> bool {
        self.is_current_on(ThreadCount::new(threads))
    }

    pub(crate) fn is_current_on(&self, threads: ThreadCount) -> bool {
        // The stamps of directories do not show that a symlink in a parent was replaced.
        let are_symlinks_current = || {
            self.symlinks
                .iter()
                .all(|(path, target)| path.canonicalize().is_ok_and(|now| now == *target))
        };
        let is_unread_current = || {
            let unread = self.scan.unread.get();
            unread.is_none_or(|unread| unread.stamps.is_current_on(threads))
        };
        let are_sources_current = || {
            let sources = self.settings().into_iter().flat_map(|all| &all.sources);
            let mut sources = sources.zip(&self.scan.revisions);
            !sources.any(|(root, revision)| root.source.changed(*revision))
        };
        let are_trusted_current = || {
            let settings = self.settings();
            settings.is_none_or(|all| all.trusted_skills.contents() == self.scan.trusted)
        };
        if !are_trusted_current()
            || !self.scan.stamps.is_current_on(threads)
            || !are_sources_current()
            || !are_symlinks_current()
            || !is_unread_current()
        {
            return false;
        }
        let entries: Vec<&Entry> = self.all_entries().collect();
        parallel::map(&entries, threads, |entry| is_entry_current(entry))
            .all(|is_current| is_current)
    }

    /// Returns true if both catalogs have the same skills, from files that did not change, and have
    /// skipped the same paths.
    #[cfg(feature = "watch")]
    pub(crate) fn is_same(&self, newer: &Self) -> bool {
        let inactive = |catalog: &Self| -> Vec<(PathBuf, &'static str)> {
            let inactive = catalog.inactive.iter();
            let inactive = inactive.map(|one| (one.entry.location(), one.reason.code()));
            let skipped = catalog.skipped.iter();
            let skipped = skipped.map(|one| (one.path().to_owned(), one.reason().code()));
            inactive.chain(skipped).collect()
        };
        self.entries.len() == newer.entries.len()
            && self
                .entries
                .iter()
                .zip(&newer.entries)
                .all(|(old, new)| old.is_same(new))
            && inactive(self) == inactive(newer)
    }

    /// Returns true if the catalog is the result of a scan with these settings.
    pub(crate) fn was_scanned_with(&self, discovery: &Discovery) -> bool {
        self.scan
            .settings
            .as_deref()
            .is_some_and(|settings| settings.has_same_settings(discovery))
    }
}

fn is_entry_current(entry: &Entry) -> bool {
    if !entry.has_directory() {
        return true;
    }
    // One buffer for both paths: this runs for each skill before each call.
    let mut path =
        PathBuf::with_capacity(entry.directory().as_os_str().len() + OPENAI_FILE.len() + 1);
    path.push(entry.directory());
    path.push(entry.location.file_name());
    if !entry.stamp.is_unchanged(FileStamp::from_path(&path)) {
        return false;
    }
    if entry
        .locked
        .as_ref()
        .is_some_and(|locked| !locked.is_current())
    {
        return false;
    }
    // If no caller has read `agents/openai.yaml`, the first access will read its current content.
    let Some(openai) = entry.metadata.loaded_openai() else {
        return true;
    };
    path.pop();
    path.push(OPENAI_FILE);
    is_stamp_current(&path, openai.stamp)
}

fn compare_entries(a: &Entry, b: &Entry) -> std::cmp::Ordering {
    // The directory makes the order total, so that it does not depend on the file system.
    (a.scope, &a.name, a.directory()).cmp(&(b.scope, &b.name, b.directory()))
}
