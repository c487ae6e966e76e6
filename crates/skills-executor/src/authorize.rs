//! The third stage of a run: what rules, approvals and the approver grant.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_audit::Disposition;
use skills_policy::{
    Authorization, Capability, Decision, Denial, EarlierAttempt, Evaluation, Grants, Permission,
    PermissionDecision, Request, Target,
};
use skills_sandbox::ChangedEntries;
use tokio::time::timeout;

use crate::cancellation::unless_cancelled;
use crate::check::Checked;
use crate::error::RuntimeError;
use crate::grant_checks::{is_privileged, is_writable};
use crate::next_attempt::NextAttempt;
use crate::options::Workspace;
use crate::output_files::OutputFiles;
use crate::packages::RunPackages;
use crate::plan::Planned;
use crate::redaction::Redactor;
use crate::request::{WORKSPACE_ALIAS, with_digest};
use crate::run_record::RunRecord;
use crate::skill_copies::SkillCopy;
use crate::workspace::ActiveWorkspace;

/// An attempt that is authorized and has not started, with a workspace of its own.
pub(crate) struct Authorized {
    checked: Arc<Checked>,
    /// What was granted, as it was asked.
    request: Request,
    grants: Grants,
    /// The authorized copy; `None` if the decision did not depend on the content.
    content: Option<Arc<SkillCopy>>,
    workspace: Option<ActiveWorkspace>,
    packages: RunPackages,
    /// Required programs that nothing grants, so that the run goes on without them.
    dropped_programs: Vec<String>,
}

/// The decision on an attempt.
pub(crate) enum AttemptDecision {
    Granted(Box<Authorized>),
    Denied(Denial),
}

/// What an attempt asks for although it can go without.
#[derive(Clone, Copy)]
struct Wishes {
    /// The packages that have to be installed.
    packages: bool,
    /// The programs that the skill requires.
    programs: bool,
}

impl Authorized {
    /// Authorizes an attempt by rules, stored approvals, then the approver. A further one also asks for what
    /// the earlier one was refused or did not find. What the run can go
    /// without is left out if nothing grants it: required programs, then packages. Many scripts need
    /// them only for a part of what they do.
    pub(crate) async fn decide(
        checked: Arc<Checked>,
        next: Option<&NextAttempt>,
        record: &mut RunRecord,
    ) -> Result<AttemptDecision, RuntimeError> {
        let planned = checked.planned();
        let scratch = &planned.services().config().directories.scratch;
        // Before the decision, since grants have its path.
        let workspace = ActiveWorkspace::new(&planned.options().workspace, scratch)?;
        let packages = next
            .map_or(checked.packages(), |next| &next.packages)
            .clone();
        let mut wishes = Wishes::all(&checked, &packages);
        loop {
            let request = wishes.request(&checked, &packages);
            let request = in_workspace(request, &checked, workspace.as_ref());
            let request = planned.without_unanswerable(request);
            let request = match next {
                Some(next) => after_attempt(request, &checked, &next.earlier),
                None => request,
            };
            let (decision, content) = decide(&checked, &request, record).await?;
            let denial = match decision {
                Authorization::Granted(grants) => {
                    record.record_limits(grants.limits());
                    record.record_decision(Disposition::Granted, grants.decisions());
                    return Ok(AttemptDecision::Granted(Box::new(Self {
                        request,
                        grants,
                        content,
                        workspace,
                        packages: wishes.granted_packages(&checked, &packages),
                        dropped_programs: wishes.dropped_programs(&checked),
                        checked,
                    })));
                }
                Authorization::Denied(denial) => denial,
            };
            match wishes
                .reduced(&checked, &packages)
                .filter(|_| !denial.was_asked())
            {
                Some(reduced) => wishes = reduced,
                None => {
                    record.record_decision(Disposition::Denied, denial.decisions());
                    return Ok(AttemptDecision::Denied(denial));
                }
            }
        }
    }

    pub(crate) fn checked(&self) -> &Checked {
        &self.checked
    }

    pub(crate) fn request(&self) -> &Request {
        &self.request
    }

    /// Returns the request with the content that it was granted for.
    pub(crate) fn request_for_content(&self) -> Request {
        request_for_content(&self.request, self.content())
    }

    /// Returns true if a later run would be granted without a question what the earlier attempt was not.
    pub(crate) fn is_for_later_runs(&self, earlier: &EarlierAttempt) -> bool {
        let request = self.request_for_content().first_attempt();
        let later = self.planned().services().permissions().preview(&request);
        let is_allowed = |permission: &Permission| {
            later.decisions().iter().any(|decision| {
                decision.decision() == Decision::Allow && decision.permission().covers(permission)
            })
        };
        let granted = self.grants.decisions().iter();
        let granted = granted.filter(|decision| decision.decision() == Decision::Allow);
        let mut added = granted.map(PermissionDecision::permission);
        added.all(|permission| earlier.had(permission) || is_allowed(permission))
    }

    pub(crate) fn grants(&self) -> &Grants {
        &self.grants
    }

    pub(crate) fn content(&self) -> Option<&SkillCopy> {
        self.content.as_deref()
    }

    /// Returns the path of the workspace, if there is one.
    pub(crate) fn workspace(&self) -> Option<&Path> {
        self.workspace.as_ref().map(ActiveWorkspace::path)
    }

    pub(crate) fn packages(&self) -> &RunPackages {
        &self.packages
    }

    /// Installs the packages that were granted.
    pub(crate) async fn install_packages(&mut self) -> Result<(), RuntimeError> {
        self.packages.install(self.checked.planned()).await
    }

    /// Records the files of the workspace, to detect output files later, unless the backend does.
    pub(crate) fn snapshot_workspace(&mut self) {
        let is_reported = self.has_reported_changes();
        let grants = &self.grants;
        if let Some(workspace) = &mut self.workspace
            && !is_reported
            && is_writable(workspace, grants)
        {
            workspace.snapshot();
        }
    }

    /// Returns true if the backend reports what changes in the workspace: a directory of the caller
    /// can be large, and the backend examines all of it anyway.
    fn has_reported_changes(&self) -> bool {
        let workspace = &self.planned().options().workspace;
        matches!(workspace, Workspace::Directory(_)) && self.checked.sandbox().reports_changes()
    }

    /// Lists what the program created or changed in its workspace. Files in one that it cannot write
    /// are not its output. `reported` are the changes that the backend found.
    pub(crate) fn collect_output(
        &self,
        reported: Option<ChangedEntries>,
        redactor: &Redactor,
    ) -> OutputFiles {
        let workspace = self.workspace.as_ref();
        let Some(workspace) = workspace.filter(|workspace| is_writable(workspace, &self.grants))
        else {
            return OutputFiles::default();
        };
        if self.has_reported_changes() {
            workspace.list_reported(reported, redactor)
        } else {
            workspace.collect_output(redactor)
        }
    }

    pub(crate) fn planned(&self) -> &Planned {
        self.checked.planned()
    }

    /// Returns the working directory of the program; `None` for the directory of the skill.
    pub(crate) fn current_dir(&self) -> Option<&Path> {
        let options = self.planned().options();
        let is_private = matches!(options.workspace, Workspace::Private(_));
        let workspace = self.workspace();
        let starts_there = options.starts_in_private_workspace && is_private;
        let current_dir = options.current_dir.as_deref();
        current_dir.or(workspace.filter(|_| starts_there))
    }

    /// Returns the aliases of paths: those of the caller, without skills that the program does not
    /// get, and that of its workspace.
    pub(crate) fn path_aliases(&self) -> Vec<(PathBuf, PathBuf)> {
        let options = self.planned().options();
        let readable_skills = self.checked.readable_skills();
        let mut aliases = options.path_aliases.clone();
        aliases.retain(|(_, path)| !readable_skills.is_unreadable(path));
        let alias = Path::new(WORKSPACE_ALIAS);
        let is_known = options.path_aliases.iter().any(|(known, _)| known == alias);
        // The directory of a session has a name of its own, and that of a command is its argument.
        let has_own = matches!(options.workspace, Workspace::Session(_));
        let is_aliased = !is_known && !has_own && self.planned().skill().is_some();
        if let Some(workspace) = self.workspace().filter(|_| is_aliased) {
            aliases.push((alias.to_owned(), workspace.to_owned()));
        }
        aliases
    }

    /// Returns true if the programs that the run is refused are known by their names, for a question about
    /// them. That takes processes, so not if policy lets it start no program at all.
    pub(crate) fn names_refused_programs(&self) -> bool {
        let planned = self.planned();
        let policy = planned.services().permissions().policy();
        let any = Capability::Spawn.into();
        planned.may_be_repeated()
            && self.checked.sandbox().names_refused_programs()
            && (policy.obstacle(&self.request, &any).is_none()
                || policy.requires_program_name(&self.request))
    }

    pub(crate) fn dropped_programs(&self) -> &[String] {
        &self.dropped_programs
    }
}

impl Wishes {
    fn all(checked: &Checked, packages: &RunPackages) -> Self {
        Self {
            packages: packages.is_pending(),
            programs: !checked.programs().is_empty(),
        }
    }

    /// Returns the next smaller set: without programs, then without packages and with programs.
    fn reduced(self, checked: &Checked, packages: &RunPackages) -> Option<Self> {
        if self.programs {
            Some(Self {
                programs: false,
                ..self
            })
        } else if self.packages {
            Some(Self {
                packages: false,
                ..Self::all(checked, packages)
            })
        } else {
            None
        }
    }

    fn request(self, checked: &Checked, packages: &RunPackages) -> Request {
        let mut request = checked.request().clone();
        if self.packages {
            request = packages.request_pending(request);
        }
        if self.programs {
            let programs = checked.programs().iter();
            request = programs.fold(request, Request::required_program);
        }
        request
    }

    fn granted_packages(self, checked: &Checked, packages: &RunPackages) -> RunPackages {
        if self.packages {
            packages.clone()
        } else {
            packages.without_pending(checked.planned())
        }
    }

    fn dropped_programs(self, checked: &Checked) -> Vec<String> {
        if self.programs {
            Vec::new()
        } else {
            checked.programs().to_vec()
        }
    }
}

/// Requests the workspace that an attempt created, which needs no approval.
fn in_workspace(
    request: Request,
    checked: &Checked,
    workspace: Option<&ActiveWorkspace>,
) -> Request {
    match (&checked.planned().options().workspace, workspace) {
        (Workspace::Private(_), Some(private)) => request.private_workspace(private.path()),
        _ => request,
    }
}

/// Requests what an attempt was refused, with the files of programs as a note: a name alone does not say
/// what would start.
fn after_attempt(request: Request, checked: &Checked, earlier: &EarlierAttempt) -> Request {
    let names = earlier.refused.iter().filter_map(Target::program_name);
    let paths = names.filter_map(|name| checked.sandbox().program_path(name));
    let workspace = match &checked.planned().options().workspace {
        Workspace::Directory(directory) => Some(directory),
        _ => None,
    };
    let texts: Vec<_> = paths
        .map(|path| {
            let is_inside = workspace.is_some_and(|workspace| path.starts_with(workspace));
            let place = if is_inside { " (in the workspace)" } else { "" };
            format!("starts {}{place}", path.display())
        })
        .collect();
    let request = request.after(earlier.clone());
    texts.into_iter().fold(request, Request::note)
}

/// Decides a request. If the decision depends on the content, a private copy is created first; that
/// copy is authorized and run.
async fn decide(
    checked: &Checked,
    request: &Request,
    record: &mut RunRecord,
) -> Result<(Authorization, Option<Arc<SkillCopy>>), RuntimeError> {
    if let Some(decision) = decide_without_content(checked, request) {
        return Ok((decision, None));
    }
    let planned = checked.planned();
    let content = checked.content().await?.cloned();
    let digest = content.as_ref().map(|content| content.digest.clone());
    let manifest = planned.skill().map(|skill| &skill.manifest);
    record.set_skill(planned.name(), digest, manifest);
    let request = request_for_content(request, content.as_deref());
    let decision = match planned.services().permissions().evaluate(&request) {
        Evaluation::Decided(decision) => *decision,
        Evaluation::NeedsApproval(_) => ask(checked, &request).await?,
    };
    Ok((decision, content))
}

/// Returns the decision by rules alone on an unprivileged request, which spares the copy. `None`
/// if the digest can matter: an audit log records it, a lock file requires it, an approval is stored, or
/// an approver is asked after a refusal. Also `None` for a script that needs a repair.
fn decide_without_content(checked: &Checked, request: &Request) -> Option<Authorization> {
    let planned = checked.planned();
    let services = planned.services();
    let permissions = services.permissions();
    let is_locked = planned.subject().locked_digest().is_some();
    let has_approval = || permissions.has_stored_approval(request);
    let is_further = request.earlier_attempt().is_some();
    if services.config().recorder.is_enabled() || is_locked || is_further || has_approval() {
        return None;
    }
    // Only a copy is repaired.
    if checked.runs_repaired_script() {
        return None;
    }
    match permissions.evaluate(request) {
        Evaluation::Decided(decision) => match *decision {
            Authorization::Granted(grants) if is_privileged(&grants) => None,
            decision => Some(decision),
        },
        Evaluation::NeedsApproval(_) => None,
    }
}

/// Asks the approver, unless its answer to an earlier question decides this one as well.
async fn ask(checked: &Checked, request: &Request) -> Result<Authorization, RuntimeError> {
    let planned = checked.planned();
    let services = planned.services();
    let context = &planned.options().context;
    let permissions = services.permissions();
    // Questions to one approver are serialized. The second evaluation uses the answer to an
    // earlier question, so that the approver is not asked twice for the same.
    let cancellation = context.cancellation.as_ref();
    let lock = services.approval_queue().lock_for(context);
    let _guard = unless_cancelled(cancellation, lock.lock()).await?;
    let pending = match permissions.evaluate(request) {
        Evaluation::Decided(decision) => return Ok(*decision),
        Evaluation::NeedsApproval(pending) => *pending,
    };
    let response = permissions.ask(pending, context.approver.as_deref());
    let response = timeout(services.config().approval_timeout, response);
    let Ok(decision) = unless_cancelled(cancellation, response).await? else {
        // A late answer is discarded.
        return Ok(match permissions.evaluate(request) {
            Evaluation::NeedsApproval(pending) => permissions.timed_out(*pending),
            Evaluation::Decided(decision) => *decision,
        });
    };
    Ok(decision)
}

/// Returns the request for content whose private copy runs.
fn request_for_content(request: &Request, content: Option<&SkillCopy>) -> Request {
    let request = with_digest(request, content.map(|content| content.digest.as_str()));
    let copy = content.and_then(SkillCopy::path);
    copy.into_iter().fold(request, Request::copy)
}
