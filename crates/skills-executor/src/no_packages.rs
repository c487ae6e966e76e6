//! Runs of a build without support for packages: a program has what its interpreter has.

use std::path::PathBuf;

use skills_policy::Request;
use skills_sandbox::Job;

use crate::error::RuntimeError;
use crate::explain::MissingPackage;
use crate::plan::Planned;

#[derive(Clone, Default)]
pub(crate) struct RunPackages {}

/// There is none.
pub(crate) enum ImportedPackage {}

#[expect(clippy::unused_self, reason = "the same as with packages")]
impl RunPackages {
    pub(crate) async fn find(_planned: &Planned, _request: &Request) -> Result<Self, RuntimeError> {
        Ok(Self::default())
    }

    pub(crate) fn is_pending(&self) -> bool {
        false
    }

    pub(crate) fn request_pending(&self, request: Request) -> Request {
        request
    }

    pub(crate) fn without_pending(&self, _planned: &Planned) -> Self {
        Self::default()
    }

    pub(crate) async fn install(&mut self, _planned: &Planned) -> Result<(), RuntimeError> {
        Ok(())
    }

    pub(crate) async fn with_import(
        &self,
        _planned: &Planned,
        _request: &Request,
        imported: ImportedPackage,
    ) -> Result<Option<Self>, String> {
        match imported {}
    }

    pub(crate) fn add_to(&self, job: Job) -> Job {
        job
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    pub(crate) fn python(&self) -> Option<PathBuf> {
        None
    }
}

pub(crate) fn imported_module(_planned: &Planned, _reported: &str) -> Option<String> {
    None
}

pub(crate) fn with_package_advice(
    _planned: &Planned,
    _packages: &RunPackages,
    _missing: &mut MissingPackage,
) -> Option<ImportedPackage> {
    None
}
