//! Packages that a skill imports and does not declare.
//!
//! The author of a skill chooses what it imports, and an attacker can publish a package under a free name.
//! So each is a question of its own, or takes a rule with exactly its name, and the installed package has
//! to contain the module.

use std::collections::BTreeSet;
use std::sync::Arc;

use skills_deps::host_of;
use skills_packages::{ListedPackage, Project, imported_python_packages};
use skills_policy::Request;
use skills_sandbox::SandboxError;

use super::advice::paths_of;
use super::declared::{DeclaringRun, MissingPackages, declared_packages, declared_packages_with};
use super::declared::{script_of, text_reader};
use super::{ImportedPackage, Pending, RunPackages, can_be_allowed, denied_package};
use crate::content::content_digest;
use crate::error::RuntimeError;
use crate::plan::Planned;
use crate::request::with_digest;

/// Returns the packages of a run that imports some without a declaration and that rules or approvals
/// accept, with those that it declares if they can be allowed, too. None are pending if there are none, or
/// if they cannot be installed.
pub(super) async fn accepted(
    run: &DeclaringRun<'_>,
    request: &Request,
) -> Result<RunPackages, RuntimeError> {
    let accepted = accepted_imports(run, request).await?;
    let mut rejected = None;
    for project in projects(run, &accepted) {
        match plan(run, project, accepted.clone()).await {
            Ok(Some(packages)) => {
                let request = packages.request_pending(with_current_digest(run, request).await);
                if can_be_allowed(run.planned, &request) {
                    return Ok(packages);
                }
            }
            Ok(None) => {}
            Err(reason) => rejected = Some(RejectedImports::new(&accepted, reason)),
        }
    }
    Ok(RunPackages {
        rejected,
        ..RunPackages::default()
    })
}

/// Accepted packages that cannot be installed.
#[derive(Clone)]
pub(super) struct RejectedImports {
    packages: Vec<ListedPackage>,
    reason: String,
}

impl RejectedImports {
    fn new(accepted: &[ImportedPackage], reason: String) -> Self {
        let packages = accepted.iter().map(|imported| imported.package.clone());
        Self {
            packages: packages.collect(),
            reason,
        }
    }

    pub(super) fn contains(&self, package: &ListedPackage) -> bool {
        let mut names = self.packages.iter().map(ListedPackage::name);
        names.any(|name| name == package.name())
    }

    pub(super) fn note(&self) -> String {
        let names = self.packages.iter().map(|package| format!("`{package}`"));
        let names: Vec<String> = names.collect();
        format!("cannot install {}: {}", names.join(", "), self.reason)
    }
}

/// Returns the accepted packages that files of the skill import, without those that it declares or
/// finds.
async fn accepted_imports(
    run: &DeclaringRun<'_>,
    request: &Request,
) -> Result<Vec<ImportedPackage>, RuntimeError> {
    let (planned, services) = (run.planned, run.planned.services());
    let Some(skill) = planned.skill() else {
        return Ok(Vec::new());
    };
    let request = with_current_digest(run, request).await;
    let names = services.permissions().accepted_packages(&request);
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let files = Arc::clone(&skill.files);
    let read = skills_threads::run_blocking(move || {
        imported_python_packages(&paths_of(&files), &text_reader(&files))
    });
    let mut imported = read
        .await
        .map_err(|error| SandboxError::setup("reading the skill", error))?;
    let declared = declared_packages(services, skill, script_of(planned.mode()));
    let mut known = BTreeSet::new();
    imported.retain(|imported| {
        let name = imported.package.name();
        names.contains(&name)
            && !declared.declares(&imported.package)
            && lacks(run, &imported.package)
            && known.insert(name)
    });
    Ok(imported)
}

/// Returns the request with the digest of the content, if an approval can be for it.
async fn with_current_digest(run: &DeclaringRun<'_>, request: &Request) -> Request {
    let services = run.planned.services();
    let digest = match run.planned.skill() {
        Some(skill) if services.permissions().has_approval(request) => {
            content_digest(services, skill).await
        }
        _ => None,
    };
    with_digest(request, digest.as_deref())
}

fn lacks(run: &DeclaringRun<'_>, package: &ListedPackage) -> bool {
    let listed = Project::read(&|_| None, None, std::slice::from_ref(package));
    let python = listed.python.unwrap_or_default();
    !run.python().missing(&python.requirements).is_empty()
}

/// Returns what the skill declares with undeclared packages, then these alone. Without such packages
/// there is nothing to install.
fn projects(run: &DeclaringRun<'_>, undeclared: &[ImportedPackage]) -> Vec<Project> {
    let (planned, services) = (run.planned, run.planned.services());
    let Some(skill) = planned.skill().filter(|_| !undeclared.is_empty()) else {
        return Vec::new();
    };
    let script = script_of(planned.mode());
    let listed: Vec<ListedPackage> = undeclared
        .iter()
        .map(|imported| imported.package.clone())
        .collect();
    let alone = Project::read(&|_| None, script, &listed);
    if declared_packages(services, skill, script).is_empty() {
        return vec![alone];
    }
    vec![
        declared_packages_with(services, skill, script, &listed),
        alone,
    ]
}

/// Selects the versions of a project; `None` if nothing is missing. An error is the reason, such as a
/// rule that denies a package.
async fn plan(
    run: &DeclaringRun<'_>,
    project: Project,
    undeclared: Vec<ImportedPackage>,
) -> Result<Option<RunPackages>, String> {
    let Some(missing) = run.missing_of(project) else {
        return Ok(None);
    };
    let MissingPackages { project, key, .. } = &missing;
    let reason = |error: RuntimeError| error.message_with_sources();
    let context = run.setup_context(&run.planned.options().context);
    let mut context = context.map_err(reason)?;
    // As an index spells them.
    let names = undeclared.iter().map(|imported| imported.package.name());
    context.described = names
        .map(|name| name.trim_start_matches("pypi:").to_owned())
        .collect();
    let plan = run.config.store().plan(project, key, &context).await;
    let plan = plan.map_err(|error| reason(error.into()))?;
    if let Some(rule) = denied_package(run.planned, &plan) {
        return Err(rule);
    }
    Ok(Some(RunPackages {
        pending: Some(Arc::new(Pending { missing, plan })),
        undeclared,
        index: host_of(&run.config.python_index),
        ..RunPackages::default()
    }))
}

impl RunPackages {
    /// Returns the packages with one more that the skill imports, for a question; `None` if it cannot be
    /// allowed.
    ///
    /// # Errors
    /// Returns why the package cannot be installed, as a note.
    pub(crate) async fn with_import(
        &self,
        planned: &Planned,
        request: &Request,
        imported: ImportedPackage,
    ) -> Result<Option<Self>, String> {
        let Some(run) = DeclaringRun::new(planned) else {
            return Ok(None);
        };
        let name = imported.package.to_string();
        let mut undeclared = self.undeclared.clone();
        undeclared.push(imported);
        // Without what the skill declares, if the run does not get that.
        let mut projects = projects(&run, &undeclared);
        let project = match self.note {
            Some(_) => projects.pop(),
            None => projects.into_iter().next(),
        };
        let Some(project) = project else {
            return Ok(None);
        };
        let planned_packages = plan(&run, project, undeclared).await;
        let packages =
            planned_packages.map_err(|reason| format!("cannot install `{name}`: {reason}"))?;
        Ok(packages.filter(|packages| {
            let request = packages.request_pending(request.clone());
            can_be_allowed(planned, &request)
        }))
    }
}
