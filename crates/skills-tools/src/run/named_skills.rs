//! Skills that a command names by their paths.

use std::path::Path;

use skills_runtime::discovery::Lookup;
use skills_runtime::{Entry, RunTarget};

use super::ProgramRunner;
use super::command_line::CommandLine;
use super::line::literal_commands;
use super::runnable_skill::RunnableSkill;
use super::skill_program::{find_skill_program, program_index};
use super::visible_dirs::VisibleDirs;
use crate::path_map::{PathMap, find_path};
use crate::virtual_files::VirtualFiles;
use crate::virtual_path::escape_for_display;
use crate::{ToolError, ToolErrorCode};

/// Maximum number of skills that a command can read in addition to its own.
const MAX_NAMED: usize = 16;
/// Maximum number of paths of which a result says why the command does not see them.
const MAX_INVISIBLE: usize = 8;
/// The virtual directory of all skills.
const SKILLS_DIR: &str = "/skills";
/// Characters that end the name of a skill in a command.
const NAME_ENDS: &str = "/'\"`;|&<>()\\,=";
/// Characters with which a shell, not the command, determines the name.
const EXPANSIONS: [char; 5] = ['*', '?', '[', '{', '$'];

/// The skills that a command names by `/skills/NAME` or the path of their directory, other than the
/// one that it runs for. The command gets their files, so that it works as a model writes it.
#[derive(Default)]
pub(crate) struct NamedSkills {
    skills: Vec<RunnableSkill>,
    invisible: Vec<Invisible>,
}

/// A path that the command names and does not see.
struct Invisible {
    path: String,
    reason: String,
    /// Whether a command that succeeds was not meant to read it.
    matters_on_failure_only: bool,
}

/// Makes the path of the program that a command starts absolute, if it is one such as
/// `skills/pdf/scripts/fill.py`, which the file tools accept too, and the workspace has no
/// `skills`. Arguments stay as they are: they can be any text.
pub(crate) fn with_absolute_program(files: &VirtualFiles, command: CommandLine) -> CommandLine {
    let CommandLine::Argv(mut words) = command else {
        return command;
    };
    let is_relative =
        |word: &String| word.starts_with("skills/") && !is_in_workspace(files, "skills");
    let program = program_index(&words).and_then(|index| words.get_mut(index));
    if let Some(word) = program.filter(|word| is_relative(word)) {
        word.insert(0, '/');
    }
    CommandLine::Argv(words)
}

/// Returns the skill that has the program that a command, or the first of a line that does, starts by
/// its path; `None` if the command is invalid or starts no program of a skill.
pub(crate) fn skill_of_command(programs: &ProgramRunner, command: &str) -> Option<Entry> {
    let parts = literal_commands(CommandLine::parse(command).ok()?);
    parts
        .into_iter()
        .find_map(|command| skill_of_part(programs, command))
}

fn skill_of_part(programs: &ProgramRunner, command: CommandLine) -> Option<Entry> {
    let files = &programs.files;
    let command = with_absolute_program(files, command);
    let mut named = NamedSkills::find(programs, &command, None);
    let visible_dirs = VisibleDirs::new(files, None, named.entries()).ok()?;
    let (skill, _, _) = named.take_program(&command, &visible_dirs.path_map())?;
    Some(skill.entry)
}

fn is_in_workspace(files: &VirtualFiles, name: &str) -> bool {
    let workspace = files.mounts.workspace();
    workspace.is_some_and(|mount| mount.directory.symlink_metadata(name).is_ok())
}

impl NamedSkills {
    /// Finds the skills that a command names. A skill in the workspace or in a mount is named by
    /// `/skills/NAME` only: its directory is visible anyway, with what it contains.
    pub(crate) fn find(
        programs: &ProgramRunner,
        command: &CommandLine,
        own: Option<&Entry>,
    ) -> Self {
        let texts = match command {
            CommandLine::Argv(words) => words.as_slice(),
            CommandLine::Shell(text) => std::slice::from_ref(text),
        };
        let mut named = Self::default();
        for text in texts.iter().filter(|text| text.contains('/')) {
            named.add_by_virtual_path(programs, text);
            named.add_by_host_path(programs, text);
        }
        if let CommandLine::Argv(words) = command {
            named.add_relative_paths(&programs.files, words);
        }
        if let Some(own) = own {
            let skills = &mut named.skills;
            skills.retain(|skill| skill.entry.directory() != own.directory());
        }
        named
    }

    /// Adds arguments such as `workspace/in.pdf`, which the file tools accept and programs do not.
    fn add_relative_paths(&mut self, files: &VirtualFiles, words: &[String]) {
        for word in words {
            let Some((first, _)) = word.split_once('/') else {
                continue;
            };
            let is_virtual =
                first == "workspace" && files.mounts.workspace().is_some() || first == "skills";
            if is_virtual && !is_in_workspace(files, first) {
                let word = escape_for_display(word);
                self.reject(Invisible {
                    reason: format!("use `/{word}`"),
                    path: word,
                    matters_on_failure_only: true,
                });
            }
        }
    }

    fn add_by_virtual_path(&mut self, programs: &ProgramRunner, text: &str) {
        for at in find_path(text, SKILLS_DIR) {
            match skill_name(&text[at + SKILLS_DIR.len()..]) {
                Some("") => self.reject(Invisible {
                    path: SKILLS_DIR.to_owned(),
                    reason: "list the skills with skills_ls".to_owned(),
                    matters_on_failure_only: true,
                }),
                Some(name) => self.add(programs, name),
                None => {}
            }
        }
    }

    fn add_by_host_path(&mut self, programs: &ProgramRunner, text: &str) {
        let files = &programs.files;
        let catalog = files.runtime.library().catalog();
        let is_named = |entry: &Entry| {
            let directory = entry.directory().to_string_lossy();
            find_path(text, &directory).next().is_some() && !is_in_mount(files, entry.directory())
        };
        for entry in catalog.entries().iter().filter(|entry| is_named(entry)) {
            self.add(programs, entry.name().as_str());
        }
        let inactive = catalog.inactive().iter();
        for inactive in inactive.filter(|inactive| is_named(inactive.entry())) {
            let name = inactive.entry().name();
            self.reject(Invisible {
                path: format!("{SKILLS_DIR}/{name}"),
                reason: format!("skill `{name}` is inactive: {}", inactive.reason().code()),
                matters_on_failure_only: false,
            });
        }
    }

    /// Adds a skill, or why the command does not see it.
    fn add(&mut self, programs: &ProgramRunner, name: &str) {
        let path = format!("{SKILLS_DIR}/{}", escape_for_display(name));
        // A command can repeat names, and contain thousands.
        let is_known = self.entries().any(|entry| entry.name().as_str() == name)
            || self.invisible.iter().any(|known| known.path == path);
        if is_known || self.invisible.len() == MAX_INVISIBLE {
            return;
        }
        let reason = match find_readable(programs, name) {
            Ok(skill) if self.skills.len() < MAX_NAMED => return self.skills.push(skill),
            Ok(_) => format!("the command names more than {MAX_NAMED} skills"),
            Err(ToolError {
                message,
                hint: Some(hint),
                ..
            }) => format!("{message}; {hint}"),
            Err(error) => error.message,
        };
        let catalog = programs.files.runtime.library().catalog();
        self.reject(Invisible {
            path,
            reason,
            // A text such as `/skills/NAME` can be what the command prints.
            matters_on_failure_only: matches!(catalog.find_by_name(name), Lookup::Unknown(_)),
        });
    }

    fn reject(&mut self, invisible: Invisible) {
        let mut known = self.invisible.iter();
        let is_known = known.any(|known| known.path == invisible.path);
        if !is_known && self.invisible.len() < MAX_INVISIBLE {
            self.invisible.push(invisible);
        }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.skills.iter().map(|skill| &skill.entry)
    }

    /// Takes the skill whose program the command starts by its path, alone or after its interpreter,
    /// with the program and its arguments. Such a command is a run of the skill.
    pub(crate) fn take_program(
        &mut self,
        command: &CommandLine,
        path_map: &PathMap,
    ) -> Option<(RunnableSkill, RunTarget, Vec<String>)> {
        let CommandLine::Argv(words) = command else {
            return None;
        };
        // Only the program: its arguments are passed as they are.
        let mut words = words.clone();
        let script = program_index(&words).and_then(|index| words.get_mut(index))?;
        *script = path_map.replace_in(script);
        let script = script.clone();
        let index = self.skills.iter().position(|skill| {
            let directory = format!("{SKILLS_DIR}/{}/", skill.entry.name());
            script.starts_with(&directory)
        })?;
        let (target, args) = find_skill_program(&self.skills[index], &words)?;
        let args = args.to_vec();
        Some((self.skills.remove(index), target, args))
    }

    /// Returns what the command did not see, and why, one line each.
    pub(super) fn hints(&self, is_success: bool) -> impl Iterator<Item = String> {
        self.invisible
            .iter()
            .filter(move |invisible| !is_success || !invisible.matters_on_failure_only)
            .map(|invisible| invisible_line(&invisible.path, &invisible.reason))
    }
}

/// Finds a skill with files that a command may see.
fn find_readable(programs: &ProgramRunner, name: &str) -> Result<RunnableSkill, ToolError> {
    let skill = programs.find_runnable(name)?;
    if programs
        .files
        .hidden_dirs()
        .contains(skill.entry.directory())
    {
        return Err(ToolErrorCode::PermissionDenied.error("hidden by the operator"));
    }
    Ok(skill)
}

fn is_in_mount(files: &VirtualFiles, directory: &Path) -> bool {
    files
        .mounts
        .all_mounts()
        .any(|mount| directory.starts_with(&mount.path))
}

/// Returns the line for a path that a command names and does not see.
pub(super) fn invisible_line(path: &str, reason: &str) -> String {
    format!("the command does not see `{path}`: {reason}")
}

/// Returns the name of a skill at the start of what follows `/skills` in a command: empty for the list
/// of skills, `None` if a shell determines it.
fn skill_name(rest: &str) -> Option<&str> {
    let Some(rest) = rest.strip_prefix('/') else {
        return Some("");
    };
    let ends = |c: char| c.is_whitespace() || NAME_ENDS.contains(c) || EXPANSIONS.contains(&c);
    let end = rest.find(ends).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    // A list of paths such as `/skills/a:/usr/bin`, or the end of a sentence.
    let name = name.trim_end_matches([':', '.']);
    let is_expanded = after.starts_with(EXPANSIONS);
    match name {
        "" => Some(""),
        _ if is_expanded => None,
        name => Some(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_where_the_path_does() {
        for (rest, name) in [
            ("/pdf/scripts/x.py in.pdf", Some("pdf")),
            ("/pdf\" x", Some("pdf")),
            ("/pdf)", Some("pdf")),
            ("/plugin:pdf/x", Some("plugin:pdf")),
            ("/pdf:/usr/bin", Some("pdf")),
            ("/pdf.", Some("pdf")),
            ("", Some("")),
            ("/", Some("")),
            (" ; ls", Some("")),
            ("/*/SKILL.md", Some("")),
            ("/p*/SKILL.md", None),
            ("/$NAME/SKILL.md", Some("")),
            ("/p$NAME/SKILL.md", None),
        ] {
            assert_eq!(skill_name(rest), name, "{rest:?}");
        }
    }
}
