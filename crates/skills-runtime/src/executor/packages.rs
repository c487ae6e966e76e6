//! Packages that skills declare: what is missing, what would be installed, and the environment of a
//! run.
//!
//! ```text
//! declared --present--> the run starts at once
//!     \--installed before--> the run gets the environment
//!     \--missing--> planned, requested as permissions, installed after the authorization
//! ```
//!
//! Where neither rules nor an approver can allow them, the run starts without them: many scripts need
//! a package only for a part of what they do.

mod advice;
mod config;
mod declared;
mod image;
mod setup;

use std::sync::Arc;

use skills_deps::{Environment, Plan, SetupErrorKind};
use skills_policy::{Authorization, Decision, Evaluation, Permission, Request};
use skills_sandbox::{Job, ScriptType};

use super::Executor;
use super::run_plan::RunPlan;
use super::run_record::RunRecord;
use super::skill_copies::SkillCopy;
use crate::error::RuntimeError;

pub use config::PackageConfig;
use declared::MissingPackages;
pub use setup::{PackagePlan, PackageStatus};

/// The packages of a run.
#[derive(Default)]
pub(crate) struct RunPackages {
    /// The installed environment.
    environment: Option<Environment>,
    /// What has to be installed once the run is authorized.
    pending: Option<(MissingPackages, Plan)>,
    /// Missing packages that the run goes on without, and why.
    pub(super) note: Option<String>,
}

impl RunPackages {
    fn without(missing: &MissingPackages, reason: &str) -> Self {
        let names = missing.names.join(", ");
        Self {
            note: Some(format!("missing packages: {names}: {reason}")),
            ..Self::default()
        }
    }

    /// Adds the packages to a job.
    pub(super) fn add_to(&self, job: Job) -> Job {
        let Some(environment) = &self.environment else {
            return job;
        };
        let job = environment.python().into_iter().fold(job, |job, python| {
            job.interpreter(ScriptType::Python, python)
        });
        environment
            .node_modules()
            .into_iter()
            .fold(job, Job::node_modules)
    }

    /// Returns the Python of the environment, if it has one.
    pub(super) fn python(&self) -> Option<std::path::PathBuf> {
        self.environment.as_ref()?.python()
    }
}

impl Executor {
    /// Finds the packages of a run. What is missing is planned if it can be allowed, and requested.
    pub(super) async fn find_packages(
        &self,
        plan: &mut RunPlan,
    ) -> Result<RunPackages, RuntimeError> {
        let Some(config) = &self.config().packages else {
            return Ok(RunPackages::default());
        };
        self.ask_image(plan, config).await;
        let Some(missing) = self.missing_packages(plan, config) else {
            return Ok(RunPackages::default());
        };
        if let Some(environment) = self.installed_environment(plan, &missing, config) {
            return Ok(match self.denied_package(plan, environment.plan()) {
                Some(rule) => RunPackages::without(&missing, &rule),
                None => RunPackages {
                    environment: Some(environment),
                    ..RunPackages::default()
                },
            });
        }
        // Before the index is asked: the names of declared packages are known.
        let request = missing.request(plan.request.clone());
        if !self.can_be_allowed(plan, &request) {
            let advice = self.install_advice(plan);
            return Ok(RunPackages::without(&missing, &advice));
        }
        let context = self.setup_context(plan, &plan.options.context, config)?;
        let resolved = match config
            .store
            .plan(&missing.project, &missing.key, &context)
            .await
        {
            Ok(resolved) => resolved,
            // These packages were not requested yet, and the script may not need them.
            Err(error) if error.kind() == SetupErrorKind::Declaration => {
                return Ok(RunPackages::without(&missing, &error.to_string()));
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(rule) = self.denied_package(plan, &resolved) {
            return Ok(RunPackages::without(&missing, &rule));
        }
        plan.request = request_planned(plan.request.clone(), &resolved);
        Ok(RunPackages {
            pending: Some((missing, resolved)),
            ..RunPackages::default()
        })
    }

    /// Authorizes a run with its packages. If nothing allows these, and no approver is
    /// available, the run is authorized without them.
    pub(super) async fn authorize_with_packages(
        &self,
        plan: &mut RunPlan,
        packages: &mut RunPackages,
        record: &mut RunRecord,
    ) -> Result<(Authorization, Option<Arc<SkillCopy>>), RuntimeError> {
        let decided = self.authorize_with_programs(plan, record).await?;
        match (&decided.0, packages.pending.take()) {
            (Authorization::Denied(denial), Some((missing, _))) if !denial.was_asked() => {
                plan.request = plan.request.clone().without_packages();
                *packages = RunPackages::without(&missing, &self.install_advice(plan));
                self.authorize_with_programs(plan, record).await
            }
            (_, pending) => {
                packages.pending = pending;
                Ok(decided)
            }
        }
    }

    /// Installs what a granted run needs.
    pub(super) async fn install_packages_of_run(
        &self,
        plan: &RunPlan,
        packages: &mut RunPackages,
    ) -> Result<(), RuntimeError> {
        let (Some(config), Some((missing, resolved))) =
            (&self.config().packages, packages.pending.take())
        else {
            return Ok(());
        };
        let context = self.setup_context(plan, &plan.options.context, config)?;
        let store = &config.store;
        let installed = store
            .install(&missing.project, &missing.key, &resolved, &context)
            .await?;
        packages.environment = Some(installed);
        Ok(())
    }

    /// Returns true if rules allow the request, or if an approver can.
    fn can_be_allowed(&self, plan: &RunPlan, request: &Request) -> bool {
        let approver = plan.options.context.approver.as_deref();
        let has_approver = self.permissions.has_approver(approver);
        match self.permissions.evaluate(request) {
            Evaluation::NeedsApproval(pending) => {
                let needs_approver =
                    pending.approval_request().pending.iter().any(|decision| {
                        matches!(decision.permission(), Permission::Package { .. })
                    });
                has_approver || !needs_approver
            }
            Evaluation::Decided(authorization) => {
                let is_denied = |decisions: &[skills_policy::PermissionDecision]| {
                    decisions.iter().any(|decision| {
                        matches!(decision.permission(), Permission::Package { .. })
                            && decision.decision() != Decision::Allow
                    })
                };
                match &*authorization {
                    Authorization::Granted(_) => true,
                    Authorization::Denied(denial) => !is_denied(denial.decisions()),
                }
            }
        }
    }

    /// Returns what the user can do about the missing packages of a run. The command is complete: a
    /// name that a shell would change is not in it.
    fn install_advice(&self, plan: &RunPlan) -> String {
        let allow = "allow it with `--allow packages`";
        let script = self.declaring_script(plan);
        let words = [plan.subject.name()].into_iter().chain(script);
        if !words.clone().all(is_plain_word) {
            return allow.to_owned();
        }
        let words: Vec<&str> = words.collect();
        let words = words.join(" --script ");
        format!("install them with `skills deps install {words}`, or {allow}")
    }

    /// Returns the rule that denies a package of a plan, as a reason.
    fn denied_package(&self, plan: &RunPlan, resolved: &Plan) -> Option<String> {
        let directory = plan.subject.skill()?.entry.directory();
        resolved.packages.iter().find_map(|package| {
            let permission = package_permission(package);
            let rule = self
                .permissions
                .policy()
                .denying_rule(directory, &permission)?;
            Some(format!("`{rule}` denies {}", package.full_name()))
        })
    }
}

/// Returns true if a text is one word for every shell, and not an option.
fn is_plain_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./@+".contains(c);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain)
}

/// Requests the declared packages of a plan, and tells the approver about all.
fn request_planned(request: Request, resolved: &Plan) -> Request {
    let declared = resolved
        .packages
        .iter()
        .filter(|package| package.is_declared);
    let request = declared.fold(request, |request, package| {
        request.package(package.full_name(), &package.version)
    });
    request.note(format!("installs {resolved}"))
}

fn package_permission(package: &skills_deps::PlannedPackage) -> Permission {
    Permission::Package {
        name: package.full_name(),
        version: package.version.clone(),
    }
}
