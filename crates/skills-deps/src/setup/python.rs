//! Python environments, by `uv` or by `venv` and `pip`.

mod installed;
mod origin;

use std::path::Path;

use serde::{Deserialize, Serialize};
use skills_sandbox::{Program, ScriptType};

use super::{SetupContext, Step, check_ended, failure, failure_of_run};
use crate::documents::{parse_pip_report, parse_uv_lock};
use crate::error::SetupError;
use crate::files::{read_bounded, write_file};
use crate::installed::ReportedPython;
use crate::plan::Plan;
use skills_packages::PythonProject;

pub(super) use installed::verify;
pub(crate) use installed::{files_of_package, is_file_of_module};
use origin::ReportedOrigin;

/// The program that uses the package managers.
const SETUP: &str = include_str!("../../python/setup.py");
const SETUP_FILE: &str = "setup.py";
const REQUEST_FILE: &str = "request.json";
const RESULT_FILE: &str = "result.json";

/// The request of the program.
#[derive(Serialize)]
struct SetupRequest<'a> {
    action: &'static str,
    index: &'a str,
    cache: &'a Path,
    builds: bool,
    /// Whether the environment also finds the packages of its interpreter.
    shared: bool,
    requirements: Vec<String>,
    constraints: &'a [String],
    /// The packages; the index is asked for their origin.
    described: &'a [String],
    lock: &'a str,
    uv: Option<&'a Path>,
}

/// The result of the program.
#[derive(Deserialize, Default)]
#[serde(default)]
struct SetupResult {
    error: Option<String>,
    lock: Option<String>,
    report: Option<String>,
    tool: String,
    python: String,
    origins: Vec<ReportedOrigin>,
    #[serde(flatten)]
    interpreter: ReportedPython,
}

/// Asks the interpreter of the backend which packages it has.
pub(super) async fn list(
    context: &SetupContext,
    directory: &Path,
    cache: &Path,
) -> Result<ReportedPython, SetupError> {
    let request = SetupRequest::new(context, "list", cache);
    Ok(run(context, &request, directory).await?.interpreter)
}

pub(super) async fn plan(
    context: &SetupContext,
    project: &PythonProject,
    directory: &Path,
    cache: &Path,
    plan: &mut Plan,
) -> Result<(), SetupError> {
    let request = SetupRequest {
        requirements: project
            .requirements
            .iter()
            .map(ToString::to_string)
            .collect(),
        constraints: &project.constraints,
        described: &context.described,
        ..SetupRequest::new(context, "plan", cache)
    };
    let result = run(context, &request, directory).await?;
    plan.tools.extend([result.tool, result.python]);
    match (result.lock, result.report) {
        (Some(lock), _) => parse_uv_lock(plan, &lock)?,
        (None, Some(report)) => parse_pip_report(plan, &report)?,
        (None, None) => return Err(failure("plan", "the package manager reported nothing")),
    }
    for origin in result.origins {
        origin.add_to(plan, &context.described);
    }
    Ok(())
}

/// Adds the origins of the described packages to a plan.
pub(super) async fn describe(
    context: &SetupContext,
    directory: &Path,
    cache: &Path,
    plan: &mut Plan,
) -> Result<(), SetupError> {
    let request = SetupRequest {
        described: &context.described,
        ..SetupRequest::new(context, "describe", cache)
    };
    for origin in run(context, &request, directory).await?.origins {
        origin.add_to(plan, &context.described);
    }
    Ok(())
}

pub(super) async fn install(
    context: &SetupContext,
    project: &PythonProject,
    plan: &Plan,
    lock: &str,
    directory: &Path,
    cache: &Path,
) -> Result<(), SetupError> {
    let request = SetupRequest {
        lock,
        // A lock file fixes all that a script uses.
        shared: !project.is_locked(),
        uv: context
            .uv
            .as_deref()
            .filter(|_| plan.tools.iter().any(|tool| tool.starts_with("uv "))),
        ..SetupRequest::new(context, "install", cache)
    };
    run(context, &request, directory).await.map(drop)
}

async fn run(
    context: &SetupContext,
    request: &SetupRequest<'_>,
    directory: &Path,
) -> Result<SetupResult, SetupError> {
    let text =
        serde_json::to_string(request).map_err(|error| SetupError::store(error.to_string()))?;
    write_file(&directory.join(SETUP_FILE), SETUP)?;
    write_file(&directory.join(REQUEST_FILE), &text)?;
    let step = Step {
        action: request.action,
        program: Program::script(ScriptType::Python, directory.join(SETUP_FILE)),
        args: &[],
        directory,
        cache: request.cache,
        index: (request.action != "list").then_some(request.index),
    };
    let output = context.run(step).await?;
    check_ended(request.action, &output)?;
    let Some(text) = read_bounded(&directory.join(RESULT_FILE)) else {
        let (stdout, stderr) = (output.stdout.text(), output.stderr.text());
        return Err(failure(request.action, &format!("{stdout}\n{stderr}")));
    };
    let result: SetupResult =
        serde_json::from_str(&text).map_err(|error| failure(request.action, &error.to_string()))?;
    match &result.error {
        Some(error) => Err(failure_of_run(request.action, error, &output)),
        None => Ok(result),
    }
}

impl<'a> SetupRequest<'a> {
    fn new(context: &'a SetupContext, action: &'static str, cache: &'a Path) -> Self {
        Self {
            action,
            index: &context.python_index,
            cache,
            builds: context.allows_builds,
            shared: false,
            requirements: Vec::new(),
            constraints: &[],
            described: &[],
            lock: "",
            uv: context.uv.as_deref(),
        }
    }
}
