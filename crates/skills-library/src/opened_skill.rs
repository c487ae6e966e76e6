//! Finds a skill by name and reads its current `SKILL.md`.

use skills_discovery::{Catalog, DiscoveryError, DiscoveryErrorKind, Entry, Lookup, SkillFiles};
use skills_manifest::{Document, Manifest, Warning, WarningKind};

use crate::error::{LibraryError, Repr};

/// A skill with its current files, which can differ from those of the scan.
pub struct OpenedSkill<'a> {
    /// Its entry in the catalog.
    pub entry: &'a Entry,
    /// Its files.
    pub files: SkillFiles,
    /// Its parsed `SKILL.md`.
    pub document: Document,
}

impl<'a> OpenedSkill<'a> {
    /// Opens an active skill by its name or its directory.
    ///
    /// # Errors
    /// Fails if the skill is not found, ambiguous or inactive, or if its files cannot be read.
    pub fn find(catalog: &'a Catalog, name: &str) -> Result<Self, LibraryError> {
        Self::open(find_entry(catalog, name)?)
    }

    /// Opens the skill of an entry.
    ///
    /// # Errors
    /// Fails if its files cannot be read.
    pub fn open(entry: &'a Entry) -> Result<Self, LibraryError> {
        let files = open_files(entry)?;
        let document = files
            .document()
            .map_err(|source| read_error(entry, source))?;
        Ok(Self {
            entry,
            files,
            document,
        })
    }

    /// Opens a skill that is about to run. Rejects one that declares a restriction that cannot be
    /// parsed: ignoring the restriction would give it more than its author intended.
    ///
    /// # Errors
    /// Same as [`find`](Self::find); also for such a restriction.
    pub fn find_runnable(catalog: &'a Catalog, name: &str) -> Result<Self, LibraryError> {
        let skill = Self::find(catalog, name)?;
        let fields = skill.manifest().unparsed_restrictions();
        if fields.is_empty() {
            return Ok(skill);
        }
        let is_unparsed =
            |warning: &&Warning| matches!(warning.kind(), WarningKind::UnparsedRestriction(_));
        let first = skill.document.warnings().iter().find(is_unparsed);
        Err(Repr::InvalidRestriction {
            skill: skill.entry.name().to_string(),
            path: skill.entry.location(),
            line: first.and_then(Warning::line),
            fields: fields.to_vec(),
        }
        .into())
    }

    /// Returns its frontmatter.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        self.document.manifest()
    }
}

pub(crate) fn open_files(entry: &Entry) -> Result<SkillFiles, LibraryError> {
    entry.open().map_err(|source| read_error(entry, source))
}

/// Returns the error for a file of a skill that cannot be read.
pub(crate) fn read_error(entry: &Entry, source: DiscoveryError) -> LibraryError {
    let (path, locked) = (entry.location(), entry.locked_digest());
    match locked.filter(|_| source.kind() == DiscoveryErrorKind::Changed) {
        Some(locked) => Repr::LockedContent {
            skill: entry.name().to_string(),
            path,
            locked: locked.to_string(),
        },
        None => Repr::FileAccess { path, source },
    }
    .into()
}

/// Finds an active skill by its name or its directory.
///
/// # Errors
/// Fails if there is none, or several.
pub fn find_entry<'a>(catalog: &'a Catalog, name: &str) -> Result<&'a Entry, LibraryError> {
    match catalog.find(name) {
        Lookup::Found(entry) => Ok(entry),
        Lookup::Unknown(nearest) => {
            let nearest = nearest.into_iter().map(str::to_owned).collect();
            Err(Repr::UnknownSkill {
                name: name.to_owned(),
                nearest,
            }
            .into())
        }
        Lookup::Inactive(inactive) => Err(Repr::InactiveSkill {
            name: name.to_owned(),
            path: inactive.entry().location(),
            reason: inactive.reason().clone(),
        }
        .into()),
        Lookup::Ambiguous(entries) => {
            let directories = entries
                .iter()
                .map(|entry| entry.directory().display().to_string())
                .collect();
            Err(Repr::AmbiguousSkill {
                name: name.to_owned(),
                directories,
            }
            .into())
        }
    }
}
