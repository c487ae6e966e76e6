//! Consistent snapshots of a skill.

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::File;
use serde_json::{Map, Value};
use skills_runtime::Entry;
use skills_runtime::discovery::{FileStamp, SKILL_FILE, SkillFiles, StampedFile, StampedListing};
use skills_runtime::manifest::{Document, FrontmatterScan, MAX_FILE_BYTES};

use super::field_rules::{check_fields, convert_metadata};
use super::published_skill::{PublishedFile, PublishedSkill};
use super::unpublished::{MAX_BYTES, MAX_FILES, UnpublishedReason};
use crate::files::media::{ContentKind, media_type};
use crate::files::open::{self, OpenedFile};
use crate::files::read::sha256;
use crate::files::sensitive::{is_key_file, may_hold_key_by_content};
use crate::virtual_files::VirtualFiles;
use crate::virtual_path::invalid_part_reason;

/// Number of attempts to capture a skill that changes concurrently.
pub(super) const MAX_ATTEMPTS: usize = 3;

/// The last consistent capture of a skill: its snapshot, or the reason why it is not published,
/// with the stamps of the files that the result was made from.
#[derive(Debug)]
pub(crate) struct Capture {
    name: String,
    pub(crate) result: CaptureResult,
    listing: StampedListing,
}

pub(crate) type CaptureResult = Result<Arc<PublishedSkill>, Arc<UnpublishedReason>>;

impl Capture {
    /// Captures a skill, reading only files that `previous` does not cover. Returns `previous` if
    /// nothing has changed.
    ///
    /// The files are listed, read and listed again; if the listings differ, the capture is
    /// repeated.
    pub(crate) fn new(
        entry: &Entry,
        virtual_files: &VirtualFiles,
        previous: Option<&Arc<Self>>,
    ) -> Result<Arc<Self>, UnpublishedReason> {
        let name = entry.name().as_str();
        // A capture of another skill that was at this path says nothing about this one.
        let previous = previous.filter(|previous| previous.name == name);
        for _ in 0..MAX_ATTEMPTS {
            let files = entry.open().map_err(|_| UnpublishedReason::Unlistable)?;
            let listing = files
                .list_with_stamps()
                .map_err(|_| UnpublishedReason::Unlistable)?;
            if let Some(previous) =
                previous.filter(|previous| previous.is_current(&files, &listing))
            {
                return Ok(Arc::clone(previous));
            }
            let known = previous.map(Arc::as_ref);
            let result = build_snapshot(entry, virtual_files, &files, &listing, known);
            // Listed again after reading: a change in between would mix two versions of the skill.
            let is_stable = files.list_with_stamps().is_ok_and(|now| now == listing);
            // A failure may be caused by the concurrent change itself.
            if is_stable && !matches!(result, Err(UnpublishedReason::Unstable)) {
                return Ok(Arc::new(Self {
                    name: name.to_owned(),
                    result: result.map(Arc::new).map_err(Arc::new),
                    listing,
                }));
            }
        }
        Err(UnpublishedReason::Unstable)
    }

    /// Returns true if all stamps are unchanged, so that another capture would give the same
    /// result.
    fn is_current(&self, files: &SkillFiles, now: &StampedListing) -> bool {
        let is_same_result = || match self.result.as_ref().map_err(Arc::as_ref) {
            // Read errors may disappear without a change of stamps, so they are not cached.
            Err(UnpublishedReason::Unreadable { path }) => {
                read_listed(files, path, |_| true).is_err()
            }
            _ => true,
        };
        is_unchanged(&self.listing, now) && is_same_result()
    }

    /// Returns the known description of a file whose stamp is unchanged.
    fn unchanged_file(&self, now: &StampedFile) -> Option<&PublishedFile> {
        let files = &self.listing.files;
        let index = files
            .binary_search_by(|file| file.path.cmp(&now.path))
            .ok()?;
        let skill = self.result.as_ref().ok()?;
        skill
            .file(&now.path)
            .filter(|_| files[index].stamp.is_unchanged(Some(now.stamp)))
    }
}

/// Returns true if all stamps are unchanged and reliable.
fn is_unchanged(previous: &StampedListing, now: &StampedListing) -> bool {
    let mut files = previous.files.iter().zip(&now.files);
    previous.truncated == now.truncated
        && previous.files.len() == now.files.len()
        && files.all(|(previous, now)| is_same_file(previous, now))
}

fn is_same_file(previous: &StampedFile, now: &StampedFile) -> bool {
    previous.path == now.path && previous.stamp.is_unchanged(Some(now.stamp))
}

/// Reads a listed file. Fails if its path contains a symlink or its stamp has changed.
pub(super) fn read_listed(
    files: &SkillFiles,
    path: &str,
    is_listed: impl Fn(FileStamp) -> bool,
) -> Result<Vec<u8>, UnpublishedReason> {
    let unreadable = || UnpublishedReason::Unreadable {
        path: path.to_owned(),
    };
    let parts: Vec<OsString> = path.split('/').map(OsString::from).collect();
    let (file, stamp) = match open::open_file(files.directory(), &parts) {
        Ok(OpenedFile::File(file, metadata)) => (file, FileStamp::from_metadata(&metadata)),
        // It was a regular file when it was listed.
        Ok(OpenedFile::Directory | OpenedFile::Special) => return Err(UnpublishedReason::Unstable),
        Err(_) => return Err(unreadable()),
    };
    // Checked on the open file, which may not be the one that was listed.
    if !is_listed(stamp) {
        return Err(UnpublishedReason::Unstable);
    }
    let content = read_exact(file, stamp.bytes()).map_err(|_| unreadable())?;
    if content.len() as u64 == stamp.bytes() {
        Ok(content)
    } else {
        Err(UnpublishedReason::Unstable)
    }
}

/// Reads recently written files twice: while one long write is in progress, the stamp does not
/// change.
fn read_stable(
    stamp: FileStamp,
    read: impl Fn() -> Result<Vec<u8>, UnpublishedReason>,
) -> Result<Vec<u8>, UnpublishedReason> {
    let content = read()?;
    // A stamp equals itself only if it is old enough to be reliable.
    let is_settled = stamp.is_unchanged(Some(stamp));
    if is_settled || read()? == content {
        Ok(content)
    } else {
        Err(UnpublishedReason::Unstable)
    }
}

/// Reads one byte more than expected, to detect growth.
fn read_exact(file: File, bytes: u64) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::with_capacity(usize::try_from(bytes.min(MAX_BYTES)).unwrap_or_default());
    file.take(bytes.saturating_add(1))
        .read_to_end(&mut content)?;
    Ok(content)
}

fn build_snapshot(
    entry: &Entry,
    virtual_files: &VirtualFiles,
    files: &SkillFiles,
    listing: &StampedListing,
    previous: Option<&Capture>,
) -> Result<PublishedSkill, UnpublishedReason> {
    let selected = select_files(entry, virtual_files, listing)?;
    let read_now = |file: &StampedFile| {
        read_stable(file.stamp, || {
            read_listed(files, &file.path, |stamp| stamp == file.stamp)
        })
    };
    let skill_file = selected
        .iter()
        .find(|file| file.path == SKILL_FILE)
        .ok_or(UnpublishedReason::IrregularSkillFile)?;
    if skill_file.stamp.bytes() > MAX_FILE_BYTES {
        return Err(UnpublishedReason::SkillFileTooLarge);
    }
    let text = read_now(skill_file)?;
    let frontmatter = parse_frontmatter(&text, entry.name().as_str())?;
    let published = selected.iter().map(|file| {
        match previous.and_then(|previous| previous.unchanged_file(file)) {
            // Always from the text that the frontmatter was parsed from, so that both belong to one
            // version.
            _ if file.path == SKILL_FILE => Ok(PublishedFile::from_content(&file.path, &text)),
            Some(known) => Ok(known.clone()),
            None => read_now(file).map(|content| PublishedFile::from_content(&file.path, &content)),
        }
    });
    let files = published.collect::<Result<_, _>>()?;
    Ok(PublishedSkill {
        name: entry.name().to_string(),
        description: frontmatter.description,
        frontmatter: frontmatter.fields,
        has_metadata_as_text: frontmatter.has_metadata_as_text,
        files,
    })
}

/// Selects the published files. Fails if there are too many.
fn select_files<'a>(
    entry: &Entry,
    virtual_files: &VirtualFiles,
    listing: &'a StampedListing,
) -> Result<Vec<&'a StampedFile>, UnpublishedReason> {
    // A partial skill could miss the file that restricts or explains the others.
    if listing.truncated {
        return Err(UnpublishedReason::TooManyEntries);
    }
    let hidden = virtual_files.hidden_dirs();
    let is_published = |file: &&StampedFile| {
        let parts: Vec<&str> = file.path.split('/').collect();
        // Names that the file tools reject are not published either.
        parts.iter().all(|part| invalid_part_reason(part).is_none())
            && !is_key_file(&parts)
            && !is_key_by_content(&entry.directory().join(&file.path))
            && !hidden.contains(&entry.directory().join(&file.path))
    };
    let files: Vec<&StampedFile> = listing.files.iter().filter(is_published).collect();
    let bytes = files
        .iter()
        .fold(0_u64, |sum, file| sum.saturating_add(file.stamp.bytes()));
    match files.len() {
        files if files > MAX_FILES => Err(UnpublishedReason::TooManyFiles { files }),
        _ if bytes > MAX_BYTES => Err(UnpublishedReason::TooLarge { bytes }),
        _ => Ok(files),
    }
}

fn is_key_by_content(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default();
    may_hold_key_by_content(name, file)
}

/// The frontmatter of a published skill.
struct Frontmatter {
    description: String,
    fields: Map<String, Value>,
    has_metadata_as_text: bool,
}

/// Parses the frontmatter with an interpretation that all YAML parsers share. Restrictions in the
/// current file apply, even if the catalog does not have them yet.
fn parse_frontmatter(text: &[u8], name: &str) -> Result<Frontmatter, UnpublishedReason> {
    if !Document::parse(text)?.manifest().model_invocable() {
        return Err(UnpublishedReason::NotInvocable);
    }
    // Clients parse the YAML again with other parsers, which must not read another name or other
    // restrictions.
    let mut fields = FrontmatterScan::parse_file(text)?.portable_fields()?;
    let required_text = |field| {
        fields
            .get(field)
            .and_then(Value::as_str)
            .filter(|text| !text.trim().is_empty())
            .ok_or(UnpublishedReason::MissingField(field))
    };
    let (found_name, description) = (
        required_text("name")?.to_owned(),
        required_text("description")?.to_owned(),
    );
    if found_name != name {
        return Err(UnpublishedReason::NameMismatch {
            written: found_name,
        });
    }
    let has_metadata_as_text = convert_metadata(&mut fields);
    check_fields(&description, &fields)?;
    Ok(Frontmatter {
        description,
        fields,
        has_metadata_as_text,
    })
}

impl PublishedFile {
    fn from_content(path: &str, content: &[u8]) -> Self {
        let kind = ContentKind::of(content);
        let name = path.rsplit('/').next().unwrap_or(path);
        Self {
            path: path.to_owned(),
            bytes: content.len() as u64,
            sha256: sha256(content),
            media_type: media_type(name, kind),
            is_text: kind == ContentKind::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Reads these contents one after the other, the last one repeatedly.
    fn read_of(contents: &'static [&'static str]) -> (Result<Vec<u8>, UnpublishedReason>, usize) {
        let count = Cell::new(0);
        let next = || {
            let content = contents[count.get().min(contents.len() - 1)];
            count.set(count.get() + 1);
            Ok(content.as_bytes().to_vec())
        };
        // Reports that the file may have been written at this moment.
        (read_stable(FileStamp::default(), next), count.get())
    }

    #[test]
    fn a_file_that_is_being_written_is_not_captured() {
        let (torn, _) = read_of(&["newnewold", "newnewnew"]);
        assert!(matches!(torn, Err(UnpublishedReason::Unstable)), "{torn:?}");
        let (whole, reads) = read_of(&["newnewnew"]);
        assert_eq!((whole.unwrap(), reads), (b"newnewnew".to_vec(), 2));
    }
}
