//! Which skills a command line uses without saying so.

mod programs;
mod script_walker;
mod shell_lexer;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_discovery::{Catalog, Entry, Scope};

use crate::paths::resolve_symlinks;
use script_walker::ScriptWalker;

/// A command that a model gives to a shell tool.
#[derive(Debug, Clone, Copy)]
pub enum CommandLine<'a> {
    /// Text for a shell.
    Shell(&'a str),
    /// A program and its arguments.
    Argv(&'a [String]),
}

/// How a command uses a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UseKind {
    /// It reads the `SKILL.md`.
    ReadDocument,
    /// It runs a file below the skill's `scripts/`.
    RunScript,
}

/// A use of a skill by a command.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SkillUse<'a> {
    /// The skill.
    pub entry: &'a Entry,
    /// How it is used.
    pub kind: UseKind,
    /// The file, without symlinks of ours and without `..`.
    pub path: PathBuf,
}

/// Finds the uses of skills in command lines.
///
/// This is for a record of what happens (Codex's implicit invocations). It gives a model nothing
/// and changes no right, and it is no wall: a program that wants to hide what it reads can. Nothing
/// is looked up on the disk; paths are compared as they are written, with `..` and the symlinks
/// that the scan followed resolved.
///
/// Seen are a reader (`cat`, `sed`, `head`, …) with a `SKILL.md`, a runner (`python`, `bash`,
/// `node`, …) with a script below `scripts/`, and such a script started by itself; in pipelines,
/// lists, subshells and substitutions, behind `cd`, `env`, `sudo`, `timeout`, `uv run`, `npx` and
/// the like, and inside `bash -c`.
#[derive(Debug, Clone)]
pub struct ImplicitIndex {
    catalog: Arc<Catalog>,
    /// Where in the catalogue the skill of a directory is.
    directories: HashMap<PathBuf, usize>,
    symlinks: HashMap<PathBuf, PathBuf>,
}

impl ImplicitIndex {
    /// Prepares the search for the skills of `catalog`. Those that the model may not choose by
    /// itself are never found.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>) -> Self {
        let directories = catalog
            .entries()
            .iter()
            .enumerate()
            .map(|(index, entry)| (entry.directory().to_owned(), index))
            .collect();
        let links = catalog.symlinks().iter().cloned().collect();
        Self {
            catalog,
            directories,
            symlinks: links,
        }
    }

    /// Finds the uses in a command that starts in `working_directory`, in the order of the command,
    /// each skill and kind once.
    #[must_use]
    pub fn detect(&self, command: CommandLine<'_>, working_directory: &Path) -> Vec<SkillUse<'_>> {
        let mut walk = ScriptWalker::new(working_directory);
        match command {
            CommandLine::Shell(text) => walk.walk_script(text),
            CommandLine::Argv(words) => walk.walk_argv(words),
        }
        let mut seen = HashSet::new();
        let uses = walk.uses.into_iter().filter_map(|found| {
            let path = self.resolve_symlinks(&found.path);
            let entry = match found.kind {
                UseKind::ReadDocument => self.skill_of_document(&path)?,
                UseKind::RunScript => self.skill_of_script(&path)?,
            };
            Some(SkillUse {
                entry,
                kind: found.kind,
                path,
            })
        });
        uses.filter(|found| {
            seen.insert((found.entry.directory(), found.kind)) && found.entry.is_model_invocable()
        })
        .collect()
    }

    fn skill_of_document(&self, path: &Path) -> Option<&Entry> {
        let entry = self.skill_in_directory(path.parent()?)?;
        (path == entry.location()).then_some(entry)
    }

    fn skill_of_script(&self, path: &Path) -> Option<&Entry> {
        let scripts = path
            .ancestors()
            .skip(1)
            .filter(|directory| directory.file_name().is_some_and(|name| name == "scripts"));
        scripts
            .filter_map(Path::parent)
            .find_map(|directory| self.skill_in_directory(directory))
    }

    fn skill_in_directory(&self, directory: &Path) -> Option<&Entry> {
        self.directories
            .get(directory)
            .and_then(|index| self.catalog.entries().get(*index))
    }

    /// Takes the symlinks that the scan followed out of a path.
    fn resolve_symlinks(&self, path: &Path) -> PathBuf {
        resolve_symlinks(&self.symlinks, path)
    }
}

/// The uses of one turn, so that each skill is recorded once in it.
#[derive(Debug, Clone, Default)]
pub struct TurnInvocations {
    recorded: HashSet<PathBuf>,
}

/// An implicit use, as a record keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImplicitInvocation {
    /// The skill's name.
    pub skill: String,
    /// Whose it is.
    pub scope: Scope,
    /// Its `SKILL.md`.
    pub path: PathBuf,
    /// How it is used.
    pub kind: UseKind,
    /// The file that is read or run.
    pub file: PathBuf,
}

impl TurnInvocations {
    /// Returns the uses of skills that were not used in this turn before.
    pub fn record(&mut self, uses: &[SkillUse<'_>]) -> Vec<ImplicitInvocation> {
        let new = uses
            .iter()
            .filter(|found| self.recorded.insert(found.entry.directory().to_owned()));
        new.map(|found| ImplicitInvocation {
            skill: found.entry.name().to_string(),
            scope: found.entry.scope(),
            path: found.entry.location(),
            kind: found.kind,
            file: found.path.clone(),
        })
        .collect()
    }
}

impl UseKind {
    /// Returns the kind as one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadDocument => "reads",
            Self::RunScript => "runs",
        }
    }
}
