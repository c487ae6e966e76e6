//! Command lines with parts that run without a shell.
//!
//! A line is what its parts are as calls of their own: each program is a run with its own question and
//! grants, and gets the output of the one before as standard input. The files of redirections and the
//! names of patterns are those of the file tools. So a line can do nothing that single calls cannot do.

mod driver;
mod expansion;
mod file_change;
mod own_command;
mod redirected_files;
mod streams;
mod usage;
mod variables;

use std::pin::Pin;

use serde_json::Value;
use skills_runtime::CapturedOutput;
use skills_runtime::policy::{Access, FreeProgram};
use skills_runtime::prompt::{LineCommand, LineStep, LineWord, ShellLine, WordPart};

use self::own_command::OwnPrograms;
use super::Deadline;
use super::command_line::CommandLine;
use super::output::ProgramOutput;
use crate::virtual_files::VirtualFiles;
use crate::virtual_path::VirtualPath;
use crate::{CallContext, ToolError, ToolErrorCode, ToolOutput};

pub(crate) use driver::run_line;
pub(crate) use usage::MAX_PASSED_BYTES;

/// A program of a line, ready to start.
pub(crate) struct Part {
    /// The program and its arguments, after expansion; or what a shell runs, for a call without parts.
    pub(crate) command: CommandLine,
    /// How many of the words, from the first, had no expansion.
    pub(crate) literal_words: usize,
    /// The virtual path of its working directory.
    pub(crate) current_dir: String,
    pub(crate) stdin: Option<Vec<u8>>,
    /// Whether its output is passed on, as a whole.
    pub(crate) passes_output: bool,
    /// Whether it is a part that needs no permission, and so gets no hosts of the call.
    pub(crate) is_free: bool,
}

impl Part {
    /// Returns a call as its only part.
    pub(crate) fn whole(command: CommandLine, current_dir: &str, stdin: Option<String>) -> Self {
        Self {
            command,
            literal_words: usize::MAX,
            current_dir: current_dir.to_owned(),
            stdin: stdin.map(String::into_bytes),
            passes_output: false,
            is_free: false,
        }
    }

    /// Returns the command up to the first word with an expansion, which decides whether it is a
    /// program of a skill: hooks see what the model wrote.
    pub(crate) fn literal_command(&self) -> CommandLine {
        match &self.command {
            CommandLine::Argv(words) => {
                let count = self.literal_words.min(words.len());
                CommandLine::Argv(words[..count].to_vec())
            }
            shell => shell.clone(),
        }
    }
}

/// A part that has ended.
pub(crate) struct EndedPart {
    pub(crate) output: ProgramOutput,
    /// What it printed, byte by byte.
    pub(crate) stdout: CapturedOutput,
    pub(crate) stderr: CapturedOutput,
    /// The timeout in seconds, as messages show it.
    pub(crate) timeout_seconds: String,
}

pub(crate) type PartFuture<'a> =
    Pin<Box<dyn Future<Output = Result<EndedPart, ToolError>> + Send + 'a>>;

/// Runs the parts of a line, each as a call with this command would.
pub(crate) trait PartRunner: Sync {
    fn run_part(&self, part: Part) -> PartFuture<'_>;

    /// Returns the deadline of the call.
    fn deadline(&self) -> &Deadline;

    fn context(&self) -> &CallContext;

    /// Fails if the call is cancelled, or no time remains.
    fn check(&self) -> Result<(), ToolError> {
        if self.context().is_cancelled() {
            return Err(ToolErrorCode::Cancelled.error("cancelled"));
        }
        self.deadline().check()
    }
}

/// A line that runs without a shell.
pub(crate) struct Line {
    tree: ShellLine,
    own_programs: OwnPrograms,
}

impl Line {
    /// Returns true if a command needs no permission.
    fn is_free(&self, command: &LineCommand) -> bool {
        is_free_program(command) || self.own_programs.include(command)
    }
}

impl EndedPart {
    /// Returns the result of a line before its first program.
    fn without_program() -> Self {
        Self {
            output: ProgramOutput::without_program(),
            stdout: CapturedOutput::default(),
            stderr: CapturedOutput::default(),
            timeout_seconds: String::new(),
        }
    }

    pub(crate) fn into_tool_output(self) -> ToolOutput {
        self.output.into_tool_output(&self.timeout_seconds)
    }

    /// Returns the result of a line that an error ended after this part.
    fn into_unfinished(self, error: &ToolError) -> ToolOutput {
        let mut output = self.output.with_exit_code(0).into_tool_output("");
        if let Some(data) = output.structured.as_object_mut() {
            data.insert("exit_code".to_owned(), Value::Null);
        }
        output.exit_status = None;
        output.fail_with(error);
        if let Some(hint) = &error.hint {
            output.add_own_line(&format!("Hint: {hint}"));
        }
        output
    }
}

/// Returns a line that runs without a shell: at most one of its parts can need a question, and that one is
/// known before anything runs. `None` if a shell runs it, which is one question, or if it is one program.
/// `skill` is the name of the skill for which its commands run, `skill_directory` what the words for its
/// directory stand for, `current_dir` where they start.
///
/// # Errors
/// Fails if the search panics.
pub(crate) async fn find_line(
    files: &VirtualFiles,
    command: &CommandLine,
    skill: Option<&str>,
    skill_directory: Option<&str>,
    current_dir: &str,
    has_stdin: bool,
) -> Result<Option<Line>, ToolError> {
    let tree = match command {
        CommandLine::Shell(text) => match skill_directory {
            Some(directory) => ShellLine::parse_in_skill(text, directory),
            None => ShellLine::parse(text),
        },
        CommandLine::Argv(words) => Some(ShellLine::of_words(words)),
    };
    let Some(tree) = tree else {
        return Ok(None);
    };
    let is_line = matches!(command, CommandLine::Shell(_));
    let (files, skill) = (files.clone(), skill.map(str::to_owned));
    let current_dir = current_dir.to_owned();
    let find = move || {
        let line = find_own_programs(&files, tree, &current_dir)?;
        let skill = skill.as_deref();
        let runs_here = if is_line {
            runs_without_shell(&files, &line, skill, has_stdin)
        } else {
            let commands = line.tree.commands();
            commands.iter().all(|one| line.own_programs.include(one))
        };
        runs_here.then_some(line)
    };
    // Operands are opened, and a skill among them can need a scan.
    let found = skills_threads::run_blocking(find).await;
    found.map_err(|_| ToolErrorCode::Internal.error("cannot examine the command"))
}

/// Returns a line with the programs that it does itself; `None` where a shell knows more.
fn find_own_programs(files: &VirtualFiles, tree: ShellLine, current_dir: &str) -> Option<Line> {
    let workspace = &files.mounts.workspace()?.path;
    // The user gave all that a shell needs.
    if files.runtime.executor().allows_any_program(workspace) {
        return None;
    }
    let own_programs = OwnPrograms::find(files, current_dir, &tree);
    Some(Line { tree, own_programs })
}

fn runs_without_shell(
    files: &VirtualFiles,
    line: &Line,
    skill: Option<&str>,
    has_stdin: bool,
) -> bool {
    let Some(workspace) = files.mounts.workspace() else {
        return false;
    };
    let (workspace, executor) = (&workspace.path, files.runtime.executor());
    let tree = &line.tree;
    let is_single = matches!(tree.steps.as_slice(), [(_, LineStep::Pipeline(_))]);
    let ends_in_command = !matches!(tree.steps.last(), Some((_, LineStep::ChangeDirectory(_))));
    let reads_names = executor.allows_path(workspace, workspace, Access::ReadOnly);
    let has_no_shell_part = !reads_stdin_in_word(tree, has_stdin)
        && !has_outside_pattern(files, tree)
        && (executor.confines_commands(skill) || !needs_confinement(tree));
    has_no_shell_part
        && ends_in_command
        && reads_names
        && (is_single || !has_stdin)
        && has_one_question(line)
}

/// Returns true if a program is free only where it can be confined.
fn needs_confinement(line: &ShellLine) -> bool {
    let names = line.commands().into_iter().map(literal_words);
    names
        .filter_map(|words| FreeProgram::of(words.first()?))
        .any(FreeProgram::does_more)
}

/// Returns true if a `$(…)` is where a shell gives its commands the input of the line, a pipe or a loop.
fn reads_stdin_in_word(line: &ShellLine, has_stdin: bool) -> bool {
    let in_word = |word: &LineWord, has_stdin: bool| {
        word.parts.iter().any(|part| match part {
            WordPart::Output { line, .. } => has_stdin || reads_stdin_in_word(line, false),
            _ => false,
        })
    };
    line.steps.iter().any(|(_, step)| {
        let is_piped = matches!(step, LineStep::Piped { .. });
        let is_read = matches!(step, LineStep::ForLines { .. });
        let mut commands = step.commands().iter().enumerate();
        let mut lines = step.lines().into_iter().chain(step.repeated_line());
        step.words()
            .into_iter()
            .any(|word| in_word(word, has_stdin))
            || commands.any(|(index, command)| {
                let has_input = has_stdin || is_piped || index > 0;
                let mut words = command.all_words().into_iter();
                words.any(|word| in_word(word, has_input))
            })
            || lines.any(|line| reads_stdin_in_word(line, has_stdin || is_read))
    })
}

/// Returns true if a pattern is about names outside of the workspace, the skills and the mounts.
fn has_outside_pattern(files: &VirtualFiles, line: &ShellLine) -> bool {
    let is_outside = |word: &LineWord| {
        let is_pattern =
            |part: &WordPart| matches!(part, WordPart::Pattern(_) | WordPart::CharSet(_));
        let Some(WordPart::Text(text)) = word.parts.first() else {
            return false;
        };
        let directory = text.rfind('/').map(|end| &text[..end]);
        directory.is_some_and(|directory| {
            let path = if directory.is_empty() { "/" } else { directory };
            let resolved = VirtualPath::parse(path).and_then(|path| files.resolve(&path));
            let is_absolute = text.starts_with('/') && word.parts.iter().any(is_pattern);
            is_absolute
                && resolved.is_err_and(|error| error.code == ToolErrorCode::PathOutsideMounts)
        })
    };
    let commands = line.commands();
    commands
        .iter()
        .any(|command| command.words.iter().any(is_outside))
}

/// Returns true if at most one command is not free, and its words do not depend on output or variables.
fn has_one_question(line: &Line) -> bool {
    let commands = line.tree.commands();
    let mut others = commands.iter().filter(|command| !line.is_free(command));
    let Some(other) = others.next() else {
        return true;
    };
    let is_plain = |word: &LineWord| {
        let mut parts = word.parts.iter();
        parts.all(|part| {
            !matches!(
                part,
                WordPart::Variable { .. }
                    | WordPart::Output { .. }
                    | WordPart::Length(_)
                    | WordPart::ExitCode
            )
        })
    };
    others.next().is_none()
        && other.all_words().into_iter().all(is_plain)
        && !is_repeated(&line.tree, other)
}

/// Returns true if a command is not one that runs at most once: it is in a loop or in a word.
fn is_repeated(line: &ShellLine, command: &LineCommand) -> bool {
    line.steps.iter().all(|(_, step)| {
        let mut commands = step.commands().iter();
        !commands.any(|one| std::ptr::eq(one, command))
            && step
                .lines()
                .into_iter()
                .all(|line| is_repeated(line, command))
    })
}

/// Returns true if a command is a program that needs no permission.
fn is_free_program(command: &LineCommand) -> bool {
    let words: Vec<String> = literal_words(command);
    let program = words.first().and_then(|name| FreeProgram::of(name));
    program.is_some_and(|program| !program.wants_more(&words[1..]))
}

/// Returns the commands of a line up to their first words with an expansion, or a command as it is.
pub(crate) fn literal_commands(command: CommandLine) -> Vec<CommandLine> {
    let line = match &command {
        CommandLine::Shell(text) => ShellLine::parse(text),
        CommandLine::Argv(_) => None,
    };
    match line {
        Some(line) => {
            let commands = line.commands().into_iter();
            commands
                .map(|one| CommandLine::Argv(literal_words(one)))
                .collect()
        }
        None => vec![command],
    }
}

/// Returns the words of a command before the first with an expansion.
fn literal_words(command: &LineCommand) -> Vec<String> {
    command.words.iter().map_while(LineWord::literal).collect()
}
