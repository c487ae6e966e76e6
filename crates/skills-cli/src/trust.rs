//! `skills trust`: approves the current version of a skill, lists and revokes approvals.

use std::path::{Path, PathBuf};

use serde_json::json;
use skills_runtime::policy::{Approval, BoxError};
use skills_runtime::{Authorization, Builder, FileApprovalStore, SkillRuntime, discovery};

use crate::approver;
use crate::arguments::Trust;
use crate::directories;
use crate::exit::Exit;
use crate::input::{self, InputError};
use crate::lookup;
use crate::output::{Output, line};
use crate::run_setup;

pub(crate) fn trust(
    builder: Builder,
    arguments: &Trust,
    project_trust: discovery::Trust,
    output: &Output,
) -> anyhow::Result<Exit> {
    let approvals = directories::open_approvals().ok_or_else(|| {
        InputError::new("cannot open the approval store: no home directory")
            .with_help("set `XDG_STATE_HOME`")
    })?;
    // Neither listing nor revoking needs the policy: both must work when a policy file is broken.
    let Some(name) = &arguments.name else {
        return list_approvals(&approvals.all().map_err(approval_error)?, output);
    };
    let name = input::resolve_skill_name(name);
    if arguments.revoke {
        return revoke(&builder.build(), &approvals, &name, output);
    }
    let runtime =
        run_setup::configure_runtime(builder, &arguments.what, project_trust, output)?.build();
    approve(&runtime, &name, arguments, output)
}

/// Revokes the approvals of a skill. A skill that no longer exists or is not in the catalog is
/// found by the name or directory of its approvals.
fn revoke(
    runtime: &SkillRuntime,
    approvals: &FileApprovalStore,
    name: &str,
    output: &Output,
) -> anyhow::Result<Exit> {
    let all = approvals.all().map_err(approval_error)?.into_iter();
    let known: Vec<PathBuf> = all
        .filter(|known| known.name == name || known.directory == Path::new(name))
        .map(|known| known.directory)
        .collect();
    let directories = match runtime.get_skill(name) {
        Ok(skill) => vec![skill.directory],
        // A skill names itself, so several directories can have approvals under one name.
        Err(_) if known.len() > 1 => {
            return Err(InputError::new(format!("skill name `{name}` is ambiguous"))
                .with_help("pass the directory of the skill; `skills trust --list` shows them")
                .into());
        }
        Err(_) => known,
    };
    let mut is_revoked = false;
    for directory in directories {
        is_revoked |= approvals.revoke(&directory).map_err(approval_error)?;
    }
    if output.is_json() {
        output.print_json(&json!({"revoked": is_revoked}))?;
    } else {
        output.status(&if is_revoked {
            format!("revoked all approvals of `{name}`")
        } else {
            format!("`{name}` has no approvals")
        });
    }
    Ok(if is_revoked {
        Exit::Success
    } else {
        Exit::Failed
    })
}

fn approval_error(error: BoxError) -> anyhow::Error {
    anyhow::anyhow!("{error}")
}

fn approve(
    runtime: &SkillRuntime,
    name: &str,
    arguments: &Trust,
    output: &Output,
) -> anyhow::Result<Exit> {
    let options = run_setup::execution_options(&arguments.what)?;
    let preview = runtime
        .executor()
        .preview(name, &options)
        .map_err(|error| lookup::explain_error(runtime, name, error))?;
    let Some(question) = &preview.approval_request else {
        return Ok(match &preview.authorization {
            Authorization::Granted(grants) if output.is_json() => {
                output.print_json(&json!({"skill": preview.skill, "digest": preview.digest, "decisions": grants.decisions()}))?;
                Exit::Success
            }
            Authorization::Granted(_) => {
                output.status(&format!("`{}` needs no approval: rules and stored approvals grant everything that it requests", preview.skill));
                Exit::Success
            }
            Authorization::Denied(denial) => {
                output.status(&format!(
                    "error: cannot approve `{}`: {denial}",
                    preview.skill
                ));
                Exit::Denied
            }
        });
    };
    if !arguments.yes {
        output.status_lines(&approver::text(question));
        match approver::confirm("Approve this version permanently? [y/N]", output) {
            Some(true) => {}
            Some(false) => {
                output.status(&format!("`{}` is not approved", preview.skill));
                return Ok(Exit::Denied);
            }
            None => {
                output
                    .status("error: cannot ask for confirmation: standard input is not a terminal");
                output.status("help: pass `--yes`");
                return Ok(Exit::Denied);
            }
        }
    }
    // Fails if the skill or its request changed since it was shown.
    let decision = runtime.executor().approve(name, &options, question)?;
    if output.is_json() {
        output.print_json(&json!({"skill": preview.skill, "digest": preview.digest, "decisions": decision.decisions()}))?;
    } else {
        output.status(&format!("approved this version of `{}`", preview.skill));
        decision
            .decisions()
            .iter()
            .for_each(|decision| output.status(&format!("  {decision}")));
    }
    Ok(Exit::Success)
}

fn list_approvals(approvals: &[Approval], output: &Output) -> anyhow::Result<Exit> {
    if output.is_json() {
        output.print_json(&json!({"approvals": approvals}))?;
        return Ok(Exit::Success);
    }
    let mut text = String::new();
    for approval in approvals {
        text.push_str(&format!(
            "{}  {} ({})\n",
            line(&approval.name),
            line(&approval.directory.display().to_string()),
            line(&approval.digest)
        ));
        approval.permissions.iter().for_each(|permission| {
            text.push_str(&format!("  {}\n", line(&permission.to_string())))
        });
    }
    output.text(&text)?;
    if approvals.is_empty() {
        output.status("no approvals");
    }
    Ok(Exit::Success)
}
