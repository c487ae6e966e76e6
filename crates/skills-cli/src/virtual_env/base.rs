//! The installation of Python on which a virtual environment is based.
//!
//! Python takes its standard library from there, and executes it at each start, so it must not be
//! where the program of a skill can write: a skill could add a `sitecustomize.py` there, which then
//! runs with the permissions of the next one.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::{CONFIG_FILE, MAX_CONFIG_BYTES, entries};
use crate::input;

/// The keys of `pyvenv.cfg` that name the installation or its program.
const BASE_KEYS: [&str; 5] = [
    "home",
    "executable",
    "base-executable",
    "base-prefix",
    "base-exec-prefix",
];
/// Maximum number of links of a path.
const MAX_LINKS: usize = 40;
/// Directories of the system, in which a workspace may be, too.
const SYSTEM_PREFIXES: [&str; 3] = ["/", "/usr", "/usr/local"];

/// Checks that an environment can be used. `workspace` is where programs of skills write, and `home`
/// the home directory of the user.
///
/// # Errors
/// Returns why it must not be used, as a clause. So does all that cannot be read.
pub(super) fn check(
    directory: &Path,
    home: Option<&Path>,
    workspace: Option<&Path>,
) -> Result<(), String> {
    let bin = directory.join("bin");
    let beside = entries(&bin).ok_or("its `bin` cannot be listed")?;
    // Python reads the file beside its program first, and takes the paths of these from there, too.
    let overrides = beside
        .into_iter()
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .find(|name| is_override(name));
    if let Some(name) = overrides {
        return Err(format!("`bin/{name}` replaces its `{CONFIG_FILE}`"));
    }
    let config = input::read_bytes(&directory.join(CONFIG_FILE), MAX_CONFIG_BYTES)
        .map_err(|_| format!("its `{CONFIG_FILE}` cannot be read"))?;
    let written = Written::new(directory, home, workspace);
    let config = String::from_utf8_lossy(&config);
    let mut has_home = false;
    for (key, value) in config.lines().filter_map(|line| line.split_once('=')) {
        let key = key.trim().to_lowercase();
        let value = Path::new(value.trim());
        if !BASE_KEYS.contains(&key.as_str()) {
            continue;
        }
        has_home |= key == "home";
        written.check(&key, value)?;
    }
    if !has_home {
        return Err(format!("its `{CONFIG_FILE}` has no `home`"));
    }
    let program = program_outside(&bin.join("python"), directory)
        .map_err(|error| format!("cannot resolve its `bin/python`: {error}"))?;
    program.map_or(Ok(()), |program| written.check("bin/python", &program))
}

/// Returns the first target of a chain of links that is not in the environment; `None` if there is
/// none: a copy of the program is a part of the environment.
fn program_outside(python: &Path, directory: &Path) -> io::Result<Option<PathBuf>> {
    let bin = directory.canonicalize()?.join("bin");
    let mut link = bin.join(python.file_name().unwrap_or_default());
    for _ in 0..MAX_LINKS {
        let target = match fs::read_link(&link) {
            Ok(target) => bin.join(target),
            // It is no link, or there is none.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let parent = target
            .parent()
            .and_then(|parent| parent.canonicalize().ok());
        match target.file_name() {
            Some(name) if parent.as_ref() == Some(&bin) => link = bin.join(name),
            _ => return Ok(Some(target)),
        }
    }
    Ok(Some(link))
}

/// Returns true for files beside the program from which Python takes its paths.
fn is_override(name: &str) -> bool {
    name == CONFIG_FILE || name == "pybuilddir.txt" || name.ends_with("._pth")
}

/// The directories that programs of skills may write.
struct Written {
    /// The directory around the environment, unless it is the home directory, and the workspace.
    projects: Vec<PathBuf>,
}

impl Written {
    fn new(directory: &Path, home: Option<&Path>, workspace: Option<&Path>) -> Self {
        let environment = directory.canonicalize().ok();
        let home = home.and_then(|home| home.canonicalize().ok());
        let project = environment.as_deref().and_then(Path::parent);
        // All that a user installs is below the home directory.
        let project = project.filter(|project| Some(*project) != home.as_deref());
        let workspace = workspace.and_then(|workspace| workspace.canonicalize().ok());
        let projects = project.map(Path::to_owned).into_iter().chain(workspace);
        Self {
            projects: projects.collect(),
        }
    }

    /// Checks the value of a key. An error says why it must not be used.
    fn check(&self, key: &str, value: &Path) -> Result<(), String> {
        let shown = value.display();
        if !value.is_absolute() {
            return Err(format!("`{key}` is not absolute: `{shown}`"));
        }
        let visited =
            visited_paths(value).ok_or_else(|| format!("`{key}` does not exist: `{shown}`"))?;
        let is_inside =
            |project: &PathBuf| visited.iter().any(|visited| visited.starts_with(project));
        let prefix = visited.last().and_then(|path| prefix_of(key, path));
        let prefix = prefix.filter(|prefix| {
            let mut system = SYSTEM_PREFIXES.iter();
            !system.any(|system| Path::new(system) == *prefix)
        });
        let is_around =
            |project: &PathBuf| prefix.is_some_and(|prefix| project.starts_with(prefix));
        let mut projects = self.projects.iter();
        if projects.any(|project| is_inside(project) || is_around(project)) {
            return Err(format!(
                "`{key}` is in the project, where programs of skills can change it: `{shown}`"
            ));
        }
        Ok(())
    }
}

/// Returns the directory of an installation, of which a key names a part.
fn prefix_of<'a>(key: &str, path: &'a Path) -> Option<&'a Path> {
    match key {
        "base-prefix" | "base-exec-prefix" => Some(path),
        // The directory with the program.
        "home" => path.parent(),
        _ => path.parent()?.parent(),
    }
}

/// Returns all paths that are visited when a path is resolved, the last one without links; `None` if
/// one of them does not exist. A user who can write one of them decides where the path leads.
fn visited_paths(path: &Path) -> Option<Vec<PathBuf>> {
    let mut visited = Vec::new();
    let mut links = 0;
    let mut current = PathBuf::new();
    let mut remaining: Vec<OsString> = reversed_components(path);
    while let Some(component) = remaining.pop() {
        if component == ".." {
            current.pop();
            continue;
        }
        // An absolute component replaces the path.
        current.push(component);
        visited.push(current.clone());
        if current.symlink_metadata().ok()?.is_symlink() {
            links += 1;
            if links > MAX_LINKS {
                return None;
            }
            let target = fs::read_link(&current).ok()?;
            current.pop();
            remaining.extend(reversed_components(&target));
        }
    }
    visited.push(current);
    Some(visited)
}

/// Returns the components of a path, the last one first.
fn reversed_components(path: &Path) -> Vec<OsString> {
    let components = path.components().rev();
    components
        .map(|component| component.as_os_str().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Returns a home directory with an installation of Python and an environment that is based on it.
    fn home() -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        let installation = home.path().join(".pyenv/versions/3.12/bin");
        fs::create_dir_all(&installation).unwrap();
        fs::write(installation.join("python"), "").unwrap();
        let environment = home.path().join(".venv");
        fs::create_dir_all(environment.join("bin")).unwrap();
        let config = format!("home = {}\n", installation.display());
        fs::write(environment.join(CONFIG_FILE), config).unwrap();
        symlink(installation.join("python"), environment.join("bin/python")).unwrap();
        home
    }

    #[test]
    fn an_environment_in_the_home_directory_can_be_based_on_python_there() {
        let home = home();
        let environment = home.path().join(".venv");
        check(&environment, Some(home.path()), None).unwrap();
        check(
            &environment,
            Some(home.path()),
            Some(&home.path().join(".venv")),
        )
        .unwrap();
        for (user_home, workspace) in [(None, None), (Some(home.path()), Some(home.path()))] {
            let reason = check(&environment, user_home, workspace).unwrap_err();
            assert!(reason.contains("`home` is in the project"), "{reason}");
        }
    }

    #[test]
    fn an_environment_that_cannot_be_read_is_not_used() {
        let home = home();
        let bin = home.path().join(".venv/bin");
        fs::remove_dir_all(&bin).unwrap();
        // It cannot be listed, even by root.
        symlink("bin", &bin).unwrap();
        let reason = check(&home.path().join(".venv"), Some(home.path()), None).unwrap_err();
        assert_eq!(reason, "its `bin` cannot be listed");
    }
}
