//! Opens the skill file of a directory, and reads its name and frontmatter.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::{Dir, File};
use skills_manifest::{
    Frontmatter, FrontmatterScan, MAX_FRONTMATTER_BYTES, Manifest, MissingDescription, NameRule,
    ReadingRules, SkillName,
};

use super::Visitor;
use crate::error::{DiscoveryError, DiscoveryErrorKind, Repr};
use crate::lazy_metadata::LazyMetadata;
use crate::open::{ReadEnd, fill_buffer, open_listed_regular, open_regular, open_root, read_head};
use crate::pending_dir::PendingDir;
use crate::{EntryWarning, FileStamp, SkillFileSymlinks};

/// The number of bytes of a `SKILL.md` that are read first: one page, which costs no more than a
/// part of it. Nearly every frontmatter fits.
const HEAD_BYTES: usize = 4096;
/// The size of delimiters and a byte order mark around the largest frontmatter.
const DELIMITER_BYTES: usize = 64;

/// An open skill file with its stamp, and its canonical path if it is not in the skill directory.
pub(super) type OpenedSkillFile = (File, FileStamp, Option<Box<Path>>);

/// The name that a skill declares, and its metadata.
pub(crate) type NamedMetadata = (Option<SkillName>, Arc<LazyMetadata>);

impl Visitor<'_> {
    /// Opens a skill file: by a single system call if the path has no symlinks, otherwise through
    /// the handle of the skill directory, and outside of it only if the root allows that. Returns
    /// `None` if the directory certainly has no entry of this name; a symlink without a target is
    /// an error.
    pub(super) fn open_skill_file(
        &self,
        dir: &PendingDir,
        handle: Option<&Dir>,
        name: &str,
    ) -> Result<Option<OpenedSkillFile>, DiscoveryError> {
        let max_bytes = self.limits.max_file_bytes;
        if let Some(handle) = handle {
            let (file, stamp) = open_regular(handle, Path::new(name), max_bytes)?;
            return Ok(Some((file, stamp, None)));
        }
        if let Some(opened) = self.open_below_root(dir, name) {
            return match opened {
                Ok((file, stamp)) => Ok(Some((file, stamp, None))),
                // Nearly all directories without a skill. A symlink would not have been followed.
                Err(error) if error.kind() == DiscoveryErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            };
        }
        match open_regular(&dir.open()?, Path::new(name), max_bytes) {
            Ok((file, stamp)) => Ok(Some((file, stamp, None))),
            Err(error) if error.kind() == DiscoveryErrorKind::OutsideSkill => {
                self.open_linked(dir, name, error).map(Some)
            }
            Err(error) => Err(error),
        }
    }

    /// Opens a skill file by its path below the root. Returns `None` if the directory was reached
    /// through a symlink, or if the path has one.
    fn open_below_root(
        &self,
        dir: &PendingDir,
        name: &str,
    ) -> Option<Result<(File, FileStamp), DiscoveryError>> {
        let root = dir.base.handle.as_ref()?;
        let path = dir.relative_path().join(name);
        self.with_thread_handle(root, |root| {
            open_listed_regular(root, &path, self.limits.max_file_bytes)
        })
    }

    /// Opens the target of a skill file that the handle of its directory rejected with `error`.
    fn open_linked(
        &self,
        dir: &PendingDir,
        name: &str,
        error: DiscoveryError,
    ) -> Result<OpenedSkillFile, DiscoveryError> {
        let target = dir.canonical_path.join(name).canonicalize()?;
        // The handle rejects every absolute symlink, also one whose target is inside.
        let is_allowed = target.starts_with(&*dir.canonical_path)
            || match self.root.skill_file_symlinks {
                SkillFileSymlinks::WithinSkill => false,
                SkillFileSymlinks::WithinRoot => target.starts_with(&self.canonical_root),
                SkillFileSymlinks::Follow => true,
            };
        if !is_allowed {
            return Err(error);
        }
        let (Some(parent), Some(file_name)) = (target.parent(), target.file_name()) else {
            return Err(error);
        };
        let (file, stamp) = open_regular(
            &open_root(parent)?,
            Path::new(file_name),
            self.limits.max_file_bytes,
        )?;
        Ok((file, stamp, Some(target.into())))
    }
}

/// Reads the frontmatter of a skill file of `bytes` bytes, in one call if it is short, and parses
/// as much of it as a scan needs.
pub(super) fn read_metadata(
    file: &mut File,
    bytes: u64,
    rules: ReadingRules,
    below_plugin: Option<String>,
) -> Result<NamedMetadata, DiscoveryError> {
    // On the stack, since an allocation for each skill would cost more than its read.
    let mut head = [0; HEAD_BYTES];
    let (head, end) = read_head(file, bytes, &mut head)?;
    if end == ReadEnd::Eof {
        return parse_file(head, rules, below_plugin);
    }
    match FrontmatterScan::scan_prefix(head) {
        Ok(FrontmatterScan::Complete(frontmatter)) => {
            match parse_head(head, &frontmatter, rules, below_plugin.clone()) {
                Err(_) if rules.missing_description != MissingDescription::Reject => {}
                result => return result,
            }
        }
        Err(error) if rules.missing_description == MissingDescription::Reject => {
            return Err(Repr::Manifest(error).into());
        }
        _ => {}
    }
    let mut buffer = head.to_vec();
    fill_buffer(file, &mut buffer, MAX_FRONTMATTER_BYTES + DELIMITER_BYTES)?;
    parse_file(&buffer, rules, below_plugin)
}

/// Parses a whole file, or more of it than the largest frontmatter.
pub(crate) fn parse_file(
    bytes: &[u8],
    rules: ReadingRules,
    below_plugin: Option<String>,
) -> Result<NamedMetadata, DiscoveryError> {
    if rules.missing_description != MissingDescription::Reject {
        let (manifest, warnings) = Manifest::from_file(bytes, rules).map_err(Repr::Manifest)?;
        return Ok((
            manifest.name().cloned(),
            LazyMetadata::parsed(manifest, warnings, below_plugin),
        ));
    }
    let frontmatter = FrontmatterScan::parse_file(bytes).map_err(Repr::Manifest)?;
    parse_head(bytes, &frontmatter, rules, below_plugin)
}

fn parse_head(
    buffer: &[u8],
    frontmatter: &Frontmatter<'_>,
    rules: ReadingRules,
    below_plugin: Option<String>,
) -> Result<NamedMetadata, DiscoveryError> {
    // Most frontmatter is simple enough to be validated without building a manifest, which is then
    // done on the first access.
    if let Some(peek) = rules.peek_name(frontmatter) {
        return Ok((
            peek.name,
            LazyMetadata::deferred(&buffer[..frontmatter.body_offset()], below_plugin),
        ));
    }
    let (manifest, warnings) =
        Manifest::from_frontmatter_with(frontmatter, rules).map_err(Repr::Manifest)?;
    Ok((
        manifest.name().cloned(),
        LazyMetadata::parsed(manifest, warnings, below_plugin),
    ))
}

/// Returns the declared name, or else that of the directory if it is valid, and warns if they
/// differ. With [`NameRule::Directory`] it is always that of the directory.
pub(crate) fn resolve_name(
    declared: Option<SkillName>,
    directory: &Path,
    rule: NameRule,
    warnings: &mut Vec<EntryWarning>,
) -> Option<SkillName> {
    let directory = directory_name(directory);
    let Some(name) = declared else {
        warnings.push(EntryWarning::NameFromDirectory);
        return SkillName::new(&directory).ok();
    };
    if name.as_str() != directory {
        warnings.push(EntryWarning::NameMismatch {
            directory: directory.clone().into_owned(),
        });
        if rule == NameRule::Directory {
            return SkillName::new(&directory).ok();
        }
    }
    Some(name)
}

/// Returns the last component of a canonical path. `Path::file_name` parses components such as
/// `..`, which a canonical path does not have.
fn directory_name(directory: &Path) -> Cow<'_, str> {
    let bytes = directory.as_os_str().as_encoded_bytes();
    let start = bytes
        .iter()
        .rposition(|b| *b == std::path::MAIN_SEPARATOR as u8)
        .map_or(0, |at| at + 1);
    String::from_utf8_lossy(&bytes[start..])
}

/// Prefixes a name with its namespace. Returns `None` if the result is not a valid name, usually
/// because it is too long.
pub(super) fn qualify_name(namespace: Option<&str>, name: SkillName) -> Option<SkillName> {
    match namespace {
        None => Some(name),
        Some(namespace) => SkillName::new(&format!("{namespace}:{name}")).ok(),
    }
}
