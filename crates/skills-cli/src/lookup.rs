//! Explains why a skill that was named on the command line cannot be used.

use std::path::{Path, PathBuf};

use skills_runtime::discovery::{
    DiscoveryErrorKind, Explanation, ExplanationStep, InactiveEntry, InactiveReason, Lookup,
    SkillStatus, SkipReason, Skipped,
};
use skills_runtime::{
    Catalog, Entry, ErrorKind, ExecutionOptions, LoadedSkill, Preview, Root, RuntimeError,
    SkillRuntime,
};

use crate::commands::list::limit_hint;
use crate::context::Context;
use crate::error::CommandError;
use crate::input;
use crate::output::line;
use crate::shell::is_shell_word;

/// Name of the file that makes a directory a skill.
const SKILL_FILE: &str = "SKILL.md";
/// How many other skills of one name are named.
const MAX_SHOWN_SKILLS: usize = 2;

/// Adds the cause and a hint to the error of a skill that is inactive or was not found. Other
/// errors are returned unchanged. `name` is the result of
/// [`resolve_skill_name`](crate::input::resolve_skill_name).
pub(crate) fn explain_error(
    runtime: &SkillRuntime,
    name: &str,
    error: RuntimeError,
) -> anyhow::Error {
    match error.kind() {
        ErrorKind::InactiveSkill => {
            CommandError::with_hint(&error, inactive_hint(runtime, name)).into()
        }
        ErrorKind::UnknownSkill => explain_unknown(runtime, name, error),
        _ => error.into(),
    }
}

/// Loads a skill; see [`explain_error`].
pub(crate) fn get_skill(runtime: &SkillRuntime, name: &str) -> anyhow::Result<LoadedSkill> {
    let skill = runtime.get_skill(name);
    skill.map_err(|error| explain_error(runtime, name, error))
}

/// Returns the entry of a loaded skill, which a path finds also if another skill has its name.
pub(crate) fn find_entry<'a>(catalog: &'a Catalog, skill: &LoadedSkill) -> Option<&'a Entry> {
    let mut entries = catalog.all_entries();
    entries.find(|entry| entry.directory() == skill.directory)
}

/// Says which skill was chosen if the user named it by its name and other skills have that name: ones
/// that are not in use, or one in a directory of that name in the working directory.
pub(crate) fn note_other_skills(runtime: &SkillRuntime, name: &str, context: &Context) {
    let catalog = runtime.library().catalog();
    let Lookup::Found(chosen) = catalog.find(name) else {
        return;
    };
    if input::is_explicit_path(name) || Path::new(name).is_absolute() {
        return;
    }
    let inactive = catalog.inactive().iter();
    let inactive = inactive.filter(|other| other.entry().name().as_str() == name);
    let mut others: Vec<String> = inactive
        .map(|other| {
            let directory = line(&other.entry().directory().to_string_lossy());
            format!("`{directory}` ({})", line(&other.reason().to_string()))
        })
        .collect();
    let nearby = context.environment.current_dir().ok();
    let nearby = nearby.and_then(|directory| directory.join(name).canonicalize().ok());
    let is_other = |path: &&PathBuf| catalog.all_entries().all(|one| one.directory() != *path);
    if let Some(path) = nearby.as_ref().filter(is_other)
        && path.join(SKILL_FILE).is_file()
    {
        let path = line(&path.to_string_lossy());
        others.push(format!("`{path}` (run it with its path)"));
    }
    if others.is_empty() {
        return;
    }
    let more = others.len().saturating_sub(MAX_SHOWN_SKILLS);
    others.truncate(MAX_SHOWN_SKILLS);
    others.extend((more > 0).then(|| format!("{more} more directories")));
    let others = others.join(" and ");
    let chosen = line(&chosen.directory().to_string_lossy());
    let name = line(name);
    context.output.status(&format!(
        "note: `{name}` is the skill in `{chosen}`; another skill of this name is in {others}"
    ));
}

/// Previews a run; see [`explain_error`].
pub(crate) fn preview(
    runtime: &SkillRuntime,
    name: &str,
    options: &ExecutionOptions,
) -> anyhow::Result<Preview> {
    let preview = runtime.executor().preview(name, options);
    preview.map_err(|error| explain_error(runtime, name, error))
}

/// How a user makes the skills of an untrusted project available.
pub(crate) const TRUST_PROJECT_HINT: &str =
    "trust its project with `skills trust --project`, or for one command with `--trust-project`";

/// What completes an interrupted change of installed skills.
pub(crate) const UNFINISHED_HINT: &str =
    "the next command that changes these skills, such as `skills add`, completes the change";

/// Returns why a changed skill may have other content than its lock file, if no one edited it: a
/// change of its directory was interrupted.
pub(crate) fn unfinished_change(inactive: &InactiveEntry) -> Option<String> {
    let is_changed = matches!(inactive.reason(), InactiveReason::Changed { .. });
    let mut parents = inactive.entry().lock_paths().filter_map(Path::parent);
    let parent = parents.find(|parent| has_unfinished_change(parent));
    let path = line(&parent.filter(|_| is_changed)?.to_string_lossy());
    Some(format!("an interrupted change of `{path}` is unfinished"))
}

#[cfg(feature = "install")]
fn has_unfinished_change(directory: &Path) -> bool {
    skills_install::Store::has_unfinished_change(directory)
}

#[cfg(not(feature = "install"))]
fn has_unfinished_change(_directory: &Path) -> bool {
    false
}

/// Returns how to make an inactive skill available, or how to see why it is inactive.
fn inactive_hint(runtime: &SkillRuntime, name: &str) -> String {
    match runtime.library().catalog().find(name) {
        Lookup::Inactive(inactive) if inactive.is_of_untrusted_project() => {
            TRUST_PROJECT_HINT.to_owned()
        }
        Lookup::Inactive(inactive) if let Some(cause) = unfinished_change(inactive) => {
            format!("{cause}; {UNFINISHED_HINT}")
        }
        _ => explain_hint(name),
    }
}

fn explain_unknown(runtime: &SkillRuntime, name: &str, error: RuntimeError) -> anyhow::Error {
    let explanation = runtime
        .library()
        .discovery()
        .explain(&runtime.library().catalog(), name);
    if explanation.status() == SkillStatus::Skipped {
        // The most specific step: the skill itself, after the directory that contains it.
        let cause = explanation.steps().last().map(ToString::to_string);
        return CommandError::with_hint(&error, skipped_hint(runtime, name))
            .with_cause(&line(&cause.unwrap_or_default()))
            .into();
    }
    let (cause, hint) = match (explanation.status(), explanation.steps().last()) {
        (_, Some(ExplanationStep::OutsideRoots(path)))
            if let Some(skill) = skill_directory(path) =>
        {
            (outside_cause(runtime, skill), root_hint(skill))
        }
        (_, Some(step @ ExplanationStep::Inaccessible { .. })) => {
            let hint = "give the user of this command the permission to read it";
            return CommandError::with_hint(&error, hint)
                .with_cause(&line(&step.to_string()))
                .into();
        }
        // A name can also be that of another file in the working directory.
        _ if !name.contains(std::path::is_separator) => {
            return with_unreadable_roots(error, &explanation);
        }
        (_, Some(ExplanationStep::OutsideRoots(path) | ExplanationStep::NoSkillFile(path))) => {
            let cause = if path.is_dir() {
                "no `SKILL.md` in the directory"
            } else {
                "not a directory"
            };
            let hint = "pass the name or the directory of a skill; `skills list` shows all";
            (cause, hint.to_owned())
        }
        (_, Some(ExplanationStep::PathNotFound(_))) => {
            ("no such file or directory", "check the path".to_owned())
        }
        _ => return error.into(),
    };
    CommandError::with_hint(&error, hint)
        .with_cause(cause)
        .into()
}

/// Adds the roots that cannot be read, in which the skill may be.
fn with_unreadable_roots(error: RuntimeError, explanation: &Explanation) -> anyhow::Error {
    let is_unreadable = |step: &&ExplanationStep| matches!(step, ExplanationStep::Skipped { code, .. } if *code == DiscoveryErrorKind::Io.code());
    let unreadable = explanation.steps().iter().find(is_unreadable);
    match unreadable {
        Some(step) => CommandError::from(&error)
            .with_cause(&line(&step.to_string()))
            .into(),
        None => error.into(),
    }
}

/// Returns how to make a skipped skill available, or how to see why it was skipped.
fn skipped_hint(runtime: &SkillRuntime, name: &str) -> String {
    option_for_skipped(runtime, name).map_or_else(|| explain_hint(name), str::to_owned)
}

/// Returns what makes a skipped skill available: the option that finds it, or the command that
/// installs it, if there is one.
pub(crate) fn option_for_skipped(runtime: &SkillRuntime, name: &str) -> Option<&'static str> {
    let catalog = runtime.library().catalog();
    let matches = |skipped: &&Skipped| {
        let directory = skipped.path().parent();
        directory.is_some_and(|directory| directory.ends_with(name) || directory == Path::new(name))
    };
    let is_missing = |skipped: &&Skipped| {
        matches!(skipped.reason(), SkipReason::LockedMissing) && skipped.path().ends_with(name)
    };
    let unread = catalog.unread_skills().iter().find(matches);
    let skipped = unread.or_else(|| catalog.skipped().iter().find(is_missing));
    limit_hint(skipped?.reason())
}

/// Returns the skill directory that a path refers to: the directory, or that of its `SKILL.md`.
pub(crate) fn skill_directory(path: &Path) -> Option<&Path> {
    let directory = if path.ends_with(SKILL_FILE) {
        path.parent()?
    } else {
        path
    };
    directory.join(SKILL_FILE).is_file().then_some(directory)
}

fn outside_cause(runtime: &SkillRuntime, directory: &Path) -> &'static str {
    let mut roots = runtime.library().discovery().roots().iter();
    if roots.any(|root| is_below(directory, root)) {
        // For example inside another skill.
        "the scan of its root does not search there"
    } else {
        "not below any root"
    }
}

fn is_below(directory: &Path, root: &Root) -> bool {
    let root = root.path().canonicalize();
    root.is_ok_and(|root| directory.starts_with(root))
}

fn root_hint(directory: &Path) -> String {
    let parent = directory.parent().unwrap_or(directory).to_string_lossy();
    format!(
        "search its parent directory with `--root {}`; `skills list --roots` lists the roots in use",
        shown_argument(&parent, "DIR")
    )
}

fn explain_hint(name: &str) -> String {
    format!(
        "run `skills show --why {}` to see why",
        shown_argument(name, "NAME")
    )
}

/// Returns an argument that is a single shell word, and a placeholder for all others: users copy
/// hints into a shell.
fn shown_argument<'a>(argument: &'a str, placeholder: &'a str) -> &'a str {
    if is_shell_word(argument) {
        argument
    } else {
        placeholder
    }
}
