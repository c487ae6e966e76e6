//! The one path from a skill's name to an outcome.

use std::sync::{Arc, PoisonError};

use skills_audit::{Content, Decision as Recorded};
use skills_discovery::{Entry, SkillFiles};
use skills_manifest::Manifest;
use skills_policy::{Access, Capability, Decision, Grants, Origin, Question, Request};
use skills_sandbox::{Job, Program, Sandbox};
use tokio::time::timeout;

use crate::attempt::Attempt;
use crate::error::{Repr, RuntimeError};
use crate::requirements::{declared_variables, missing};
use crate::runtime::find;
use crate::secrets::Redactor;
use crate::workspace::Prepared;
use crate::{ExecutionArtifacts, ExecutionMode, ExecutionOptions, Secret, SkillRuntime, Unmet, Workspace, detect_execution_mode};

/// The largest module that is read, in bytes.
const MAX_MODULE_BYTES: u64 = 32 << 20;
/// The longest `NAME=value` that Linux passes to a program, with its final NUL; longer input comes by standard input alone.
const MAX_VARIABLE_BYTES: usize = 128 * 1024 - 1;

/// A run before it is decided on.
pub(crate) struct Planned {
    pub(crate) entry: Entry,
    pub(crate) files: SkillFiles,
    pub(crate) manifest: Manifest,
    pub(crate) mode: ExecutionMode,
    pub(crate) options: ExecutionOptions,
    pub(crate) request: Request,
    /// The variables of the host that the program might be given.
    variables: Vec<(String, Secret)>,
}

/// What a run would be given, and why.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Preview {
    /// The skill's name.
    pub skill: String,
    /// What would run.
    pub mode: ExecutionMode,
    /// The digest of the skill's files, when one can be had.
    pub digest: Option<String>,
    /// What the rules and stored approvals come to when nobody is asked.
    pub decision: Decision,
    /// What somebody would be asked.
    pub question: Option<Question>,
    /// The entries of `allowed-tools` that ask for nothing that a program could be given here, and why.
    pub idle: Vec<(String, &'static str)>,
    /// What the skill says it needs and is not here. A run would fail.
    pub missing: Vec<String>,
    /// The backend that would run it, or why there is none.
    pub backend: Result<&'static str, String>,
}

impl SkillRuntime {
    /// Runs a skill's program in a sandbox.
    ///
    /// A program that fails, is stopped or is denied comes back as [`ExecutionArtifacts`]; see
    /// [`exit_status`](ExecutionArtifacts::exit_status). Must be called inside a Tokio runtime with time and I/O enabled. Dropping the future
    /// stops the program. Where [records are kept](crate::Builder::audit), there is exactly one of each call.
    ///
    /// # Errors
    /// When the skill or its program is not there, when the skill declares a restriction that cannot be read or needs what is not here, when no
    /// sandbox can be had, or when the skill changed while somebody was asked: then nothing ran. And when no record of the run can be kept.
    pub async fn execute_skill(&self, name: &str, options: ExecutionOptions) -> Result<ExecutionArtifacts, RuntimeError> {
        self.execute(name, options, None).await
    }

    /// Runs a program, perhaps as a hook.
    pub(crate) async fn execute(
        &self,
        name: &str,
        options: ExecutionOptions,
        hook: Option<&str>,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        let mut attempt = self.shared.recorder.begin(name)?;
        let result = self.attempt(&mut attempt, name, options, hook).await;
        attempt.close(result)
    }

    /// Says what a run would be given and why, without asking anybody or running anything.
    ///
    /// # Errors
    /// As [`execute_skill`](Self::execute_skill), for what is found before the decision; missing requirements are no error here.
    pub fn preview_skill(&self, name: &str, options: &ExecutionOptions) -> Result<Preview, RuntimeError> {
        let planned = self.plan(name, options, None)?;
        let digest = self.digest(&planned.files);
        let request = with_content(planned.request.clone(), digest.as_deref());
        let backend = self.shared.backends.for_mode(&planned.mode);
        Ok(Preview {
            skill: planned.entry.name().to_string(),
            digest,
            decision: self.shared.permissions.preview(&request),
            question: self.shared.permissions.question(&request),
            idle: request.idle(),
            missing: self.missing(&planned),
            backend: backend.map(|backend| backend.name()).map_err(|error| error.to_string()),
            mode: planned.mode,
        })
    }

    /// Approves for good, as [`Answer::Always`](skills_policy::Answer::Always) would, what the content of now asks for and rules do not forbid.
    ///
    /// # Errors
    /// As [`preview_skill`](Self::preview_skill), and when the approval cannot be kept.
    pub fn approve_skill(&self, name: &str, options: &ExecutionOptions) -> Result<Decision, RuntimeError> {
        let planned = self.plan(name, options, None)?;
        let digest = self.digest(&planned.files);
        let request = with_content(planned.request, digest.as_deref());
        self.shared.permissions.approve(&request).map_err(|source| Repr::Approval(source).into())
    }

    async fn attempt(
        &self,
        attempt: &mut Attempt,
        name: &str,
        options: ExecutionOptions,
        hook: Option<&str>,
    ) -> Result<ExecutionArtifacts, RuntimeError> {
        let workspace = Prepared::new(&options.workspace, &self.shared.scratch)?;
        let mut planned = self.plan(name, &options, workspace.as_ref())?;
        if let Some(hook) = hook {
            planned.request = planned.request.hook(hook);
        }
        let skill = planned.entry.name().to_string();
        attempt.note(|event| event.program = Some(hook.unwrap_or_else(|| planned.mode.program()).to_owned()));
        attempt.skill(&skill, None, &planned.manifest);
        let missing = self.missing(&planned);
        if !missing.is_empty() && self.shared.unmet == Unmet::Refuse {
            return Err(Repr::Requirements { skill, missing }.into());
        }
        let sandbox = Arc::clone(self.shared.backends.for_mode(&planned.mode)?);
        attempt.redactor = Redactor::new(planned.variables.iter().map(|(name, value)| (name.as_str(), value.expose())));
        let grants = match self.decide(&planned, attempt).await? {
            Decision::Granted(grants) => grants,
            Decision::Denied(denial) => {
                attempt.decided(Recorded::Denied, denial.verdicts());
                return Ok(ExecutionArtifacts::denied(skill, planned.mode, denial));
            }
        };
        attempt.limits(grants.limits());
        attempt.decided(Recorded::Granted, grants.verdicts());
        is_canonical(&grants)?;
        let mut workspace = workspace.filter(|workspace| is_writable(workspace, &grants));
        if let Some(workspace) = &mut workspace {
            workspace.remember();
        }
        let (verdicts, used) = (grants.verdicts().to_vec(), used(&grants, &planned.manifest));
        let outcome = self.run(&planned, grants, attempt, sandbox.as_ref()).await?;
        let mut artifacts = ExecutionArtifacts::new(skill, planned.mode, outcome, &attempt.redactor);
        artifacts.files = workspace.map(|workspace| workspace.collect()).unwrap_or_default();
        (artifacts.verdicts, artifacts.permissions_used) = (verdicts, used);
        artifacts.notes.extend(missing.iter().map(|missing| format!("the skill needs what is not here: {missing}")));
        Ok(artifacts)
    }

    /// Finds out what would run and what it asks for. The file of now decides, not that of the scan.
    pub(crate) fn plan(&self, name: &str, options: &ExecutionOptions, workspace: Option<&Prepared>) -> Result<Planned, RuntimeError> {
        let options = options.resolved()?;
        let catalog = self.catalog();
        let entry = find(&catalog, name)?.clone();
        let failed = |source| RuntimeError::from(Repr::Files { path: entry.location(), source });
        let files = entry.open().map_err(failed)?;
        let manifest = files.document().map_err(failed)?.manifest().clone();
        let unread = manifest.unread_restrictions();
        if !unread.is_empty() {
            let (skill, path, fields) = (entry.name().to_string(), entry.location(), unread.to_vec());
            return Err(Repr::Restricted { skill, path, fields }.into());
        }
        let mode = detect_execution_mode(entry.name().as_str(), &files, &options)?;
        let variables = self.variables(&entry, &manifest, &options);
        let request = request(&entry, &manifest, &mode, &options);
        let request = match workspace.filter(|workspace| workspace.is_private()) {
            Some(private) => request.private_workspace(private.path()),
            None => request,
        };
        let request = variables.iter().fold(request, |request, (name, _, origin)| request.variable(name, *origin));
        let variables = variables.into_iter().map(|(name, value, _)| (name, value)).collect();
        Ok(Planned { entry, files, manifest, mode, options, request, variables })
    }

    /// The declared variables that the host or the caller has, and those that the caller gives undeclared.
    fn variables(&self, entry: &Entry, manifest: &Manifest, options: &ExecutionOptions) -> Vec<(String, Secret, Origin)> {
        let declared = declared_variables(entry, manifest);
        let given = options.env.iter().map(|(name, value)| {
            let origin = if declared.contains(name) { Origin::Caller } else { Origin::Undeclared };
            (name.clone(), value.clone(), origin)
        });
        let secrets = declared.iter().filter(|name| !options.env.contains_key(*name));
        let secrets = secrets.filter_map(|name| Some((name.clone(), self.shared.secrets.get(name)?.clone(), Origin::Secret)));
        given.chain(secrets).collect()
    }

    fn missing(&self, planned: &Planned) -> Vec<String> {
        let has_variable = |name: &str| planned.variables.iter().any(|(known, value)| known == name && !value.expose().is_empty());
        missing(&planned.manifest, &self.shared.program_directories, has_variable)
    }

    /// Asks rules, approvals and people. The digest is computed where it matters, and again after somebody was asked, since that takes time.
    async fn decide(&self, planned: &Planned, attempt: &mut Attempt) -> Result<Decision, RuntimeError> {
        let permissions = &self.shared.permissions;
        if !self.shared.recorder.is_on() && !permissions.needs_content(&planned.request) {
            return Ok(permissions.decide(&planned.request, None).await);
        }
        let digest = self.digest(&planned.files);
        attempt.skill(planned.entry.name().as_str(), digest.clone(), &planned.manifest);
        let request = with_content(planned.request.clone(), digest.as_deref());
        if permissions.question(&request).is_none() {
            return Ok(permissions.decide(&request, None).await);
        }
        let _turn = self.shared.asking.lock().await;
        let deciding = permissions.decide(&request, planned.options.approval.as_deref());
        let Ok(decision) = timeout(self.shared.approval_timeout, deciding).await else {
            // Deciding anew with somebody who says nothing tells it in the words of the policy.
            return Ok(permissions.decide(&request, Some(&Silent)).await);
        };
        if self.digest(&planned.files) != digest {
            let (skill, path) = (planned.entry.name().to_string(), planned.entry.location());
            return Err(Repr::ChangedMeanwhile { skill, path }.into());
        }
        Ok(decision)
    }

    fn digest(&self, files: &SkillFiles) -> Option<String> {
        let digest = files.digest(&mut self.shared.digests.lock().unwrap_or_else(PoisonError::into_inner));
        digest.ok().map(|digest| digest.to_string())
    }

    async fn run(
        &self,
        planned: &Planned,
        grants: Grants,
        attempt: &mut Attempt,
        sandbox: &dyn Sandbox,
    ) -> Result<skills_sandbox::Outcome, RuntimeError> {
        let job = job(planned, grants)?;
        attempt.note(|event| event.input = Some(Content::of(job.input_bytes(), job.input_bytes().len() as u64)));
        let _turn = self.shared.running.acquire().await.map_err(|_| Repr::Closed)?;
        Ok(sandbox.run(job).await?)
    }
}

/// Whoever was asked and did not answer in time.
struct Silent;

impl skills_policy::Approver for Silent {
    fn ask<'a>(&'a self, _question: &'a Question) -> skills_policy::Answering<'a> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// Makes the request: what the skill declares and the caller offers, less what is given up.
fn request(entry: &Entry, manifest: &Manifest, mode: &ExecutionMode, options: &ExecutionOptions) -> Request {
    let command = std::iter::once(mode.program()).chain(options.args.iter().map(String::as_str));
    let request = Request::new(entry.directory()).named(entry.name().as_str()).command(command).limits(options.limits());
    let request = match &options.workspace {
        Workspace::Directory(directory) => request.workspace(directory),
        _ => request,
    };
    let request = manifest.allowed_tools().iter().fold(request, |request, rule| request.tool(rule.tool(), rule.pattern()));
    let request = options.read.iter().fold(request, Request::read);
    let request = options.write.iter().fold(request, Request::write);
    options.without.iter().fold(request, |request, capability| request.without(*capability))
}

fn with_content(request: Request, digest: Option<&str>) -> Request {
    match digest {
        Some(digest) => request.content(digest),
        None => request,
    }
}

/// Refuses a granted path that a symlink leads elsewhere: `src/**` of a workspace whose `src` is a link.
fn is_canonical(grants: &Grants) -> Result<(), RuntimeError> {
    for file in grants.files() {
        match file.path().canonicalize() {
            Ok(path) if path == file.path() => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            _ => return Err(Repr::Symlink { path: file.path().to_owned() }.into()),
        }
    }
    Ok(())
}

fn is_writable(workspace: &Prepared, grants: &Grants) -> bool {
    grants.files().iter().any(|file| file.path().starts_with(workspace.path()) && file.access() == Access::ReadWrite)
}

/// The entries of `allowed-tools` whose capabilities came to anything: a wish to write without a directory to write to did not.
fn used(grants: &Grants, manifest: &Manifest) -> Vec<String> {
    let is_given = |tool: &str| Capability::of_tool(tool).is_some_and(|capability| grants.includes(capability));
    manifest.allowed_tools().iter().filter(|rule| is_given(rule.tool())).map(ToString::to_string).collect()
}

/// Makes the job for a program of the skill.
fn job(planned: &Planned, grants: Grants) -> Result<Job, RuntimeError> {
    let Planned { entry, files, mode, options, variables, .. } = planned;
    let (name, timeout_ms) = (entry.name().as_str(), grants.limits().wall_time.as_millis().to_string());
    let input = options.input.to_string();
    let granted = grants.variables().clone();
    let workspace = grants.files().iter().find(|file| file.guest() == "/workspace");
    let workspace = workspace.map(|file| (file.path().to_string_lossy().into_owned(), file.guest().to_owned()));
    let (job, workspace) = match mode {
        ExecutionMode::Wasm { wasm_module } => {
            let bytes = files.read(wasm_module, MAX_MODULE_BYTES);
            let bytes = bytes.map_err(|source| Repr::Files { path: entry.directory().join(wasm_module), source })?;
            (Job::new(grants, Program::Wasm(Arc::from(bytes))), workspace.map(|(_, guest)| guest))
        }
        ExecutionMode::Native { script_path, script_type } => {
            let directory = entry.directory();
            let job = Job::new(grants, Program::script(*script_type, directory.join(script_path)))
                .environment("SKILL_DIR", directory.to_string_lossy())
                .environment("SKILL_ASSETS_DIR", directory.join("assets").to_string_lossy());
            (job, workspace.map(|(path, _)| path))
        }
    };
    let job = job.environment("SKILL_ID", name).environment("SKILL_NAME", name).environment("TIMEOUT_MS", timeout_ms);
    let job = workspace.into_iter().fold(job, |job, path| job.environment("SKILL_WORKSPACE", path));
    let fits = "SKILL_INPUT=".len() + input.len() < MAX_VARIABLE_BYTES;
    let mut job = if fits { job.environment("SKILL_INPUT", input.as_str()) } else { job };
    for (name, value) in variables.iter().filter(|(name, _)| granted.contains(name)) {
        job = job.secret(name, value.expose())?;
    }
    let job = job.input(input.into_bytes());
    Ok(options.args.iter().fold(job, |job, argument| job.argument(argument.as_str())))
}
