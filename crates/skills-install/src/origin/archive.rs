//! Archives: tar, tar with gzip, and zip.

mod tar_reader;
mod zip_reader;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Instant;

use sha2::{Digest, Sha256};
use skills_packages::{catch_panic, outside_guard};
use skills_signature::{Signatures, Signer};
use url::Url;

use super::git;
use super::tree::{Origin, VerifyFile, WantedPaths, skill_files};
use crate::error::{InstallError, Refusal, Repr};
use crate::fetch_options::FetchOptions;
use crate::file_digest::FileDigest;
use crate::source::problem::Problem;
use crate::source::text::{
    check_archive_digest, explicit_path, has_archive_extension, is_path, parse_web_url, plain_path,
    url_identity,
};
use crate::source::{FixedVersions, Location, Opened, SourceKind, SourceSpec, SourceText};
use crate::staged_tree::{EntryKind, StagedTree, TreeNames, check_entries};
use crate::{FetchLimits, TreePath};

/// The size up to which any ratio of compression is accepted: small texts compress well.
const SMALL_BYTES: u64 = 1 << 20;
/// The longest target of a symlink, in bytes.
const MAX_LINK_BYTES: u64 = 4_096;
/// The directory of a zip in which macOS stores attributes of the other files.
const MACOS_METADATA: &str = "__MACOSX";

/// An archive on disk or on a server.
#[derive(Debug)]
pub(super) struct ArchiveKind;

impl SourceKind for ArchiveKind {
    fn name(&self) -> &'static str {
        "archive"
    }

    fn parse(&self, source: &SourceText<'_>) -> Option<Result<SourceSpec, Problem>> {
        let path = plain_path(source.text);
        let url = match source.text.strip_prefix("archive+") {
            None if is_path(source.text) => {
                let is_archive = has_archive_extension(&path.to_string_lossy());
                return is_archive.then(|| Ok(source.spec(&Self, Location::Path(path))));
            }
            None if is_by_itself(source.text) => source.text,
            None => return None,
            Some(url) => url,
        };
        Some(parse_web_url(url).map(|url| source.spec(&Self, Location::Address(url))))
    }

    fn check_reference(&self, reference: &str) -> Result<(), Problem> {
        check_archive_digest(reference)
    }

    fn text(&self, location: &Location) -> String {
        match location {
            Location::Path(path) => explicit_path(path),
            other => {
                let url = other.address();
                if is_by_itself(&url) {
                    url.into_owned()
                } else {
                    format!("archive+{url}")
                }
            }
        }
    }

    fn identity(&self, location: &Location) -> String {
        match location {
            Location::Path(_) => format!("file:{}", location.address()),
            other => url_identity(&other.address(), "https"),
        }
    }

    fn revision_prefix(&self) -> Option<&'static str> {
        Some("")
    }

    fn fixed_versions(&self) -> FixedVersions {
        FixedVersions::All
    }

    fn open(&self, source: &SourceSpec, options: &FetchOptions, scratch: &Path) -> Opened {
        let open = |file| check_digest(Archive::open(file, &options.limits)?, source);
        // No signature is read or requested for what is not installed.
        let (archive, signatures) = match source.location() {
            Location::Path(path) => {
                let read = |extension: &str, max_bytes| read_signature(path, extension, max_bytes);
                (open(open_file(path)?)?, Signatures::read(read)?)
            }
            location => {
                let (client, url) = options.client(&location.address())?;
                let archive = open(client.download(&url, &[], scratch)?)?;
                (archive, options.signatures.download(&client, &url)?)
            }
        };
        Ok(Box::new(archive.with_signatures(signatures)))
    }
}

/// Returns true if a URL is that of an archive without a prefix.
pub(super) fn is_by_itself(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| {
        matches!(url.scheme(), "https" | "http") && has_archive_extension(url.path())
    }) && !git::is_page(url)
}

/// An archive that was read once, with every name and size checked.
pub(crate) struct Archive {
    file: File,
    format: Format,
    names: TreeNames,
    digest: String,
    /// Signatures that were not verified yet.
    signatures: Signatures,
    signer: Option<Signer>,
    limits: FetchLimits,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Format {
    Tar,
    TarGzip,
    Zip,
}

impl Format {
    /// Returns true for an entry that only macOS reads. It is checked and not unpacked.
    fn is_metadata(self, path: &TreePath) -> bool {
        self == Self::Zip && path.names().next() == Some(MACOS_METADATA)
    }
}

/// An entry while an archive is read.
struct ArchiveEntry<'a> {
    path: TreePath,
    content: Content<'a>,
}

enum Content<'a> {
    Directory,
    File {
        is_executable: bool,
        reader: &'a mut dyn Read,
    },
    Link(String),
}

impl Archive {
    /// Opens an archive and reads all of it, without writing anything.
    ///
    /// # Errors
    /// Fails if it is none, exceeds a limit, or has an entry that is never installed, wherever that
    /// is: an archive with one was not made by an honest tool.
    pub(crate) fn open(mut file: File, limits: &FetchLimits) -> Result<Self, InstallError> {
        let digest = digest(&mut file, limits)?;
        let mut archive = Self {
            format: detect(&mut file).map_err(Repr::Archive)?,
            file,
            names: TreeNames::default(),
            digest,
            signatures: Signatures::default(),
            signer: None,
            limits: limits.clone(),
        };
        let mut names = TreeNames::default();
        archive.read(&mut |entry| {
            let kind = match entry.content {
                Content::Directory => EntryKind::Directory,
                Content::Link(_) => EntryKind::Link,
                Content::File {
                    is_executable,
                    reader,
                } => {
                    io::copy(reader, &mut io::sink()).map_err(archive_error)?;
                    EntryKind::File { is_executable }
                }
            };
            names.add(&entry.path, kind)?;
            check_entries(names.len(), limits)
        })?;
        archive.names = names;
        Ok(archive)
    }

    pub(crate) fn into_file(self) -> File {
        self.file
    }

    /// Adds the signatures of the file.
    pub(crate) fn with_signatures(mut self, signatures: Signatures) -> Self {
        self.signatures = signatures;
        self
    }

    /// Returns the digest of the file: `sha256:` and 64 hexadecimal digits.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the paths of all entries, sorted.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &TreePath> {
        self.names.paths()
    }

    /// Returns the digest of each file, and `None` for each symlink.
    pub(crate) fn file_digests(
        &mut self,
    ) -> Result<Vec<(TreePath, Option<FileDigest>)>, InstallError> {
        let mut digests = Vec::new();
        self.read(&mut |entry| {
            let digest = match entry.content {
                Content::Directory => return Ok(()),
                Content::Link(_) => None,
                Content::File { reader, .. } => {
                    Some(FileDigest::of_reader(reader).map_err(archive_error)?)
                }
            };
            digests.push((entry.path, digest));
            Ok(())
        })?;
        Ok(digests)
    }

    /// Returns the directory of the only skill: the root, or the directory `name` above all files.
    pub(crate) fn skill_root(&self, name: &str) -> Option<TreePath> {
        let skills = self.skill_files();
        let candidates = [TreePath::root(), TreePath::new(name).ok()?];
        candidates.into_iter().find(|directory| {
            let is_here = |file: &TreePath| file.parent().as_ref() == Some(directory);
            skills.iter().any(is_here)
        })
    }

    /// Writes the files below `from` to the tree, below `to`.
    pub(crate) fn stage_at(
        &mut self,
        from: &TreePath,
        to: &TreePath,
        tree: &mut StagedTree,
    ) -> Result<(), InstallError> {
        let format = self.format;
        self.read(&mut |entry| {
            let Some(below) = entry.path.strip_prefix(from) else {
                return Ok(());
            };
            if below.is_root() || format.is_metadata(&entry.path) {
                return Ok(());
            }
            let path = to
                .join(below.as_str())
                .map_err(|problem| InstallError::refused(entry.path.as_str(), problem))?;
            stage_entry(&path, entry.content, tree)
        })
    }

    /// Calls `visit` for each entry, in the order of the archive. Sizes are limited.
    fn read(
        &mut self,
        visit: &mut dyn FnMut(ArchiveEntry<'_>) -> Result<(), InstallError>,
    ) -> Result<(), InstallError> {
        self.file.rewind().map_err(Repr::Archive)?;
        let packed = self.file.metadata().map_err(Repr::Archive)?.len();
        let by_ratio = packed
            .saturating_mul(self.limits.max_ratio)
            .max(SMALL_BYTES);
        // A tar has a header of 512 bytes for each file.
        let overhead = self.limits.max_entries.saturating_mul(2_048);
        let budget = Allowance {
            bytes: by_ratio.min(self.limits.max_bytes.saturating_add(overhead)),
            deadline: Instant::now() + self.limits.timeout,
        };
        let mut visit_outside = |entry: ArchiveEntry<'_>| visit_outside_guard(entry, visit);
        let visit = &mut visit_outside;
        let read = || match self.format {
            Format::Tar => tar_reader::read(&self.file, budget, visit),
            Format::TarGzip => {
                let reader = flate2::read::MultiGzDecoder::new(io::BufReader::new(&self.file));
                tar_reader::read(reader, budget, visit)
            }
            Format::Zip => zip_reader::read(&self.file, budget, visit),
        };
        // A fault of a library is a fault of this archive alone.
        catch_panic(read).unwrap_or_else(|| Err(archive_error(io::Error::other(ParserFailed))))
    }
}

/// Calls `visit` for an entry. Its own panics are not caught, those of the reader of a file are.
fn visit_outside_guard(
    entry: ArchiveEntry<'_>,
    visit: &mut dyn FnMut(ArchiveEntry<'_>) -> Result<(), InstallError>,
) -> Result<(), InstallError> {
    let ArchiveEntry { path, content } = entry;
    outside_guard(|| match content {
        Content::File {
            is_executable,
            reader,
        } => {
            let reader = &mut GuardedReader(reader);
            let content = Content::File {
                is_executable,
                reader,
            };
            visit(ArchiveEntry { path, content })
        }
        content => visit(ArchiveEntry { path, content }),
    })
}

/// A reader that fails if a library panics.
struct GuardedReader<'a>(&'a mut dyn Read);

impl Read for GuardedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        catch_panic(|| self.0.read(buffer)).unwrap_or_else(|| Err(io::Error::other(ParserFailed)))
    }
}

impl Origin for Archive {
    fn skill_files(&self) -> Vec<TreePath> {
        let files = self.names.files();
        skill_files(files.filter(|path| !self.format.is_metadata(path)))
    }

    fn stage(
        &mut self,
        directories: &[TreePath],
        tree: &mut StagedTree,
    ) -> Result<(), InstallError> {
        let wanted = WantedPaths::new(directories);
        let format = self.format;
        self.read(&mut |entry| {
            if !wanted.contains(&entry.path) || format.is_metadata(&entry.path) {
                return Ok(());
            }
            stage_entry(&entry.path, entry.content, tree)
        })
    }

    fn has_file(&self, path: &TreePath) -> bool {
        self.names.has_file(path)
    }

    fn artifact_signer(
        &mut self,
        _directory: &TreePath,
        verify: VerifyFile<'_>,
    ) -> Result<Option<Signer>, InstallError> {
        // It is the same for all of its skills.
        let signatures = std::mem::take(&mut self.signatures);
        if !signatures.is_empty() {
            self.signer = verify(&signatures, &mut self.file)?;
        }
        Ok(self.signer.clone())
    }

    fn revision(&self, _directory: &TreePath) -> Option<String> {
        Some(self.digest.clone())
    }
}

fn stage_entry(
    path: &TreePath,
    content: Content<'_>,
    tree: &mut StagedTree,
) -> Result<(), InstallError> {
    match content {
        // Content digests have no empty directories.
        Content::Directory => Ok(()),
        Content::Link(target) => tree.add_link(path, &target),
        Content::File {
            is_executable,
            reader,
        } => tree.add_file(path, is_executable, reader),
    }
}

/// How much of an archive is unpacked, and until when.
#[derive(Clone, Copy)]
struct Allowance {
    bytes: u64,
    deadline: Instant,
}

/// A reader that fails if more is unpacked than is allowed.
struct Budget<R> {
    inner: R,
    allowance: Allowance,
}

#[derive(Debug, thiserror::Error)]
#[error("the archive unpacks to far more bytes than it has")]
struct BudgetExceeded;

#[derive(Debug, thiserror::Error)]
#[error("it takes too long to unpack it")]
struct DeadlineExceeded;

#[derive(Debug, thiserror::Error)]
#[error("its parser failed")]
struct ParserFailed;

impl<R: Read> Read for Budget<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if Instant::now() >= self.allowance.deadline {
            return Err(io::Error::other(DeadlineExceeded));
        }
        let read = self.inner.read(buffer)?;
        let left = self.allowance.bytes.checked_sub(read as u64);
        self.allowance.bytes = left.ok_or_else(|| io::Error::other(BudgetExceeded))?;
        Ok(read)
    }
}

/// Converts an error of a reader, which may be a limit.
fn archive_error(error: io::Error) -> InstallError {
    Repr::Archive(error).into()
}

/// Converts the name of an entry.
fn entry_path(name: &[u8]) -> Result<Option<TreePath>, InstallError> {
    // The directory itself, as tools write it.
    if matches!(name, b"." | b"./") {
        return Ok(None);
    }
    match TreePath::from_bytes(name) {
        Ok(path) => Ok(Some(path)),
        Err(problem) => Err(InstallError::refused(
            String::from_utf8_lossy(name),
            Refusal::Path(problem),
        )),
    }
}

/// Reads the target of a symlink.
fn link_target(path: &TreePath, reader: &mut dyn Read) -> Result<String, InstallError> {
    let mut target = Vec::new();
    reader
        .take(MAX_LINK_BYTES)
        .read_to_end(&mut target)
        .map_err(archive_error)?;
    String::from_utf8(target).map_err(|error| {
        let shown = String::from_utf8_lossy(error.as_bytes()).into_owned();
        InstallError::refused(path.as_str(), Refusal::LinkOut(shown))
    })
}

fn digest(file: &mut File, limits: &FetchLimits) -> Result<String, InstallError> {
    let limit = limits.max_archive_bytes;
    file.rewind().map_err(Repr::Archive)?;
    let mut hasher = Sha256::new();
    let read =
        io::copy(&mut Read::by_ref(file).take(limit + 1), &mut hasher).map_err(Repr::Archive)?;
    if read > limit {
        return Err(InstallError::limit("bytes in its archive", limit));
    }
    Ok(format!("sha256:{}", hex::encode(hasher.finalize())))
}

/// Detects the format by the first bytes: names of files on servers say little.
fn detect(file: &mut File) -> io::Result<Format> {
    file.seek(SeekFrom::Start(0))?;
    let mut head = Vec::new();
    Read::by_ref(file).take(262).read_to_end(&mut head)?;
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        Ok(Format::Zip)
    } else if head.starts_with(&[0x1f, 0x8b]) {
        Ok(Format::TarGzip)
    } else if head.get(257..262) == Some(b"ustar") {
        Ok(Format::Tar)
    } else {
        Err(io::Error::other(
            "it is neither a tar (plain or gzip) nor a zip",
        ))
    }
}

/// Reads the signature beside an archive on disk, if there is one.
fn read_signature(
    archive: &Path,
    extension: &str,
    max_bytes: u64,
) -> Result<Option<String>, InstallError> {
    let mut path = archive.as_os_str().to_owned();
    path.push(extension);
    let path = PathBuf::from(path);
    let failed = |error| InstallError::io("read", &path, error);
    let file = match open_without_waiting(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(failed)?,
    };
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("not a regular file")));
    }
    let mut bytes = Vec::new();
    file.take(max_bytes)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Opens a file beside an archive. Another user may have put a FIFO there, which would never end.
#[expect(
    clippy::disallowed_methods,
    reason = "a file beside an archive that the user named is not a file of a skill"
)]
fn open_without_waiting(path: &Path) -> io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    options.open(path)
}

#[expect(
    clippy::disallowed_methods,
    reason = "an archive that the user named is not a file of a skill"
)]
fn open_file(path: &Path) -> Result<std::fs::File, InstallError> {
    std::fs::File::open(path).map_err(|error| InstallError::io("open", path, error))
}

fn check_digest(archive: Archive, spec: &SourceSpec) -> Result<Archive, InstallError> {
    match spec.reference() {
        Some(expected) if expected != archive.digest() => Err(Repr::ArchiveDigest {
            expected: expected.to_owned(),
            actual: archive.digest().to_owned(),
        }
        .into()),
        _ => Ok(archive),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_panics_of_the_reader_are_errors() {
        struct Panics;
        impl Read for Panics {
            fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
                panic!("a fault of the library")
            }
        }
        let entry = ArchiveEntry {
            path: TreePath::new("a").unwrap(),
            content: Content::File {
                is_executable: false,
                reader: &mut Panics,
            },
        };
        let read = visit_outside_guard(entry, &mut |entry| match entry.content {
            Content::File { reader, .. } => {
                io::copy(reader, &mut io::sink()).map_err(archive_error)?;
                Ok(())
            }
            _ => Ok(()),
        });
        assert!(read.unwrap_err().to_string().contains("its parser failed"));

        let mut file = tempfile::tempfile().unwrap();
        let mut builder = tar::Builder::new(&mut file);
        let mut header = tar::Header::new_ustar();
        header.set_size(0);
        header.set_mode(0o644);
        builder.append_data(&mut header, "a", &b""[..]).unwrap();
        builder.into_inner().unwrap();
        let mut archive = Archive::open(file, &FetchLimits::default()).unwrap();
        let visit = || archive.read(&mut |_| panic!("a fault of the visitor"));
        let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(visit)).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"a fault of the visitor"));
        archive.read(&mut |_| Ok(())).unwrap();
    }
}
