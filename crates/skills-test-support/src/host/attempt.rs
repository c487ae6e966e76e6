//! Tries a list of system calls in order, in a child process.
#![expect(unsafe_code, reason = "processes and system calls")]

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};

use libc::{c_int, c_long};

/// A step: the name under which its failure is reported, and the system call.
pub(super) type Step<T> = (&'static str, fn(&T) -> Result<(), c_int>);

/// Tries the steps in a child process, which then exits. The process of the tests is not changed.
///
/// Between `fork` and `_exit` a step must not allocate or take a lock, since another thread of the
/// parent may have held it.
///
/// # Errors
/// With the name of the first step that failed, and the system's error.
pub(super) fn attempt<T>(steps: &[Step<T>], prepared: &T) -> Result<(), String> {
    let (reader, writer) = io::pipe().map_err(|error| format!("pipe: {error}"))?;
    // SAFETY: the child calls only `attempt_in_child`: the system calls of the steps, one write,
    // and `_exit`.
    match unsafe { libc::fork() } {
        -1 => Err(format!("fork: {}", io::Error::last_os_error())),
        0 => attempt_in_child(steps, prepared, writer),
        child => {
            drop(writer);
            let message = read(reader);
            // SAFETY: the PID is that of a child that was not reaped yet; no status is requested.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
            explain(steps, message)
        }
    }
}

/// The message of the child: the number of steps that succeeded, and the error number of the next
/// one.
type Message = [u8; 2];

fn attempt_in_child<T>(steps: &[Step<T>], prepared: &T, mut writer: PipeWriter) -> ! {
    let mut message: Message = [0, 0];
    for (_, step) in steps {
        if let Err(errno) = step(prepared) {
            message[1] = u8::try_from(errno).unwrap_or(u8::MAX);
            break;
        }
        message[0] += 1;
    }
    let _ = writer.write_all(&message);
    // SAFETY: exits without running destructors, which belong to the parent.
    unsafe { libc::_exit(0) }
}

fn read(mut reader: PipeReader) -> io::Result<Message> {
    let mut message = [0; 2];
    reader.read_exact(&mut message)?;
    Ok(message)
}

fn explain<T>(steps: &[Step<T>], message: io::Result<Message>) -> Result<(), String> {
    match message {
        Ok([done, _]) if usize::from(done) == steps.len() => Ok(()),
        Ok([done, errno]) => {
            let name = steps
                .get(usize::from(done))
                .map_or("unknown", |(name, _)| *name);
            Err(format!(
                "{name}: {}",
                io::Error::from_raw_os_error(errno.into())
            ))
        }
        Err(error) => Err(format!("the child exited without a message: {error}")),
    }
}

/// Converts the return value of a system call to a result with the error number.
pub(super) fn check(result: impl Into<c_long>) -> Result<c_int, c_int> {
    let result = result.into();
    if result < 0 {
        Err(io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or(libc::EIO))
    } else {
        Ok(c_int::try_from(result).unwrap_or(0))
    }
}

/// Writes a text to a file of the kernel, in one write.
pub(super) fn write(path: &'static str, text: &[u8]) -> Result<(), c_int> {
    // The standard library copies a short path to the stack, so this does not allocate.
    let written = File::options()
        .write(true)
        .open(path)
        .and_then(|mut file| file.write_all(text));
    written.map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_that_fails_is_named_with_its_error() {
        assert_eq!(
            attempt::<()>(&[("one", |()| Ok(())), ("two", |()| Ok(()))], &()),
            Ok(())
        );
        let failed = attempt::<()>(
            &[
                ("one", |()| Ok(())),
                ("two", |()| Err(libc::EPERM)),
                ("three", |()| Ok(())),
            ],
            &(),
        );
        assert_eq!(
            failed.unwrap_err(),
            "two: Operation not permitted (os error 1)"
        );
    }

    #[test]
    fn a_child_that_dies_has_failed() {
        // SAFETY: ends the child.
        let failed = attempt::<()>(&[("one", |()| unsafe { libc::_exit(0) })], &());
        assert_eq!(
            failed.unwrap_err(),
            "the child exited without a message: failed to fill whole buffer"
        );
    }
}
