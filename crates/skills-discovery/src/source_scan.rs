//! Lists the skills of sources as entries of a catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use skills_manifest::ReadingRules;

use crate::catalog::WalkOutput;
use crate::directory_visit::{parse_file, resolve_name};
use crate::error::Repr;
use crate::file_stamp::ScanStart;
use crate::skill_location::SkillLocation;
use crate::source_root::{SOURCES_DIRECTORY, SourceRoot, is_missing};
use crate::source_skill::SourceSkill;
use crate::walk_path::WalkPath;
use crate::{
    ContentLock, Entry, FileStamp, InactiveReason, LOCK_FILE, ListedSkill, LockError, ScanLimits,
    SkipReason, Skipped, SourceKind, SourceListing, TreePath, Trust,
};

/// Lists the skills of one source.
pub(crate) struct SourceScan<'a> {
    pub(crate) root: &'a SourceRoot,
    pub(crate) limits: &'a ScanLimits,
    pub(crate) scan_start: ScanStart,
    /// Returns the entry that an earlier scan found in a directory.
    pub(crate) previous: &'a dyn Fn(&Path) -> Option<&'a Entry>,
}

impl SourceScan<'_> {
    /// Adds the skills to `output`, and what was skipped.
    pub(crate) fn list(&self, output: &mut WalkOutput) {
        let listing = match self.read(output) {
            Ok(listing) => listing,
            Err(reason) => return self.skip(&*self.root.name, reason, output),
        };
        let skills = by_path(listing);
        let limit = self.limits.max_directories;
        if skills.len() > limit {
            let reason = SkipReason::TooManyDirectories { limit };
            self.skip(&*self.root.name, reason, output);
        }
        let lock = self.read_lock(output);
        // One that is not valid hides none below it. A path is before those below it.
        let mut valid = BTreeSet::new();
        for (path, listed) in skills.iter().take(limit) {
            let entry = match (listed, parent(path, &valid)) {
                (Err(reason), _) => Err(reason.clone()),
                (_, Some(parent)) => Err(SkipReason::Nested {
                    parent: self.root.skipped_path(parent),
                }),
                (Ok(listed), None) => self.entry(listed).map(|entry| (listed, entry)),
            };
            match entry {
                Ok((listed, entry)) => {
                    valid.insert(path);
                    let directory = Arc::clone(&entry.location.directory);
                    let reason = self.inactive_reason(listed, lock.as_ref());
                    output.source_reasons.insert(directory, reason);
                    output.entries.push(entry);
                }
                Err(reason) => self.skip(self.root.skipped_path(path), reason, output),
            }
        }
    }

    fn skip(&self, path: impl Into<PathBuf>, reason: SkipReason, output: &mut WalkOutput) {
        output.skipped.push(Skipped::new(path, reason));
    }

    fn read(&self, output: &mut WalkOutput) -> Result<SourceListing, SkipReason> {
        let sources = Path::new(SOURCES_DIRECTORY);
        output.stamps.add_at(sources, self.scan_start);
        if !is_missing(sources) {
            let error = Repr::SourcesDirectory(SOURCES_DIRECTORY);
            return Err(SkipReason::unreadable(error.into()));
        }
        let listing = self.root.source.list();
        listing.map_err(|error| SkipReason::unreadable(Repr::Source(error).into()))
    }

    /// Reads the lock file of the root, and records its stamp.
    fn read_lock(&self, output: &mut WalkOutput) -> Option<Result<ContentLock, InactiveReason>> {
        let directory = self.root.lock_directory.as_deref()?;
        let path = directory.join(LOCK_FILE);
        output.stamps.add_at(path.clone(), self.scan_start);
        let unreadable = |error: LockError| InactiveReason::LockUnreadable { path, error };
        let lock = ContentLock::read(directory).map(Option::unwrap_or_default);
        Some(lock.map_err(unreadable))
    }

    fn entry(&self, listed: &ListedSkill) -> Result<Entry, SkipReason> {
        let text = listed.skill_file();
        let too_large = |limit| Repr::TooLarge {
            bytes: text.len() as u64,
            limit,
        };
        if text.len() as u64 > self.limits.max_file_bytes {
            let error = too_large(self.limits.max_file_bytes);
            return Err(SkipReason::unreadable(error.into()));
        }
        let directory: Arc<Path> = self.root.directory.join(listed.path().as_str()).into();
        let rules = ReadingRules::default();
        let (declared, metadata) = parse_file(text, rules, None).map_err(SkipReason::unreadable)?;
        let mut warnings = Vec::new();
        let name = resolve_name(declared, &directory, rules.name, &mut warnings)
            .ok_or(SkipReason::InvalidName)?;
        let skill = self.skill(listed, &directory);
        Ok(Entry {
            name,
            metadata,
            walk_path: Arc::new(WalkPath::of_source(&self.root.directory)),
            location: SkillLocation {
                directory,
                misspelled_name: None,
                linked_path: None,
                reading: rules,
                source: Some(skill),
            },
            scope: self.root.scope,
            root: Arc::clone(&self.root.directory),
            scan_warnings: warnings,
            warnings: OnceLock::new(),
            // Of all files: a change of any is a change of the skill.
            stamp: FileStamp::of_listed(listed.digest(), text.len() as u64),
            locked: None,
        })
    }

    /// Returns the skill of an earlier scan if it is listed again, since it may be open.
    fn skill(&self, listed: &ListedSkill, directory: &Path) -> Arc<SourceSkill> {
        let SourceRoot {
            source,
            scratch,
            recent,
            failures,
            ..
        } = self.root;
        let previous = (self.previous)(directory).and_then(|entry| entry.location.source.as_ref());
        previous
            .filter(|skill| skill.is_same(source, scratch, listed))
            .map_or_else(
                || {
                    Arc::new(SourceSkill::new(
                        Arc::clone(source),
                        Arc::clone(scratch),
                        listed.clone(),
                        Arc::clone(recent),
                        Arc::clone(failures),
                    ))
                },
                Arc::clone,
            )
    }

    /// Returns why the content of a skill is not trusted, if it is not.
    fn inactive_reason(
        &self,
        listed: &ListedSkill,
        lock: Option<&Result<ContentLock, InactiveReason>>,
    ) -> Option<InactiveReason> {
        let required = match lock {
            Some(Err(reason)) => return Some(reason.clone()),
            Some(Ok(lock)) => lock.required(listed.path().file_name().unwrap_or_default()),
            None => None,
        };
        let Some(required) = required else {
            let is_trusted =
                self.root.kind == SourceKind::Local && self.root.trust == Trust::Trusted;
            return (!is_trusted).then_some(InactiveReason::Untrusted);
        };
        let difference = required.difference(listed.digest(), &listed.executables())?;
        Some(InactiveReason::Changed {
            locked: required.digest,
            difference,
        })
    }
}

/// A skill, or why it is skipped.
type ListedOrSkipped = Result<ListedSkill, SkipReason>;

fn by_path(listing: SourceListing) -> BTreeMap<TreePath, ListedOrSkipped> {
    let mut found = BTreeMap::new();
    for listed in listing {
        let (path, listed) = match listed {
            Ok(skill) => (skill.path().clone(), Ok(skill)),
            Err((path, failure)) => {
                let reason = SkipReason::unreadable(Repr::Source(failure).into());
                (path, Err(reason))
            }
        };
        // Which one is meant is not known.
        let twice = found.insert(path.clone(), listed).is_some();
        if twice {
            found.insert(path, Err(SkipReason::ListedTwice));
        }
    }
    found
}

fn parent<'a>(path: &TreePath, skills: &BTreeSet<&'a TreePath>) -> Option<&'a TreePath> {
    let mut above = path.ancestors().skip(1);
    above.find_map(|above| skills.get(&TreePath::new(above).ok()?).copied())
}
