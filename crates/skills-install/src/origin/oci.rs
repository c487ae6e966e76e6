//! An artifact or image of OCI, in a registry or in an image layout on disk.
//!
//! There is no standard for skills. Read are artifacts whose layers are tars (plain or with gzip),
//! as images are, and artifacts whose layers are files with `org.opencontainers.image.title`. Layers
//! that delete or replace files of other layers are refused: a skill has no use for them.

mod layout;
mod manifest;
mod registry;

use std::fs::File;
use std::path::Path;

use url::Url;

use self::layout::Layout;
use self::manifest::{Descriptor, Document, Layer, LayerKind};
use self::registry::Registry;
use super::{Archive, Origin, WantedPaths, skill_files};
use crate::error::{InstallError, Refusal};
use crate::file_digest::FileDigest;
use crate::staged_tree::StagedTree;
use crate::web::Client;
use crate::{FetchLimits, TreePath};

/// How names start that delete a file of a layer below.
const WHITEOUT: &str = ".wh.";

/// Maximum size of a manifest, in bytes.
const MAX_MANIFEST_BYTES: u64 = 4 << 20;

/// Where manifests and blobs are.
trait Blobs {
    /// Returns the digest and bytes of what a tag or digest names.
    fn resolve(&self, reference: Option<&str>) -> Result<(FileDigest, Vec<u8>), InstallError>;

    /// Returns the bytes of a manifest that an index lists, with its digest checked.
    fn manifest(&self, descriptor: Descriptor) -> Result<Vec<u8>, InstallError>;

    /// Returns the file of a blob, with its size and digest checked.
    fn blob(&self, descriptor: Descriptor) -> Result<File, InstallError>;
}

pub(crate) struct OciArtifact {
    digest: FileDigest,
    blobs: Box<dyn Blobs>,
    content: Content,
}

enum Content {
    Archives(Vec<Archive>),
    Files(Vec<(TreePath, Descriptor)>),
}

impl OciArtifact {
    /// Opens an image layout.
    pub(crate) fn open_layout(
        path: &Path,
        reference: Option<&str>,
        limits: &FetchLimits,
    ) -> Result<Self, InstallError> {
        let shown = path.display().to_string();
        let layout = Layout::open(path, limits)?;
        Self::open(Box::new(layout), &shown, reference, limits)
    }

    /// Reads a manifest of a registry, whose URL is `host`.
    pub(crate) fn open_registry(
        client: Client,
        host: &Url,
        name: &str,
        reference: Option<&str>,
        scratch: &Path,
        limits: &FetchLimits,
    ) -> Result<Self, InstallError> {
        let shown = format!("{host}{name}");
        let registry = Registry::new(client, host, name, scratch)?;
        Self::open(Box::new(registry), &shown, reference, limits)
    }

    fn open(
        blobs: Box<dyn Blobs>,
        shown: &str,
        reference: Option<&str>,
        limits: &FetchLimits,
    ) -> Result<Self, InstallError> {
        let parse = |bytes: &[u8]| {
            manifest::parse(bytes)
                .map_err(|problem| InstallError::fetch(shown, problem.to_string()))
        };
        let unusable = || InstallError::fetch(shown, "the index lists no artifact");
        let (digest, bytes) = blobs.resolve(reference)?;
        let layers = match parse(&bytes)? {
            Document::Manifest(layers) => layers,
            Document::Index(manifests) => {
                let descriptor = manifest::select(&manifests).ok_or_else(unusable)?;
                match parse(&blobs.manifest(descriptor)?)? {
                    Document::Manifest(layers) => layers,
                    Document::Index(_) => return Err(unusable()),
                }
            }
        };
        let content = read_layers(blobs.as_ref(), layers, limits)?;
        Ok(Self {
            digest,
            blobs,
            content,
        })
    }
}

fn read_layers(
    blobs: &dyn Blobs,
    layers: Vec<Layer>,
    limits: &FetchLimits,
) -> Result<Content, InstallError> {
    let mut archives = Vec::new();
    let mut files = Vec::new();
    for layer in layers {
        match layer.kind {
            LayerKind::File(path) => files.push((path, layer.descriptor)),
            LayerKind::Archive => {
                let archive = Archive::open(blobs.blob(layer.descriptor)?, limits)?;
                archive.paths().try_for_each(check_whiteout)?;
                archives.push(archive);
            }
        }
    }
    files
        .iter()
        .try_for_each(|(path, _)| check_whiteout(path))?;
    Ok(if archives.is_empty() {
        Content::Files(files)
    } else {
        Content::Archives(archives)
    })
}

fn check_whiteout(path: &TreePath) -> Result<(), InstallError> {
    if path.names().any(|name| name.starts_with(WHITEOUT)) {
        return Err(InstallError::refused(path.as_str(), Refusal::Whiteout));
    }
    Ok(())
}

fn check_size(name: &str, descriptor: Descriptor, actual: u64) -> Result<(), InstallError> {
    if descriptor.size == actual {
        return Ok(());
    }
    let cause = format!("it has {actual} bytes, not {}", descriptor.size);
    Err(InstallError::fetch(name, cause))
}

impl Origin for OciArtifact {
    fn skill_files(&self) -> Vec<TreePath> {
        let mut found = match &self.content {
            Content::Archives(archives) => {
                let files = archives.iter().flat_map(Origin::skill_files);
                files.collect()
            }
            Content::Files(files) => skill_files(files.iter().map(|(path, _)| path)),
        };
        found.sort();
        found.dedup();
        found
    }

    fn stage(
        &mut self,
        directories: &[TreePath],
        tree: &mut StagedTree,
    ) -> Result<(), InstallError> {
        match &mut self.content {
            // The tree refuses a path that two layers have.
            Content::Archives(archives) => archives
                .iter_mut()
                .try_for_each(|archive| archive.stage(directories, tree)),
            Content::Files(files) => {
                let wanted = WantedPaths::new(directories);
                for (path, descriptor) in files {
                    if wanted.contains(path) {
                        let mut file = self.blobs.blob(*descriptor)?;
                        tree.add_file(path, false, &mut file)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn has_file(&self, path: &TreePath) -> bool {
        match &self.content {
            Content::Archives(archives) => archives.iter().any(|archive| archive.has_file(path)),
            Content::Files(files) => files.iter().any(|(other, _)| other == path),
        }
    }

    fn revision(&self, _directory: &TreePath) -> Option<String> {
        Some(format!("oci:{}", self.digest))
    }
}
