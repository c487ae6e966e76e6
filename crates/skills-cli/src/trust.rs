//! `skills trust`.

use std::path::{Path, PathBuf};

use serde_json::json;
use skills_runtime::policy::{Approval, BoxError};
use skills_runtime::{Authorization, Builder, FileApprovalStore, SkillRuntime};

use crate::approver;
use crate::arguments::Trust;
use crate::directories;
use crate::exit::Exit;
use crate::input::{self, InputError};
use crate::output::{Output, line};
use crate::run_setup;

pub(crate) fn trust(
    builder: Builder,
    arguments: &Trust,
    trust_project: bool,
    output: &Output,
) -> anyhow::Result<Exit> {
    let approvals = directories::open_approvals().ok_or_else(|| {
        InputError::new("there is no place for approvals: set XDG_STATE_HOME".to_owned())
    })?;
    let Some(name) = &arguments.name else {
        return list_approvals(&approvals.all().map_err(approval_error)?, output);
    };
    let name = input::resolve_skill_name(name);
    if arguments.revoke {
        return revoke(&builder.build(), &approvals, &name, output);
    }
    let runtime =
        run_setup::configure_runtime(builder, &arguments.what, trust_project, output)?.build();
    approve(&runtime, &name, arguments, output)
}

/// Forgets what was approved. What is gone from the disk, or not looked for, is known by what was
/// approved.
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
        Err(_) if known.len() > 1 => {
            let message = format!(
                "several skills that were approved are named {name:?}; name one by its directory"
            );
            return Err(InputError::new(message).into());
        }
        Err(_) => known,
    };
    let mut is_gone = false;
    for directory in directories {
        is_gone |= approvals.revoke(&directory).map_err(approval_error)?;
    }
    if output.is_json() {
        output.print_json(&json!({"revoked": is_gone}))?;
    } else {
        output.status(&if is_gone {
            format!("nothing of {name} is approved any more")
        } else {
            format!("nothing of {name} was approved")
        });
    }
    Ok(if is_gone { Exit::Success } else { Exit::Failed })
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
    let preview = runtime.preview_skill(name, &options)?;
    let Some(question) = &preview.approval_request else {
        return Ok(match &preview.authorization {
            Authorization::Granted(grants) if output.is_json() => {
                output.print_json(&json!({"skill": preview.skill, "digest": preview.digest, "decisions": grants.decisions()}))?;
                Exit::Success
            }
            Authorization::Granted(_) => {
                output.status(&format!("{} needs no approval: rules and what was approved before give all that it asks for", preview.skill));
                Exit::Success
            }
            Authorization::Denied(denial) => {
                output.status(&format!(
                    "error: {} cannot be approved: {denial}",
                    preview.skill
                ));
                Exit::Denied
            }
        });
    };
    if !arguments.yes {
        output.status_lines(&approver::text(question));
        match approver::confirm(
            "Approve it for good, for this content? y: yes, anything else: no",
            output,
        ) {
            Some(true) => {}
            Some(false) => {
                output.status(&format!("{} is not approved", preview.skill));
                return Ok(Exit::Denied);
            }
            None => {
                output.status("error: there is no terminal to ask on; --yes approves it");
                return Ok(Exit::Denied);
            }
        }
    }
    // What was shown is what is approved; what changed since is not.
    let decision = runtime.approve_skill(name, &options, question)?;
    if output.is_json() {
        output.print_json(&json!({"skill": preview.skill, "digest": preview.digest, "decisions": decision.decisions()}))?;
    } else {
        output.status(&format!(
            "approved: {} with the content that it has now",
            preview.skill
        ));
        decision
            .decisions()
            .iter()
            .for_each(|verdict| output.status(&format!("  {verdict}")));
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
    Ok(Exit::Success)
}
