//! Creates trees of files and prints catalogs.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;

use skills_discovery::{Catalog, Root, ScanLimits, Scope, discover};
use tempfile::TempDir;

pub(crate) struct Tree(TempDir);

impl Tree {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Creates a tree in memory if possible: some disks take half a minute to remove many
    /// directories.
    pub(crate) fn in_memory() -> Self {
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self(directory.unwrap())
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(below)
    }

    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn skill(&self, directory: &str, name: &str) -> &Self {
        self.file(
            &format!("{directory}/SKILL.md"),
            format!("---\nname: {name}\ndescription: About {name}.\n---\nBody\n"),
        )
    }

    pub(crate) fn symlink(&self, target: impl AsRef<Path>, link: &str) -> &Self {
        std::os::unix::fs::symlink(target, self.path(link)).unwrap();
        self
    }

    pub(crate) fn scan(&self, limits: &ScanLimits) -> String {
        self.print(&discover(&[Root::new(self.path(""), Scope::Repo)], limits))
    }

    pub(crate) fn print(&self, catalog: &Catalog) -> String {
        let mut out = String::new();
        for entry in catalog.entries() {
            let location = entry.location();
            writeln!(
                out,
                "{} {} {}",
                entry.scope(),
                entry.name(),
                self.below(&location)
            )
            .unwrap();
            for warning in entry.warnings() {
                writeln!(out, "  warning {}: {warning}", warning.code()).unwrap();
            }
        }
        for inactive in catalog.inactive() {
            let (entry, reason) = (inactive.entry(), inactive.reason());
            writeln!(
                out,
                "{} {} {} {}: {reason}",
                entry.scope(),
                entry.name(),
                self.below(&entry.location()),
                reason.code()
            )
            .unwrap();
        }
        for skipped in catalog.skipped() {
            let (path, reason) = (self.below(skipped.path()), skipped.reason());
            writeln!(out, "skipped {path:?} {}: {reason}", reason.code()).unwrap();
        }
        out.replace(
            &format!(
                "{}/",
                self.path("").display().to_string().trim_end_matches('/')
            ),
            "",
        )
    }

    /// Sets the permissions of a file or directory.
    pub(crate) fn mode(&self, path: &str, mode: u32) -> &Self {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    fn below(&self, path: &Path) -> String {
        path.strip_prefix(self.path(""))
            .unwrap_or(path)
            .display()
            .to_string()
    }
}

/// Runs `work` on a thread that permissions of files apply to, also if the tests run as root.
pub(crate) fn without_privileges<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            drop_privileges();
            work()
        });
        thread.join().unwrap()
    })
}

/// Returns whether a directory cannot be listed without privileges.
pub(crate) fn is_denied(directory: &Path) -> bool {
    without_privileges(|| fs::read_dir(directory).is_err())
}

#[cfg(target_os = "linux")]
fn drop_privileges() {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    let mut sets = capabilities(None).unwrap();
    sets.effective
        .remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
    set_capabilities(None, sets).unwrap();
}

#[cfg(not(target_os = "linux"))]
fn drop_privileges() {}
