//! Node packages, by `npm`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde::Deserialize;
use skills_sandbox::Program;

use super::{SetupContext, Step, check_ended, failure};
use crate::environment::NODE_DIR;
use crate::error::{SetupError, SetupErrorKind};
use crate::files::{create_dir, read_bounded, write_file};
use crate::plan::{Plan, host_of, parse_npm_lock};
use skills_packages::NodeProject;
use skills_packages::Registry;

const LOCK_FILE: &str = "package-lock.json";
/// The lock that npm writes about what it installed.
const INSTALLED_FILE: &str = "node_modules/.package-lock.json";
/// Files with certificates of the system.
const CERTIFICATES: [&str; 2] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
];

/// The part of the lock of installed packages that is compared with the plan.
#[derive(Deserialize)]
struct Installed {
    packages: BTreeMap<String, InstalledPackage>,
}

#[derive(Deserialize)]
struct InstalledPackage {
    version: Option<String>,
}

/// Returns true if a lock file lists all packages with their files, as npm writes it since
/// version 7.
fn has_npm_lock(lock: &str) -> bool {
    let lock: Option<serde_json::Value> = serde_json::from_str(lock).ok();
    let version = lock
        .as_ref()
        .and_then(|lock| lock.get("lockfileVersion")?.as_u64());
    version.is_some_and(|version| version >= 2)
}

pub(super) async fn plan(
    context: &SetupContext,
    project: &NodeProject,
    directory: &Path,
    cache: &Path,
    plan: &mut Plan,
) -> Result<(), SetupError> {
    let registry = host_of(&context.npm_registry).unwrap_or_default();
    if let Some(lock) = project.lock.as_deref().filter(|lock| has_npm_lock(lock)) {
        return parse_npm_lock(plan, lock, &registry);
    }
    let args = ["install", "--package-lock-only", "--ignore-scripts"];
    write_project(context, project, project.lock.as_deref(), directory, cache)?;
    run(context, "plan", &args, directory, cache).await?;
    let lock = read_bounded(&directory.join(NODE_DIR).join(LOCK_FILE));
    let lock = lock.ok_or_else(|| failure("plan", "npm wrote no lock file"))?;
    plan.tools.push("npm".to_owned());
    parse_npm_lock(plan, &lock, &registry)
}

pub(super) async fn install(
    context: &SetupContext,
    project: &NodeProject,
    lock: &str,
    directory: &Path,
    cache: &Path,
) -> Result<(), SetupError> {
    write_project(context, project, Some(lock), directory, cache)?;
    let args = ["ci", "--ignore-scripts", "--omit=dev"];
    run(context, "install", &args, directory, cache).await
}

/// Compares what npm says it installed with the plan. Packages for other systems are left out.
pub(super) fn verify(plan: &Plan, directory: &Path) -> Result<(), SetupError> {
    let wrong = |reason: String| SetupError::new(SetupErrorKind::Failed, "install", reason);
    let text = read_bounded(&directory.join(NODE_DIR).join(INSTALLED_FILE)).unwrap_or_default();
    let installed: Installed = serde_json::from_str(&text)
        .map_err(|error| wrong(format!("cannot read what npm installed: {error}")))?;
    let planned = |name: &str, version: &str| {
        plan.packages.iter().any(|package| {
            package.registry == Registry::Npm && package.name == name && package.version == version
        })
    };
    for (path, package) in &installed.packages {
        let name = path
            .rsplit_once("node_modules/")
            .map_or("", |(_, name)| name);
        let version = package.version.as_deref().unwrap_or_default();
        if !planned(name, version) {
            return Err(wrong(format!(
                "`{name}` {version} was installed and is not planned"
            )));
        }
    }
    let is_installed = |name: &str| {
        installed
            .packages
            .contains_key(&format!("node_modules/{name}"))
    };
    let declared = plan
        .packages
        .iter()
        .filter(|package| package.registry == Registry::Npm);
    match declared
        .filter(|package| package.is_declared)
        .find(|package| !is_installed(&package.name))
    {
        Some(package) => Err(wrong(format!("`{}` was not installed", package.name))),
        None => Ok(()),
    }
}

/// Writes the project that npm works on, with settings that replace those of the user.
fn write_project(
    context: &SetupContext,
    project: &NodeProject,
    lock: Option<&str>,
    directory: &Path,
    cache: &Path,
) -> Result<(), SetupError> {
    let directory = directory.join(NODE_DIR);
    create_dir(&directory)?;
    let package = serde_json::to_string(&project.package_json)
        .map_err(|error| SetupError::store(error.to_string()))?;
    write_file(&directory.join("package.json"), &package)?;
    if let Some(lock) = lock {
        write_file(&directory.join(LOCK_FILE), lock)?;
    }
    let mut settings = format!(
        "registry={}\ncache={}\nignore-scripts=true\naudit=false\nfund=false\nupdate-notifier=false\nprogress=false\n",
        context.npm_registry,
        cache.join("npm").display()
    );
    if let Some(file) = CERTIFICATES.iter().find(|file| Path::new(file).exists()) {
        let _ = writeln!(settings, "cafile={file}");
    }
    write_file(&directory.join(".npmrc"), &settings)
}

async fn run(
    context: &SetupContext,
    action: &'static str,
    args: &[&str],
    directory: &Path,
    cache: &Path,
) -> Result<(), SetupError> {
    let step = Step {
        action,
        program: Program::command("npm"),
        args,
        directory: &directory.join(NODE_DIR),
        cache,
        index: Some(&context.npm_registry),
    };
    let output = context.run(step).await?;
    check_ended(action, &output)?;
    if output.termination.is_success() {
        return Ok(());
    }
    let text = format!("{}\n{}", output.stdout.text(), output.stderr.text());
    Err(failure(action, &text))
}
