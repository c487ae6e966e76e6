//! The files that belong to a program, derived from its location.

use std::path::{Path, PathBuf};

use super::bounded_read::list_names;
use super::grantable::is_grantable;

/// Directories that backends grant to every program.
const SYSTEM_DIRS: &[&str] = if cfg!(target_os = "macos") {
    &[
        "/System",
        "/usr/bin",
        "/usr/lib",
        "/usr/share",
        "/bin",
        "/Library/Developer/CommandLineTools",
    ]
} else {
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"]
};
/// World-readable by design, and a program does not know all of its dependencies in it.
const NIX_STORE: &str = "/nix/store";
const HOMEBREW_ROOTS: [&str; 4] = ["Cellar", "Frameworks", "lib", "opt"];
/// Entries that only interpreters have in their prefix; [`has_python`] detects Python's.
const PREFIX_MARKERS: [&str; 5] = [
    "pyvenv.cfg",
    "conda-meta",
    "lib/node_modules",
    "lib/ruby",
    "lib/perl5",
];
/// The program that Python on macOS replaces itself with.
const PYTHON_APP: &str = "Resources/Python.app/Contents/MacOS/Python";

/// The files that belong to a program.
#[derive(Debug, Default)]
pub(super) struct Prefix {
    /// Paths that it reads.
    pub(super) readable: Vec<PathBuf>,
    /// The program that it replaces itself with.
    pub(super) executable: Option<PathBuf>,
    /// Its conda environment.
    pub(super) conda: Option<PathBuf>,
}

impl Prefix {
    /// Returns what belongs to the programs in a directory, which is given without symlinks.
    pub(super) fn for_bin_directory(bin: &Path) -> Self {
        if bin.starts_with(NIX_STORE) {
            return Self {
                readable: vec![NIX_STORE.into()],
                ..Self::default()
            };
        }
        // Without `bin`, nothing says that the parent directory belongs to the program.
        let (Some(above), true) = (bin.parent(), bin.ends_with("bin")) else {
            return Self::default();
        };
        // Python on macOS executes this program in its place.
        let executable = Some(above.join(PYTHON_APP)).filter(|app| app.is_file());
        Self {
            executable,
            ..Self::files_of(bin, above)
        }
    }

    /// Returns the files that belong to the programs in a directory `bin`.
    fn files_of(bin: &Path, above: &Path) -> Self {
        let mut files = Self::default();
        // Homebrew's programs use libraries of other packages, so its library directories are
        // granted as a whole.
        if let Some(brew) = homebrew_root(bin) {
            let names = HOMEBREW_ROOTS.iter();
            files.readable = names.filter_map(|name| real_child(&brew, name)).collect();
        } else if is_system(bin) {
            // The backends grant these files.
        } else if is_interpreter_prefix(above) && is_grantable(above) {
            // Both checks: a home directory can contain a library of Python, too.
            files.readable = vec![above.to_owned()];
            files.conda = above.join("conda-meta").is_dir().then(|| above.to_owned());
        } else {
            // The rest of the parent directory may be unrelated to the program.
            files.readable = library_directories(above);
        }
        files
    }
}

pub(super) fn is_system(path: &Path) -> bool {
    SYSTEM_DIRS.iter().any(|system| path.starts_with(system))
}

/// The libraries next to `bin`, and nothing else of the parent directory, which may contain
/// unrelated files.
pub(super) fn library_directories(above: &Path) -> Vec<PathBuf> {
    ["lib", "lib64"]
        .iter()
        .filter_map(|name| real_child(above, name))
        .collect()
}

/// Removes paths that are below another one.
pub(super) fn remove_nested(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    // Sorted, a directory comes directly before what is below it.
    paths.sort_unstable();
    paths.dedup_by(|path, kept| path.starts_with(kept));
    paths
}

/// Returns a child directory if it exists and is not a symlink.
fn real_child(above: &Path, name: &str) -> Option<PathBuf> {
    // A symlink could lead to a directory that must not be granted.
    let path = above.join(name);
    let is_there = path
        .symlink_metadata()
        .is_ok_and(|metadata| metadata.is_dir());
    (is_there && is_grantable(&path)).then_some(path)
}

/// Returns the Homebrew prefix that a directory belongs to.
fn homebrew_root(bin: &Path) -> Option<PathBuf> {
    let root = bin
        .ancestors()
        .find(|path| path.ends_with("Cellar"))?
        .parent()?;
    root.join("bin/brew").exists().then(|| root.to_owned())
}

fn is_interpreter_prefix(prefix: &Path) -> bool {
    PREFIX_MARKERS.iter().any(|name| prefix.join(name).exists()) || has_python(&prefix.join("lib"))
}

/// Returns true for the name of a directory with a Python library, such as `python3.12`.
pub(super) fn is_python_library(name: &str) -> bool {
    name.starts_with("python3") || name.starts_with("pypy3")
}

fn has_python(lib: &Path) -> bool {
    list_names(lib)
        .iter()
        .filter(|name| is_python_library(name))
        // A name alone proves nothing; every Python library has this file.
        .any(|name| lib.join(name).join("os.py").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_paths_are_removed() {
        let paths = ["/b/c", "/a", "/b", "/a/x/y", "/ab", "/a"]
            .map(PathBuf::from)
            .to_vec();
        assert_eq!(remove_nested(paths), ["/a", "/ab", "/b"].map(PathBuf::from));
    }

    #[test]
    fn the_nix_store_is_granted_as_a_whole() {
        let prefix = Prefix::for_bin_directory(Path::new("/nix/store/0a1b-python3-3.12.4/bin"));
        assert_eq!(prefix.readable, [PathBuf::from("/nix/store")]);
    }
}
