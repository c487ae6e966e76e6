//! Tests of the public interface.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests create their own files and fail by panicking"
)]

#[cfg(unix)]
mod archive;
#[cfg(all(unix, feature = "clawhub"))]
mod clawhub;
#[cfg(unix)]
mod crash;
#[cfg(unix)]
mod credentials;
#[cfg(unix)]
mod fixture;
#[cfg(unix)]
mod foreign_lock;
mod git;
#[cfg(unix)]
mod install;
#[cfg(all(unix, feature = "mcp"))]
mod live;
#[cfg(unix)]
mod lock_file;
#[cfg(all(unix, feature = "mcp"))]
mod mcp;
#[cfg(unix)]
#[path = "../../../skills-signature/tests/it/minisign_signer.rs"]
mod minisign_signer;
#[cfg(all(unix, feature = "oci"))]
mod oci;
#[cfg(all(unix, feature = "npm"))]
mod packages;
mod publish;
#[cfg(unix)]
mod signature;
#[cfg(all(unix, feature = "sigstore"))]
#[path = "../../../skills-signature/tests/it/sigstore_instance.rs"]
mod sigstore_instance;
#[cfg(unix)]
mod site;
mod source;
#[cfg(all(feature = "clawhub", feature = "mcp", feature = "npm", feature = "oci"))]
mod source_text;
#[cfg(unix)]
mod tamper;
#[cfg(unix)]
mod update;
#[cfg(unix)]
mod web;
#[cfg(unix)]
mod web_server;
