//! How the program of a run ended, if it is not the process that the host process reaps.

use std::os::fd::OwnedFd;

use nix::unistd::read;
use skills_sandbox::Termination;

/// Returns how the program ended. Its own end is in the pipe of the first process, which then exits;
/// a first process that was killed reported nothing, and the program ended with it.
pub(crate) fn program_termination(
    reaped: Termination,
    program_status: Option<OwnedFd>,
) -> Termination {
    match (&reaped, program_status) {
        (Termination::Exited { .. }, Some(pipe)) => read_status(&pipe).map_or(reaped, decode),
        _ => reaped,
    }
}

/// Reads a wait status as the kernel encodes it.
fn read_status(pipe: &OwnedFd) -> Option<i32> {
    let mut bytes = [0; size_of::<i32>()];
    let length = read(pipe, &mut bytes).ok()?;
    (length == bytes.len()).then(|| i32::from_ne_bytes(bytes))
}

fn decode(status: i32) -> Termination {
    if libc::WIFSIGNALED(status) {
        Termination::Signaled {
            signal: libc::WTERMSIG(status),
        }
    } else {
        Termination::Exited {
            code: libc::WEXITSTATUS(status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(status: &[u8]) -> Termination {
        let (reader, writer) = nix::unistd::pipe().unwrap();
        nix::unistd::write(&writer, status).unwrap();
        drop(writer);
        program_termination(Termination::Exited { code: 0 }, Some(reader))
    }

    #[test]
    fn an_exit_code_and_a_signal_are_distinct() {
        let signaled = |signal| Termination::Signaled { signal };
        assert_eq!(
            reported(&(139i32 << 8).to_ne_bytes()),
            Termination::Exited { code: 139 }
        );
        assert_eq!(reported(&11i32.to_ne_bytes()), signaled(11));
        // With a core dump.
        assert_eq!(reported(&(6 | 128i32).to_ne_bytes()), signaled(6));
        assert_eq!(reported(&[]), Termination::Exited { code: 0 });
        assert_eq!(program_termination(signaled(9), None), signaled(9));
    }
}
