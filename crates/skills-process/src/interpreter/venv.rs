//! Python virtual environments.

use std::path::{Component, Path, PathBuf};

use super::bounded_read::{SkipReason, list_names, read_text};
use super::grantable::is_grantable;
use super::prefix::{Prefix, is_python_library, library_directories};

const PYVENV_CFG: &str = "pyvenv.cfg";
/// The maximum number of linked packages that are resolved.
const MAX_PACKAGES: usize = 256;
/// The directory in which uv keeps each unpacked wheel, in a directory of its own.
const UV_ARCHIVE_DIR: &str = "archive-v0";
/// Extensions of packages that are single files.
const MODULE_EXTENSIONS: [&str; 3] = ["py", "pth", "so"];
/// The file that makes a directory a package, or the metadata of one.
const PACKAGE_MARKERS: [&str; 2] = ["__init__.py", "METADATA"];

/// Returns what a program in a virtual environment reads: the environment, its base Python, and
/// linked packages; `None` if the program is not in one.
pub(super) fn readable_paths(program: &Path) -> Result<Option<Vec<PathBuf>>, SkipReason> {
    let bin = program.parent().filter(|bin| bin.ends_with("bin"));
    let Some(above) = bin.and_then(Path::parent) else {
        return Ok(None);
    };
    let configuration = above.join(PYVENV_CFG);
    let Some(text) = read_text(&configuration)? else {
        return Ok(None);
    };
    let base = base_directory(&text)
        .ok_or_else(|| format!("{} does not name a base Python", configuration.display()))?;
    // A virtual environment has no standard library; that of its base Python is used.
    let mut readable = Prefix::for_bin_directory(&base).readable;
    readable.extend(own_paths(above));
    readable.extend(linked_packages(above));
    Ok(Some(readable))
}

/// Returns the directory of programs of the virtual environment that a Python is in, if any.
pub(super) fn program_directory(python: &Path) -> Option<PathBuf> {
    let bin = python.parent().filter(|bin| bin.ends_with("bin"))?;
    let configuration = bin.parent()?.join(PYVENV_CFG);
    matches!(read_text(&configuration), Ok(Some(_))).then(|| bin.to_owned())
}

/// The files of an environment. It can be in a home directory itself, of which only the libraries
/// are granted.
fn own_paths(above: &Path) -> Vec<PathBuf> {
    if is_grantable(above) {
        return vec![above.to_owned()];
    }
    let mut paths = vec![above.join(PYVENV_CFG)];
    paths.extend(library_directories(above));
    paths
}

/// The directory of the base Python of an environment, without symlinks.
fn base_directory(configuration: &str) -> Option<PathBuf> {
    let pairs = configuration
        .lines()
        .filter_map(|line| line.split_once('='));
    let home = pairs
        .filter(|(key, _)| key.trim().eq_ignore_ascii_case("home"))
        .map(|(_, value)| Path::new(value.trim()))
        .next()?;
    // The file is part of the environment, so the path is not trusted.
    let is_plain = home.is_absolute()
        && !home
            .components()
            .any(|component| component == Component::ParentDir);
    home.canonicalize()
        .ok()
        .filter(|home| is_plain && home.is_dir())
}

/// The packages that an environment only links to, as created by package managers with a cache.
fn linked_packages(above: &Path) -> Vec<PathBuf> {
    let lib = above.join("lib");
    let versions = list_names(&lib)
        .into_iter()
        .filter(|name| is_python_library(name));
    let directories: Vec<PathBuf> = versions
        .map(|name| lib.join(name).join("site-packages"))
        .collect();
    directories
        .iter()
        .flat_map(|directory| linked_packages_in(directory, above))
        // The content of an environment decides the number of links.
        .take(MAX_PACKAGES)
        .collect()
}

/// The packages of one directory that are not below `above`.
fn linked_packages_in(directory: &Path, above: &Path) -> impl Iterator<Item = PathBuf> {
    list_names(directory)
        .into_iter()
        .filter_map(|name| package_root(&directory.join(name)))
        .filter(move |target| !target.starts_with(above))
}

/// Returns what to grant for a package that is a symlink, or a directory of symlinks. The content
/// of an environment is untrusted, so a symlink to anything but a package of the same name grants
/// nothing.
fn package_root(package: &Path) -> Option<PathBuf> {
    let real = real_package(package)?;
    let archive = real.ancestors().find(|path| {
        path.parent()
            .is_some_and(|parent| parent.ends_with(UV_ARCHIVE_DIR))
    });
    let grant = match archive {
        Some(archive) => archive.to_owned(),
        None if real.file_name() == package.file_name() && is_package(&real) => real,
        None => return None,
    };
    is_grantable(&grant).then_some(grant)
}

/// Returns where a package really is, as its own symlink or that of a file in it says.
fn real_package(package: &Path) -> Option<PathBuf> {
    if package.is_symlink() {
        return package.canonicalize().ok();
    }
    let mut files = PACKAGE_MARKERS.iter().map(|name| package.join(name));
    let file = files.find(|file| file.is_symlink())?;
    Some(file.canonicalize().ok()?.parent()?.to_owned())
}

fn is_package(real: &Path) -> bool {
    let has_ending = real
        .extension()
        .is_some_and(|ending| MODULE_EXTENSIONS.iter().any(|known| ending == *known));
    if real.is_file() {
        has_ending
    } else {
        PACKAGE_MARKERS.iter().any(|name| real.join(name).is_file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_is_an_existing_absolute_directory() {
        assert_eq!(
            base_directory("version = 3.11\n HOME = /usr/bin/\nhome = /etc\n"),
            Some(PathBuf::from("/usr/bin"))
        );
        for none in [
            "",
            "home=",
            "home = bin",
            "home = /usr/../usr/bin",
            "home = /nowhere",
            "home = /usr\0/bin",
            "home = /etc/passwd",
            "homes = /usr",
        ] {
            assert_eq!(base_directory(none), None, "{none:?}");
        }
    }
}
