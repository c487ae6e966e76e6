//! The certificate authorities that servers are checked with.

use std::sync::{Arc, OnceLock};

use ureq::tls::{Certificate, RootCerts};

/// The variables that choose other authorities than those of the system.
const VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

#[derive(Debug, Clone, Default)]
pub(super) enum Roots {
    /// Those of Mozilla, as of build time.
    #[default]
    Bundled,
    /// The DER encoding of each.
    Given(Vec<Vec<u8>>),
    System(SystemRoots),
}

/// The authorities of the operating system, read once when they are first needed.
#[derive(Debug, Clone, Default)]
pub(super) struct SystemRoots(Arc<OnceLock<Result<RootCerts, NoAuthorities>>>);

/// Neither the variables nor the system have a usable certificate authority.
#[derive(Debug, Clone, thiserror::Error)]
#[error("no certificate authority found where the system or {} say{}", VARIABLES.join(" and "), problem.as_ref().map_or_else(String::new, |problem| format!(": {problem}")))]
pub(super) struct NoAuthorities {
    problem: Option<String>,
}

impl Roots {
    pub(super) fn load(&self) -> Result<RootCerts, NoAuthorities> {
        match self {
            Self::Bundled => Ok(RootCerts::WebPki),
            Self::Given(certificates) => {
                Ok(specific(certificates.iter().map(|der| der.as_slice())))
            }
            Self::System(system) => system.0.get_or_init(load_system).clone(),
        }
    }
}

fn specific<'a>(certificates: impl Iterator<Item = &'a [u8]>) -> RootCerts {
    let certificates = certificates.map(|der| Certificate::from_der(der).to_owned());
    RootCerts::Specific(Arc::new(certificates.collect()))
}

fn load_system() -> Result<RootCerts, NoAuthorities> {
    let found = rustls_native_certs::load_native_certs();
    if !found.certs.is_empty() {
        return Ok(specific(found.certs.iter().map(|der| der.as_ref())));
    }
    if is_chosen() || !found.errors.is_empty() {
        // Others than the user or the administrator chose must not be trusted instead.
        let problem = found.errors.first().map(ToString::to_string);
        return Err(NoAuthorities { problem });
    }
    // Small containers have no store.
    Ok(RootCerts::WebPki)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the library that reads the certificates reads these variables of the process"
)]
fn is_chosen() -> bool {
    // An empty value is a choice for the library, too.
    VARIABLES
        .iter()
        .any(|name| std::env::var_os(name).is_some())
}
