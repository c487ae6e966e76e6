//! The second stage of a run: what the host has for it, and what it goes on without.

use std::path::PathBuf;
use std::sync::Arc;

use skills_library::{OnMissing, is_startable};
use skills_policy::{Authorization, Request};
use skills_prompt::MissingRequirements;
use skills_sandbox::{Sandbox, SandboxError, ScriptType};
use tokio::sync::OnceCell;

use crate::content::{check_content_unchanged, content_digest, copy_content};
use crate::error::{Repr, RuntimeError};
use crate::execution_mode::ExecutionMode;
use crate::optional_mounts::with_optional_mounts;
use crate::options::Workspace;
use crate::packages::RunPackages;
use crate::plan::Planned;
use crate::python_path;
use crate::readable_skills::{ReadableSkills, check_readable_skills};
use crate::script_repair::needs_repair;
use crate::services::Services;
use crate::skill_copies::SkillCopy;

/// Maximum files with keys that a question names because the sandbox cannot withhold them.
const MAX_REQUIRED_KEYS: usize = 16;

/// A run that can start on this host, if it is authorized. It never changes: each attempt makes a new
/// [`Authorized`](super::authorize::Authorized) of it.
pub(crate) struct Checked {
    planned: Planned,
    sandbox: Arc<dyn Sandbox>,
    /// Missing requirements that do not prevent the run, one line each.
    missing: Vec<String>,
    /// The request with the optional files, without packages and required programs.
    request: Request,
    readable_skills: ReadableSkills,
    /// The digest of the command of the caller with the skills that it reads.
    command_digest: Option<String>,
    /// Whether a Python script imports modules at the top of its skill.
    imports_from_top: bool,
    /// Required programs, which the run can go on without.
    programs: Vec<String>,
    packages: RunPackages,
    /// The private copy, created when a decision first depends on the content.
    content: OnceCell<Option<Arc<SkillCopy>>>,
    /// The directories that an authorization does not cover, found before the first start.
    uncovered: OnceCell<Vec<PathBuf>>,
}

impl Checked {
    /// Checks the requirements and finds everything that the request of a run depends on. Called
    /// before authorization, so that no approver is asked for a run that cannot start.
    pub(crate) async fn new(planned: Planned) -> Result<Self, RuntimeError> {
        let missing = planned.missing_requirements();
        let sandbox = startable(&planned, &missing)?;
        let mut readable_skills = check_readable_skills(&planned).await;
        let command_digest = readable_skills.command_digest(&planned);
        let request = command_digest
            .clone()
            .into_iter()
            .fold(planned.request(), Request::ad_hoc);
        let digest = if readable_skills.is_empty() && planned.options().optional_mounts.is_empty() {
            None
        } else {
            current_digest(&planned, command_digest.as_deref()).await
        };
        let request = with_optional_mounts(&planned, request, digest.as_deref());
        let request = readable_skills.request_allowed(&planned, request, digest.as_deref());
        let request = with_required_keys(&planned, request, &sandbox).await?;
        let packages = RunPackages::find(&planned, &request).await?;
        Ok(Self {
            sandbox,
            missing: missing.to_lines(),
            request,
            readable_skills,
            command_digest,
            imports_from_top: imports_from_top(&planned),
            programs: required_programs(&planned),
            packages,
            content: OnceCell::new(),
            uncovered: OnceCell::new(),
            planned,
        })
    }

    pub(crate) fn planned(&self) -> &Planned {
        &self.planned
    }

    pub(crate) fn sandbox(&self) -> &Arc<dyn Sandbox> {
        &self.sandbox
    }

    pub(crate) fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Returns the request without packages and required programs.
    pub(crate) fn request(&self) -> &Request {
        &self.request
    }

    pub(crate) fn readable_skills(&self) -> &ReadableSkills {
        &self.readable_skills
    }

    /// Returns true if a Python script imports modules at the top of its skill.
    pub(crate) fn imports_from_top(&self) -> bool {
        self.imports_from_top
    }

    /// Returns true if the script has line ends that are repaired in a copy.
    pub(crate) fn runs_repaired_script(&self) -> bool {
        let planned = &self.planned;
        let path = planned.script_path();
        let skill = planned.skill().zip(path);
        skill.is_some_and(|(skill, path)| needs_repair(&skill.files, path))
    }

    pub(crate) fn programs(&self) -> &[String] {
        &self.programs
    }

    pub(crate) fn packages(&self) -> &RunPackages {
        &self.packages
    }

    /// Returns the private copy of the content, or the digest of a command; `None` without a digest.
    pub(crate) async fn content(&self) -> Result<Option<&Arc<SkillCopy>>, RuntimeError> {
        let content = self.content.get_or_try_init(|| self.copy_content()).await?;
        Ok(content.as_ref())
    }

    /// Verifies before the first start that the skill is still what was authorized, and returns the
    /// directories that the run must not see. A further attempt runs the same copy, and reads nothing.
    pub(crate) async fn verify_content(
        &self,
        content: Option<&SkillCopy>,
    ) -> Result<Vec<PathBuf>, RuntimeError> {
        let (services, subject) = (self.planned.services(), self.planned.subject());
        let verify = || check_content_unchanged(services, subject, content);
        // Only a copy stays the same.
        if content.is_none() {
            return verify().await;
        }
        self.uncovered.get_or_try_init(verify).await.cloned()
    }

    async fn copy_content(&self) -> Result<Option<Arc<SkillCopy>>, RuntimeError> {
        let (planned, services) = (&self.planned, self.planned.services());
        if let (None, Some(digest)) = (planned.skill(), &self.command_digest) {
            return Ok(Some(SkillCopy::for_command(digest.clone())));
        }
        let directories = &services.config().directories;
        let directories = if planned.uses_programs_of_host() {
            directories.clone()
        } else {
            directories.without_memory()
        };
        copy_content(services, planned.subject(), directories).await
    }
}

/// Checks the requirements and returns the backend of the program.
fn startable(
    planned: &Planned,
    missing: &MissingRequirements,
) -> Result<Arc<dyn Sandbox>, RuntimeError> {
    let services = planned.services();
    // First, since what is missing depends on it. No other backend is used instead.
    let backends = &services.config().backends;
    let choice = planned.options().sandbox;
    let sandbox = backends.for_run(planned.name(), planned.mode(), choice)?;
    let missing = blocking(services, missing);
    if !missing.is_empty() {
        return Err(Repr::MissingRequirements {
            skill: planned.name().to_owned(),
            missing,
            by_policy: refuses_missing_requirements(services),
        }
        .into());
    }
    // Checked before an approver is asked: an approval of nothing is confusing.
    if let ExecutionMode::Command { program } = planned.mode() {
        sandbox.check_command(program)?;
    }
    Ok(Arc::clone(sandbox))
}

/// Describes the missing requirements without which a skill does not run, one phrase each.
pub(crate) fn blocking(services: &Services, missing: &MissingRequirements) -> Vec<String> {
    if refuses_missing_requirements(services) {
        return missing.to_lines();
    }
    match services.config().on_missing_requirements {
        OnMissing::Fail => missing.to_lines(),
        OnMissing::WarnVariables => missing.program_lines(),
        OnMissing::Warn => Vec::new(),
    }
}

fn refuses_missing_requirements(services: &Services) -> bool {
    let policy = services.permissions().policy();
    policy.refuses_missing_requirements()
}

/// Returns the digest that stored approvals of a run are valid for; `None` without one.
async fn current_digest(planned: &Planned, of_command: Option<&str>) -> Option<String> {
    match planned.skill() {
        Some(skill) => content_digest(planned.services(), skill).await,
        None => of_command.map(str::to_owned),
    }
}

/// Requests the files with keys that the sandbox cannot withhold from a run that nothing else is
/// asked about. Without an approver, or with more than 16 such files, the sandbox rejects the run.
async fn with_required_keys(
    planned: &Planned,
    request: Request,
    sandbox: &Arc<dyn Sandbox>,
) -> Result<Request, RuntimeError> {
    let services = planned.services();
    let has_workspace = !matches!(planned.options().workspace, Workspace::None);
    if !has_workspace || !services.can_ask(&planned.options().context) {
        return Ok(request);
    }
    let shared = match planned.options().workspace {
        // The caller chose each file of it, and it does not exist yet.
        Workspace::Private(_) => request.clone().without_private_workspace(),
        _ => request.clone(),
    };
    let Authorization::Granted(grants) = services.permissions().preview(&shared) else {
        return Ok(request);
    };
    let sandbox = Arc::clone(sandbox);
    // Large directories are searched.
    let checked = skills_threads::run_blocking(move || sandbox.check_grants(&grants)).await;
    let checked =
        checked.map_err(|error| SandboxError::setup("searching for files with keys", error))?;
    Ok(match checked {
        Err(error) if error.required_keys().len() <= MAX_REQUIRED_KEYS => {
            let keys = error.required_keys().iter();
            keys.fold(request, Request::read_keys)
        }
        _ => request,
    })
}

fn imports_from_top(planned: &Planned) -> bool {
    match (planned.skill(), planned.mode()) {
        (
            Some(skill),
            ExecutionMode::Native {
                script_path,
                script_type: ScriptType::Python,
            },
        ) => python_path::imports_from_top(&skill.files, script_path),
        _ => false,
    }
}

/// Returns the required programs of the skill that a run can start, without the interpreter of its
/// script, which runs without a permission.
pub(crate) fn required_programs(plan: &Planned) -> Vec<String> {
    let Some(skill) = plan.skill() else {
        return Vec::new();
    };
    // Programs of an image need no permission.
    if !plan.uses_programs_of_host() {
        return Vec::new();
    }
    // WebAssembly starts no programs; a command requests its own.
    let Some(script_type) = plan.mode().script_type() else {
        return Vec::new();
    };
    let finder = plan.services().finder(plan.name());
    let interpreters = script_type.program_names();
    let required = skill.requirements.programs.iter();
    required
        .flat_map(|program| &program.any_of)
        .filter(|name| !interpreters.contains(&name.as_str()) && is_startable(&finder, name))
        .cloned()
        .collect()
}
