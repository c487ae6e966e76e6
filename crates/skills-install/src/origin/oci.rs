//! An artifact or image of OCI, in a registry or in an image layout on disk.
//!
//! There is no standard for skills. Read are artifacts whose layers are tars (plain or with gzip),
//! as images are, and artifacts whose layers are files with `org.opencontainers.image.title`. Layers
//! that delete or replace files of other layers are refused: a skill has no use for them.

mod layout;
mod manifest;
mod reference;
mod registry;

use std::fs::File;
use std::path::Path;

use self::layout::Layout;
use self::manifest::{Descriptor, Document, Layer, LayerKind};
use self::registry::Registry;
use super::archive::Archive;
use super::tree::{Origin, WantedPaths, skill_files};
use crate::error::{InstallError, Refusal};
use crate::fetch_options::FetchOptions;
use crate::file_digest::FileDigest;
use crate::source::problem::Problem;
use crate::source::text::local_path;
use crate::source::{FixedVersions, Location, Opened, SourceKind, SourceSpec, SourceText};
use crate::staged_tree::StagedTree;
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

/// A repository of a registry, as `HOST/NAME`. The reference is the tag or digest.
#[derive(Debug)]
pub(super) struct OciRegistryKind;

impl SourceKind for OciRegistryKind {
    fn name(&self) -> &'static str {
        "registry"
    }

    fn parse(&self, source: &SourceText<'_>) -> Option<Result<SourceSpec, Problem>> {
        let split = reference::split(source.text.strip_prefix("oci://")?);
        Some(split.map(|(repository, written)| {
            let spec = source.spec(&Self, Location::Address(repository));
            match written {
                Some(written) => spec.with_reference(&written),
                None => spec,
            }
        }))
    }

    fn check_reference(&self, reference: &str) -> Result<(), Problem> {
        reference::check(reference)
    }

    fn text(&self, location: &Location) -> String {
        format!("oci://{}", location.address())
    }

    fn separator(&self, reference: &str) -> char {
        if reference.contains(':') { '@' } else { ':' }
    }

    fn identity(&self, location: &Location) -> String {
        format!("oci:{}", location.address())
    }

    fn revision_prefix(&self) -> Option<&'static str> {
        Some("oci:")
    }

    fn fixed_versions(&self) -> FixedVersions {
        FixedVersions::Numbers
    }

    fn open(&self, source: &SourceSpec, options: &FetchOptions, scratch: &Path) -> Opened {
        let repository = source.location().address();
        let (host, name) = repository.split_once('/').unwrap_or((&repository, ""));
        // The registry of Docker has another address than name.
        let host = if host == "docker.io" {
            "registry-1.docker.io"
        } else {
            host
        };
        let scheme = options.web.scheme_for(host);
        let (client, url) = options.client(&format!("{scheme}://{host}/"))?;
        let shown = format!("{url}{name}");
        let registry = Registry::new(client, &url, name, scratch)?;
        let reference = source.reference();
        let artifact = OciArtifact::open(Box::new(registry), &shown, reference, &options.limits)?;
        Ok(Box::new(artifact))
    }

    /// As a manifest or an index, and as the challenge of a registry.
    fn parse_documents(&self, bytes: &[u8]) {
        if let Ok(Document::Index(manifests)) = manifest::parse(bytes) {
            // An index without an artifact has none.
            let _ = manifest::select(&manifests);
        }
        if let Ok(text) = std::str::from_utf8(bytes) {
            let _ = registry::parameter(text, "realm");
        }
    }
}

/// An image layout on disk.
#[derive(Debug)]
pub(super) struct OciLayoutKind;

impl SourceKind for OciLayoutKind {
    fn name(&self) -> &'static str {
        "image layout"
    }

    fn parse(&self, source: &SourceText<'_>) -> Option<Result<SourceSpec, Problem>> {
        let path = local_path(source.text.strip_prefix("oci:")?);
        Some(path.map(|path| source.spec(&Self, Location::Path(path))))
    }

    fn check_reference(&self, reference: &str) -> Result<(), Problem> {
        reference::check(reference)
    }

    fn text(&self, location: &Location) -> String {
        format!("oci:{}", location.address())
    }

    fn identity(&self, location: &Location) -> String {
        self.text(location)
    }

    fn at_revision(&self, source: SourceSpec, revision: &str) -> SourceSpec {
        layout_at_revision(source, revision)
    }

    fn fixed_versions(&self) -> FixedVersions {
        FixedVersions::Numbers
    }

    fn open(&self, source: &SourceSpec, options: &FetchOptions, _scratch: &Path) -> Opened {
        open_layout(source, options)
    }
}

/// Opens an image layout, also one that was written as a directory.
pub(super) fn open_layout(source: &SourceSpec, options: &FetchOptions) -> Opened {
    let path = source.location().path();
    let shown = path.display().to_string();
    let layout = Layout::open(path, &options.limits)?;
    let reference = source.reference();
    let artifact = OciArtifact::open(Box::new(layout), &shown, reference, &options.limits)?;
    Ok(Box::new(artifact))
}

/// Returns the image layout of a directory at a revision of one.
pub(super) fn layout_at_revision(source: SourceSpec, revision: &str) -> SourceSpec {
    match revision.strip_prefix("oci:") {
        Some(digest) => {
            let (location, path) = (source.location().clone(), source.path().clone());
            SourceSpec::new(&OciLayoutKind, location, Some(digest.to_owned()), path)
        }
        None => source,
    }
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
