//! The standard streams of a child: pipes, or a terminal.

use std::os::fd::{OwnedFd, RawFd};

use skills_process::InputEnd;
use skills_sandbox::{SandboxError, TerminalStreams};

use crate::descriptors::{Descriptors, pipe, pipe_error};
use crate::private_terminal::PrivateTerminal;

/// The standard streams of the child, as descriptors above 2.
pub(crate) struct ChildStreams {
    pub(crate) standard: [RawFd; 3],
    /// The slave side of the terminal that becomes the controlling one.
    pub(crate) terminal: Option<RawFd>,
}

/// The parent's ends of the standard streams.
pub(crate) struct ParentStreams {
    pub(crate) stdin: InputEnd,
    pub(crate) stdout: ParentOutput,
    /// `None` if it is the terminal.
    pub(crate) stderr: Option<OwnedFd>,
}

/// The parent's end of standard output.
pub(crate) enum ParentOutput {
    Pipe(OwnedFd),
    Terminal(PrivateTerminal),
}

/// Creates the standard streams: pipes, except those that are the terminal. Returns the child's and
/// the parent's ends.
pub(crate) fn standard_streams(
    descriptors: &mut Descriptors,
    terminal: Option<(PrivateTerminal, RawFd)>,
) -> Result<(ChildStreams, ParentStreams), SandboxError> {
    let slave_of = |is_terminal: fn(&TerminalStreams) -> bool| {
        let terminal = terminal.as_ref();
        let terminal = terminal.filter(|(terminal, _)| is_terminal(&terminal.streams));
        terminal.map(|(terminal, slave)| (terminal, *slave))
    };
    let (child_stdin, stdin) = match slave_of(|streams| streams.input) {
        Some((terminal, slave)) => (slave, terminal.input_end().map_err(pipe_error)?),
        None => {
            let (child_end, parent_end) = pipe()?;
            (descriptors.keep(child_end), InputEnd::Pipe(parent_end))
        }
    };
    let (child_stderr, stderr) = match slave_of(|streams| streams.errors) {
        Some((_, slave)) => (slave, None),
        None => {
            let (parent_end, child_end) = pipe()?;
            (descriptors.keep(child_end), Some(parent_end))
        }
    };
    let slave = terminal.as_ref().map(|(_, slave)| *slave);
    let (child_stdout, stdout) = match terminal {
        Some((terminal, slave)) => (slave, ParentOutput::Terminal(terminal)),
        None => {
            let (parent_end, child_end) = pipe()?;
            (descriptors.keep(child_end), ParentOutput::Pipe(parent_end))
        }
    };
    let child = ChildStreams {
        standard: [child_stdin, child_stdout, child_stderr],
        terminal: slave,
    };
    let parent = ParentStreams {
        stdin,
        stdout,
        stderr,
    };
    Ok((child, parent))
}
