//! Runs of a build without support for packages: a program has what its interpreter has.

use std::path::PathBuf;

use skills_policy::Request;
use skills_sandbox::Job;

use super::failure_cause::FailureCause;
use super::plan::Planned;
use crate::error::RuntimeError;

#[derive(Clone, Default)]
pub(crate) struct RunPackages {}

#[expect(clippy::unused_self, reason = "the same as with packages")]
impl RunPackages {
    pub(super) async fn find(_planned: &Planned, _request: &Request) -> Result<Self, RuntimeError> {
        Ok(Self::default())
    }

    pub(super) fn is_pending(&self) -> bool {
        false
    }

    pub(super) fn request_pending(&self, request: Request) -> Request {
        request
    }

    pub(super) fn without_pending(&self, _planned: &Planned) -> Self {
        Self::default()
    }

    pub(super) async fn install(&mut self, _planned: &Planned) -> Result<(), RuntimeError> {
        Ok(())
    }

    pub(super) fn add_to(&self, job: Job) -> Job {
        job
    }

    pub(super) fn note(&self) -> Option<&str> {
        None
    }

    pub(super) fn python(&self) -> Option<PathBuf> {
        None
    }
}

pub(super) fn with_package_advice(
    _planned: &Planned,
    _packages: &RunPackages,
    cause: FailureCause,
) -> FailureCause {
    cause
}
