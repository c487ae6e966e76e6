//! Directories of installed skills.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use skills_install::{LockFile, Verification};
use skills_runtime::Scope;
use skills_runtime::discovery::{LOCK_FILE, Root, name_similarity};

use super::error::failed;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::Output;

/// The similarity from which another name is suggested, of 1.0 for equal names.
const MIN_SIMILARITY: f64 = 0.7;

/// A directory of installed skills, as `--to` and `--in` name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// The first skill directory of the project.
    Project,
    /// The first skill directory of the user.
    User,
    Directory(PathBuf),
}

pub(crate) fn parse_target(text: &str) -> Result<Target, String> {
    match text {
        "project" => Ok(Target::Project),
        "user" => Ok(Target::User),
        "." | ".." => Ok(Target::Directory(text.into())),
        _ if text.contains(std::path::is_separator) => Ok(Target::Directory(text.into())),
        _ => Err("expected `project`, `user`, or a directory such as `./skills`".to_owned()),
    }
}

impl Target {
    /// Returns the directory, which need not exist.
    pub(crate) fn directory(&self, context: &Context) -> anyhow::Result<PathBuf> {
        let found = match self {
            Self::Directory(directory) => return Ok(std::path::absolute(directory)?),
            Self::User => first_of(&context.roots()?, Scope::User),
            Self::Project => {
                let projects = context.environment.project_dirs();
                let root = first_of(&context.roots()?, Scope::Repo);
                let root = root.map(|root| outermost(&root, projects));
                if let (Some(root), Some(project)) = (&root, projects.first()) {
                    check_inside(root, project)?;
                }
                root
            }
        };
        found.ok_or_else(|| {
            let message = "no such skill directory is known, because of `--root` or `--profile`";
            CommandError::input(message)
                .with_help("pass a directory, such as `./skills`")
                .into()
        })
    }

    /// Returns the target without `--to`: the first directory of `--root`, else the project.
    pub(crate) fn default_of(context: &Context) -> Self {
        let first = context.options.root.first();
        first.map_or(Self::Project, |root| Self::Directory(root.clone()))
    }
}

/// Rejects a skill directory that a symlink of the project leads out of it, for example to that of
/// the user, whose skills are used everywhere.
fn check_inside(root: &Path, project: &Path) -> anyhow::Result<()> {
    let existing = root.ancestors().find_map(|path| path.canonicalize().ok());
    let project = project.canonicalize();
    match (existing, project) {
        (Some(existing), Ok(project)) if !existing.starts_with(&project) => {
            let message = format!(
                "`{}` leads out of the project, to `{}`",
                root.display(),
                existing.display()
            );
            Err(CommandError::new("conflict", Exit::Denied, message)
                .with_help("name a directory with `--to DIR`, or install with `--to user`")
                .into())
        }
        _ => Ok(()),
    }
}

fn first_of(roots: &[Root], scope: Scope) -> Option<PathBuf> {
    let root = roots.iter().find(|root| root.scope() == scope)?;
    Some(root.path().to_owned())
}

/// Returns the directory at the root of the project that corresponds to one inside of it.
fn outermost(root: &Path, projects: &[PathBuf]) -> PathBuf {
    let mut innermost_first = projects.iter().rev();
    let below = innermost_first.find_map(|project| root.strip_prefix(project).ok());
    match (below, projects.first()) {
        (Some(below), Some(project)) => project.join(below),
        _ => root.to_owned(),
    }
}

/// Returns the directories with a lock file: the given one, or all of the roots in use.
fn locked_directories(target: Option<&Target>, context: &Context) -> anyhow::Result<Vec<PathBuf>> {
    if let Some(target) = target {
        return Ok(vec![target.directory(context)?]);
    }
    let mut directories: Vec<PathBuf> = Vec::new();
    for root in context.roots()? {
        let path = root.path();
        if has_lock_file(path) && !directories.iter().any(|d| d == path) {
            directories.push(path.to_owned());
        }
    }
    Ok(directories)
}

/// Returns the roots whose skills are compared with a lock file: that of the given directory, or all
/// in use that have a lock file, or that need one because of `--frozen`.
pub(crate) fn roots_to_verify(
    target: Option<&Target>,
    context: &Context,
) -> anyhow::Result<Vec<Root>> {
    let roots = context.roots()?;
    if let Some(target) = target {
        let directory = target.directory(context)?;
        let known = roots.into_iter().find(|root| root.path() == directory);
        return Ok(vec![
            known.unwrap_or_else(|| Root::new(directory, Scope::Custom)),
        ]);
    }
    let is_verified = |root: &Root| {
        has_lock_file(root.path())
            || context.options.frozen && needs_lock_file(root, context) && root.path().is_dir()
    };
    let mut verified: Vec<Root> = Vec::new();
    for root in roots.into_iter().filter(is_verified) {
        if !verified.iter().any(|other| other.path() == root.path()) {
            verified.push(root);
        }
    }
    Ok(verified)
}

/// Returns true if `--frozen` accepts no skill of a root without a lock file: a project's skills, and
/// those of `--root`, are what the command was started for.
fn needs_lock_file(root: &Root, context: &Context) -> bool {
    match root.scope() {
        Scope::Repo => true,
        Scope::Custom => !context.options.root.is_empty(),
        _ => false,
    }
}

/// Compares the skills of a root with its lock file.
pub(crate) fn verify(root: &Root, context: &Context) -> anyhow::Result<Verification> {
    Verification::of_root(root, &context.discovery()?).map_err(failed)
}

fn has_lock_file(directory: &Path) -> bool {
    directory.join(LOCK_FILE).symlink_metadata().is_ok()
}

/// Returns the locked skills with the given names by directory, or all if there are none.
///
/// # Errors
/// Fails if no lock file lists one of the names, or a lock file cannot be read.
pub(crate) fn select_locked(
    names: &[String],
    target: Option<&Target>,
    context: &Context,
) -> anyhow::Result<Vec<(PathBuf, Vec<String>)>> {
    let mut selected = Vec::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    for directory in locked_directories(target, context)? {
        let lock = LockFile::read(&directory).map_err(failed)?;
        let locked = lock.skills().keys().cloned();
        let is_wanted = |name: &String| names.is_empty() || names.contains(name);
        selected.push((
            directory,
            locked.clone().filter(is_wanted).collect::<Vec<_>>(),
        ));
        known.extend(locked);
    }
    if let Some(name) = names.iter().find(|name| !known.contains(*name)) {
        return Err(unknown(name, &known).into());
    }
    selected.retain(|(_, names)| !names.is_empty());
    Ok(selected)
}

/// Says that there are no locked skills, which is not the same as skills without updates.
pub(crate) fn report_nothing_locked(output: Output) {
    output.status("no lock file lists a skill");
    output.status("help: `skills add SOURCE` installs skills and lists them in a lock file");
}

fn unknown(name: &str, known: &BTreeSet<String>) -> CommandError {
    let similar = known
        .iter()
        .map(|known| (name_similarity(name, known), known))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let help = match similar {
        Some((_, known)) => format!("did you mean `{known}`?"),
        None if known.is_empty() => {
            "no lock file lists a skill; `skills add` installs one".to_owned()
        }
        None => "`skills verify --json` lists the skills of all lock files".to_owned(),
    };
    let message = format!("no lock file lists the skill `{name}`");
    CommandError::new("not-found", Exit::Failed, message).with_help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_scope_or_a_path() {
        assert_eq!(parse_target("user"), Ok(Target::User));
        assert_eq!(
            parse_target("./user"),
            Ok(Target::Directory("./user".into()))
        );
        assert!(parse_target("users").is_err());
    }

    #[test]
    fn skills_of_a_project_are_installed_at_its_root() {
        let projects = ["/work/app", "/work/app/src"].map(PathBuf::from);
        let root = outermost(Path::new("/work/app/src/.agents/skills"), &projects);
        assert_eq!(root, Path::new("/work/app/.agents/skills"));
        assert_eq!(
            outermost(Path::new("/skills"), &projects),
            Path::new("/skills")
        );
    }
}
