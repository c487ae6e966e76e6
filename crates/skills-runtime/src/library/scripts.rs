//! Lists the scripts of a skill.

use skills_discovery::SkillFiles;
use skills_sandbox::ScriptType;

/// Returns the paths of a skill's scripts, sorted; none if the directory cannot be listed.
pub(crate) fn scripts(files: &SkillFiles) -> Vec<String> {
    resource_paths(files, "scripts")
        .filter(|path| ScriptType::from_path(path.as_ref()).is_some())
        .collect()
}

/// Returns the paths of the resources in a directory of a skill; none if it cannot be listed.
pub(crate) fn resource_paths(files: &SkillFiles, directory: &str) -> impl Iterator<Item = String> {
    files
        .list_directory(directory)
        .unwrap_or_default()
        .into_iter()
        .map(|resource| resource.path)
}

/// Returns the name of a script as users write it.
pub(crate) fn short_name(script: &str) -> &str {
    script.strip_prefix("scripts/").unwrap_or(script)
}
