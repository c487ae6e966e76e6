//! How a backend reaches hosts, whatever the run.

use std::sync::{Arc, OnceLock};

use skills_policy::HostList;
use skills_sandbox::SandboxError;
use skills_sandbox::egress::{Internet, Outside};

use super::{Gate, HttpLimits, Trust};

/// What all gates of a backend share: the outside, whom TLS believes, limits. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Web {
    outside: Arc<dyn Outside>,
    roots: Option<Arc<[Vec<u8>]>>,
    limits: HttpLimits,
    trust: Arc<OnceLock<Trust>>,
}

impl Default for Web {
    fn default() -> Self {
        Self {
            outside: Arc::new(Internet),
            roots: None,
            limits: HttpLimits::default(),
            trust: Arc::default(),
        }
    }
}

impl Web {
    pub(crate) fn outside(self, outside: Arc<dyn Outside>) -> Self {
        Self { outside, ..self }
    }

    /// Believes these certificates, each one in DER, instead of the public authorities.
    pub(crate) fn root_certificates(self, certificates: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self {
            roots: Some(certificates.into_iter().collect()),
            trust: Arc::default(),
            ..self
        }
    }

    pub(crate) fn limits(self, limits: HttpLimits) -> Self {
        Self { limits, ..self }
    }

    /// Makes the gate of one run.
    pub(crate) fn gate(&self, hosts: &HostList) -> Result<Gate, SandboxError> {
        Ok(Gate::new(
            hosts,
            Arc::clone(&self.outside),
            &self.trust()?,
            self.limits,
        ))
    }

    /// Reads the root certificates the first time that they are needed.
    fn trust(&self) -> Result<Trust, SandboxError> {
        if let Some(trust) = self.trust.get() {
            return Ok(trust.clone());
        }
        let trust = match &self.roots {
            None => Trust::public()?,
            Some(roots) => Trust::only(roots)?,
        };
        Ok(self.trust.get_or_init(|| trust).clone())
    }
}
