//! Runs the steps of a line in order.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use serde_json::Value;
use skills_runtime::CapturedOutput;
use skills_runtime::policy::FreeProgram;
use skills_runtime::prompt::{
    LineCommand, LineOutput, LineStep, LineWord, RunIf, ShellLine, WordPart,
};

use super::expansion::{Field, expand_pattern, split_fields};
use super::file_change::{Changed, FileChange};
use super::own_command::{OwnCommand, OwnProgram};
use super::redirected_files::{OutputFile, join_path, read_input};
use super::usage::{MAX_PASSED_BYTES, Usage};
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
        variables: Vec::new(),
        current_dir: current_dir.to_owned(),
        stdin: stdin.map(Stream::of_bytes),
        code: 0,
        usage: Usage::default(),
        ended_parts: 0,
        has_effects: false,
        is_written: false,
        printed: Printed::default(),
        created: Vec::new(),
        ended: None,
        is_stopped: false,
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
    /// The variables of the `for` around, the innermost last.
    variables: Vec<(String, String)>,
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
    printed: Printed,
    /// The paths and the data of the files that the line itself wrote.
    created: Vec<(String, Value)>,
    /// The runs so far, merged.
    ended: Option<EndedPart>,
    /// Whether a program ended otherwise than by its exit, which ends the line.
    is_stopped: bool,
    /// Whether the output becomes part of a word.
    is_in_word: bool,
}

/// What commands printed, byte by byte and as a model sees it.
#[derive(Default)]
struct Printed {
    stdout: Stream,
    stderr: Stream,
}

impl Printed {
    fn is_empty(&self) -> bool {
        self.stdout.bytes.is_empty() && self.stderr.bytes.is_empty()
    }
}

#[derive(Default, Clone)]
struct Stream {
    bytes: Vec<u8>,
    text: String,
}

impl Stream {
    fn new(captured: &CapturedOutput, text: &str) -> Self {
        Self {
            bytes: captured.head().to_vec(),
            text: text.to_owned(),
        }
    }

    fn of_bytes(bytes: Vec<u8>) -> Self {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Self { bytes, text }
    }

    fn append(&mut self, other: &Self) -> Result<(), ToolError> {
        self.bytes.extend_from_slice(&other.bytes);
        self.text.push_str(&other.text);
        if self.bytes.len().max(self.text.len()) > MAX_PASSED_BYTES {
            return Err(too_much_output());
        }
        Ok(())
    }
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
                if self.is_stopped {
                    break;
                }
            }
            Ok(())
        })
    }

    async fn run_step(&mut self, step: &LineStep) -> Result<(), ToolError> {
        self.usage.add_step()?;
        self.runner.deadline().check()?;
        // A step can do nothing that waits, and the thread has other calls.
        yield_once().await;
        match step {
            LineStep::ChangeDirectory(word) => self.change_directory(word).await,
            LineStep::Pipeline(commands) => self.run_pipeline(commands).await,
            LineStep::For { name, values, body } => {
                let mut all = Vec::new();
                for word in values {
                    all.extend(self.expand(word).await?);
                    if self.is_stopped {
                        return Ok(());
                    }
                }
                self.code = 0;
                for value in all {
                    self.variables.push((name.clone(), value));
                    let result = self.run_steps(body).await;
                    self.variables.pop();
                    result?;
                    if self.is_stopped {
                        break;
                    }
                }
                Ok(())
            }
        }
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
        let path = join_path(&self.current_dir, directory);
        let resolved = self.files.resolve(&VirtualPath::parse(&path)?)?;
        // A link or a file is found here; the sandbox checks the directory of each run again.
        self.files.open_directory(&resolved)?;
        self.current_dir = path;
        self.code = 0;
        Ok(())
    }

    async fn run_pipeline(&mut self, commands: &[LineCommand]) -> Result<(), ToolError> {
        let mut stdin = self.stdin.take();
        for (index, command) in commands.iter().enumerate() {
            let is_last = index + 1 == commands.len();
            let piped = self.run_command(command, stdin, is_last).await?;
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

    /// Runs a command, and returns what goes to the next one.
    async fn run_command(
        &mut self,
        command: &LineCommand,
        stdin: Option<Stream>,
        is_last: bool,
    ) -> Result<Stream, ToolError> {
        let stdin = match &command.input {
            Some(path) => {
                let bytes = read_input(self.files, &self.current_dir, path)?;
                Some(Stream::of_bytes(bytes))
            }
            None => stdin,
        };
        // Before the command runs, so that it does not run for a file that cannot be written.
        let mut files = Vec::new();
        for output in [&command.stdout, &command.stderr] {
            files.push(match output {
                LineOutput::File { path, append } => Some(OutputFile::find(
                    self.files,
                    &self.current_dir,
                    path,
                    *append,
                )?),
                _ => None,
            });
        }
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
            return self.route(command, stdout, stderr, files);
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
        self.route(command, stdout, stderr, files)
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
            self.tee(&command, &stdin)?;
            return Ok((stdin, stderr));
        }
        let changes = match FileChange::list(self.files, &self.current_dir, command) {
            Ok(changes) => changes,
            Err(message) => {
                self.code = 1;
                return Ok((Stream::default(), Stream::of_bytes(message.into_bytes())));
            }
        };
        for change in changes {
            self.usage.add_change()?;
            self.runner.deadline().check()?;
            let changed = self.apply(change).await?;
            if let Some(message) = changed.failure {
                self.code = 1;
                stderr.append(&Stream::of_bytes(message.into_bytes()))?;
            }
            self.created
                .retain(|(path, _)| Some(path) != changed.removed.as_ref());
            self.created.extend(changed.written);
        }
        Ok((Stream::default(), stderr))
    }

    /// Makes a change on a blocking thread.
    async fn apply(&mut self, change: FileChange) -> Result<Changed, ToolError> {
        let (files, current_dir) = (self.files.clone(), self.current_dir.clone());
        let changed =
            skills_threads::run_blocking(move || change.apply(&files, &current_dir)).await;
        let changed =
            changed.map_err(|_| ToolErrorCode::Internal.error("cannot change a file"))??;
        self.is_written = true;
        Ok(changed)
    }

    fn tee(&mut self, command: &OwnCommand, stdin: &Stream) -> Result<(), ToolError> {
        let mut files = Vec::new();
        for path in &command.operands {
            self.usage.add_change()?;
            let append = command.has_option;
            let file = OutputFile::find(self.files, &self.current_dir, path, append)?;
            files.push(file);
        }
        files
            .into_iter()
            .try_for_each(|file| self.write(file, &stdin.bytes))
    }

    /// Passes the streams of a command on to where they go, and returns what goes to the next one.
    fn route(
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
            (_, Some(file)) => self.write(file, &out.bytes)?,
            (LineOutput::Null | LineOutput::Other, _) => {}
            _ => next = out,
        }
        match (&command.stderr, files.next().flatten()) {
            (_, Some(file)) => self.write(file, &err.bytes)?,
            (LineOutput::Null | LineOutput::Other, _) => {}
            _ => self.printed.stderr.append(&err)?,
        }
        Ok(next)
    }

    fn write(&mut self, mut file: OutputFile, bytes: &[u8]) -> Result<(), ToolError> {
        self.is_written = true;
        file.write(self.files, bytes)?;
        self.created.push(file.describe());
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

    /// Expands a word to words.
    async fn expand(&mut self, word: &LineWord) -> Result<Vec<String>, ToolError> {
        let mut fields = vec![Field::default()];
        for part in &word.parts {
            match part {
                WordPart::Text(text) => {
                    self.usage.add_bytes(text.len())?;
                    Field::last(&mut fields).push_text(text);
                }
                WordPart::Pattern(c) => Field::last(&mut fields).push_pattern(*c),
                WordPart::Variable { name, is_quoted } => {
                    let value = self.variables.iter().rev().find(|(known, _)| known == name);
                    let value = value.map_or("", |(_, value)| value);
                    split_fields(&mut fields, value, *is_quoted, &mut self.usage)?;
                }
                WordPart::Output { line, is_quoted } => {
                    let text = self.output_of(line).await?;
                    if self.is_stopped {
                        return Ok(Vec::new());
                    }
                    split_fields(&mut fields, &text, *is_quoted, &mut self.usage)?;
                }
            }
        }
        let mut words = Vec::new();
        for field in fields.into_iter().filter(Field::is_word) {
            match field.text() {
                Some(text) => words.push(text),
                None => words.extend(self.names_of(field).await?),
            }
        }
        Ok(words)
    }

    /// Returns the names that a pattern stands for, which are found on a blocking thread.
    async fn names_of(&mut self, pattern: Field) -> Result<Vec<String>, ToolError> {
        let (files, current_dir) = (self.files.clone(), self.current_dir.clone());
        let mut usage = std::mem::take(&mut self.usage);
        let expand = move || {
            let names = expand_pattern(&files, &current_dir, &pattern, &mut usage);
            (names, usage)
        };
        let expanded = skills_threads::run_blocking(expand).await;
        let (names, usage) =
            expanded.map_err(|_| ToolErrorCode::Internal.error("cannot expand a pattern"))?;
        self.usage = usage;
        names
    }

    /// Returns what a line in a word prints, without the line ends after it.
    async fn output_of(&mut self, line: &ShellLine) -> Result<String, ToolError> {
        let stdout = std::mem::take(&mut self.printed.stdout);
        let current_dir = self.current_dir.clone();
        let was_in_word = std::mem::replace(&mut self.is_in_word, true);
        let result = self.run_steps(line).await;
        self.is_in_word = was_in_word;
        self.current_dir = current_dir;
        let inner = std::mem::replace(&mut self.printed.stdout, stdout);
        result?;
        // As it was printed: the words are for programs, which do not know what a model sees.
        let text = String::from_utf8(inner.bytes).ok();
        let Some(text) = text.filter(|text| !text.contains('\0')) else {
            return Err(ToolErrorCode::InvalidArguments.error(
                "the output of a command in a word is not UTF-8, or contains a NUL character",
            ));
        };
        Ok(text.trim_end_matches('\n').to_owned())
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
        let repeats_effects = self.is_written || self.has_effects;
        let count = self.ended_parts;
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

/// Fails if a command that was free before expansion is not free any more: nothing asks in the middle of
/// a line.
fn check_expanded(is_free: bool, words: &[String]) -> Result<(), ToolError> {
    let Some((name, args)) = words.split_first() else {
        return Ok(());
    };
    let wants_more = FreeProgram::of(name).is_some_and(|program| program.wants_more(args));
    if !is_free || !wants_more {
        return Ok(());
    }
    Err(expanded_option(words))
}

fn expanded_option(words: &[String]) -> ToolError {
    let name = words.first().map(String::as_str).unwrap_or_default();
    let error = ToolErrorCode::PermissionDenied.error(format!(
        "cannot run `{name}`: an expansion has an option that needs permission"
    ));
    error.with_hint("write the option into the command, so that the user can be asked")
}

/// Lets other tasks of the thread run.
async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

fn too_much_output() -> ToolError {
    ToolErrorCode::TooLarge
        .error(format!(
            "a command of the line printed more than {} MiB",
            MAX_PASSED_BYTES >> 20
        ))
        .with_hint("limit its output, or write it to a file with a script")
}
