//! Packages of skills that a user installs without a run.

use skills_deps::{Environment, Plan, check_declarations};
use skills_packages::{ListedPackage, Project};

use crate::call_context::CallContext;
use crate::error::{Repr, RuntimeError};
use crate::options::ExecutionOptions;
use crate::packages::{
    DeclaringRun, MissingPackages, declared_packages, denied_package, mentioned_packages_of,
    script_of,
};
use crate::plan::Planned;
use crate::services::Services;

/// The packages of a program of a skill.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum PackageStatus {
    /// It declares none.
    NothingDeclared,
    /// It declares none, and its text names some in commands such as `pip install`, or its scripts
    /// import them, which its interpreters do not have. A user can accept them by [`PackageConfig::skill_packages`](super::PackageConfig::skill_packages).
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

/// What would be installed for a program of a skill. See [`Executor::plan_packages`](super::Executor::plan_packages).
pub struct PackagePlan {
    missing: MissingPackages,
    planned: Planned,
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

/// Returns the packages of the program that `options` select. Nothing is asked of an index.
pub(crate) fn status(
    services: &Services,
    name: &str,
    options: &ExecutionOptions,
) -> Result<PackageStatus, RuntimeError> {
    let planned = plan_setup(services, name, options)?;
    let run = declaring(&planned)?;
    let missing = run.missing();
    let installed = missing.as_ref().and_then(|missing| run.installed(missing));
    if let Some(environment) = installed {
        return Ok(PackageStatus::Installed(environment));
    }
    let problems: Vec<String> = declared_by(&planned)
        .iter()
        .flat_map(Project::problems)
        .map(str::to_owned)
        .collect();
    Ok(match missing {
        _ if !problems.is_empty() => PackageStatus::Invalid(problems),
        Some(missing) => PackageStatus::Missing(missing.names),
        None => status_of_complete(&planned),
    })
}

/// Returns the scripts of a skill that declare packages apart from it, which are not installed.
pub(crate) fn scripts_without_packages(
    services: &Services,
    name: &str,
    options: &ExecutionOptions,
) -> Result<Vec<String>, RuntimeError> {
    let planned = plan_setup(services, name, options)?;
    Ok(declaring(&planned)?.incomplete_scripts())
}

/// Selects versions of the missing packages of the program that `options` select; `None` if
/// nothing is missing. The index is asked, nothing is installed. A plan is kept until
/// `refresh`, which asks for the newest versions.
pub(crate) async fn plan(
    services: &Services,
    name: &str,
    options: &ExecutionOptions,
    refresh: bool,
) -> Result<Option<PackagePlan>, RuntimeError> {
    let planned = plan_setup(services, name, options)?;
    let run = declaring(&planned)?;
    run.ask_image().await;
    let Some(missing) = run.missing() else {
        if let Some(project) = declared_by(&planned) {
            check_declarations(&project)?;
        }
        return Ok(None);
    };
    if refresh {
        run.config.store().forget_plan(&missing.key)?;
    }
    let context = run.setup_context(&options.context)?;
    let store = run.config.store();
    let resolved = store.plan(&missing.project, &missing.key, &context).await?;
    if let Some(reason) = denied_package(&planned, &resolved) {
        return Err(Repr::PackageDenied { reason }.into());
    }
    Ok(Some(PackagePlan {
        missing,
        planned,
        resolved,
    }))
}

/// Installs a plan. The caller has the agreement of its user, who saw the plan.
pub(crate) async fn install(
    plan: &PackagePlan,
    call: &CallContext,
) -> Result<Environment, RuntimeError> {
    let PackagePlan {
        missing,
        planned,
        resolved,
    } = plan;
    let run = declaring(planned)?;
    let context = run.setup_context(call)?;
    let store = run.config.store();
    Ok(store
        .install(&missing.project, &missing.key, resolved, &context)
        .await?)
}

fn plan_setup(
    services: &Services,
    name: &str,
    options: &ExecutionOptions,
) -> Result<Planned, RuntimeError> {
    Planned::of_skill(services, name, options.clone(), None)
}

/// Returns a run whose packages can be installed.
fn declaring(planned: &Planned) -> Result<DeclaringRun<'_>, RuntimeError> {
    DeclaringRun::new(planned).ok_or_else(|| Repr::NoPackages.into())
}

/// Returns what the skill of a run declares for its program; `None` without a skill.
fn declared_by(planned: &Planned) -> Option<Project> {
    let script = script_of(planned.mode());
    Some(declared_packages(
        planned.services(),
        planned.skill()?,
        script,
    ))
}

fn status_of_complete(planned: &Planned) -> PackageStatus {
    let (services, script) = (planned.services(), script_of(planned.mode()));
    let Some(skill) = planned.skill() else {
        return PackageStatus::NothingDeclared;
    };
    if !declared_packages(services, skill, script).is_empty() {
        return PackageStatus::Present;
    }
    match mentioned_packages_of(services, skill, script) {
        mentioned if mentioned.is_empty() => PackageStatus::NothingDeclared,
        mentioned => PackageStatus::Mentioned(mentioned),
    }
}
