//! The preopened directories of a run.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use cap_primitives::ambient_authority;
use cap_primitives::fs::open_ambient_dir;
use skills_policy::{Access, Grants};
use skills_process::SCRATCH_PREFIX;
use skills_sandbox::{Refusals, SandboxError};
use skills_store::PrivateDir;
use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::{FsPerms, OpenMode};

use super::protected::{ProtectedPaths, real_path};
use super::quota::{StoredBytes, WriteQuota};

/// The guest path of the scratch directory.
pub(crate) const SCRATCH_PATH: &str = "/work";

/// The directories of a run: the granted ones, and a scratch directory that is created on first
/// use.
pub(crate) struct Preopens {
    granted: Vec<(Dir, String)>,
    /// Represents the scratch directory until it is created.
    scratch_placeholder: Dir,
    scratch: Option<(PrivateDir, Dir)>,
    scratch_parent: Arc<Path>,
    pub(super) protected: ProtectedPaths,
    pub(super) quota: Arc<WriteQuota>,
    /// Where the granted directories are, and their granted paths.
    locations: Vec<(PathBuf, PathBuf)>,
    pub(super) refusals: Refusals,
}

impl Preopens {
    /// Opens the granted directories.
    ///
    /// # Errors
    /// Fails if a granted directory does not exist or is a file, since programs get directories
    /// only. Also fails if the path contains a symlink, so that a grant cannot be redirected after
    /// it was authorized.
    pub(crate) fn open(
        grants: &Grants,
        parent: Arc<Path>,
        stored: &StoredBytes,
    ) -> Result<Self, SandboxError> {
        let mut granted = Vec::with_capacity(grants.files().len());
        for file in grants.files() {
            let opened = open_ambient_dir(file.location(), ambient_authority())
                .map_err(|error| setup_error(file.path(), error))?;
            check_location(&opened, file.location())?;
            granted.push((
                open_directory(opened, file.access()),
                file.guest_path().to_owned(),
            ));
        }
        let unmade = create_placeholder(&parent)
            .map_err(|error| SandboxError::setup("creating the scratch directory", error))?;
        Ok(Self {
            granted,
            scratch_placeholder: unmade,
            scratch: None,
            scratch_parent: parent,
            protected: ProtectedPaths::new(grants),
            quota: WriteQuota::new(grants.limits(), stored),
            locations: grants
                .files()
                .iter()
                .map(|file| (file.location().to_owned(), file.path().to_owned()))
                .collect(),
            refusals: Refusals::default(),
        })
    }

    /// Lists them with their guest paths.
    pub(super) fn list(&self) -> impl Iterator<Item = (Dir, String)> {
        let private = self
            .scratch
            .as_ref()
            .map_or(&self.scratch_placeholder, |(_, dir)| dir);
        self.granted
            .clone()
            .into_iter()
            .chain([(private.clone(), SCRATCH_PATH.to_owned())])
    }

    pub(super) fn locations(&self) -> &[(PathBuf, PathBuf)] {
        &self.locations
    }

    pub(super) fn scratch_path(&self) -> Option<&Path> {
        self.scratch.as_ref().map(|(scratch, _)| scratch.path())
    }

    pub(super) fn is_scratch_placeholder(&self, dir: &Dir) -> bool {
        is_same_directory(dir, &self.scratch_placeholder)
    }

    /// Creates the scratch directory, once.
    pub(super) fn create_scratch(&mut self) -> io::Result<Dir> {
        if let Some((_, dir)) = &self.scratch {
            return Ok(dir.clone());
        }
        let scratch = PrivateDir::create(&self.scratch_parent, SCRATCH_PREFIX)?;
        let dir = open_directory(
            open_ambient_dir(scratch.path(), ambient_authority())?,
            Access::ReadWrite,
        );
        self.protected.set_scratch(&dir.dir)?;
        self.scratch = Some((scratch, dir.clone()));
        Ok(dir)
    }

    /// Takes the scratch directory, if it was created.
    pub(crate) fn take_scratch(&mut self) -> Option<PrivateDir> {
        self.scratch.take().map(|(scratch, _)| scratch)
    }
}

fn open_directory(file: File, access: Access) -> Dir {
    let (perms, mode) = match access {
        Access::ReadWrite => (FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE),
        Access::ReadOnly => (FsPerms::ReadOnly, OpenMode::READ),
    };
    // Calls on regular files and directories of a disk do not block for long, and a thread for each
    // would cost more.
    Dir::new(file, perms, mode, true)
}

/// Rejects a directory that is not at the granted path; its identity was fixed when it was opened.
fn check_location(opened: &File, path: &Path) -> Result<(), SandboxError> {
    match real_path(opened) {
        Ok(real) if real == path => Ok(()),
        Ok(_) => Err(SandboxError::rejected(
            "wasm",
            format!("{} contains a symlink", path.display()),
        )),
        // If the system cannot report the real path, writing is rejected later, too.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(error) => Err(SandboxError::setup("finding a granted directory", error)),
    }
}

fn setup_error(path: &Path, error: io::Error) -> SandboxError {
    if error.kind() == io::ErrorKind::NotADirectory {
        let path: PathBuf = path.to_owned();
        return SandboxError::rejected(
            "wasm",
            format!(
                "{} is a file, but WebAssembly programs get directories only; grant its parent directory",
                path.display()
            ),
        );
    }
    SandboxError::setup("opening a granted directory", error)
}

/// Returns a directory that was removed while it was open: it is empty, and nothing can be created
/// in it.
fn create_placeholder(parent: &Path) -> io::Result<Dir> {
    // Shared by all runs, since nothing can be changed in it.
    static REMOVED: OnceLock<Dir> = OnceLock::new();
    if let Some(dir) = REMOVED.get() {
        return Ok(dir.clone());
    }
    let scratch = PrivateDir::create(parent, SCRATCH_PREFIX)?;
    let dir = open_directory(
        open_ambient_dir(scratch.path(), ambient_authority())?,
        Access::ReadOnly,
    );
    scratch.remove()?;
    Ok(REMOVED.get_or_init(|| dir).clone())
}

/// Returns true if two handles refer to the same directory.
fn is_same_directory(one: &Dir, other: &Dir) -> bool {
    Arc::ptr_eq(&one.dir, &other.dir)
}
