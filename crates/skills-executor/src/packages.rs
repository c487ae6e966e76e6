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
mod setup;
mod undeclared;

use std::sync::Arc;

use skills_deps::{Environment, Plan, SetupErrorKind};
use skills_policy::{Authorization, Decision, Evaluation, Permission, PermissionDecision, Request};
use skills_sandbox::{Job, ScriptType};

use crate::error::RuntimeError;
use crate::plan::Planned;

pub(crate) use advice::{imported_module, mentioned_packages_of, with_package_advice};
pub use config::PackageConfig;
use declared::declaring_script;
pub(crate) use declared::{DeclaringRun, MissingPackages, declared_packages, script_of};
pub(crate) use skills_packages::ImportedPackage;
use undeclared::{RejectedImports, accepted};

/// The packages of a run.
#[derive(Clone, Default)]
pub(crate) struct RunPackages {
    /// The installed environment.
    environment: Option<Environment>,
    /// What has to be installed once the run is authorized.
    pending: Option<Arc<Pending>>,
    /// Those among them, and of the environment, that the skill imports without a declaration.
    undeclared: Vec<ImportedPackage>,
    /// The host of the index of these.
    index: Option<String>,
    /// Missing declared packages that the run does not get, and why.
    note: Option<String>,
    /// Undeclared packages that are accepted and that the run does not get.
    rejected: Option<RejectedImports>,
}

/// Packages that have to be installed.
struct Pending {
    missing: MissingPackages,
    plan: Plan,
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
    pub(crate) fn add_to(&self, job: Job) -> Job {
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

    /// Returns why the run does not get missing packages, as notes.
    pub(crate) fn notes(&self) -> Vec<String> {
        let rejected = self.rejected.as_ref().map(RejectedImports::note);
        self.note.iter().cloned().chain(rejected).collect()
    }

    /// Returns the Python of the environment, if it has one.
    pub(crate) fn python(&self) -> Option<std::path::PathBuf> {
        self.environment.as_ref()?.python()
    }

    /// Finds the packages of a run. What is missing is planned if it can be allowed.
    pub(crate) async fn find(planned: &Planned, request: &Request) -> Result<Self, RuntimeError> {
        let Some(run) = DeclaringRun::new(planned) else {
            return Ok(Self::default());
        };
        run.ask_image().await;
        let accepted = accepted(&run, request).await?;
        if accepted.is_pending() {
            return Ok(accepted);
        }
        Ok(Self {
            rejected: accepted.rejected,
            ..Self::find_declared(&run, request).await?
        })
    }

    /// Finds the declared packages of a run.
    async fn find_declared(
        run: &DeclaringRun<'_>,
        request: &Request,
    ) -> Result<Self, RuntimeError> {
        let planned = run.planned;
        let Some(missing) = run.missing() else {
            return Ok(Self::default());
        };
        if let Some(environment) = run.installed(&missing) {
            return Ok(match denied_package(planned, environment.plan()) {
                Some(rule) => Self::without(&missing, &rule),
                None => Self {
                    environment: Some(environment),
                    ..Self::default()
                },
            });
        }
        // Before the index is asked: the names of declared packages are known.
        if !can_be_allowed(planned, &missing.request(request.clone())) {
            return Ok(Self::without(&missing, &install_advice(planned)));
        }
        let context = run.setup_context(&planned.options().context)?;
        let store = &run.config.store;
        let resolved = match store.plan(&missing.project, &missing.key, &context).await {
            Ok(resolved) => resolved,
            // These packages were not requested yet, and the script may not need them.
            Err(error) if error.kind() == SetupErrorKind::Declaration => {
                return Ok(Self::without(&missing, &error.to_string()));
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(rule) = denied_package(planned, &resolved) {
            return Ok(Self::without(&missing, &rule));
        }
        Ok(Self {
            pending: Some(Arc::new(Pending {
                missing,
                plan: resolved,
            })),
            ..Self::default()
        })
    }

    /// Returns true if packages have to be installed.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Requests the packages that have to be installed.
    pub(crate) fn request_pending(&self, request: Request) -> Request {
        match self.pending.as_deref() {
            Some(pending) => {
                let request = request_planned(request, &pending.plan, &self.undeclared);
                // The newest first, which is the one that is asked about.
                let notes = self.undeclared.iter().rev();
                let notes = notes.flat_map(|imported| self.import_notes(&pending.plan, imported));
                let notes = notes.chain([format!("installs {}", pending.plan)]);
                notes.fold(request, Request::note)
            }
            None => request,
        }
    }

    /// Returns the notes on a package that the skill does not declare. The skill chooses the names of
    /// the file and the module, so they are not in the note on the origin, which is never cut.
    fn import_notes(&self, plan: &Plan, imported: &ImportedPackage) -> [String; 2] {
        let (file, module) = (quoted(&imported.file), quoted(&imported.module));
        let name = imported.package.name();
        let name = name.strip_prefix("pypi:").unwrap_or(&name);
        let index = self.index.as_deref().unwrap_or_default();
        let mut origins = plan.origins.iter();
        let origin = origins.find(|origin| origin.name == name);
        let origin = origin.map_or_else(|| "since an unknown date".to_owned(), ToString::to_string);
        [
            format!("`{name}` is on {index} {origin}"),
            format!("{file} imports {module}, which the skill does not declare"),
        ]
    }

    /// Returns the packages of a run that does not get those that have to be installed.
    pub(crate) fn without_pending(&self, planned: &Planned) -> Self {
        match self.pending.as_deref() {
            Some(pending) => Self {
                rejected: self.rejected.clone(),
                ..Self::without(&pending.missing, &install_advice(planned))
            },
            None => self.clone(),
        }
    }

    /// Installs what a granted run needs.
    pub(crate) async fn install(&mut self, planned: &Planned) -> Result<(), RuntimeError> {
        let (Some(run), Some(pending)) = (DeclaringRun::new(planned), self.pending.take()) else {
            return Ok(());
        };
        let Pending { missing, plan } = &*pending;
        let context = run.setup_context(&planned.options().context)?;
        let store = &run.config.store;
        let installed = store.install(&missing.project, &missing.key, plan, &context);
        let environment = installed.await?;
        for imported in &self.undeclared {
            environment.check_module(&imported.package.name(), &imported.module)?;
        }
        self.environment = Some(environment);
        Ok(())
    }
}

/// Returns true if rules allow the request, or if an approver can.
fn can_be_allowed(planned: &Planned, request: &Request) -> bool {
    let permissions = planned.services().permissions();
    let approver = planned.options().context.approver.as_deref();
    let is_package =
        |decision: &PermissionDecision| matches!(decision.permission(), Permission::Package { .. });
    match permissions.evaluate(request) {
        Evaluation::NeedsApproval(pending) => {
            let mut open = pending.question().permissions();
            permissions.has_approver(approver) || !open.any(is_package)
        }
        Evaluation::Decided(authorization) => match &*authorization {
            Authorization::Granted(_) => true,
            Authorization::Denied(denial) => {
                let mut decisions = denial.decisions().iter();
                !decisions
                    .any(|decision| is_package(decision) && decision.decision() != Decision::Allow)
            }
        },
    }
}

/// Returns what the user can do about the missing packages of a run. The command is complete: a
/// name that a shell would change is not in it.
fn install_advice(planned: &Planned) -> String {
    let allow = "allow it with `--allow packages`";
    let words = [planned.name()]
        .into_iter()
        .chain(declaring_script(planned));
    if !words.clone().all(is_plain_word) {
        return allow.to_owned();
    }
    let words: Vec<&str> = words.collect();
    let words = words.join(" --script ");
    format!("install them with `skills deps install {words}`, or {allow}")
}

/// Returns the rule that denies a package of a plan, as a reason.
pub(crate) fn denied_package(planned: &Planned, resolved: &Plan) -> Option<String> {
    let directory = planned.skill()?.entry.directory();
    let policy = planned.services().permissions().policy();
    resolved.packages.iter().find_map(|package| {
        let rule = policy.denying_rule(directory, &package_permission(package))?;
        Some(format!("`{rule}` denies {}", package.full_name()))
    })
}

/// Returns true if a text is one word for every shell, and not an option.
fn is_plain_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./@+".contains(c);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain)
}

/// Requests the packages of a plan that the skill declares or imports.
fn request_planned(request: Request, resolved: &Plan, undeclared: &[ImportedPackage]) -> Request {
    let is_undeclared = |name: &String| {
        undeclared
            .iter()
            .any(|imported| imported.package.name() == *name)
    };
    let named = resolved
        .packages
        .iter()
        .filter(|package| package.is_declared);
    named.fold(request, |request, package| {
        let name = package.full_name();
        if is_undeclared(&name) {
            request.undeclared_package(name, &package.version)
        } else {
            request.package(name, &package.version)
        }
    })
}

/// Returns text of a skill in backquotes, as a part of a note: at most 60 characters, which cannot
/// end the quotation.
fn quoted(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    let escaped = text.escape_debug().to_string();
    let mut shown: String = escaped.chars().take(MAX_CHARS).collect();
    if shown.len() < escaped.len() {
        shown.push('…');
    }
    format!("`{}`", shown.replace('`', "\\`"))
}

fn package_permission(package: &skills_deps::PlannedPackage) -> Permission {
    Permission::Package {
        name: package.full_name(),
        version: package.version.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_cannot_forge_the_origin_of_a_package() {
        let forged = "` imports `numpyx`; `numpyx` is on pypi.org since 2006-12-02, owned by numpy";
        for file in [
            format!("scripts/a.py{forged}.py"),
            format!("{}/a.py", "x".repeat(250)),
        ] {
            let read = |_: &str| Some("import numpyx".to_owned());
            let paths = [file];
            let imported = skills_packages::imported_package(&paths, &read, "numpyx").unwrap();
            let packages = RunPackages {
                index: Some("pypi.org".to_owned()),
                ..RunPackages::default()
            };
            let plan = r#"{"packages": [], "tools": [], "origins": [
                {"name": "numpyx", "first_release": "2026-11-28", "owners": ["x"]}]}"#;
            let plan: Plan = serde_json::from_str(plan).unwrap();
            let [origin, note] = packages.import_notes(&plan, &imported);
            assert_eq!(
                origin,
                "`numpyx` is on pypi.org since 2026-11-28, owned by x"
            );
            assert!(note.chars().count() < 200, "{note}");
            let unescaped = note.replace("\\`", "").matches('`').count();
            assert_eq!(unescaped, 4, "{note}");
            assert!(note.ends_with("` imports `numpyx`, which the skill does not declare"));
        }
    }
}
