//! The directories that a run starts from.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use cap_primitives::ambient_authority;
use cap_primitives::fs::open_ambient_dir;
use skills_policy::{Access, Grants};
use skills_sandbox::{SandboxError, Scratch};
use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::{FsPerms, OpenMode};

use super::guard::{Guard, real_path};
use super::is_same;
use super::quota::{Quota, Stored};

/// Where the private scratch directory appears.
pub(crate) const SCRATCH: &str = "/work";

/// The directories of a run: what was granted, and a private one that is made when it is first
/// used.
pub(crate) struct Directories {
    granted: Vec<(Dir, String)>,
    /// Stands for the private directory until that is made.
    unmade: Dir,
    private: Option<(Scratch, Dir)>,
    parent: Arc<Path>,
    pub(super) guard: Guard,
    pub(super) quota: Arc<Quota>,
}

impl Directories {
    /// Opens what was granted.
    ///
    /// # Errors
    /// When a granted directory is gone, or what was granted is a file: a program starts from
    /// directories only. When the path leads through a symlink, so that nobody can lead a grant
    /// elsewhere after it was decided.
    pub(crate) fn open(
        grants: &Grants,
        parent: Arc<Path>,
        stored: &Stored,
    ) -> Result<Self, SandboxError> {
        let mut granted = Vec::with_capacity(grants.files().len());
        for file in grants.files() {
            let opened = open_ambient_dir(file.location(), ambient_authority())
                .map_err(|error| failed(file.path(), error))?;
            is_in_place(&opened, file.location())?;
            granted.push((
                directory(opened, file.access() == Access::ReadWrite),
                file.guest().to_owned(),
            ));
        }
        let unmade = unmade(&parent)
            .map_err(|error| SandboxError::setup("making a scratch directory", error))?;
        Ok(Self {
            granted,
            unmade,
            private: None,
            parent,
            guard: Guard::new(grants),
            quota: Quota::new(grants.limits(), stored),
        })
    }

    /// Lists them with their names.
    pub(super) fn listed(&self) -> impl Iterator<Item = (Dir, String)> {
        let private = self.private.as_ref().map_or(&self.unmade, |(_, dir)| dir);
        self.granted
            .clone()
            .into_iter()
            .chain([(private.clone(), SCRATCH.to_owned())])
    }

    pub(super) fn is_unmade(&self, dir: &Dir) -> bool {
        is_same(dir, &self.unmade)
    }

    /// Makes the private directory, once.
    pub(super) fn make(&mut self) -> io::Result<Dir> {
        if let Some((_, dir)) = &self.private {
            return Ok(dir.clone());
        }
        let scratch = Scratch::new(&self.parent)?;
        let dir = directory(open_ambient_dir(scratch.path(), ambient_authority())?, true);
        self.guard.private(&dir.dir)?;
        self.private = Some((scratch, dir.clone()));
        Ok(dir)
    }

    /// Takes out the private directory, if there is one.
    pub(crate) fn take_private(&mut self) -> Option<Scratch> {
        self.private.take().map(|(scratch, _)| scratch)
    }
}

fn directory(file: File, is_writable: bool) -> Dir {
    let (perms, mode) = if is_writable {
        (FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE)
    } else {
        (FsPerms::ReadOnly, OpenMode::READ)
    };
    // Calls on regular files and directories of a disk do not block for long, and a thread for each
    // would cost more than they do.
    Dir::new(file, perms, mode, true)
}

/// Refuses a directory that does not lie where the grant says; what it is was settled when it was
/// opened.
fn is_in_place(opened: &File, path: &Path) -> Result<(), SandboxError> {
    match real_path(opened) {
        Ok(real) if real == path => Ok(()),
        Ok(_) => Err(SandboxError::refused(
            "wasm",
            format!("{} leads through a symlink", path.display()),
        )),
        // Where the system does not say, nothing may be written either.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(error) => Err(SandboxError::setup("finding a granted directory", error)),
    }
}

fn failed(path: &Path, error: io::Error) -> SandboxError {
    if error.kind() == io::ErrorKind::NotADirectory {
        let path: PathBuf = path.to_owned();
        return SandboxError::refused(
            "wasm",
            format!(
                "{} is a file, and WebAssembly programs are given directories only; grant the directory it is in",
                path.display()
            ),
        );
    }
    SandboxError::setup("opening a granted directory", error)
}

/// Returns a directory that was removed while it was open: it is empty, and nothing can be made in
/// it.
fn unmade(parent: &Path) -> io::Result<Dir> {
    static REMOVED: OnceLock<Dir> = OnceLock::new();
    if let Some(dir) = REMOVED.get() {
        return Ok(dir.clone());
    }
    let scratch = Scratch::new(parent)?;
    let dir = directory(
        open_ambient_dir(scratch.path(), ambient_authority())?,
        false,
    );
    scratch.remove()?;
    Ok(REMOVED.get_or_init(|| dir).clone())
}
