//! Lists the programs of a skill.

use std::path::Path;

use skills_discovery::SkillFiles;
use skills_sandbox::ScriptType;

use crate::script_language::ScriptLanguage;

/// Directories with WebAssembly modules.
const WASM_DIRECTORIES: [&str; 2] = ["", "wasm"];
/// Directories of installed packages, whose files are not scripts of the skill.
const PACKAGE_DIRECTORIES: [&str; 3] = ["node_modules", "site-packages", "vendor"];
/// Files in the directory of a skill that tools of its author run.
const AUTHOR_FILES: [&str; 4] = ["setup.py", "conftest.py", "noxfile.py", "tasks.py"];
/// What the names of configuration files of tools contain.
const CONFIG_INFIX: &str = ".config.";

/// The programs in the directory of a skill, where a run looks for them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillPrograms {
    /// Paths of the scripts in `scripts/`, sorted: files with the extension of a language, and other
    /// files whose first line names a program.
    pub scripts: Vec<String>,
    /// Paths of the scripts in the directories below `scripts/`, sorted. They run by their path only.
    pub nested_scripts: Vec<String>,
    /// Paths of the scripts in the skill directory, sorted; without files for tools of its author,
    /// such as `setup.py`.
    pub root_scripts: Vec<String>,
    /// Paths of the WebAssembly modules in the skill directory and in `wasm/`.
    pub modules: Vec<String>,
}

impl SkillPrograms {
    /// Lists the programs; none in a directory that cannot be listed.
    #[must_use]
    pub fn list(files: &SkillFiles) -> Self {
        Self {
            scripts: scripts(files),
            nested_scripts: nested_scripts(files),
            root_scripts: root_scripts(files),
            modules: modules(files),
        }
    }

    /// Returns the name of a script as users write it: its path without `scripts/`.
    #[must_use]
    pub fn short_name(script: &str) -> &str {
        script.strip_prefix("scripts/").unwrap_or(script)
    }
}

/// Returns the paths of a skill's scripts, sorted; none if the directory cannot be listed.
#[must_use]
pub fn scripts(files: &SkillFiles) -> Vec<String> {
    resource_paths(files, "scripts")
        .filter(|path| is_script(files, path))
        .collect()
}

/// Returns the paths of the scripts in the directory of a skill, sorted.
#[must_use]
pub fn root_scripts(files: &SkillFiles) -> Vec<String> {
    resource_paths(files, "")
        .filter(|path| !AUTHOR_FILES.contains(&path.as_str()) && !path.contains(CONFIG_INFIX))
        .filter(|path| is_named_script(files, path))
        .collect()
}

/// Returns the paths of the scripts below `scripts/` that are not directly in it, sorted.
#[must_use]
pub fn nested_scripts(files: &SkillFiles) -> Vec<String> {
    let listed = files.list("scripts").map(|listing| listing.resources);
    listed
        .unwrap_or_default()
        .into_iter()
        .map(|resource| resource.path)
        .filter(|path| {
            let directories = SkillPrograms::short_name(path).rsplit_once('/');
            directories.is_some_and(|(directories, _)| !is_of_packages(directories))
        })
        .filter(|path| is_named_script(files, path))
        .collect()
}

pub(crate) fn is_of_packages(directories: &str) -> bool {
    let mut names = directories.split('/');
    names.any(|name| PACKAGE_DIRECTORIES.contains(&name))
}

/// Returns true for a file that can be a script by its name alone, or has no extension and a first
/// line that names a program. Other files, such as data, are not read.
fn is_named_script(files: &SkillFiles, path: &str) -> bool {
    (ScriptType::from_path(path.as_ref()).is_some() || Path::new(path).extension().is_none())
        && is_script(files, path)
}

fn is_script(files: &SkillFiles, path: &str) -> bool {
    // It makes its directory a Python package, and does nothing as a program.
    let is_package_marker = path.rsplit('/').next() == Some("__init__.py");
    !is_package_marker
        && (ScriptType::from_path(path.as_ref()).is_some()
            || ScriptLanguage::of_file(files, path).is_some())
}

/// Returns the paths of a skill's WebAssembly modules.
#[must_use]
pub fn modules(files: &SkillFiles) -> Vec<String> {
    WASM_DIRECTORIES
        .into_iter()
        .flat_map(|directory| resource_paths(files, directory))
        .filter(|path| path.ends_with(".wasm"))
        .collect()
}

/// Returns the paths of the resources in a directory of a skill; none if it cannot be listed.
fn resource_paths(files: &SkillFiles, directory: &str) -> impl Iterator<Item = String> {
    files
        .list_directory(directory)
        .unwrap_or_default()
        .into_iter()
        .map(|resource| resource.path)
}
