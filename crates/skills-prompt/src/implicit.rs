//! Detects implicit invocations: commands that read or run files of a skill.

mod programs;
mod script_walker;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_discovery::{Catalog, Entry, Scope};

use crate::paths::resolve_symlinks;
use script_walker::ScriptWalker;

/// A command that a model passes to a shell tool, as an argument of [`ImplicitIndex::detect`].
///
/// Use [`Argv`](Self::Argv) only for a command that is run without a shell; `bash -c` inside of it
/// is followed.
#[derive(Debug, Clone, Copy)]
pub enum CommandLine<'a> {
    /// A script for a POSIX shell.
    Shell(&'a str),
    /// A program and its arguments, which no shell expands.
    Argv(&'a [String]),
}

/// How a command uses a skill: it reads the instructions or runs a script.
///
/// Reading other files of a skill is not a use, as in Codex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UseKind {
    /// The command reads the `SKILL.md`.
    ReadDocument,
    /// The command runs a file below the `scripts/` directory of the skill.
    RunScript,
}

/// One use of a skill by a command, as [`ImplicitIndex::detect`] finds it.
///
/// It borrows the entry from the index; [`TurnInvocations::record`] turns it into owned data.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SkillUse<'a> {
    /// The skill that is used.
    pub entry: &'a Entry,
    /// Whether its `SKILL.md` is read or one of its scripts is run.
    pub kind: UseKind,
    /// The file, without `..` and with the symlinks resolved that the scan followed.
    pub path: PathBuf,
}

/// Finds the uses of skills in command lines: the implicit invocations of Codex.
///
/// This is for records only and not a security boundary: it injects nothing, grants nothing, and a
/// program can evade it. It does not access the disk. Paths are compared as they are written, after
/// `..` and the symlinks that the scan followed were resolved.
///
/// It detects a reader (`cat`, `sed`, `head`, …) with a `SKILL.md`, a runner (`python`, `bash`,
/// `node`, …) with a script below `scripts/`, and such a script that is run directly. It follows
/// pipelines, lists, subshells and substitutions, wrappers such as `cd`, `env`, `sudo`, `timeout`,
/// `uv run` and `npx`, and `bash -c`; at most four levels deep, in scripts of at most 256 KiB.
///
/// ```
/// use std::sync::Arc;
///
/// use skills_discovery::{Discovery, Root, Scope};
/// use skills_prompt::{CommandLine, ImplicitIndex, UseKind};
///
/// # fn main() -> std::io::Result<()> {
/// # let directory = tempfile::tempdir()?;
/// # let root = directory.path().canonicalize()?;
/// # std::fs::create_dir(root.join("pdf"))?;
/// # std::fs::write(root.join("pdf/SKILL.md"), "---\nname: pdf\ndescription: d\n---\n")?;
/// let catalog = Discovery::new([Root::new(&root, Scope::Repo)]).scan();
/// let index = ImplicitIndex::new(Arc::new(catalog));
///
/// let uses = index.detect(CommandLine::Shell("cd pdf && head -20 SKILL.md"), &root);
/// assert_eq!(uses[0].entry.name().as_str(), "pdf");
/// assert_eq!(uses[0].kind, UseKind::ReadDocument);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ImplicitIndex {
    catalog: Arc<Catalog>,
    /// The index in the catalog of the skill in a directory.
    directories: HashMap<PathBuf, usize>,
    symlinks: HashMap<PathBuf, PathBuf>,
}

impl ImplicitIndex {
    /// Builds the index for the skills of `catalog`.
    ///
    /// Skills that are not model-invocable are never found.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>) -> Self {
        let directories = catalog
            .entries()
            .iter()
            .enumerate()
            // An index and not a reference, since the value owns its catalog.
            .map(|(index, entry)| (entry.directory().to_owned(), index))
            .collect();
        let symlinks = catalog.symlinks().iter().cloned().collect();
        Self {
            catalog,
            directories,
            symlinks,
        }
    }

    /// Returns the uses in a command that starts in `working_directory`, which must be absolute.
    ///
    /// The uses have the order of the command; each pair of skill and kind occurs once.
    #[must_use]
    pub fn detect(&self, command: CommandLine<'_>, working_directory: &Path) -> Vec<SkillUse<'_>> {
        let mut walker = ScriptWalker::new(working_directory);
        match command {
            CommandLine::Shell(text) => walker.walk_script(text),
            CommandLine::Argv(words) => walker.walk_argv(words),
        }
        let mut seen = HashSet::new();
        let uses = walker.uses.into_iter().filter_map(|file| {
            let path = resolve_symlinks(&self.symlinks, &file.path);
            let entry = match file.kind {
                UseKind::ReadDocument => self.skill_of_document(&path)?,
                UseKind::RunScript => self.skill_of_script(&path)?,
            };
            Some(SkillUse {
                entry,
                kind: file.kind,
                path,
            })
        });
        uses.filter(|skill_use| {
            let entry = skill_use.entry;
            seen.insert((entry.directory(), skill_use.kind)) && entry.is_model_invocable()
        })
        .collect()
    }

    fn skill_of_document(&self, path: &Path) -> Option<&Entry> {
        let entry = self.skill_in_directory(path.parent()?)?;
        // A directory can hold a `SKILL.md` and a `skill.md`; only one of them is the skill.
        (path == entry.location()).then_some(entry)
    }

    fn skill_of_script(&self, path: &Path) -> Option<&Entry> {
        // A script below `scripts/lib/scripts/` may belong to a skill at either level.
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
}

/// The skills that one turn of a session has used so far, so that each is recorded once per turn.
///
/// Create a new value at the start of each turn.
#[derive(Debug, Clone, Default)]
pub struct TurnInvocations {
    recorded: HashSet<PathBuf>,
}

/// An implicit invocation of a skill, as owned data for a record.
///
/// A host application writes it to its log or telemetry; it contains no text of the command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImplicitInvocation {
    /// The name of the skill.
    pub skill: String,
    /// The scope of the skill.
    pub scope: Scope,
    /// The path of its `SKILL.md`.
    pub path: PathBuf,
    /// Whether the file was read or run.
    pub kind: UseKind,
    /// The file that was read or run.
    pub file: PathBuf,
}

impl TurnInvocations {
    /// Records `uses`, and returns those of skills that this turn had not used before.
    pub fn record(&mut self, uses: &[SkillUse<'_>]) -> Vec<ImplicitInvocation> {
        let new = uses
            .iter()
            // By directory and not by name: two skills can have the same name.
            .filter(|skill_use| self.recorded.insert(skill_use.entry.directory().to_owned()));
        new.map(|skill_use| ImplicitInvocation {
            skill: skill_use.entry.name().to_string(),
            scope: skill_use.entry.scope(),
            path: skill_use.entry.location(),
            kind: skill_use.kind,
            file: skill_use.path.clone(),
        })
        .collect()
    }
}

impl UseKind {
    /// Returns the kind as one lowercase word, which is stable: `reads` or `runs`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadDocument => "reads",
            Self::RunScript => "runs",
        }
    }
}
