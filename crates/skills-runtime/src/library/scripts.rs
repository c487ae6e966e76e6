//! Lists the programs of a skill.

use skills_discovery::SkillFiles;
use skills_sandbox::ScriptType;

/// Directories with WebAssembly modules.
const WASM_DIRECTORIES: [&str; 2] = ["", "wasm"];

/// The programs in the directory of a skill, where a run looks for them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillPrograms {
    /// Paths of the scripts in `scripts/`, sorted.
    pub scripts: Vec<String>,
    /// Paths of the WebAssembly modules in the skill directory and in `wasm/`.
    pub modules: Vec<String>,
}

impl SkillPrograms {
    /// Lists the programs; none in a directory that cannot be listed.
    #[must_use]
    pub fn list(files: &SkillFiles) -> Self {
        Self {
            scripts: scripts(files),
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
pub(crate) fn scripts(files: &SkillFiles) -> Vec<String> {
    resource_paths(files, "scripts")
        .filter(|path| ScriptType::from_path(path.as_ref()).is_some())
        .collect()
}

/// Returns the paths of a skill's WebAssembly modules.
pub(crate) fn modules(files: &SkillFiles) -> Vec<String> {
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
