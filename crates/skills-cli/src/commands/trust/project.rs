//! `skills trust --project`: trusts the project of the working directory.

use std::path::PathBuf;

use serde_json::json;
use skills_runtime::Scope;
use skills_runtime::discovery::Trust;
use skills_runtime::policy::Question;
use toml_edit::{Array, DocumentMut, Item, Value};

use crate::approver::require_consent;
use crate::commands::config::settings_file::TargetFile;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::line;
use crate::settings::{Settings, TRUSTED_PROJECTS, resolve_user_path};
use crate::trusted_skills::TrustedSkillStore;

/// Adds the project to the settings of the user after a confirmation.
pub(super) fn trust(yes: bool, context: &Context) -> anyhow::Result<Exit> {
    let (output, root) = (context.output, project_root(context)?);
    let shown = line(&root.to_string_lossy());
    if !yes {
        let declined = format!("{shown} is not trusted");
        let question = Question::about_project(&root, count_skills(context)?);
        let confirmation = "Trust its skills, settings and policy? [y/N]";
        require_consent(&question, confirmation, &declined, output)?;
    }
    let Some(text) = root.to_str() else {
        let message = format!("cannot trust `{shown}`: its path is not UTF-8");
        return Err(CommandError::input(message).into());
    };
    edit(context, |projects| {
        if !projects.iter().any(|known| known.as_str() == Some(text)) {
            projects.push(text);
        }
    })?;
    report(true, &root, context)
}

/// Removes the project from the settings of the user.
pub(super) fn revoke(context: &Context) -> anyhow::Result<Exit> {
    let root = project_root(context)?;
    let environment = &context.environment;
    edit(context, |projects| {
        projects.retain(|known| {
            let path = known
                .as_str()
                .map(|text| resolve_user_path(text, environment));
            path.and_then(|path| path.canonicalize().ok()).as_ref() != Some(&root)
        });
    })?;
    if let Some(store) = TrustedSkillStore::new(environment) {
        store.clear()?;
    }
    // The file may have an entry of a form that is not known here.
    if Settings::load(environment, false)?.project_trust == Trust::Trusted {
        let message = format!("`{}` is still trusted", root.display());
        return Err(CommandError::new("io", Exit::Failed, message)
            .with_help("remove it from `trusted-projects` in the file of `skills config path`")
            .into());
    }
    report(false, &root, context)
}

fn report(is_trusted: bool, root: &PathBuf, context: &Context) -> anyhow::Result<Exit> {
    if context.output.is_json() {
        return context
            .output
            .json(&json!({"project": root, "trusted": is_trusted}));
    }
    let shown = line(&root.to_string_lossy());
    let state = if is_trusted {
        "trusted"
    } else {
        "no longer trusted"
    };
    context.output.status(&format!("{shown} is {state}"));
    Ok(Exit::Success)
}

/// Returns the resolved root of the project.
fn project_root(context: &Context) -> anyhow::Result<PathBuf> {
    let root = context.environment.project_root();
    let root = root.and_then(|root| root.canonicalize().ok());
    root.ok_or_else(|| {
        CommandError::input("the working directory is in no project")
            .with_help(
                "run the command in the directory of the project, which is not the home directory",
            )
            .into()
    })
}

fn count_skills(context: &Context) -> anyhow::Result<usize> {
    let runtime = context.runtime()?;
    let catalog = runtime.library().catalog();
    let entries = catalog.all_entries();
    Ok(entries.filter(|entry| entry.scope() == Scope::Repo).count())
}

fn edit(context: &Context, change: impl FnOnce(&mut Array)) -> anyhow::Result<()> {
    TargetFile::USER.edit(context, |document: &mut DocumentMut, path| {
        let item = document
            .entry(TRUSTED_PROJECTS)
            .or_insert(Item::Value(Value::Array(Array::new())));
        let projects = item.as_array_mut().ok_or_else(|| {
            CommandError::input(format!(
                "invalid `{TRUSTED_PROJECTS}` in `{}`: expected a list",
                path.display()
            ))
        })?;
        change(projects);
        Ok(())
    })?;
    Ok(())
}
