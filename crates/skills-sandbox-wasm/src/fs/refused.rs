//! Notes the paths that a program was refused.

use std::io;
use std::path::{Component, Path, PathBuf};

use skills_sandbox::{Evidence, Refusal, Refusals, RefusedOperation};
use wasmtime_wasi::filesystem::Dir;

use super::preopens::{Preopens, SCRATCH_PATH};
use super::protected::{InitialFiles, real_path};
use super::withheld_keys::KeyReport;

/// The longest path that is noted.
const MAX_PATH_BYTES: usize = 4_096;

/// What a program tried to do with a path.
#[derive(Clone, Copy)]
pub(super) enum Attempt {
    Read,
    Write,
}

impl Preopens {
    /// Notes that `path` beneath `dir` was refused, if `error` says so. The path of the host is
    /// noted, as rules name it.
    pub(super) fn note_refusal(
        &mut self,
        dir: &Dir,
        path: &str,
        attempt: Attempt,
        error: &io::Error,
    ) {
        if !is_refusal(error) || path.len() > MAX_PATH_BYTES {
            return;
        }
        let Ok(directory) = real_path(&dir.dir) else {
            return;
        };
        let path = normalize(&self.shown_path(&directory).join(path));
        let Some(path) = path.to_str().map(str::to_owned) else {
            return;
        };
        let operation = match attempt {
            Attempt::Read => RefusedOperation::Read { path },
            Attempt::Write => RefusedOperation::Write { path },
        };
        self.refusals.add(Refusal::new(operation, Evidence::Wasi));
    }

    /// Takes what was refused.
    pub(crate) fn take_refusals(&mut self) -> Refusals {
        std::mem::take(&mut self.refusals)
    }

    /// Takes the state of the files that other programs execute, before the first modification.
    pub(crate) fn take_initial_files(&mut self) -> InitialFiles {
        self.protected.take_initial_files()
    }

    /// Reports the files that may hold keys and that the program could not open.
    pub(crate) fn key_report(&self) -> KeyReport {
        self.protected.key_report()
    }

    /// Returns the path of a directory without the places of private copies and of the scratch
    /// directory.
    fn shown_path(&self, directory: &Path) -> PathBuf {
        let scratch = self
            .scratch_path()
            .map(|path| (path, Path::new(SCRATCH_PATH)));
        self.locations()
            .iter()
            .map(|(location, path)| (location.as_path(), path.as_path()))
            .chain(scratch)
            .find_map(|(location, path)| Some(path.join(directory.strip_prefix(location).ok()?)))
            .unwrap_or_else(|| directory.to_owned())
    }
}

/// Returns true for the errors of our rules and of paths that lead out of a directory, but not for
/// missing permissions of the file itself.
fn is_refusal(error: &io::Error) -> bool {
    #[cfg(unix)]
    let is_ours = |number| number == rustix::io::Errno::PERM.raw_os_error();
    #[cfg(not(unix))]
    let is_ours = |_| false;
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none_or(is_ours)
}

/// Removes `.` and `..` from an absolute path, as far as its text shows.
fn normalize(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                path.pop();
            }
            part => path.push(part),
        }
        path
    })
}
