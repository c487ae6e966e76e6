//! An image layout on disk.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::manifest::{self, Descriptor, Document};
use super::{Blobs, MAX_MANIFEST_BYTES, check_size};
use crate::FetchLimits;
use crate::error::InstallError;
use crate::file_digest::FileDigest;

const INDEX: &str = "index.json";

pub(super) struct Layout {
    handle: Dir,
    path: PathBuf,
    limits: FetchLimits,
}

impl Layout {
    pub(super) fn open(path: &Path, limits: &FetchLimits) -> Result<Self, InstallError> {
        let handle = Dir::open_ambient_dir(path, ambient_authority())
            .map_err(|error| InstallError::io("open", path, error))?;
        Ok(Self {
            handle,
            path: path.to_owned(),
            limits: limits.clone(),
        })
    }

    /// Finds a tag or digest in the index; without one, the only manifest.
    fn find(&self, reference: Option<&str>) -> Result<Descriptor, InstallError> {
        let path = self.path.join(INDEX);
        let shown = path.display().to_string();
        let file = self.handle.open(INDEX).map(cap_std::fs::File::into_std);
        let bytes = file.and_then(read_small);
        let bytes = bytes.map_err(|error| InstallError::io("read", &path, error))?;
        let manifests = match manifest::parse(&bytes) {
            Ok(Document::Index(manifests)) => manifests,
            Ok(Document::Manifest(_)) => {
                let cause = "it is not the index of an image layout";
                return Err(InstallError::fetch(&shown, cause));
            }
            Err(problem) => return Err(InstallError::fetch(&shown, problem.to_string())),
        };
        let digest: Option<FileDigest> = reference.and_then(|reference| reference.parse().ok());
        let mut found = manifests
            .iter()
            .filter(|manifest| match (reference, digest) {
                (_, Some(digest)) => manifest.descriptor.digest == digest,
                (Some(tag), None) => manifest.tag.as_deref() == Some(tag),
                (None, None) => true,
            });
        match (found.next(), found.next()) {
            (Some(manifest), None) => Ok(manifest.descriptor),
            (None, _) => Err(InstallError::fetch_with_help(
                &shown,
                "it has no such tag or digest",
                "write a tag or `sha256:` digest of the layout after `#`",
            )),
            (Some(_), Some(_)) => Err(InstallError::fetch_with_help(
                &shown,
                "it has several manifests",
                "write the tag or `sha256:` digest of one of them after `#`",
            )),
        }
    }
}

impl Blobs for Layout {
    fn resolve(&self, reference: Option<&str>) -> Result<(FileDigest, Vec<u8>), InstallError> {
        let descriptor = self.find(reference)?;
        Ok((descriptor.digest, self.manifest(descriptor)?))
    }

    fn manifest(&self, descriptor: Descriptor) -> Result<Vec<u8>, InstallError> {
        let bytes = read_small(self.blob(descriptor)?)
            .map_err(|error| InstallError::io("read", &self.path, error))?;
        FileDigest::of(&bytes).check(descriptor.digest, "manifest")?;
        Ok(bytes)
    }

    fn blob(&self, descriptor: Descriptor) -> Result<File, InstallError> {
        let digest = descriptor.digest;
        let name = digest.to_string().replacen("sha256:", "blobs/sha256/", 1);
        let failed = |error| InstallError::io("read", &self.path.join(&name), error);
        let file = self.handle.open(&name).map(cap_std::fs::File::into_std);
        let mut file = file.map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(failed(io::Error::other("not a regular file")));
        }
        check_size(&name, descriptor, metadata.len())?;
        let limit = self.limits.max_archive_bytes;
        if metadata.len() > limit {
            return Err(InstallError::limit("bytes in a layer", limit));
        }
        let actual = FileDigest::of_file(&mut file).map_err(failed)?;
        actual.check(digest, &name)?;
        Ok(file)
    }
}

/// Reads at most the size of a manifest. A longer one is cut, and then is not valid.
fn read_small(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_MANIFEST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
