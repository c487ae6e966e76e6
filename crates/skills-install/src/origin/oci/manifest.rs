//! Manifests and indexes of OCI.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::TreePath;
use crate::file_digest::FileDigest;

/// The annotation with the path of a file.
const TITLE: &str = "org.opencontainers.image.title";
/// The annotation of a layer that was a directory, by ORAS.
const UNPACK: &str = "io.deis.oras.content.unpack";
/// The annotation with the tag of a manifest in an image layout.
pub(super) const REF_NAME: &str = "org.opencontainers.image.ref.name";
/// The annotation of what describes another manifest of an index.
const REFERENCE_TYPE: &str = "vnd.docker.reference.type";
/// Maximum number of layers, which may be files: that of content digests.
const MAX_LAYERS: usize = 10_000;

/// A document that a tag or digest names.
#[derive(Debug)]
pub(super) enum Document {
    /// One artifact or image.
    Manifest(Vec<Layer>),
    /// Several, mostly one for each platform.
    Index(Vec<IndexedManifest>),
}

/// The digest and size of a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub(super) digest: FileDigest,
    pub(super) size: u64,
}

#[derive(Debug)]
pub(super) struct Layer {
    pub(super) descriptor: Descriptor,
    pub(super) kind: LayerKind,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum LayerKind {
    /// A tar, plain or with gzip.
    Archive,
    /// A file at a path.
    File(TreePath),
}

/// A manifest that an index lists.
#[derive(Debug)]
pub(super) struct IndexedManifest {
    pub(super) descriptor: Descriptor,
    pub(super) tag: Option<String>,
    platform: Option<String>,
    is_attestation: bool,
}

/// Why a document cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ManifestProblem {
    #[error("the manifest is not valid JSON of the expected form: {0}")]
    Json(String),
    #[error("the manifest has the digest {0}")]
    Digest(String),
    #[error("the manifest has neither layers nor manifests")]
    Empty,
    #[error("the manifest has more than {MAX_LAYERS} layers")]
    TooMany,
    #[error("a layer has the media type `{0}`, which is neither a tar nor a file with a title")]
    MediaType(String),
    #[error("a layer has the title `{title}`: {problem}")]
    Title {
        title: String,
        problem: crate::PathProblem,
    },
    #[error("the layers are files and archives")]
    Mixed,
}

#[derive(Deserialize)]
struct RawDocument {
    layers: Option<Vec<RawDescriptor>>,
    manifests: Option<Vec<RawDescriptor>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawDescriptor {
    #[serde(default)]
    media_type: String,
    digest: String,
    size: u64,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
    platform: Option<RawPlatform>,
}

#[derive(Deserialize)]
struct RawPlatform {
    os: Option<String>,
    architecture: Option<String>,
}

/// Parses a manifest or an index.
pub(super) fn parse(bytes: &[u8]) -> Result<Document, ManifestProblem> {
    let raw: RawDocument =
        serde_json::from_slice(bytes).map_err(|error| ManifestProblem::Json(error.to_string()))?;
    // What is both would be read in two ways by two programs.
    match (raw.layers, raw.manifests) {
        (Some(layers), None) if !layers.is_empty() => parse_layers(layers).map(Document::Manifest),
        (None, Some(manifests)) if !manifests.is_empty() => {
            let manifests = manifests.into_iter().map(parse_indexed);
            Ok(Document::Index(manifests.collect::<Result<_, _>>()?))
        }
        _ => Err(ManifestProblem::Empty),
    }
}

/// Returns the manifest to use: skills do not depend on a platform, so the same one everywhere.
pub(super) fn select(manifests: &[IndexedManifest]) -> Option<Descriptor> {
    let usable = || manifests.iter().filter(|manifest| !manifest.is_attestation);
    let find =
        |platform: Option<&str>| usable().find(|manifest| manifest.platform.as_deref() == platform);
    let selected = find(None)
        .or_else(|| find(Some("linux/amd64")))
        .or_else(|| usable().next());
    selected.map(|manifest| manifest.descriptor)
}

fn parse_layers(layers: Vec<RawDescriptor>) -> Result<Vec<Layer>, ManifestProblem> {
    if layers.len() > MAX_LAYERS {
        return Err(ManifestProblem::TooMany);
    }
    let layers = layers.into_iter().map(|layer| {
        Ok(Layer {
            descriptor: parse_descriptor(&layer)?,
            kind: parse_kind(&layer)?,
        })
    });
    let layers: Vec<Layer> = layers.collect::<Result<_, _>>()?;
    let archives = layers
        .iter()
        .filter(|layer| layer.kind == LayerKind::Archive)
        .count();
    if archives > 0 && archives < layers.len() {
        return Err(ManifestProblem::Mixed);
    }
    Ok(layers)
}

fn parse_kind(layer: &RawDescriptor) -> Result<LayerKind, ManifestProblem> {
    let annotations = layer.annotations.as_ref();
    let annotation = |name: &str| annotations.and_then(|annotations| annotations.get(name));
    if is_tar(&layer.media_type) || annotation(UNPACK).is_some_and(|value| value == "true") {
        return Ok(LayerKind::Archive);
    }
    let Some(title) = annotation(TITLE) else {
        return Err(ManifestProblem::MediaType(layer.media_type.clone()));
    };
    match TreePath::new(title) {
        Ok(path) => Ok(LayerKind::File(path)),
        Err(problem) => Err(ManifestProblem::Title {
            title: title.clone(),
            problem,
        }),
    }
}

/// Returns true for the media type of a tar, plain or with gzip: `….tar`, `…tar+gzip` and the like.
fn is_tar(media_type: &str) -> bool {
    ["tar", "tar+gzip", "tar.gzip", "tar+gz", "tar.gz"]
        .iter()
        .any(|end| {
            let start = media_type.strip_suffix(end);
            start.is_some_and(|start| start.ends_with(['.', '/', '+', '-']))
        })
}

fn parse_indexed(manifest: RawDescriptor) -> Result<IndexedManifest, ManifestProblem> {
    let platform = manifest.platform.as_ref().and_then(|platform| {
        let os = platform.os.as_deref()?;
        let architecture = platform.architecture.as_deref()?;
        Some(format!("{os}/{architecture}"))
    });
    let annotations = manifest.annotations.as_ref();
    let annotation = |name: &str| annotations.and_then(|annotations| annotations.get(name));
    Ok(IndexedManifest {
        descriptor: parse_descriptor(&manifest)?,
        tag: annotation(REF_NAME).cloned(),
        platform,
        is_attestation: annotation(REFERENCE_TYPE).is_some(),
    })
}

fn parse_descriptor(raw: &RawDescriptor) -> Result<Descriptor, ManifestProblem> {
    let digest = raw.digest.parse();
    let digest = digest.map_err(|error: crate::file_digest::DigestError| {
        ManifestProblem::Digest(error.to_string())
    })?;
    Ok(Descriptor {
        digest,
        size: raw.size,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_archives_or_files() {
        let kind = |media_type: &str, annotations: &str| {
            let digest = FileDigest::of(b"");
            let text = format!(
                r#"{{"layers": [{{"mediaType": "{media_type}", "digest": "{digest}", "size": 0, "annotations": {annotations}}}]}}"#
            );
            match parse(text.as_bytes()) {
                Ok(Document::Manifest(layers)) => format!("{:?}", layers[0].kind),
                Ok(other) => format!("{other:?}"),
                Err(problem) => problem.to_string(),
            }
        };
        let title = |title: &str| format!(r#"{{"{TITLE}": "{title}"}}"#);
        for media_type in [
            "application/vnd.oci.image.layer.v1.tar",
            "application/vnd.oci.image.layer.v1.tar+gzip",
            "application/vnd.docker.image.rootfs.diff.tar.gzip",
            "application/vnd.agent.skill.content.v1.tar+gzip",
            "application/x-tar",
        ] {
            assert_eq!(kind(media_type, "null"), "Archive", "{media_type}");
        }
        assert_eq!(
            kind("text/markdown", &title("SKILL.md")),
            "File(TreePath(\"SKILL.md\"))"
        );
        let unpack = format!(r#"{{"{UNPACK}": "true", "{TITLE}": "pdf"}}"#);
        assert_eq!(kind("application/octet-stream", &unpack), "Archive");
        for (media_type, annotations, expected) in [
            (
                "text/markdown",
                "null".to_owned(),
                "media type `text/markdown`",
            ),
            (
                "application/vnd.oci.image.layer.v1.tar+zstd",
                "null".to_owned(),
                "media type",
            ),
            ("application/guitar", "null".to_owned(), "media type"),
            ("text/markdown", title("../x"), "title `../x`"),
            ("text/markdown", title("/x"), "title `/x`"),
        ] {
            let kind = kind(media_type, &annotations);
            assert!(kind.contains(expected), "{media_type}: {kind}");
        }
    }

    #[test]
    fn documents_that_are_not_understood_are_errors() {
        let digest = FileDigest::of(b"");
        for (text, expected) in [
            ("x".to_owned(), "not valid JSON"),
            ("{}".to_owned(), "neither layers nor manifests"),
            (r#"{"layers": []}"#.to_owned(), "neither"),
            (r#"{"layers": [], "manifests": []}"#.to_owned(), "neither"),
            (
                r#"{"manifests": [{"digest": "sha512:0", "size": 1}]}"#.to_owned(),
                "digest",
            ),
            (
                r#"{"layers": [{"digest": "x", "size": -1}]}"#.to_owned(),
                "not valid JSON",
            ),
            (
                format!(
                    r#"{{"layers": [
                        {{"mediaType": "a/tar", "digest": "{digest}", "size": 0}},
                        {{"digest": "{digest}", "size": 0, "annotations": {{"{TITLE}": "x"}}}}]}}"#
                ),
                "files and archives",
            ),
        ] {
            let problem = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }

    #[test]
    fn the_same_manifest_of_an_index_is_selected_on_every_platform() {
        let entry = |content: &[u8], fields: &str| {
            format!(
                r#"{{"digest": "{}", "size": 1{fields}}}"#,
                FileDigest::of(content)
            )
        };
        let amd64 = entry(
            b"amd64",
            r#", "platform": {"os": "linux", "architecture": "amd64"}"#,
        );
        let arm64 = entry(
            b"arm64",
            r#", "platform": {"os": "linux", "architecture": "arm64"}"#,
        );
        let any = entry(b"any", "");
        let attestation = entry(
            b"attestation",
            &format!(r#", "annotations": {{"{REFERENCE_TYPE}": "x"}}"#),
        );
        let selected = |entries: &[&str]| {
            let text = format!(r#"{{"manifests": [{}]}}"#, entries.join(","));
            match parse(text.as_bytes()).unwrap() {
                Document::Index(manifests) => select(&manifests).map(|found| found.digest),
                Document::Manifest(_) => None,
            }
        };
        let of = |content: &[u8]| Some(FileDigest::of(content));
        assert_eq!(selected(&[&attestation, &arm64, &amd64]), of(b"amd64"));
        assert_eq!(selected(&[&amd64, &any]), of(b"any"));
        assert_eq!(selected(&[&arm64, &attestation]), of(b"arm64"));
        assert_eq!(selected(&[&attestation]), None);
    }
}
