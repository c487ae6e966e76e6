//! The directory of the user, for a program that has no workspace.

use std::path::{Path, PathBuf};

use skills_runtime::SkillRuntime;
use skills_runtime::discovery::Lookup;

use super::Run;
use super::unseen_file::shown_whole;
use crate::approver;
use crate::context::Context;
use crate::default_workspace::refusal;

/// Returns the working directory, if the user gives it to the program. In a shell a program starts there;
/// here it would see nothing of it, and what it writes would end with the run.
///
/// Only a person at the terminal is asked, and not about a home directory, for a working directory in the
/// skill, or if an option says where the program starts. `--yes` and rules are about what the skill asks
/// for, and not about a directory of the user.
pub(super) fn ask(
    run: &Run,
    runtime: &SkillRuntime,
    name: &str,
    context: &Context,
) -> Option<PathBuf> {
    let programs = &run.what.programs;
    let has_place = run.has_private_workspace()
        || programs.cwd.is_some()
        || programs.workspace_dir(context).ok()?.is_some();
    if has_place || run.dry_run || run.approval.answers() || !approver::is_terminal() {
        return None;
    }
    let directory = context.environment.current_dir().ok()?;
    let directory = directory.canonicalize().ok()?;
    let catalog = runtime.library().catalog();
    let Lookup::Found(skill) = catalog.find(name) else {
        return None;
    };
    let is_refused = refusal(&directory, context.environment.home()).is_some();
    if is_refused || is_in_skill(&directory, skill.directory()) {
        return None;
    }
    // A user cannot agree to a path of which a part is missing.
    let shown = shown_whole(directory.to_str()?)?;
    let question = format!(
        "Let the program read and write all of `{shown}`, as with `--workspace .`? Else it starts in its skill (`--cwd skill`). [y]es / [N]o"
    );
    (approver::choose(&question) == Some(true)).then_some(directory)
}

fn is_in_skill(directory: &Path, skill: &Path) -> bool {
    skill
        .canonicalize()
        .is_ok_and(|skill| directory.starts_with(skill))
}
