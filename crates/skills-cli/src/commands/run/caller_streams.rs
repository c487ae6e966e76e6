//! The streams of this command that a program is connected to.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read, Seek, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use skills_runtime::{InputStream, OutputCopy, ProgramStreams};

use crate::error::CommandError;
use crate::output::Output;

/// The streams of this command that a program is connected to. Default: none.
#[derive(Default)]
pub(super) struct CallerStreams {
    input: Option<CallerInput>,
    output: Option<[Spool; 2]>,
}

impl CallerStreams {
    /// Passes standard input of this command to the program, unless it is a terminal.
    pub(super) fn connect_input(&mut self) {
        self.input = Some(CallerInput::default());
    }

    /// Keeps all output of the program in files without names until it is printed: memory and the
    /// bounds of what a model reads do not limit it.
    pub(super) fn spool_output(&mut self, directory: &Path) -> anyhow::Result<()> {
        self.output = Some([Spool::new(directory)?, Spool::new(directory)?]);
        Ok(())
    }

    /// Returns the streams for a run.
    pub(super) fn program_streams(&self) -> ProgramStreams {
        let mut streams = ProgramStreams::default();
        streams.input = self.input.clone().map(|input| {
            if io::stdin().is_terminal() {
                InputStream::new(io::empty())
            } else {
                InputStream::new(input)
            }
        });
        if let Some([stdout, stderr]) = &self.output {
            streams.stdout = OutputCopy::new(stdout.clone());
            streams.stderr = OutputCopy::new(stderr.clone());
        }
        streams
    }

    /// Prints the output of the program, standard output first, and where it ends.
    pub(super) fn print(&self, output: Output) -> anyhow::Result<()> {
        let Some([stdout, stderr]) = &self.output else {
            return Ok(());
        };
        stdout.read(|stdout| stderr.read(|stderr| output.program_streams(stdout, stderr)))
    }

    /// Reports that standard input could not be read to its end. Returns true in that case: the
    /// program took a part for the whole.
    pub(super) fn report_input_error(&self, output: Output) -> bool {
        let error = self.input.as_ref().and_then(CallerInput::take_error);
        if let Some(error) = &error {
            output.status(&format!("error: cannot read standard input: {error}"));
        }
        error.is_some()
    }
}

/// Standard input of this command.
#[derive(Clone, Default)]
struct CallerInput {
    error: Arc<Mutex<Option<io::Error>>>,
}

impl CallerInput {
    fn take_error(&self) -> Option<io::Error> {
        let mut error = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        error.take()
    }
}

impl Read for CallerInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = io::stdin().read(buffer);
        read.inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                let copy = io::Error::new(error.kind(), error.to_string());
                *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(copy);
            }
        })
    }
}

/// A file without a name that keeps one stream.
#[derive(Clone)]
struct Spool(Arc<Mutex<SpoolFile>>);

struct SpoolFile {
    file: File,
    error: Option<io::Error>,
}

impl Spool {
    fn new(directory: &Path) -> anyhow::Result<Self> {
        let file = tempfile::tempfile_in(directory).with_context(|| {
            let directory = directory.display();
            CommandError::input(format!(
                "cannot create a file for the output in `{directory}`"
            ))
        })?;
        Ok(Self(Arc::new(Mutex::new(SpoolFile { file, error: None }))))
    }

    /// Reads the stream from its start.
    ///
    /// # Errors
    /// Fails if a part of the stream could not be kept, and with the error of `print`.
    fn read(
        &self,
        print: impl FnOnce(&mut BufReader<&File>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut spool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let error = spool.error.take();
        spool.file.rewind()?;
        print(&mut BufReader::new(&spool.file))?;
        match error {
            None => Ok(()),
            Some(error) => Err(error).context("cannot keep all output of the program"),
        }
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut spool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if spool.error.is_some() {
            // Later bytes would be printed as if they followed those before the error.
            return Ok(bytes.len());
        }
        if let Err(error) = spool.file.write_all(bytes) {
            spool.error = Some(error);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
