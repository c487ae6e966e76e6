//! `skills trust`: approves the current content of a skill or trusts a project, lists and revokes that.

mod project;

use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use skills_runtime::policy::{Approval, BoxError, PermissionDecision, Question};
use skills_runtime::{
    Authorization, ExecutionOptions, FileApprovalStore, HookOptions, HookPreview, Preview,
    RunTarget, SkillPrograms, SkillRuntime,
};

use crate::approver::require_consent;
use crate::context::Context;
use crate::error::{self, CommandError};
use crate::execution::ExecutionArgs;
use crate::exit::Exit;
use crate::lookup;
use crate::output::{Output, line};
use crate::state;
use crate::trusted_skills::skills_of_all_projects;

/// Approve the current content of a skill
///
/// With --hooks, approves the hooks that the skill declares instead of a run. With --project, trusts
/// the project: its skills are used, and its settings and policy apply, as with --trust-project.
/// Programs of its skills still get only what the policy grants.
#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Skill name or directory
    #[arg(required_unless_present_any = ["list", "project"])]
    name: Option<String>,

    #[command(flatten)]
    what: ExecutionArgs,

    /// Trust the project of the working directory from now on, or with --revoke no longer
    #[arg(long, conflicts_with_all = ["name", "list", "hooks"])]
    project: bool,

    /// List stored approvals and trusted projects
    #[arg(long, conflicts_with_all = ["name", "revoke"])]
    list: bool,

    /// Revoke all approvals of the skill
    #[arg(long)]
    revoke: bool,

    /// Approve without asking
    #[arg(long)]
    yes: bool,
}

impl Trust {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        if self.project {
            return if self.revoke {
                project::revoke(context)
            } else {
                project::trust(self.yes, context)
            };
        }
        let name = self.name.as_deref().map(|name| context.name_skill(name));
        let builder = context.builder(&self.what.programs.interpreter)?;
        let approvals = state::open_approvals(&context.environment).ok_or_else(|| {
            CommandError::input("cannot open the approval store: no home directory")
                .with_help("set `XDG_STATE_HOME`")
        })?;
        // Neither listing nor revoking needs the policy: both must work when a policy file is
        // broken.
        let Some(name) = name else {
            return list_approvals(&approvals.all().map_err(approval_error)?, context);
        };
        if self.revoke {
            return revoke(&context.build(builder), &approvals, &name, context.output);
        }
        let runtime = context.build(self.what.configure_for_approval(builder, context)?);
        if self.what.programs.hooks {
            return self.approve_hooks(&runtime, &name, context);
        }
        self.approve(&runtime, &name, context)
    }

    /// Approves the hooks of a skill instead of a run.
    fn approve_hooks(
        &self,
        runtime: &SkillRuntime,
        name: &str,
        context: &Context,
    ) -> anyhow::Result<Exit> {
        let output = context.output;
        let mut options = HookOptions::default();
        options.execution = self.what.options(context)?;
        let previews = || {
            let previews = runtime.preview_hooks(name, &options);
            previews.map_err(|error| lookup::explain_error(runtime, name, error))
        };
        let hooks = previews()?;
        if hooks.is_empty() {
            output.status(&format!("`{name}` has no hooks of tools"));
        }
        let mut approved = Vec::new();
        let mut failures = Vec::new();
        let mut exit = Exit::Success;
        for hook in hooks {
            // Each approval is part of what the next request shows.
            let current = previews().map(|previews| {
                let mut same = previews.into_iter().filter(|known| known.hook == hook.hook);
                same.next().unwrap_or(hook.clone())
            });
            let result = current.and_then(|hook| self.approve_hook(runtime, name, &hook, output));
            match result {
                Ok(()) => approved.push(hook.hook),
                Err(error) => {
                    error::print_error(&error, output);
                    failures.push(json!({"hook": hook.hook, "error": error::to_json(&error)}));
                    exit = exit.max(error::exit_status(&error));
                }
            }
        }
        if output.is_json() {
            let document = json!({"skill": name, "hooks": approved, "failures": failures});
            output.print_json(&document)?;
        }
        Ok(exit)
    }

    fn approve_hook(
        &self,
        runtime: &SkillRuntime,
        name: &str,
        hook: &HookPreview,
        output: Output,
    ) -> anyhow::Result<()> {
        let command = &hook.hook;
        let preview = match &hook.preview {
            Ok(preview) => preview,
            Err(reason) => return Err(rejected_hook(hook, reason).into()),
        };
        let Some(question) = &preview.question else {
            let granted = format!("hook `{command}` is approved already");
            return report_hook(hook, &preview.authorization, &granted, output);
        };
        if !self.yes {
            let declined = format!("hook `{command}` is not approved");
            let confirmation = "Approve this hook permanently? [y/N]";
            require_consent(question, confirmation, &declined, output)?;
        }
        // Fails if the skill or its request changed since it was shown.
        let authorization = runtime.approve_hook(name, hook, question)?;
        let granted = format!("approved hook `{command}`");
        report_hook(hook, &authorization, &granted, output)
    }

    fn approve(
        &self,
        runtime: &SkillRuntime,
        name: &str,
        context: &Context,
    ) -> anyhow::Result<Exit> {
        let options = self.what.options(context)?;
        let scripts = scripts_of(runtime, name);
        // An approval is for the content, whichever program of it runs.
        if self.what.script.is_none() && scripts.len() > 1 {
            return self.approve_scripts(runtime, name, scripts, &options, context.output);
        }
        let preview = lookup::preview(runtime, name, &options)?;
        self.approve_program(runtime, name, &options, &preview, context.output)
    }

    /// Approves the content of a skill with several scripts: what all of them need is asked once, and
    /// what a single one needs in addition with its command.
    fn approve_scripts(
        &self,
        runtime: &SkillRuntime,
        name: &str,
        scripts: Vec<String>,
        options: &ExecutionOptions,
        output: Output,
    ) -> anyhow::Result<Exit> {
        let all = format!("any of its {} scripts", scripts.len());
        let mut decided = None;
        let mut approved: Option<Preview> = None;
        let mut decisions: Vec<PermissionDecision> = Vec::new();
        for script in scripts {
            let mut options = options.clone();
            options.target = RunTarget::Script(script);
            let mut preview = lookup::preview(runtime, name, &options)?;
            let Some(question) = preview.question_in_advance.take() else {
                decided.get_or_insert(preview);
                continue;
            };
            if !self.yes {
                let mut shown = question.clone();
                if approved.is_none() {
                    shown.command = all.split(' ').map(str::to_owned).collect();
                }
                let declined = match &approved {
                    Some(_) => {
                        format!("what `{}` needs in addition is not approved", preview.skill)
                    }
                    None => declined(&preview),
                };
                ask(&shown, &declined, output)?;
            }
            // Fails if the skill or its request changed since it was shown.
            let decision = runtime.executor().approve(name, &options, &question)?;
            for decision in decision.decisions() {
                if !decisions.contains(decision) {
                    decisions.push(decision.clone());
                }
            }
            approved = Some(preview);
        }
        match (approved, decided) {
            (Some(preview), _) => report_approved(&preview, &decisions, output),
            (None, Some(preview)) => report_decided(&preview, output),
            (None, None) => {
                let message = format!("cannot approve `{name}`: it has no scripts");
                Err(CommandError::input(message).into())
            }
        }
    }

    /// Approves the program of the options.
    fn approve_program(
        &self,
        runtime: &SkillRuntime,
        name: &str,
        options: &ExecutionOptions,
        preview: &Preview,
        output: Output,
    ) -> anyhow::Result<Exit> {
        let Some(question) = &preview.question_in_advance else {
            return report_decided(preview, output);
        };
        if !self.yes {
            ask(question, &declined(preview), output)?;
        }
        // Fails if the skill or its request changed since it was shown.
        let decision = runtime.executor().approve(name, options, question)?;
        report_approved(preview, decision.decisions(), output)
    }
}

fn declined(preview: &Preview) -> String {
    format!("`{}` is not approved", preview.skill)
}

fn ask(question: &Question, declined: &str, output: Output) -> anyhow::Result<()> {
    let confirmation = "Approve this content permanently? [y/N]";
    require_consent(question, confirmation, declined, output)
}

/// Returns the scripts of a skill that a run selects from; none if it has none or is not found.
fn scripts_of(runtime: &SkillRuntime, name: &str) -> Vec<String> {
    let Ok(skill) = runtime.get_skill(name) else {
        return Vec::new();
    };
    let catalog = runtime.library().catalog();
    let entry = lookup::find_entry(&catalog, &skill);
    let files = entry.and_then(|entry| entry.open().ok());
    let programs = files.map(|files| SkillPrograms::list(&files));
    let programs = programs.unwrap_or_default();
    if programs.scripts.is_empty() {
        programs.root_scripts
    } else {
        programs.scripts
    }
}

/// Reports what is granted from now on.
fn report_approved(
    preview: &Preview,
    decisions: &[PermissionDecision],
    output: Output,
) -> anyhow::Result<Exit> {
    if output.is_json() {
        let document =
            json!({"skill": preview.skill, "digest": preview.digest, "decisions": decisions});
        return output.json(&document);
    }
    output.status(&format!("approved this content of `{}`", preview.skill));
    for decision in decisions {
        output.status(&format!("  {decision}"));
    }
    Ok(Exit::Success)
}

/// Reports a request that needs no approval, or that no approval can allow.
fn report_decided(preview: &Preview, output: Output) -> anyhow::Result<Exit> {
    let skill = &preview.skill;
    match &preview.authorization {
        Authorization::Granted(grants) if output.is_json() => output.json(
            &json!({"skill": skill, "digest": preview.digest, "decisions": grants.decisions()}),
        ),
        Authorization::Granted(_) => {
            output.status(&format!("`{skill}` needs no approval: rules and stored approvals grant everything that it requests"));
            Ok(Exit::Success)
        }
        Authorization::Denied(denial) => {
            let message = format!("cannot approve `{skill}`: {denial}");
            Err(CommandError::new("denied", Exit::Denied, message).into())
        }
    }
}

/// Revokes the approvals of a skill. A skill that no longer exists or is not in the catalog is
/// found by the name or directory of its approvals.
fn revoke(
    runtime: &SkillRuntime,
    approvals: &FileApprovalStore,
    name: &str,
    output: Output,
) -> anyhow::Result<Exit> {
    let all = approvals.all().map_err(approval_error)?.into_iter();
    let known = all.filter(|known| known.name == name || known.directory == Path::new(name));
    let known: Vec<PathBuf> = known.map(|known| known.directory).collect();
    let directories = match runtime.get_skill(name) {
        Ok(skill) => vec![skill.directory],
        // A skill names itself, so several directories can have approvals under one name.
        Err(_) if known.len() > 1 => {
            let error = CommandError::input(format!("skill name `{name}` is ambiguous"));
            let help = "pass the directory of the skill; `skills trust --list` shows them";
            return Err(error.with_help(help).into());
        }
        Err(_) => known,
    };
    let mut is_revoked = false;
    for directory in directories {
        is_revoked |= approvals.revoke(&directory).map_err(approval_error)?;
    }
    if output.is_json() {
        output.print_json(&json!({"revoked": is_revoked}))?;
    } else if is_revoked {
        output.status(&format!("revoked all approvals of `{name}`"));
    } else {
        output.status(&format!("`{name}` has no approvals"));
    }
    Ok(Exit::success_if(is_revoked))
}

fn approval_error(error: BoxError) -> anyhow::Error {
    anyhow::anyhow!("{error}")
}

fn list_approvals(approvals: &[Approval], context: &Context) -> anyhow::Result<Exit> {
    let (output, projects) = (context.output, &context.settings()?.trusted_projects);
    let skills = skills_of_all_projects(&context.environment)?;
    if output.is_json() {
        let skills = skills.iter();
        let skills = skills.map(
            |skill| json!({"directory": skill.directory(), "digest": skill.digest().to_string()}),
        );
        let skills: Vec<Value> = skills.collect();
        return output.json(
            &json!({"approvals": approvals, "projects": projects, "project_skills": skills}),
        );
    }
    let mut lines = Vec::new();
    for approval in approvals {
        let directory = line(&approval.directory.to_string_lossy());
        let (name, digest) = (line(&approval.name), line(&approval.digest));
        lines.push(format!("{name}  {directory} ({digest})"));
        let permissions = approval.permissions.iter();
        lines.extend(permissions.map(|permission| format!("  {}", line(&permission.to_string()))));
    }
    let projects = projects.iter();
    lines.extend(projects.map(|path| format!("project  {}", line(&path.to_string_lossy()))));
    lines.extend(skills.iter().map(|skill| {
        let directory = line(&skill.directory().to_string_lossy());
        format!("skill  {directory} ({})", skill.digest())
    }));
    output.lines(lines)?;
    if approvals.is_empty() {
        output.status("no approvals");
    }
    Ok(Exit::Success)
}

/// Reports that a hook is approved.
///
/// # Errors
/// Fails if it is not.
fn report_hook(
    hook: &HookPreview,
    authorization: &Authorization,
    granted: &str,
    output: Output,
) -> anyhow::Result<()> {
    match authorization {
        Authorization::Granted(_) => {
            output.status(granted);
            Ok(())
        }
        Authorization::Denied(denial) => Err(rejected_hook(hook, denial).into()),
    }
}

/// Returns the error of a hook that no approval can allow.
fn rejected_hook(hook: &HookPreview, reason: &dyn Display) -> CommandError {
    let message = format!("cannot approve hook `{}`: {reason}", hook.hook);
    CommandError::new("denied", Exit::Denied, message)
}
