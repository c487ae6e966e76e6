//! The cryptography of `sigstore-verify`.
//!
//! Its default is another C library beside `ring`, which the HTTP client uses. `ring` verifies whole
//! messages; digests of files are verified by the crates of the two curves. Keys of RSA and Ed25519
//! sign messages only, and what is not supported is not valid.

use p256::ecdsa::signature::hazmat::PrehashVerifier;
use ring::signature::{self as algorithms, UnparsedPublicKey, VerificationAlgorithm};
use sha2::{Digest, Sha256, Sha384, Sha512};
use sigstore_verify::crypto::provider::HashContext;
use sigstore_verify::crypto::{
    CryptoProvider, Error, Result, SigningScheme, install_default_provider, try_default_provider,
};
use sigstore_verify::types::HashAlgorithm;

#[derive(Debug)]
struct Provider;

/// Sets the cryptography of this process, unless the application did.
pub(super) fn install() {
    if try_default_provider().is_none() {
        // Another thread can only have set the same.
        let _ = install_default_provider(&Provider);
    }
}

impl CryptoProvider for Provider {
    fn hash(&self, algorithm: HashAlgorithm) -> Result<Box<dyn HashContext>> {
        Ok(match algorithm {
            HashAlgorithm::Sha2256 => Box::new(Hash(Sha256::new())),
            HashAlgorithm::Sha2384 => Box::new(Hash(Sha384::new())),
            HashAlgorithm::Sha2512 => Box::new(Hash(Sha512::new())),
            other => return Err(Error::UnsupportedAlgorithm(other.to_string())),
        })
    }

    fn verify_raw(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        data: &[u8],
        signature: &[u8],
    ) -> Result<()> {
        let algorithm: &dyn VerificationAlgorithm = match scheme {
            SigningScheme::EcdsaP256Sha256 => &algorithms::ECDSA_P256_SHA256_ASN1,
            SigningScheme::EcdsaP256Sha384 => &algorithms::ECDSA_P256_SHA384_ASN1,
            SigningScheme::EcdsaP384Sha256 => &algorithms::ECDSA_P384_SHA256_ASN1,
            SigningScheme::EcdsaP384Sha384 => &algorithms::ECDSA_P384_SHA384_ASN1,
            SigningScheme::Ed25519 => &algorithms::ED25519,
            SigningScheme::RsaPssSha256 => &algorithms::RSA_PSS_2048_8192_SHA256,
            SigningScheme::RsaPssSha384 => &algorithms::RSA_PSS_2048_8192_SHA384,
            SigningScheme::RsaPssSha512 => &algorithms::RSA_PSS_2048_8192_SHA512,
            SigningScheme::RsaPkcs1Sha256 => &algorithms::RSA_PKCS1_2048_8192_SHA256,
            SigningScheme::RsaPkcs1Sha384 => &algorithms::RSA_PKCS1_2048_8192_SHA384,
            SigningScheme::RsaPkcs1Sha512 => &algorithms::RSA_PKCS1_2048_8192_SHA512,
            other => return Err(unsupported(other)),
        };
        let key = UnparsedPublicKey::new(algorithm, key);
        key.verify(data, signature).map_err(|_| invalid(scheme))
    }

    fn verify_prehashed(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        digest: &[u8],
        signature: &[u8],
    ) -> Result<()> {
        let verified = match scheme {
            SigningScheme::EcdsaP256Sha256 | SigningScheme::EcdsaP256Sha384 => {
                verify_p256(key, digest, signature)
            }
            SigningScheme::EcdsaP384Sha256 | SigningScheme::EcdsaP384Sha384 => {
                verify_p384(key, digest, signature)
            }
            other => return Err(unsupported(other)),
        };
        verified.map_err(|_| invalid(scheme))
    }
}

fn verify_p256(
    key: &[u8],
    digest: &[u8],
    signature: &[u8],
) -> std::result::Result<(), p256::ecdsa::Error> {
    let signature = p256::ecdsa::Signature::from_der(signature)?;
    p256::ecdsa::VerifyingKey::from_sec1_bytes(key)?.verify_prehash(digest, &signature)
}

fn verify_p384(
    key: &[u8],
    digest: &[u8],
    signature: &[u8],
) -> std::result::Result<(), p384::ecdsa::Error> {
    let signature = p384::ecdsa::Signature::from_der(signature)?;
    p384::ecdsa::VerifyingKey::from_sec1_bytes(key)?.verify_prehash(digest, &signature)
}

fn unsupported(scheme: SigningScheme) -> Error {
    Error::UnsupportedAlgorithm(scheme.name().to_owned())
}

fn invalid(scheme: SigningScheme) -> Error {
    Error::Verification(format!("the {} signature is not valid", scheme.name()))
}

struct Hash<D>(D);

impl<D: Digest + Send> HashContext for Hash<D> {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finalize(self: Box<Self>) -> Vec<u8> {
        self.0.finalize().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair,
        EcdsaSigningAlgorithm, KeyPair,
    };

    use super::*;

    /// Returns a public key and a signature of `content`.
    fn sign(algorithm: &'static EcdsaSigningAlgorithm) -> (Vec<u8>, Vec<u8>) {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap();
        let signature = key.sign(&random, b"content").unwrap();
        (
            key.public_key().as_ref().to_vec(),
            signature.as_ref().to_vec(),
        )
    }

    #[test]
    fn a_digest_is_verified_like_the_content() {
        for (scheme, algorithm, kind) in [
            (
                SigningScheme::EcdsaP256Sha256,
                &ECDSA_P256_SHA256_ASN1_SIGNING,
                HashAlgorithm::Sha2256,
            ),
            (
                SigningScheme::EcdsaP384Sha384,
                &ECDSA_P384_SHA384_ASN1_SIGNING,
                HashAlgorithm::Sha2384,
            ),
        ] {
            let (key, signature) = sign(algorithm);
            let digest = |content: &[u8]| {
                let mut hash = Provider.hash(kind).unwrap();
                hash.update(content);
                hash.finalize()
            };
            let verify =
                |content| Provider.verify_prehashed(scheme, &key, &digest(content), &signature);
            assert!(verify(b"content").is_ok());
            assert!(verify(b"other").is_err());
            let verify = |content| Provider.verify_raw(scheme, &key, content, &signature);
            assert!(verify(b"content").is_ok());
            assert!(verify(b"other").is_err());
            let (other, _) = sign(algorithm);
            let digest = digest(b"content");
            for key in [&other[..], &other[1..], &[]] {
                let verified = Provider.verify_prehashed(scheme, key, &digest, &signature);
                assert!(verified.is_err());
            }
            for signature in [&signature[1..], &[]] {
                let verified = Provider.verify_prehashed(scheme, &key, &digest, signature);
                assert!(verified.is_err());
            }
        }
    }

    #[test]
    fn what_is_not_supported_is_not_valid() {
        let (key, signature) = sign(&ECDSA_P256_SHA256_ASN1_SIGNING);
        for scheme in [
            SigningScheme::RsaPkcs1Sha256,
            SigningScheme::Ed25519,
            SigningScheme::MlDsa44,
        ] {
            let digest = Sha256::digest(b"content");
            let verified = Provider.verify_prehashed(scheme, &key, &digest, &signature);
            assert!(matches!(verified, Err(Error::UnsupportedAlgorithm(_))));
            assert!(
                Provider
                    .verify_raw(scheme, &key, b"content", &signature)
                    .is_err()
            );
        }
    }
}
