//! Signatures of skills: what is signed, where signatures are, and which signers are trusted.
//!
//! A signature of minisign is a file with the extension `.minisig`, a bundle of Sigstore one with
//! `.sigstore.json` or `.sigstore`:
//!
//! - `ARCHIVE.minisig` beside an archive, on disk or at the same URL, and beside an artifact that the
//!   index of a web site lists. It signs the bytes of the archive or file.
//! - `NAME.minisig` beside the skill directory `NAME`, in a repository, directory, archive or
//!   artifact of OCI. It signs the [statement](crate::statement) of the skill.
//!
//! A signature by a key or identity that is not trusted satisfies no rule. Its signer is remembered
//! nevertheless, unverified, so that another signer or a missing signature is noticed later. A
//! signature that is not valid for a trusted key or identity is an error, never a warning.

mod files;
#[cfg(feature = "signatures")]
mod minisign;
#[cfg(feature = "signatures")]
mod sigstore;

use std::fs::File;
use std::path::Path;

use skills_discovery::{ContentDigest, DigestCache, SkillFiles};
use skills_manifest::SkillName;
use url::Url;

pub(crate) use files::{SignatureKind, Signatures};
#[cfg(feature = "signatures")]
pub use minisign::MinisignKey;
#[cfg(feature = "sigstore")]
pub use sigstore::{SigstoreIdentity, SigstoreRoot};

use crate::TreePath;
use crate::error::{InstallError, Repr};
use crate::web::{Client, check_status};

/// The signer of a skill without a signature.
pub(crate) const UNSIGNED: &str = "unsigned";
/// What the signer begins with if no trusted key or identity verifies the signature.
const UNVERIFIED: &str = "unverified:";
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
    #[cfg(feature = "signatures")]
    pub(crate) keys: Vec<MinisignKey>,
    #[cfg(feature = "sigstore")]
    pub(crate) identities: Vec<SigstoreIdentity>,
}

/// Who signed a skill, as the lock file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "signatures"),
    expect(dead_code, reason = "only the feature reads signatures")
)]
pub(crate) enum Signer {
    /// A trusted key or identity.
    Verified(String),
    /// What a signature says about its signer. A forged signature can say the same.
    Unverified {
        signer: String,
        reason: UnverifiedReason,
    },
}

/// Why a signature was not verified, in the order in which reasons are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    not(feature = "signatures"),
    expect(dead_code, reason = "only the feature reads signatures")
)]
pub(crate) enum UnverifiedReason {
    /// Its key or identity is not trusted.
    NotTrusted,
    /// Its identity is trusted, but without the keys of a Sigstore instance.
    #[cfg_attr(
        not(feature = "sigstore"),
        expect(dead_code, reason = "only the feature knows trusted roots")
    )]
    NoTrustedRoot,
    /// It is a bundle of Sigstore, and this build cannot verify it.
    #[cfg_attr(
        feature = "sigstore",
        expect(dead_code, reason = "the feature verifies bundles")
    )]
    NoSigstore,
}

/// What a signature signs.
#[cfg_attr(
    not(feature = "signatures"),
    expect(dead_code, reason = "only the feature reads signatures")
)]
pub(crate) enum Signed<'a> {
    /// The bytes of a file: an archive or an artifact of a site.
    File(&'a mut File),
    /// The statement of a skill.
    Statement(&'a str),
}

impl SignatureRules {
    /// Returns true if signatures are looked for.
    pub(crate) fn is_active(&self) -> bool {
        cfg!(feature = "signatures")
    }

    /// Returns true if a signature is expected: by a trusted signer, by a rule or by an earlier
    /// version.
    fn is_expected(&self) -> bool {
        #[cfg(feature = "signatures")]
        if !self.keys.is_empty() {
            return true;
        }
        #[cfg(feature = "sigstore")]
        if !self.identities.is_empty() {
            return true;
        }
        self.is_required || self.is_remembered
    }

    /// Downloads the signatures of a file that are beside it.
    ///
    /// # Errors
    /// Fails unless the server answers for each kind, as in [`read`](Self::read).
    pub(crate) fn download(&self, client: &Client, file: &Url) -> Result<Signatures, InstallError> {
        self.read(|extension, max_bytes| {
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

    /// Reads the signatures of a file or skill. `read` gets what follows its name, and the maximum
    /// number of bytes; it returns no text if there is no such file.
    ///
    /// # Errors
    /// Fails if it is not known whether there is a signature: a failure must not make a signed skill
    /// an unsigned one.
    pub(crate) fn read(
        &self,
        read: impl Fn(&str, u64) -> Result<Option<String>, InstallError>,
    ) -> Result<Signatures, InstallError> {
        let mut signatures = Signatures::default();
        if !self.is_active() {
            return Ok(signatures);
        }
        for kind in SignatureKind::ALL {
            for extension in kind.extensions() {
                if let Some(text) = read(extension, kind.max_bytes())? {
                    signatures.set(kind, text);
                    break;
                }
            }
        }
        Ok(signatures)
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
            Some(Signer::Verified(signer)) => Ok(signer),
            other if self.is_required => {
                let name = name.to_owned();
                let reason = match other {
                    Some(Signer::Unverified { reason, .. }) => reason,
                    _ => UnverifiedReason::NotTrusted,
                };
                Err(Repr::Unsigned { name, reason }.into())
            }
            Some(Signer::Unverified { signer, .. }) => Ok(format!("{UNVERIFIED}{signer}")),
            None => Ok(UNSIGNED.to_owned()),
        }
    }

    /// Returns the signer, if a signature can be read.
    ///
    /// # Errors
    /// Fails if a signature of a trusted signer is not valid, also if another one is.
    #[cfg(feature = "signatures")]
    pub(crate) fn verify(
        &self,
        name: &str,
        signatures: &Signatures,
        mut signed: Signed<'_>,
    ) -> Result<Option<Signer>, InstallError> {
        let minisign = match signatures.get(SignatureKind::Minisign) {
            Some(text) => minisign::verify(&self.keys, name, text, &mut signed)?,
            None => None,
        };
        let sigstore = match signatures.get(SignatureKind::Sigstore) {
            Some(text) => self.verify_bundle(name, text, &mut signed)?,
            None => None,
        };
        Ok(Signer::stronger(minisign, sigstore))
    }

    #[cfg(feature = "sigstore")]
    fn verify_bundle(
        &self,
        name: &str,
        text: &str,
        signed: &mut Signed<'_>,
    ) -> Result<Option<Signer>, InstallError> {
        sigstore::verify(&self.identities, name, text, signed)
    }

    /// Notes that there is a bundle, which this build cannot verify.
    #[cfg(all(feature = "signatures", not(feature = "sigstore")))]
    #[expect(
        clippy::unnecessary_wraps,
        reason = "a bundle that is not valid is an error with the feature"
    )]
    fn verify_bundle(
        &self,
        _name: &str,
        text: &str,
        _signed: &mut Signed<'_>,
    ) -> Result<Option<Signer>, InstallError> {
        Ok(sigstore::is_bundle(text).then(|| Signer::Unverified {
            signer: sigstore::SCHEME.to_owned(),
            reason: UnverifiedReason::NoSigstore,
        }))
    }

    /// Returns no signer: without the feature no key can be trusted.
    #[cfg(not(feature = "signatures"))]
    pub(crate) fn verify(
        &self,
        _name: &str,
        _signatures: &Signatures,
        _signed: Signed<'_>,
    ) -> Result<Option<Signer>, InstallError> {
        Ok(None)
    }
}

impl Signer {
    /// Returns the first signer, unless only the second one is verified.
    pub(crate) fn stronger(first: Option<Self>, second: Option<Self>) -> Option<Self> {
        match (first, second) {
            (None, signer) | (signer, None) => signer,
            (
                Some(Self::Unverified { signer, reason }),
                Some(Self::Unverified { reason: other, .. }),
            ) => {
                let reason = reason.max(other);
                Some(Self::Unverified { signer, reason })
            }
            (Some(Self::Unverified { .. }), verified) => verified,
            (verified, _) => verified,
        }
    }
}

impl UnverifiedReason {
    /// Returns the end of a message about a skill without a trusted signature.
    pub(crate) fn of_bundle(self) -> &'static str {
        match self {
            Self::NotTrusted => " or identity",
            Self::NoTrustedRoot => {
                ", and its Sigstore bundle cannot be verified without a trusted root"
            }
            Self::NoSigstore => ", and this build cannot verify Sigstore bundles",
        }
    }

    /// Returns what to do about a skill without a trusted signature.
    pub(crate) fn help(self) -> &'static str {
        match self {
            Self::NotTrusted => {
                "ask the publisher for a signature, and trust the publisher's key or identity"
            }
            Self::NoTrustedRoot => {
                "set `sigstore-trusted-root` to the path of a `trusted_root.json`, beside `signature-identities`"
            }
            Self::NoSigstore => "build with `--features sigstore`",
        }
    }
}

/// Returns true if a signer of a lock file is one that was verified.
pub(crate) fn is_verified(signer: &str) -> bool {
    signer != UNSIGNED && !signer.starts_with(UNVERIFIED)
}

/// Returns true if a skill has the signer that it had before, or if that signer has become trusted.
pub(crate) fn is_same_signer(before: &str, now: &str) -> bool {
    if before == now {
        return true;
    }
    #[cfg(feature = "signatures")]
    if let (Some(claim), true) = (before.strip_prefix(UNVERIFIED), is_verified(now)) {
        return minisign::key_name(now).as_deref() == Some(claim)
            || sigstore::could_claim(now, claim);
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
