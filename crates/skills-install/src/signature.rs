//! Signatures of skills: what is signed, where signatures are, and which signers are trusted.
//!
//! A signature of minisign is a file with the extension `.minisig`:
//!
//! - `ARCHIVE.minisig` beside an archive, on disk or at the same URL, and beside an artifact that the
//!   index of a web site lists. It signs the bytes of the archive or file.
//! - `NAME.minisig` beside the skill directory `NAME`, in a repository, directory, archive or
//!   artifact of OCI. It signs the [statement](crate::statement) of the skill.
//!
//! A signature by a key that is not trusted satisfies no rule. Its key is remembered nevertheless,
//! unverified, so that another key or a missing signature is noticed later. A signature that is not
//! valid for a trusted key is an error, never a warning.

#[cfg(feature = "signatures")]
mod minisign;

use std::fs::File;
use std::path::Path;

use skills_discovery::{ContentDigest, DigestCache, SkillFiles};
use skills_manifest::SkillName;
use url::Url;

#[cfg(feature = "signatures")]
pub use minisign::MinisignKey;

use crate::error::{InstallError, Repr};
use crate::web::{Client, check_status};
use crate::{TreePath, skill_tree};

/// The signer of a skill without a signature.
pub(crate) const UNSIGNED: &str = "unsigned";
/// What the signer begins with if no trusted key verifies the signature.
const UNVERIFIED: &str = "unverified:";
/// The extension of a signature.
pub(crate) const EXTENSION: &str = ".minisig";
/// Maximum size of a signature, in bytes.
pub(crate) const MAX_SIGNATURE_BYTES: u64 = 4_096;
/// What to do if it is not known whether there is a signature.
const UNAVAILABLE: &str =
    "a skill that may be signed is not installed as an unsigned one; try again later";
/// What to do if access to an expected signature is denied.
const DENIED: &str = "a signature is expected, since a key is trusted, one is required, or an earlier version was signed; the server must answer 404 if there is none";

/// Which signatures are required, and whose are trusted.
#[derive(Debug, Clone, Default)]
pub(crate) struct SignatureRules {
    pub(crate) is_required: bool,
    /// The source has a signer in the lock file or among the remembered ones.
    pub(crate) is_remembered: bool,
    #[cfg(feature = "signatures")]
    pub(crate) keys: Vec<MinisignKey>,
}

/// Who signed a skill, as the lock file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Signer {
    /// A trusted key.
    #[cfg_attr(
        not(feature = "signatures"),
        expect(dead_code, reason = "only the feature verifies signatures")
    )]
    Verified(String),
    /// What a signature says about its key, which is not trusted. A forged signature can say the same.
    #[cfg_attr(
        not(feature = "signatures"),
        expect(dead_code, reason = "only the feature reads signatures")
    )]
    Unverified(String),
}

/// A signature and what it signs.
#[cfg_attr(
    not(feature = "signatures"),
    expect(dead_code, reason = "only the feature reads signatures")
)]
pub(crate) enum Signed<'a> {
    /// The bytes of a file: an archive or an artifact of a site.
    File {
        signature: &'a str,
        file: &'a mut File,
    },
    /// The statement of a skill.
    Statement {
        signature: &'a str,
        statement: &'a str,
    },
}

impl SignatureRules {
    /// Returns true if signatures are looked for.
    pub(crate) fn is_active(&self) -> bool {
        cfg!(feature = "signatures")
    }

    /// Returns true if a signature is expected: by a trusted key, by a rule or by an earlier version.
    fn is_expected(&self) -> bool {
        #[cfg(feature = "signatures")]
        if !self.keys.is_empty() {
            return true;
        }
        self.is_required || self.is_remembered
    }

    /// Downloads the signature of a file, if there is one beside it.
    ///
    /// # Errors
    /// Fails unless the server says that there is none: a failure must not make a signed skill an
    /// unsigned one. Some storage denies access to missing files, so without an expected signature
    /// that is an answer, too.
    pub(crate) fn download(
        &self,
        client: &Client,
        file: &Url,
    ) -> Result<Option<String>, InstallError> {
        if !self.is_active() {
            return Ok(None);
        }
        let mut url = file.clone();
        url.set_path(&format!("{}{EXTENSION}", file.path()));
        let unavailable = |help: &'static str| {
            move |source| InstallError::from(Repr::SignatureUnavailable { source, help })
        };
        let later = unavailable(UNAVAILABLE);
        let response = client.get(&url, &[]).map_err(later)?;
        match response.status {
            404 | 410 => return Ok(None),
            403 if !self.is_expected() => return Ok(None),
            403 => {
                let denied = check_status(response).map(|_| None);
                return denied.map_err(unavailable(DENIED));
            }
            _ => {}
        }
        let response = check_status(response).map_err(later)?;
        // What follows in a longer file cannot make it a signature.
        let bytes = client.read_start(response, MAX_SIGNATURE_BYTES);
        Ok(Some(
            String::from_utf8_lossy(&bytes.map_err(later)?).into_owned(),
        ))
    }

    /// Returns the signer for the lock file, or `unsigned`.
    ///
    /// # Errors
    /// Fails if no trusted key signed and a signature is required.
    pub(crate) fn check_signer(
        &self,
        name: &str,
        signer: Option<Signer>,
    ) -> Result<String, InstallError> {
        match signer {
            Some(Signer::Verified(signer)) => Ok(signer),
            _ if self.is_required => {
                let name = name.to_owned();
                Err(Repr::Unsigned { name }.into())
            }
            Some(Signer::Unverified(signer)) => Ok(format!("{UNVERIFIED}{signer}")),
            None => Ok(UNSIGNED.to_owned()),
        }
    }

    /// Returns the signer, if the signature can be read.
    ///
    /// # Errors
    /// Fails if a signature of a trusted key is not valid.
    #[cfg(feature = "signatures")]
    pub(crate) fn verify(
        &self,
        name: &str,
        signed: Signed<'_>,
    ) -> Result<Option<Signer>, InstallError> {
        minisign::verify(&self.keys, name, signed)
    }

    /// Returns no signer: without the feature no key can be trusted.
    #[cfg(not(feature = "signatures"))]
    pub(crate) fn verify(
        &self,
        _name: &str,
        _signed: Signed<'_>,
    ) -> Result<Option<Signer>, InstallError> {
        Ok(None)
    }
}

/// Returns true if a signer of a lock file is one that a trusted key verified.
pub(crate) fn is_verified(signer: &str) -> bool {
    signer != UNSIGNED && !signer.starts_with(UNVERIFIED)
}

/// Returns true if a skill has the signer that it had before, or if the key of that signer has become
/// trusted.
pub(crate) fn is_same_signer(before: &str, now: &str) -> bool {
    if before == now {
        return true;
    }
    #[cfg(feature = "signatures")]
    if let (Some(id), true) = (before.strip_prefix(UNVERIFIED), is_verified(now)) {
        return minisign::key_name(now).as_deref() == Some(id);
    }
    false
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
    let invalid = |source| Repr::Invalid {
        path: directory.display().to_string(),
        source,
    };
    let files = SkillFiles::open_directory(directory).map_err(invalid)?;
    let document = files.document().map_err(invalid)?;
    let name = document.manifest().name().map(SkillName::as_str);
    let name = name.or_else(|| directory.file_name()?.to_str());
    let content = files.digest(&mut DigestCache::default()).map_err(invalid)?;
    let mut executables = Vec::new();
    for (path, facts) in skill_tree::files(&files).map_err(invalid)? {
        // A line end in a path would be another line.
        TreePath::new(&path).map_err(|problem| InstallError::refused(path.clone(), problem))?;
        if facts.is_executable {
            executables.push(path);
        }
    }
    Ok(render_statement(
        name.unwrap_or_default(),
        content,
        &executables,
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
