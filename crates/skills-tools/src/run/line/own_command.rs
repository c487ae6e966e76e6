//! Programs that make, copy, move and remove files, which a line does itself.
//!
//! The program would need a question, although the user gave the workspace for writing. Only its plain use
//! is done here, with the checks of the tools that write files: files without directories, and few options.

use skills_runtime::policy::Access;
use skills_runtime::prompt::{LineCommand, LineStep, LineWord, ShellLine};

use super::redirected_files::resolve;
use super::usage::MAX_CHANGES;
use crate::mount::Access as MountAccess;
use crate::virtual_files::VirtualFiles;

/// An operand with an expansion, before it is expanded. No command has this character.
const EXPANSION: &str = "\0";

/// A program that a line does itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnProgram {
    Copy,
    MakeDirectory,
    Move,
    Remove,
    Tee,
    Touch,
}

const PROGRAMS: [OwnProgram; 6] = [
    OwnProgram::Copy,
    OwnProgram::MakeDirectory,
    OwnProgram::Move,
    OwnProgram::Remove,
    OwnProgram::Tee,
    OwnProgram::Touch,
];

/// A command of such a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnCommand {
    pub(super) program: OwnProgram,
    /// Whether it has its one option: `mkdir -p`, `mv -f`, `rm -f`, `tee -a`.
    pub(super) has_option: bool,
    pub(super) operands: Vec<String>,
}

impl OwnProgram {
    fn of(name: &str) -> Option<Self> {
        PROGRAMS.into_iter().find(|program| program.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Copy => "cp",
            Self::MakeDirectory => "mkdir",
            Self::Move => "mv",
            Self::Remove => "rm",
            Self::Tee => "tee",
            Self::Touch => "touch",
        }
    }

    /// Returns the forms of its option.
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Copy | Self::Touch => &[],
            Self::MakeDirectory => &["-p", "--parents"],
            Self::Move | Self::Remove => &["-f", "--force"],
            Self::Tee => &["-a", "--append"],
        }
    }
}

impl OwnCommand {
    /// Parses a command; `None` if it is another program, or has another option.
    pub(super) fn parse(words: &[String]) -> Option<Self> {
        let (name, args) = words.split_first()?;
        let program = OwnProgram::of(name)?;
        let mut command = Self {
            program,
            has_option: false,
            operands: Vec::new(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if arg == "--" {
                command.operands.extend(args.cloned());
                break;
            }
            if arg.len() < 2 || !arg.starts_with('-') {
                command.operands.push(arg.clone());
            } else if program.options().contains(&arg.as_str()) {
                command.has_option = true;
            } else {
                return None;
            }
        }
        Some(command)
    }

    /// Parses a command of a line before expansion, in which a word with an expansion is an operand.
    fn parse_unexpanded(command: &LineCommand) -> Option<Self> {
        let text = |word: &LineWord| word.literal().unwrap_or_else(|| EXPANSION.to_owned());
        let words: Vec<String> = command.words.iter().map(text).collect();
        let parsed = Self::parse(&words)?;
        // What is removed is what the line shows.
        let is_shown = command.words.iter().all(|word| word.literal().is_some());
        (parsed.program != OwnProgram::Remove || is_shown).then_some(parsed)
    }

    /// Removes the operands with an expansion, and all but the first `count` of the others. That of a
    /// target stays the last one.
    fn keep_literals(&mut self, count: usize) {
        self.operands.retain(|operand| operand != EXPANSION);
        self.operands.truncate(count);
    }
}

/// The programs that a line does itself.
pub(super) struct OwnPrograms(Vec<OwnProgram>);

impl OwnPrograms {
    /// Returns the programs about which no rule decides, if the workspace is given for writing and the
    /// commands name only places where this does what the programs would do.
    pub(super) fn find(files: &VirtualFiles, current_dir: &str, line: &ShellLine) -> Self {
        let mut steps = line.steps.iter();
        let is_moved = steps.any(|(_, step)| matches!(step, LineStep::ChangeDirectory(_)));
        let own = line.commands().into_iter();
        let own = own.filter_map(OwnCommand::parse_unexpanded);
        let mut programs = Vec::new();
        // A line with more of them fails, whatever the others are.
        let mut remaining = MAX_CHANGES;
        for mut command in own {
            command.keep_literals(remaining);
            remaining -= command.operands.len();
            if !is_done_here(files, current_dir, is_moved, &command) {
                return Self(Vec::new());
            }
            if !programs.contains(&command.program) {
                programs.push(command.program);
            }
        }
        let executor = files.runtime.executor();
        let workspace = files.mounts.workspace();
        let workspace = workspace.filter(|mount| {
            mount.access == MountAccess::ReadWrite
                && executor.allows_path(&mount.path, &mount.path, Access::ReadWrite)
        });
        let Some(workspace) = workspace.filter(|_| !programs.is_empty()) else {
            return Self(Vec::new());
        };
        programs.retain(|program| !executor.decides_program(&workspace.path, program.name()));
        Self(programs)
    }

    /// Returns true if the line does a command itself.
    pub(super) fn include(&self, command: &LineCommand) -> bool {
        OwnCommand::parse_unexpanded(command)
            .is_some_and(|command| self.0.contains(&command.program))
    }
}

/// Returns true if the operands are in the workspace, a skill or a mount, and no directory is to be copied,
/// moved or removed. Commands about others need a question, as other programs do.
fn is_done_here(
    files: &VirtualFiles,
    current_dir: &str,
    is_moved: bool,
    command: &OwnCommand,
) -> bool {
    let sources = match command.program {
        OwnProgram::Copy | OwnProgram::Move => command.operands.len().saturating_sub(1),
        OwnProgram::Remove => command.operands.len(),
        _ => 0,
    };
    command.operands.iter().enumerate().all(|(index, operand)| {
        let Ok(resolved) = resolve(files, current_dir, operand) else {
            // After a `cd` it can be another path, which is checked when the command runs.
            return is_moved && operand.starts_with("..");
        };
        let is_source = index < sources;
        let is_read = is_source && command.program == OwnProgram::Copy;
        let is_writable = resolved.skill.is_none() && resolved.access == MountAccess::ReadWrite;
        (is_read || is_writable) && !(is_source && files.open_directory(&resolved).is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_commands_are_done_here() {
        for (command, expected) in [
            ("mkdir -p a b", Some((true, 2))),
            ("mkdir a -p", Some((true, 1))),
            ("rm -f -- -p", Some((true, 1))),
            ("tee -", Some((false, 1))),
            ("cp a b", Some((false, 2))),
            ("cp -r a b", None),
            ("rm -rf a", None),
            ("rm -r a", None),
            ("mkdir -m 777 a", None),
            ("mv --backup a b", None),
            ("mv -t d a", None),
            ("touch -r a b", None),
            ("ln a b", None),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let parsed = OwnCommand::parse(&words);
            let parsed = parsed.map(|command| (command.has_option, command.operands.len()));
            assert_eq!(parsed, expected, "{command}");
        }
    }
}
