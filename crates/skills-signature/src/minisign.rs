//! Keys and signatures of minisign.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use minisign_verify::{PublicKey, Signature};

use crate::error::{Repr, SignatureError};
use crate::{Content, Signer, UnverifiedReason};

/// What signers of minisign begin with.
const SCHEME: &str = "minisign:";
/// Position of the number of a key in keys and signatures, after the algorithm.
const KEY_NUMBER: std::ops::Range<usize> = 2..10;

/// A public key of minisign.
///
/// It is parsed from the text of a key (`RW…`), or of a `minisign.pub` file. As text it is the key
/// in its only spelling, and the text of its signer is `minisign:` and that text.
///
/// ```
/// use skills_signature::MinisignKey;
///
/// let text = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
/// let key: MinisignKey = text.parse()?;
/// assert_eq!(key.to_string(), text);
/// assert_eq!(format!("untrusted comment: k\n{text}\n").parse::<MinisignKey>()?, key);
/// assert!("RWQ".parse::<MinisignKey>().is_err());
/// # Ok::<(), skills_signature::SignatureError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct MinisignKey {
    key: PublicKey,
    text: String,
}

impl FromStr for MinisignKey {
    type Err = SignatureError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || Repr::Key {
            text: text.chars().take(100).collect(),
        };
        let mut lines = text.lines().map(str::trim).filter(|line| {
            // The first line of a file.
            !line.is_empty() && !line.starts_with("untrusted comment:")
        });
        let (Some(line), None) = (lines.next(), lines.next()) else {
            return Err(invalid().into());
        };
        let bytes = STANDARD.decode(line).map_err(|_| invalid())?;
        let text = STANDARD.encode(bytes);
        let key = PublicKey::from_base64(&text).map_err(|_| invalid())?;
        Ok(Self { key, text })
    }
}

impl fmt::Display for MinisignKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for MinisignKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MinisignKey({})", self.text)
    }
}

/// Returns the key that verifies the signature, or else what the signature says about its key. Without
/// any key, a signature that cannot be parsed counts as none.
pub(crate) fn verify(
    keys: &[MinisignKey],
    text: &str,
    content: &mut Content<'_>,
) -> Result<Option<Signer>, SignatureError> {
    let signature = match Signature::decode(text) {
        Ok(signature) => signature,
        Err(_) if keys.is_empty() => return Ok(None),
        Err(error) => return Err(SignatureError::not_valid(error)),
    };
    // Signatures name their key by eight bytes, which any signer can choose.
    let candidates: Vec<&MinisignKey> = keys
        .iter()
        .filter(|key| key.key.verify_stream(&signature).is_ok())
        .collect();
    if candidates.is_empty() {
        // Another key, or the old format, which signs a whole file at once.
        return Ok(key_of_signature(text).map(|signer| Signer::Unverified {
            signer,
            reason: UnverifiedReason::NotTrusted,
        }));
    }
    let found = match content {
        Content::File(file) => {
            verify_file(&candidates, &signature, file).map_err(SignatureError::not_valid)?
        }
        Content::Bytes(bytes) => candidates
            .into_iter()
            .find(|key| key.key.verify(bytes, &signature, false).is_ok()),
    };
    match found {
        Some(key) => Ok(Some(Signer::Verified(format!("{SCHEME}{key}")))),
        None => Err(SignatureError::not_valid(
            "it is not valid for this content",
        )),
    }
}

/// Returns the name of the key of a verified signer, `minisign:KEY`, as an unverified signer has it.
pub(crate) fn key_name(signer: &str) -> Option<String> {
    name_of_number(signer.strip_prefix(SCHEME)?)
}

/// Returns the name of the key that a signature names.
fn key_of_signature(text: &str) -> Option<String> {
    let line = text.lines().nth(1)?;
    name_of_number(line.trim())
}

/// Returns `minisign:` and the number of a key, from a key or signature in Base64. It is written as the
/// program of that name does.
fn name_of_number(base64: &str) -> Option<String> {
    let bytes = STANDARD.decode(base64).ok()?;
    let number = bytes.get(KEY_NUMBER)?.try_into().ok()?;
    Some(format!("{SCHEME}{:016X}", u64::from_le_bytes(number)))
}

fn verify_file<'a>(
    candidates: &[&'a MinisignKey],
    signature: &Signature,
    file: &mut File,
) -> io::Result<Option<&'a MinisignKey>> {
    let mut buffer = vec![0; 64 * 1024];
    for key in candidates {
        let Ok(mut verifier) = key.key.verify_stream(signature) else {
            continue;
        };
        file.rewind()?;
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                read => verifier.update(&buffer[..read]),
            }
        }
        if verifier.finalize().is_ok() {
            return Ok(Some(*key));
        }
    }
    Ok(None)
}
