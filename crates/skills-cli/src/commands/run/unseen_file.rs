//! Files of the working directory that arguments name, and that the program does not see.

use std::path::{Path, PathBuf};

use skills_runtime::discovery::Lookup;
use skills_runtime::{Remedy, SkillRuntime};

use super::Run;
use crate::approver;
use crate::context::Context;
use crate::default_workspace::refusal;
use crate::output::line;
use crate::shell::shell_word;

/// Maximum length of a path in a question or a help, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// An argument that names a file of the working directory, without a workspace.
pub(super) struct UnseenFile {
    /// The argument, or the value of the option that it is.
    path: String,
    /// Its canonical path, or that of the directory in which it would be written.
    file: PathBuf,
    /// The working directory, unless it is too much for a skill, such as a home directory.
    workspace: Option<PathBuf>,
}

impl UnseenFile {
    /// Returns the first argument that names an existing file below the working directory, or one to
    /// be written in an existing directory there, if the program sees no such file.
    pub(super) fn find(
        run: &Run,
        runtime: &SkillRuntime,
        name: &str,
        context: &Context,
    ) -> Option<Self> {
        let programs = &run.what.programs;
        if run.has_private_workspace() || programs.workspace_dir(context).ok()?.is_some() {
            return None;
        }
        let directory = context.environment.current_dir().ok()?;
        let directory = directory.canonicalize().ok()?;
        let values = run.args.iter().map(|arg| match arg.split_once('=') {
            Some((_, value)) if arg.starts_with('-') => value,
            _ => arg,
        });
        let named = values.filter_map(|value| Some((value, file_below(&directory, value)?)));
        let named: Vec<(&str, PathBuf)> = named.collect();
        if named.is_empty() {
            return None;
        }
        let catalog = runtime.library().catalog();
        let Lookup::Found(skill) = catalog.find(name) else {
            return None;
        };
        let skill = skill.directory();
        let visible = visible_paths(run, skill);
        let is_visible = |file: &Path| visible.iter().any(|path| file.starts_with(path));
        // The program starts in the directory of its skill.
        let is_of_skill =
            |value: &str| Path::new(value).is_relative() && skill.join(value).exists();
        let mut named = named.into_iter();
        let (path, file) = named.find(|(value, file)| !is_of_skill(value) && !is_visible(file))?;
        let is_refused = refusal(&directory, context.environment.home()).is_some();
        Some(Self {
            path: path.to_owned(),
            file,
            workspace: (!is_refused).then_some(directory),
        })
    }

    /// Returns the working directory, if the user gives it to the program. Only a person at the terminal
    /// can: other answers are about what the skill asks for, and not about a directory of the user.
    pub(super) fn ask_for_workspace(&self, run: &Run) -> Option<PathBuf> {
        let directory = self.workspace.clone()?;
        if run.approval.answers() || !approver::is_terminal() {
            return None;
        }
        // A user cannot agree to a path of which a part is missing.
        let path = shown_whole(&self.path)?;
        let shown_directory = shown_whole(directory.to_str()?)?;
        let question = format!(
            "The program does not see `{path}`. Let it read and write all of `{shown_directory}`, as with `--workspace .`? [y]es / [N]o"
        );
        (approver::choose(&question) == Some(true)).then_some(directory)
    }

    /// Returns true if another remedy gives the program this file, or a directory for its files.
    pub(super) fn is_given_by(&self, remedies: &[Remedy]) -> bool {
        let is_of_file = |rule: &String| {
            let path = rule.split_once(':').map(|(_, path)| Path::new(path));
            path.is_some_and(|path| path.starts_with(&self.file))
        };
        remedies.iter().any(|remedy| match remedy {
            Remedy::Workspace => true,
            Remedy::Allow { rules } => rules.iter().any(is_of_file),
            _ => false,
        })
    }

    /// Returns what lets the program use the file, as one sentence.
    pub(super) fn help(&self) -> String {
        let file = shown(&self.path);
        match (&self.workspace, shell_word(&self.path)) {
            (Some(_), _) => format!(
                "the program did not see `{file}` of the working directory; let it use the directory with `--workspace .`"
            ),
            (None, Some(word)) => format!(
                "the program did not see `{file}` of the working directory; give it a copy with `--file {word}`"
            ),
            (None, None) => format!("the program did not see `{file}` of the working directory"),
        }
    }
}

/// Returns the canonical paths that the program sees by options and as its skill.
fn visible_paths(run: &Run, skill: &Path) -> Vec<PathBuf> {
    let programs = &run.what.programs;
    let allowed = programs.allow.iter();
    let allowed = allowed.filter_map(|rule| rule.target().path());
    let given = programs.read.iter().chain(&programs.write);
    let given = given.map(PathBuf::as_path);
    let all = given.chain(allowed).chain([skill]);
    all.filter_map(|path| path.canonicalize().ok()).collect()
}

/// Returns the canonical path of a file below a directory that a word names, or of the directory in
/// which it would be written.
fn file_below(directory: &Path, word: &str) -> Option<PathBuf> {
    let path = directory.join(word);
    let is_path = word.contains(std::path::is_separator);
    let found = if path.is_file() || is_path && path.is_dir() {
        path
    } else {
        // A word without a separator is more often a command or a text than a new file.
        let parent = path
            .parent()
            .filter(|_| is_path && path.extension().is_some());
        parent.filter(|parent| parent.is_dir())?.to_owned()
    };
    let resolved = found.canonicalize().ok()?;
    // A symlink to another place is not a file of the working directory.
    resolved.starts_with(directory).then_some(resolved)
}

/// Returns a path for a line, truncated to the limit. Other users can choose its name, which cannot
/// end the backquotes around it.
fn shown(path: &str) -> String {
    let text = quotable(path);
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns a path for a line; `None` if it is longer than the limit.
pub(super) fn shown_whole(path: &str) -> Option<String> {
    let text = quotable(path);
    (text.chars().count() <= MAX_SHOWN_CHARS).then_some(text)
}

fn quotable(path: &str) -> String {
    line(path).replace('`', "\\u{60}")
}
