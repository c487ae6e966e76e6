//! Runs of a build without support for packages: a program has what its interpreter has.

use std::path::PathBuf;
use std::sync::Arc;

use skills_policy::Authorization;
use skills_sandbox::Job;

use super::Executor;
use super::failure_cause::FailureCause;
use super::run_plan::RunPlan;
use super::run_record::RunRecord;
use super::skill_copies::SkillCopy;
use crate::error::RuntimeError;

#[derive(Default)]
pub(crate) struct RunPackages {
    pub(super) note: Option<String>,
}

impl RunPackages {
    #[expect(clippy::unused_self, reason = "the same as with packages")]
    pub(super) fn add_to(&self, job: Job) -> Job {
        job
    }

    #[expect(clippy::unused_self, reason = "the same as with packages")]
    pub(super) fn python(&self) -> Option<PathBuf> {
        None
    }
}

impl Executor {
    pub(super) async fn find_packages(
        &self,
        _plan: &mut RunPlan,
    ) -> Result<RunPackages, RuntimeError> {
        Ok(RunPackages::default())
    }

    pub(super) async fn authorize_with_packages(
        &self,
        plan: &mut RunPlan,
        _packages: &mut RunPackages,
        record: &mut RunRecord,
    ) -> Result<(Authorization, Option<Arc<SkillCopy>>), RuntimeError> {
        self.authorize_with_programs(plan, record).await
    }

    pub(super) async fn install_packages_of_run(
        &self,
        _plan: &RunPlan,
        _packages: &mut RunPackages,
    ) -> Result<(), RuntimeError> {
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "the same as with packages")]
    pub(super) fn with_package_advice(
        &self,
        _plan: &RunPlan,
        _packages: &RunPackages,
        cause: FailureCause,
    ) -> FailureCause {
        cause
    }
}
