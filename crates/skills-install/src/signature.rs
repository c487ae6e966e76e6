//! Signatures of skills: what is signed, and where signatures are.
//!
//! - `ARCHIVE.minisig` beside an archive, on disk or at the same URL, and beside an artifact that the
//!   index of a web site lists. It signs the bytes of the archive or file.
//! - `NAME.minisig` beside the skill directory `NAME`, in a repository, directory, archive or
//!   artifact of OCI. It signs the [statement](crate::statement) of the skill.
//!
//! Bundles of Sigstore are in the same places. A signature by a key or identity that is not trusted
//! satisfies no rule. Its signer is remembered nevertheless, unverified, so that another signer or a
//! missing signature is noticed later.

use std::path::Path;

use skills_discovery::{ContentDigest, DigestCache, SkillFiles};
use skills_manifest::SkillName;
use skills_signature::{Content, Signatures, Signer, TrustedSigners, UnverifiedReason};
use url::Url;

use crate::TreePath;
use crate::error::{InstallError, Repr};
use crate::web::{Client, check_status};

/// The signer of a skill without a signature.
pub(crate) const UNSIGNED: &str = "unsigned";
/// What to do if it is not known whether there is a signature.
const UNAVAILABLE: &str =
    "a skill that may be signed is not installed as an unsigned one; try again later";
/// What to do if the server wants credentials for the signature.
const UNAUTHORIZED: &str = "store a token for the server in git (`git credential approve`); a skill that may be signed is not installed as an unsigned one";
/// What to do if access to an expected signature is denied.
const DENIED: &str = "a signature is expected, since a signer is trusted, one is required, or an earlier version was signed; the server must answer 404 if there is none";

/// Which signatures are required, and whose are trusted.
#[derive(Debug, Clone, Default)]
pub(crate) struct SignatureRules {
    pub(crate) is_required: bool,
    /// The source has a signer in the lock file or among the remembered ones.
    pub(crate) is_remembered: bool,
    pub(crate) trusted: TrustedSigners,
}

impl SignatureRules {
    /// Returns true if a signature is expected: by a trusted signer, by a rule or by an earlier
    /// version.
    fn is_expected(&self) -> bool {
        self.is_required || self.is_remembered || !self.trusted.is_empty()
    }

    /// Downloads the signatures of a file that are beside it.
    ///
    /// # Errors
    /// Fails unless the server answers for each kind: a failure must not make a signed skill an
    /// unsigned one.
    pub(crate) fn download(&self, client: &Client, file: &Url) -> Result<Signatures, InstallError> {
        Signatures::read(|extension, max_bytes| {
            let mut url = file.clone();
            url.set_path(&format!("{}{extension}", file.path()));
            self.download_one(client, &url, max_bytes)
        })
    }

    /// Some storage denies access to missing files, so without an expected signature that is an
    /// answer, too.
    fn download_one(
        &self,
        client: &Client,
        url: &Url,
        max_bytes: u64,
    ) -> Result<Option<String>, InstallError> {
        let unavailable = |help: &'static str| {
            move |source| InstallError::from(Repr::SignatureUnavailable { source, help })
        };
        let later = unavailable(UNAVAILABLE);
        let response = client.get(url, &[]).map_err(later)?;
        match response.status {
            404 | 410 => return Ok(None),
            403 if !self.is_expected() => return Ok(None),
            403 => {
                let denied = check_status(response).map(|_| None);
                return denied.map_err(unavailable(DENIED));
            }
            _ => {}
        }
        let help = match response.status {
            401 => UNAUTHORIZED,
            _ => UNAVAILABLE,
        };
        let response = check_status(response).map_err(unavailable(help))?;
        // What follows in a longer file cannot make it a signature.
        let bytes = client.read_start(response, max_bytes).map_err(later)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Returns the signer for the lock file, or `unsigned`.
    ///
    /// # Errors
    /// Fails if no trusted signer signed and a signature is required.
    pub(crate) fn check_signer(
        &self,
        name: &str,
        signer: Option<Signer>,
    ) -> Result<String, InstallError> {
        match signer {
            Some(signer) if signer.is_verified() || !self.is_required => Ok(signer.to_string()),
            None if !self.is_required => Ok(UNSIGNED.to_owned()),
            other => {
                let reason = match other {
                    Some(Signer::Unverified { reason, .. }) => reason,
                    _ => UnverifiedReason::NotTrusted,
                };
                let name = name.to_owned();
                Err(Repr::Unsigned { name, reason }.into())
            }
        }
    }

    /// Returns the signer, if a signature can be read.
    ///
    /// # Errors
    /// Fails if a signature of a trusted signer is not valid, also if another one is.
    pub(crate) fn verify(
        &self,
        name: &str,
        signatures: &Signatures,
        content: Content<'_>,
    ) -> Result<Option<Signer>, InstallError> {
        self.trusted.verify(signatures, content).map_err(|problem| {
            let name = name.to_owned();
            Repr::Signature { name, problem }.into()
        })
    }
}

/// Returns the text that the publisher of a skill signs, as `NAME.minisig` beside the directory.
///
/// It has a line each with the format, the name, the content digest, and the path of each executable
/// file, sorted. The content digest covers all other files, their paths and kinds.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let skill = directory.path().join("pdf");
/// # std::fs::create_dir(&skill)?;
/// # std::fs::write(skill.join("SKILL.md"), "---\nname: pdf\ndescription: d\n---\n")?;
/// let text = skills_install::statement(&skill)?;
/// assert!(text.starts_with("skill 1\nname pdf\ncontent sha256:"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Fails if the directory is not a valid skill, or has files that are never installed.
pub fn statement(directory: &Path) -> Result<String, InstallError> {
    let invalid = |source| InstallError::invalid(directory.display().to_string(), source);
    let files = SkillFiles::open_directory(directory).map_err(invalid)?;
    let document = files.document().map_err(invalid)?;
    let name = document.manifest().name().map(SkillName::as_str);
    let name = name.or_else(|| directory.file_name()?.to_str());
    let content = files.digested_content(&mut DigestCache::default());
    let content = content.map_err(invalid)?;
    for file in &content.files {
        // A line end in a path would be another line.
        TreePath::new(&file.path)
            .map_err(|problem| InstallError::refused(file.path.clone(), problem))?;
    }
    Ok(render_statement(
        name.unwrap_or_default(),
        content.digest,
        &content.executables(),
    ))
}

pub(crate) fn render_statement(
    name: &str,
    content: ContentDigest,
    executables: &[String],
) -> String {
    let mut text = format!("skill 1\nname {name}\ncontent {content}\n");
    for path in executables {
        text += &format!("executable {path}\n");
    }
    text
}
