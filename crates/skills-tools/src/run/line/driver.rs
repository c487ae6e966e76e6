//! Runs the steps of a line in order.

mod tasks;
mod words;

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use skills_runtime::prompt::{
    LineCommand, LineInput, LineOutput, LineStep, LineWord, RunIf, ShellLine, WordPart,
};

use self::tasks::{find_operands, find_outputs, rescan, run_blocking, yield_once};
use self::words::{check_expanded, expanded_option};
use super::file_change::{Changed, FileChange};
use super::own_command::{OwnCommand, OwnProgram};
use super::redirected_files::{OutputFile, find_path, read_input};
use super::streams::{Printed, Stream, text_of_output, too_much_output};
use super::usage::Usage;
use super::variables::{LineReader, Variables};
use super::{EndedPart, Line, Part, PartRunner};
use crate::run::command_line::CommandLine;
use crate::run::output::{ExitKind, ProgramOutput};
use crate::virtual_files::VirtualFiles;
use crate::virtual_path::VirtualPath;
use crate::{ToolError, ToolErrorCode, ToolOutput};

type StepFuture<'a> = Pin<Box<dyn Future<Output = Result<(), ToolError>> + Send + 'a>>;

/// Runs a line that starts in the directory with a virtual path.
///
/// # Errors
/// As a call with the command that failed, if it is the first one. Otherwise the result has the error
/// and what was printed before. What ran before is not undone.
pub(crate) async fn run_line(
    runner: &dyn PartRunner,
    files: &VirtualFiles,
    line: &Line,
    current_dir: &str,
    stdin: Option<Vec<u8>>,
) -> Result<ToolOutput, ToolError> {
    let mut driver = Driver {
        runner,
        files,
        line,
        variables: Variables::default(),
        current_dir: current_dir.to_owned(),
        stdin: stdin.map(Stream::of_bytes),
        code: 0,
        usage: Usage::default(),
        ended_parts: 0,
        has_effects: false,
        is_written: false,
        needs_rescan: false,
        printed: Printed::default(),
        created: Vec::new(),
        ended: None,
        is_stopped: false,
        is_exited: false,
        is_in_word: false,
    };
    match driver.run_steps(&line.tree).await {
        Ok(()) => driver.finish(),
        Err(error) => driver.fail(error),
    }
}

struct Driver<'a> {
    runner: &'a dyn PartRunner,
    files: &'a VirtualFiles,
    line: &'a Line,
    variables: Variables,
    current_dir: String,
    /// Standard input of the first command.
    stdin: Option<Stream>,
    /// The exit code of the last step.
    code: i32,
    usage: Usage,
    ended_parts: usize,
    /// Whether a part that is not free has ended.
    has_effects: bool,
    /// Whether the line itself changed a file, or tried to.
    is_written: bool,
    /// Whether a file has changed since the last scan.
    needs_rescan: bool,
    printed: Printed,
    /// The paths and the data of the files that the line itself wrote.
    created: Vec<(String, Value)>,
    /// The runs so far, merged.
    ended: Option<EndedPart>,
    /// Whether a program ended otherwise than by its exit, which ends the line.
    is_stopped: bool,
    /// Whether an `exit` ended the line.
    is_exited: bool,
    /// Whether the output becomes part of a word.
    is_in_word: bool,
}

impl Driver<'_> {
    fn run_steps<'b>(&'b mut self, line: &'b ShellLine) -> StepFuture<'b> {
        Box::pin(async move {
            for (run_if, step) in &line.steps {
                let starts = match run_if {
                    RunIf::Always => true,
                    RunIf::Success => self.code == 0,
                    RunIf::Failure => self.code != 0,
                };
                if starts {
                    self.run_step(step).await?;
                }
                if self.is_ended() {
                    break;
                }
            }
            Ok(())
        })
    }

    fn is_ended(&self) -> bool {
        self.is_stopped || self.is_exited
    }

    async fn run_step(&mut self, step: &LineStep) -> Result<(), ToolError> {
        self.usage.add_step()?;
        self.runner.check()?;
        // A step can do nothing that waits, and the thread has other calls.
        yield_once().await;
        match step {
            LineStep::ChangeDirectory(word) => self.change_directory(word).await,
            LineStep::Pipeline(commands) => {
                let stdin = self.stdin.take();
                self.run_pipeline(commands, stdin).await
            }
            LineStep::Not(commands) => {
                self.run_pipeline(commands, None).await?;
                self.code = i32::from(self.code == 0);
                Ok(())
            }
            LineStep::For { name, values, body } => self.run_for(name, values, body).await,
            LineStep::Assign(variables) => self.assign(variables).await,
            LineStep::Exit(code) => {
                self.code = code.map_or(self.code, i32::from);
                self.is_exited = true;
                Ok(())
            }
            LineStep::Group(line) => self.run_steps(line).await,
            LineStep::If {
                branches,
                otherwise,
            } => self.run_if(branches, otherwise.as_ref()).await,
            LineStep::ForLines { .. } => self.run_for_lines(step).await,
            LineStep::Piped { line, commands } => {
                let printed = self.printed_by(line).await?;
                if self.is_stopped {
                    return Ok(());
                }
                self.run_pipeline(commands, Some(printed)).await
            }
        }
    }

    async fn run_for(
        &mut self,
        name: &str,
        values: &[LineWord],
        body: &ShellLine,
    ) -> Result<(), ToolError> {
        let mut all = Vec::new();
        for word in values {
            all.extend(self.expand(word).await?);
            if self.is_stopped {
                return Ok(());
            }
        }
        if all.is_empty() {
            self.code = 0;
        }
        for value in all {
            self.variables.set(name, value);
            self.run_steps(body).await?;
            if self.is_ended() {
                break;
            }
        }
        Ok(())
    }

    async fn assign(&mut self, variables: &[(String, LineWord)]) -> Result<(), ToolError> {
        let is_output = |part: &WordPart| matches!(part, WordPart::Output { .. });
        let mut parts = variables.iter().flat_map(|(_, value)| &value.parts);
        let has_output = parts.any(is_output);
        for (name, value) in variables {
            let value = self.expand_text(value).await?;
            if self.is_stopped {
                return Ok(());
            }
            self.variables.set(name, value);
        }
        // With a command it is that of the command.
        if !has_output {
            self.code = 0;
        }
        Ok(())
    }

    async fn run_if(
        &mut self,
        branches: &[(ShellLine, ShellLine)],
        otherwise: Option<&ShellLine>,
    ) -> Result<(), ToolError> {
        for (condition, line) in branches {
            self.run_steps(condition).await?;
            if self.is_ended() {
                return Ok(());
            }
            if self.code == 0 {
                return self.run_steps(line).await;
            }
        }
        match otherwise {
            Some(line) => self.run_steps(line).await,
            None => {
                self.code = 0;
                Ok(())
            }
        }
    }

    /// Runs a loop over lines, in a process of its own if a pipe has them.
    async fn run_for_lines(&mut self, step: &LineStep) -> Result<(), ToolError> {
        let LineStep::ForLines {
            source,
            input,
            names,
            keeps_space,
            is_raw,
            body,
        } = step
        else {
            return Ok(());
        };
        let outer = (!source.is_empty()).then(|| self.subshell());
        let input = match input {
            Some(input) => Some(self.read_redirected(input).await?),
            None if self.is_stopped => None,
            None => Some(self.printed_by_commands(source).await?),
        };
        let Some(input) = input.filter(|_| !self.is_stopped) else {
            return Ok(());
        };
        let reader = LineReader {
            names,
            keeps_space: *keeps_space,
            is_raw: *is_raw,
        };
        let text = text_of_output(input.bytes)?;
        self.usage.add_bytes(text.len())?;
        self.code = 0;
        for line in text.split_inclusive('\n') {
            let (line, is_whole) = match line.strip_suffix('\n') {
                Some(line) => (line, true),
                None => (line, false),
            };
            for (name, value) in reader.split(line)? {
                self.variables.set(name, value.to_owned());
            }
            if !is_whole {
                break;
            }
            self.run_steps(body).await?;
            if self.is_ended() {
                break;
            }
        }
        if let Some(outer) = outer {
            self.leave_subshell(outer);
        }
        Ok(())
    }

    /// Returns what a process of its own does not change in a shell.
    fn subshell(&self) -> (Variables, String) {
        (self.variables.clone(), self.current_dir.clone())
    }

    fn leave_subshell(&mut self, outer: (Variables, String)) {
        (self.variables, self.current_dir) = outer;
        self.is_exited = false;
    }

    async fn read_redirected(&mut self, input: &LineInput) -> Result<Stream, ToolError> {
        let bytes = match input {
            LineInput::File(path) => read_input(self.files, &self.current_dir, path)?,
            LineInput::Text(text) => self.expand_text(text).await?.into_bytes(),
        };
        Ok(Stream::of_bytes(bytes))
    }

    /// Returns what a line prints, which runs as a process of its own.
    async fn printed_by(&mut self, line: &ShellLine) -> Result<Stream, ToolError> {
        let outer = self.subshell();
        let stdout = std::mem::take(&mut self.printed.stdout);
        let was_in_word = std::mem::replace(&mut self.is_in_word, true);
        let result = self.run_steps(line).await;
        self.is_in_word = was_in_word;
        self.leave_subshell(outer);
        let inner = std::mem::replace(&mut self.printed.stdout, stdout);
        result?;
        Ok(inner)
    }

    async fn printed_by_commands(&mut self, commands: &[LineCommand]) -> Result<Stream, ToolError> {
        let stdout = std::mem::take(&mut self.printed.stdout);
        let was_in_word = std::mem::replace(&mut self.is_in_word, true);
        let result = self.run_pipeline(commands, None).await;
        self.is_in_word = was_in_word;
        let inner = std::mem::replace(&mut self.printed.stdout, stdout);
        result?;
        Ok(inner)
    }

    async fn change_directory(&mut self, word: &LineWord) -> Result<(), ToolError> {
        let words = self.expand(word).await?;
        if self.is_stopped {
            return Ok(());
        }
        let [directory] = words.as_slice() else {
            return Err(ToolErrorCode::InvalidArguments
                .error("cannot change the directory: expected one path"));
        };
        let path = find_path(self.files, &self.current_dir, directory)?;
        let resolved = self.files.resolve(&VirtualPath::parse(&path)?)?;
        // A link or a file is found here; the sandbox checks the directory of each run again.
        self.files.open_directory(&resolved)?;
        self.current_dir = path;
        self.code = 0;
        Ok(())
    }

    async fn run_pipeline(
        &mut self,
        commands: &[LineCommand],
        mut stdin: Option<Stream>,
    ) -> Result<(), ToolError> {
        for (index, command) in commands.iter().enumerate() {
            let is_last = index + 1 == commands.len();
            let piped = self.run_command(command, stdin, is_last).await;
            self.rescan().await?;
            let piped = piped?;
            if self.is_stopped {
                return Ok(());
            }
            if is_last {
                self.printed.stdout.append(&piped)?;
            }
            stdin = Some(piped);
        }
        Ok(())
    }

    /// Scans after a command that changed files, which can be those of a skill.
    async fn rescan(&mut self) -> Result<(), ToolError> {
        if !std::mem::take(&mut self.needs_rescan) || !self.files.may_overlap_skills() {
            return Ok(());
        }
        rescan(self.files).await
    }

    /// Runs a command, and returns what goes to the next one.
    async fn run_command(
        &mut self,
        command: &LineCommand,
        stdin: Option<Stream>,
        is_last: bool,
    ) -> Result<Stream, ToolError> {
        let stdin = match &command.input {
            Some(input) => Some(self.read_redirected(input).await?),
            None => stdin,
        };
        if self.is_stopped {
            return Ok(Stream::default());
        }
        // Before the command runs, so that it does not run for a file that cannot be written.
        let files = find_outputs(self.files, &self.current_dir, command)?;
        let mut words = Vec::new();
        for word in &command.words {
            words.extend(self.expand(word).await?);
            // A command never runs with a part of its words.
            if self.is_stopped {
                return Ok(Stream::default());
            }
        }
        if self.line.own_programs.include(command) {
            let (stdout, stderr) = self.run_own(&words, stdin.unwrap_or_default()).await?;
            self.ended_parts += 1;
            return self.route(command, stdout, stderr, files).await;
        }
        self.usage.add_start()?;
        let is_free = self.line.is_free(command);
        check_expanded(is_free, &words)?;
        let part = Part {
            literal_words: super::literal_words(command).len(),
            is_free,
            command: CommandLine::Argv(words),
            current_dir: self.current_dir.clone(),
            stdin: stdin.map(|stream| stream.bytes),
            passes_output: !is_last || self.is_in_word || files.iter().any(Option::is_some),
        };
        let passes_output = part.passes_output;
        let ended = self.runner.run_part(part).await?;
        self.has_effects |= !is_free;
        let stdout = Stream::new(&ended.stdout, &ended.output.stdout);
        let stderr = Stream::new(&ended.stderr, &ended.output.stderr);
        let is_cut = ended.stdout.is_truncated() || ended.stderr.is_truncated();
        self.add(ended);
        if self.is_stopped {
            self.printed.stdout.append(&stdout)?;
            self.printed.stderr.append(&stderr)?;
            return Ok(Stream::default());
        }
        // Nothing is passed on in part.
        if passes_output && is_cut {
            return Err(too_much_output());
        }
        self.route(command, stdout, stderr, files).await
    }

    /// Does a command that the line does itself, and returns what the program would print.
    async fn run_own(
        &mut self,
        words: &[String],
        stdin: Stream,
    ) -> Result<(Stream, Stream), ToolError> {
        let Some(command) = OwnCommand::parse(words) else {
            return Err(expanded_option(words));
        };
        self.code = 0;
        let mut stderr = Stream::default();
        if command.program == OwnProgram::Tee {
            self.tee(command, &stdin).await?;
            return Ok((stdin, stderr));
        }
        let changes = match FileChange::list(self.files, &self.current_dir, command) {
            Ok(changes) => changes,
            Err(message) => {
                self.code = 1;
                return Ok((Stream::default(), Stream::of_bytes(message.into_bytes())));
            }
        };
        if let Err(error) = self.make_changes(changes, &mut stderr).await {
            // What failed before is part of the result.
            self.printed.stderr.append(&stderr)?;
            return Err(error);
        }
        Ok((Stream::default(), stderr))
    }

    /// Makes the changes of a command, and adds the messages of those that fail to `stderr`.
    async fn make_changes(
        &mut self,
        changes: Vec<FileChange>,
        stderr: &mut Stream,
    ) -> Result<(), ToolError> {
        let mut made = HashSet::new();
        self.usage.add_changes(changes.len())?;
        for change in changes {
            self.runner.check()?;
            let target = change.target().map(str::to_owned);
            let changed = match change.replaces_made(&made) {
                Some(failed) => failed,
                None => self.apply(change).await?,
            };
            if changed.written.is_some() {
                made.extend(target);
            }
            if let Some(message) = changed.failure {
                self.code = 1;
                stderr.append(&Stream::of_bytes(message.into_bytes()))?;
            }
            self.created
                .retain(|(path, _)| Some(path) != changed.removed.as_ref());
            self.created.extend(changed.written);
        }
        Ok(())
    }

    /// Makes a change on a blocking thread.
    async fn apply(&mut self, change: FileChange) -> Result<Changed, ToolError> {
        let (files, current_dir) = (self.files.clone(), self.current_dir.clone());
        let changed = run_blocking(move || change.apply(&files, &current_dir)).await?;
        self.is_written = true;
        self.needs_rescan |= changed.written.is_some() || changed.failure.is_none();
        Ok(changed)
    }

    /// Writes its input to all files, if each of them may be written.
    async fn tee(&mut self, command: OwnCommand, stdin: &Stream) -> Result<(), ToolError> {
        self.usage.add_changes(command.operands.len())?;
        let found = find_operands(self.files, &self.current_dir, command).await?;
        let bytes = Arc::new(stdin.bytes.clone());
        for file in found {
            self.runner.check()?;
            self.write(file, Arc::clone(&bytes)).await?;
        }
        Ok(())
    }

    /// Passes the streams of a command on to where they go, and returns what goes to the next one.
    async fn route(
        &mut self,
        command: &LineCommand,
        stdout: Stream,
        stderr: Stream,
        files: Vec<Option<OutputFile>>,
    ) -> Result<Stream, ToolError> {
        let mut next = Stream::default();
        // At most one of the two is `Other`.
        let (mut out, mut err) = (stdout, stderr);
        if command.stderr == LineOutput::Other {
            out.append(&err)?;
            err = Stream::default();
        } else if command.stdout == LineOutput::Other {
            err.append(&out)?;
            out = Stream::default();
        }
        let mut files = files.into_iter();
        match (&command.stdout, files.next().flatten()) {
            (_, Some(file)) => self.write(file, Arc::new(out.bytes)).await?,
            (LineOutput::Null | LineOutput::Other, _) => {}
            _ => next = out,
        }
        match (&command.stderr, files.next().flatten()) {
            (_, Some(file)) => self.write(file, Arc::new(err.bytes)).await?,
            (LineOutput::Null | LineOutput::Other, _) => {}
            _ => self.printed.stderr.append(&err)?,
        }
        Ok(next)
    }

    /// Writes a file on a blocking thread.
    async fn write(&mut self, mut file: OutputFile, bytes: Arc<Vec<u8>>) -> Result<(), ToolError> {
        self.is_written = true;
        let files = self.files.clone();
        let write = move || file.write(&files, &bytes).map(|()| file.describe());
        self.created.push(run_blocking(write).await?);
        self.needs_rescan = true;
        Ok(())
    }

    /// Adds a part to the result of the line. Its last part determines how it ended.
    fn add(&mut self, ended: EndedPart) {
        self.ended_parts += 1;
        match ended.output.exit {
            ExitKind::Exited(code) => self.code = code,
            _ => self.is_stopped = true,
        }
        let output = match self.ended.take() {
            Some(earlier) => ended.output.after(earlier.output),
            None => ended.output,
        };
        self.ended = Some(EndedPart { output, ..ended });
    }

    /// Returns the result of a line that ended.
    fn finish(self) -> Result<ToolOutput, ToolError> {
        let (code, is_stopped, is_written) = (self.code, self.is_stopped, self.is_written);
        let mut ended = self.merge();
        if !is_stopped {
            ended.output = ended.output.with_exit_code(code);
        }
        let mut output = ended.into_tool_output();
        output.repeats_effects = is_written;
        Ok(output)
    }

    /// Returns the result of a line that an error ended, with what was printed before.
    fn fail(self, mut error: ToolError) -> Result<ToolOutput, ToolError> {
        let (repeats_effects, count) = (self.is_written || self.has_effects, self.ended_parts);
        if self.ended.is_none() && !self.is_written && self.printed.is_empty() {
            return Err(error);
        }
        let ended = self.merge();
        error.message = format!("{} (commands of the line that ran: {count})", error.message);
        let mut output = ended.into_unfinished(&error);
        output.repeats_effects = repeats_effects;
        Ok(output)
    }

    /// Returns the parts that ended as one, with what they printed and wrote.
    fn merge(self) -> EndedPart {
        let ended = self.ended.unwrap_or_else(EndedPart::without_program);
        let output: ProgramOutput = ended
            .output
            .with_streams(self.printed.stdout.text, self.printed.stderr.text)
            .with_written_files(self.created);
        EndedPart { output, ..ended }
    }
}
