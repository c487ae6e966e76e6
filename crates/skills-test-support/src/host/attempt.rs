//! A list of system calls, tried in order in a child process.
#![expect(unsafe_code, reason = "processes and system calls")]

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};

use libc::{c_int, c_long};

/// A system call with the name under which its failure is reported.
pub(super) type Step<T> = (&'static str, fn(&T) -> Result<(), c_int>);

/// Tries the steps in a child process, which then ends.
///
/// Between `fork` and `_exit` a step must not allocate or take a lock, since another thread of the
/// parent may have held it.
///
/// # Errors
/// With the name of the first step that failed, and the system's error.
pub(super) fn attempt<T>(steps: &[Step<T>], prepared: &T) -> Result<(), String> {
    let (reader, writer) = io::pipe().map_err(|error| format!("pipe: {error}"))?;
    // SAFETY: the child calls only what `attempt_in_child` does: system calls of the steps, one
    // write, and `_exit`.
    match unsafe { libc::fork() } {
        -1 => Err(format!("fork: {}", io::Error::last_os_error())),
        0 => attempt_in_child(steps, prepared, writer),
        child => {
            drop(writer);
            let answer = read(reader);
            // SAFETY: the number is that of our own child, which was not waited for yet; no status
            // is asked for.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
            explain(steps, answer)
        }
    }
}

/// The child's answer: one past the number of the last step that succeeded, and the error of the
/// next.
type Answer = [u8; 2];

fn attempt_in_child<T>(steps: &[Step<T>], prepared: &T, mut writer: PipeWriter) -> ! {
    let mut answer: Answer = [0, 0];
    for (_, step) in steps {
        if let Err(errno) = step(prepared) {
            answer[1] = u8::try_from(errno).unwrap_or(u8::MAX);
            break;
        }
        answer[0] += 1;
    }
    let _ = writer.write_all(&answer);
    // SAFETY: ends the process at once, without what the parent would do at its end.
    unsafe { libc::_exit(0) }
}

fn read(mut reader: PipeReader) -> io::Result<Answer> {
    let mut answer = [0; 2];
    reader.read_exact(&mut answer)?;
    Ok(answer)
}

fn explain<T>(steps: &[Step<T>], answer: io::Result<Answer>) -> Result<(), String> {
    match answer {
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
        Err(error) => Err(format!("the child ended without an answer: {error}")),
    }
}

/// Returns the result of a system call, or the error.
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
    // A path this short is copied to the stack, so nothing is allocated.
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
            "the child ended without an answer: failed to fill whole buffer"
        );
    }
}
