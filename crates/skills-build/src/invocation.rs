//! A command line.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// A call of a program: its path, its arguments, variables in addition to those of this process,
/// and the working directory. It is started without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The path of the program.
    pub program: PathBuf,
    /// The arguments, which are never passed through a shell.
    pub args: Vec<OsString>,
    /// Variables and their values.
    pub envs: Vec<(&'static str, OsString)>,
    /// The working directory.
    pub current_dir: PathBuf,
}

impl Invocation {
    pub(crate) fn new(program: impl Into<PathBuf>, directory: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            envs: Vec::new(),
            current_dir: directory.into(),
        }
    }

    /// Returns the program's name without its directory.
    pub(crate) fn name(&self) -> Cow<'_, str> {
        self.program
            .file_name()
            .unwrap_or(self.program.as_os_str())
            .to_string_lossy()
    }

    pub(crate) fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.args.push(argument.into());
        self
    }

    pub(crate) fn args<I: Into<OsString>>(
        mut self,
        arguments: impl IntoIterator<Item = I>,
    ) -> Self {
        self.args.extend(arguments.into_iter().map(Into::into));
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.envs.push((name, value.into()));
        self
    }
}

/// Human-readable: the program's path and its arguments, without quotes.
impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.program.display())?;
        self.args
            .iter()
            .try_for_each(|argument| write!(f, " {}", argument.to_string_lossy()))
    }
}

/// Joins an option and a path, as in `--outfile=PATH`.
pub(crate) fn option(name: &str, value: impl Into<OsString>) -> OsString {
    let mut option = OsString::from(name);
    option.push(value.into());
    option
}
