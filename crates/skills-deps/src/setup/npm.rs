//! Node packages, by `npm`.

mod installed;

use std::fmt::Write;
use std::path::Path;

use skills_sandbox::Program;

use super::{SetupContext, Step, check_ended, failure};
use crate::documents::parse_npm_lock;
use crate::environment::NODE_DIR;
use crate::error::SetupError;
use crate::files::{create_dir, read_bounded, write_file};
use crate::plan::Plan;
use skills_packages::NodeProject;

pub(super) use installed::verify;

const LOCK_FILE: &str = "package-lock.json";
/// Files with certificates of the system.
const CERTIFICATES: [&str; 2] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
];

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
    if let Some(lock) = project.lock.as_deref().filter(|lock| has_npm_lock(lock)) {
        return parse_npm_lock(plan, lock, &context.npm_registry);
    }
    let args = ["install", "--package-lock-only", "--ignore-scripts"];
    write_project(context, project, project.lock.as_deref(), directory, cache)?;
    run(context, "plan", &args, directory, cache).await?;
    let lock = read_bounded(&directory.join(NODE_DIR).join(LOCK_FILE));
    let lock = lock.ok_or_else(|| failure("plan", "npm wrote no lock file"))?;
    plan.tools.push("npm".to_owned());
    parse_npm_lock(plan, &lock, &context.npm_registry)
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
