//! The installation of Python on which a virtual environment is based.
//!
//! Python takes its standard library from there, and executes it at each start, so it must not be
//! where the program of a skill can write: a skill could add a `sitecustomize.py` there, which then
//! runs with the permissions of the next one.

use std::ffi::OsString;
use std::fs;
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

/// Returns why an environment must not be used, as a clause; `None` if it can be. `workspace` is
/// where programs of skills write.
pub(super) fn reason_against(directory: &Path, workspace: Option<&Path>) -> Option<String> {
    let bin = directory.join("bin");
    // Python reads the file beside its program first, and takes the paths of these from there, too.
    let overrides = entries(&bin)?
        .into_iter()
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .find(|name| is_override(name));
    if let Some(name) = overrides {
        return Some(format!("`bin/{name}` replaces its `{CONFIG_FILE}`"));
    }
    let config = input::read_bytes(&directory.join(CONFIG_FILE), MAX_CONFIG_BYTES);
    let Ok(config) = config else {
        return Some(format!("its `{CONFIG_FILE}` cannot be read"));
    };
    let written = Written::new(directory, workspace);
    let config = String::from_utf8_lossy(&config);
    let mut has_home = false;
    for (key, value) in config.lines().filter_map(|line| line.split_once('=')) {
        let key = key.trim().to_lowercase();
        let value = Path::new(value.trim());
        if !BASE_KEYS.contains(&key.as_str()) {
            continue;
        }
        has_home |= key == "home";
        if let Some(reason) = written.reason_against(&key, value) {
            return Some(reason);
        }
    }
    if !has_home {
        return Some(format!("its `{CONFIG_FILE}` has no `home`"));
    }
    let program = program_outside(&bin.join("python"), directory)?;
    written.reason_against("bin/python", &program)
}

/// Returns the first target of a chain of links that is not in the environment; `None` if there is
/// none: a copy of the program is a part of the environment.
fn program_outside(python: &Path, directory: &Path) -> Option<PathBuf> {
    let environment = directory.canonicalize().ok()?;
    let mut link = environment.join("bin").join(python.file_name()?);
    for _ in 0..MAX_LINKS {
        let target = fs::read_link(&link).ok()?;
        let target = link.parent()?.join(target);
        if target.parent()?.canonicalize().ok().as_deref() != link.parent() {
            return Some(target);
        }
        link = link.parent()?.join(target.file_name()?);
    }
    Some(link)
}

/// Returns true for files beside the program from which Python takes its paths.
fn is_override(name: &str) -> bool {
    name == CONFIG_FILE || name == "pybuilddir.txt" || name.ends_with("._pth")
}

/// The directories that programs of skills may write.
struct Written {
    /// The directory around the environment, and the workspace.
    projects: Vec<PathBuf>,
}

impl Written {
    fn new(directory: &Path, workspace: Option<&Path>) -> Self {
        let environment = directory.canonicalize().ok();
        let project = environment.as_deref().and_then(Path::parent);
        let workspace = workspace.and_then(|workspace| workspace.canonicalize().ok());
        let projects = project.map(Path::to_owned).into_iter().chain(workspace);
        Self {
            projects: projects.collect(),
        }
    }

    /// Returns why the value of a key must not be used.
    fn reason_against(&self, key: &str, value: &Path) -> Option<String> {
        let shown = value.display();
        if !value.is_absolute() {
            return Some(format!("`{key}` is not absolute: `{shown}`"));
        }
        let Some(visited) = visited_paths(value) else {
            return Some(format!("`{key}` does not exist: `{shown}`"));
        };
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
        projects
            .any(|project| is_inside(project) || is_around(project))
            .then(|| {
                format!(
                    "`{key}` is in the project, where programs of skills can change it: `{shown}`"
                )
            })
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
/// one of them does not exist. Whoever can write one of them decides where the path leads.
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
