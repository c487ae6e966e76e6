//! Setups: their sandbox and permissions, and those that a user starts.

use std::sync::Arc;

use skills_deps::{Environment, Plan, SetupContext, SetupPhase, Store, check_declarations};
use skills_library::find_tool;
use skills_packages::{ListedPackage, Project};
use skills_policy::{Authorization, Effect, Policy, Request, Rule, RuleSource};
use skills_sandbox::ScriptType;

use super::config::PackageConfig;
use super::declared::{MissingPackages, script_of};
use crate::error::{Repr, RuntimeError};
use crate::executor::Executor;
use crate::executor::run_plan::RunPlan;
use crate::{CallContext, ExecutionOptions};

/// The packages of a program of a skill.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum PackageStatus {
    /// It declares none.
    NothingDeclared,
    /// It declares none, and its text names some in commands such as `pip install`, or its scripts
    /// import them, which its interpreters do not have. A user can accept them by [`PackageConfig::skill_packages`].
    Mentioned(Vec<ListedPackage>),
    /// The interpreter has all of them.
    Present,
    /// They are installed in an environment, which its runs get.
    Installed(Environment),
    /// Some are missing, named as declared.
    Missing(Vec<String>),
    /// Some are declared in a way that cannot be installed; each problem names its file. Nothing is
    /// known to be missing, or nothing can be installed before they are corrected.
    Invalid(Vec<String>),
}

/// What would be installed for a program of a skill. See [`Executor::plan_packages`].
pub struct PackagePlan {
    missing: MissingPackages,
    run: RunPlan,
    resolved: Plan,
}

impl PackagePlan {
    /// Returns the packages with their versions, hosts and sizes.
    #[must_use]
    pub fn packages(&self) -> &Plan {
        &self.resolved
    }

    /// Returns the missing packages, as declared.
    #[must_use]
    pub fn missing(&self) -> &[String] {
        &self.missing.names
    }
}

impl Executor {
    /// Returns the store of environments, if packages are [configured](crate::Builder::packages).
    #[must_use]
    pub fn package_store(&self) -> Option<&Store> {
        Some(&self.config().packages.as_ref()?.store)
    }

    /// Returns the packages of the program that `options` select. Nothing is asked of an index.
    ///
    /// # Errors
    /// The same as [`preview`](Self::preview).
    pub fn package_status(
        &self,
        name: &str,
        options: &ExecutionOptions,
    ) -> Result<PackageStatus, RuntimeError> {
        let config = self.package_config()?;
        let run = self.plan(name, options.clone(), None)?;
        let missing = self.missing_packages(&run, config);
        let installed = missing
            .as_ref()
            .and_then(|missing| self.installed_environment(&run, missing, config));
        if let Some(environment) = installed {
            return Ok(PackageStatus::Installed(environment));
        }
        let problems: Vec<String> = self
            .declared_by(&run)
            .iter()
            .flat_map(Project::problems)
            .map(str::to_owned)
            .collect();
        Ok(match missing {
            _ if !problems.is_empty() => PackageStatus::Invalid(problems),
            Some(missing) => PackageStatus::Missing(missing.names),
            None => self.status_of_complete(&run),
        })
    }

    /// Returns the scripts of a skill that declare packages apart from it, which are not installed.
    ///
    /// # Errors
    /// The same as [`preview`](Self::preview).
    pub fn scripts_without_packages(
        &self,
        name: &str,
        options: &ExecutionOptions,
    ) -> Result<Vec<String>, RuntimeError> {
        let config = self.package_config()?;
        let run = self.plan(name, options.clone(), None)?;
        Ok(self.incomplete_scripts(&run, config))
    }

    /// Returns what the skill of a run declares for its program; `None` without a skill.
    fn declared_by(&self, run: &RunPlan) -> Option<Project> {
        let skill = run.subject.skill()?;
        Some(self.declared_packages(skill, script_of(&run.mode)))
    }

    fn status_of_complete(&self, run: &RunPlan) -> PackageStatus {
        let Some(skill) = run.subject.skill() else {
            return PackageStatus::NothingDeclared;
        };
        let script = script_of(&run.mode);
        if !self.declared_packages(skill, script).is_empty() {
            return PackageStatus::Present;
        }
        match self.mentioned_packages(skill, script) {
            mentioned if mentioned.is_empty() => PackageStatus::NothingDeclared,
            mentioned => PackageStatus::Mentioned(mentioned),
        }
    }

    /// Selects versions of the missing packages of the program that `options` select; `None` if
    /// nothing is missing. The index is asked, nothing is installed. A plan is kept until
    /// `refresh`, which asks for the newest versions.
    ///
    /// # Errors
    /// Fails if packages are not configured, if a rule denies one, or if they cannot be planned.
    pub async fn plan_packages(
        &self,
        name: &str,
        options: &ExecutionOptions,
        refresh: bool,
    ) -> Result<Option<PackagePlan>, RuntimeError> {
        let config = self.package_config()?;
        let run = self.plan(name, options.clone(), None)?;
        self.ask_image(&run, config).await;
        let Some(missing) = self.missing_packages(&run, config) else {
            if let Some(project) = self.declared_by(&run) {
                check_declarations(&project)?;
            }
            return Ok(None);
        };
        if refresh {
            config.store.forget_plan(&missing.key)?;
        }
        let context = self.setup_context(&run, &options.context, config)?;
        let resolved = config
            .store
            .plan(&missing.project, &missing.key, &context)
            .await?;
        if let Some(reason) = self.denied_package(&run, &resolved) {
            return Err(Repr::PackageDenied { reason }.into());
        }
        Ok(Some(PackagePlan {
            missing,
            run,
            resolved,
        }))
    }

    /// Installs a plan. The caller has the agreement of its user, who saw the plan.
    ///
    /// # Errors
    /// Fails if the packages cannot be installed; then nothing changed.
    pub async fn install_packages(
        &self,
        plan: &PackagePlan,
        call: &CallContext,
    ) -> Result<Environment, RuntimeError> {
        let config = self.package_config()?;
        let context = self.setup_context(&plan.run, call, config)?;
        let PackagePlan {
            missing, resolved, ..
        } = plan;
        let store = &config.store;
        Ok(store
            .install(&missing.project, &missing.key, resolved, &context)
            .await?)
    }

    fn package_config(&self) -> Result<&PackageConfig, RuntimeError> {
        let config = self.config().packages.as_ref();
        config.ok_or_else(|| Repr::NoPackages.into())
    }

    /// Returns what the setup for a run may use.
    pub(super) fn setup_context(
        &self,
        plan: &RunPlan,
        call: &CallContext,
        config: &PackageConfig,
    ) -> Result<SetupContext, RuntimeError> {
        let skill = plan.subject.name();
        let backends = &self.config().backends;
        let policy = self.permissions.policy().clone();
        let executor = self.clone();
        let progress = call.progress.clone();
        Ok(SetupContext {
            sandbox: Arc::clone(backends.for_run(skill, &plan.mode, plan.options.sandbox)?),
            authorize: Arc::new(move |request| {
                authorize_setup(&policy, &executor.with_protected_paths(request.clone()))
            }),
            python: self.interpreter(plan, ScriptType::Python),
            // An image has the package managers that it has.
            uv: find_tool(self.library().finder(skill), "uv")
                .filter(|_| plan.uses_programs_of_host()),
            python_index: config.python_index.clone(),
            npm_registry: config.npm_registry.clone(),
            file_hosts: config.file_hosts.clone(),
            allows_builds: config.allows_builds,
            timeout: config.timeout,
            cancellation: call.cancellation.clone(),
            progress: progress.map(|progress| -> skills_deps::Progress {
                Arc::new(move |phase| match phase {
                    SetupPhase::Ended => progress(None),
                    _ => progress(Some(&phase.to_string())),
                })
            }),
        })
    }
}

/// Grants what a setup requests, as an option of the invocation would: `deny` rules and `ask` rules of
/// the administrator still apply.
fn authorize_setup(policy: &Policy, request: &Request) -> Result<skills_policy::Grants, String> {
    let permissions = request.permissions();
    let targets = permissions
        .iter()
        .filter_map(|permission| permission.rule_target());
    let rules = targets.map(|target| {
        Rule::new(Effect::Allow, RuleSource::Invocation, target).origin("package setup")
    });
    match policy.clone().with_rules(rules).authorize(request) {
        Authorization::Granted(grants) => Ok(grants),
        Authorization::Denied(denial) => {
            let denied = denial
                .denied()
                .map(|decision| format!("{}: {}", decision.permission(), decision.reason()));
            Err(denied.collect::<Vec<_>>().join("; "))
        }
    }
}
