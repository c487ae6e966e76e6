//! Tests of the public interface.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod minisign;
mod minisign_signer;
#[cfg(feature = "sigstore")]
mod sigstore;
#[cfg(feature = "sigstore")]
mod sigstore_instance;

use std::convert::Infallible;
use std::io::Write;

use skills_signature::{Content, SignatureError, Signatures, Signer, TrustedSigners};

/// Verifies signatures, given by their extensions, for bytes and for a file with these bytes.
fn verify(
    trusted: &TrustedSigners,
    files: &[(&str, &str)],
    content: impl AsRef<[u8]>,
) -> Result<Option<Signer>, SignatureError> {
    let signatures = Signatures::read(|extension, max_bytes| {
        let file = files.iter().find(|(known, _)| *known == extension);
        let max_bytes = usize::try_from(max_bytes).unwrap();
        Ok::<_, Infallible>(file.map(|(_, text)| text.chars().take(max_bytes).collect()))
    });
    let signatures = signatures.unwrap();
    assert_eq!(signatures.is_empty(), files.is_empty());
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content.as_ref()).unwrap();
    let of_file = trusted.verify(&signatures, Content::File(&mut file));
    let of_bytes = trusted.verify(&signatures, Content::Bytes(content.as_ref()));
    assert_eq!(format!("{of_file:?}"), format!("{of_bytes:?}"));
    of_bytes
}
