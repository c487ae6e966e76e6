//! The scripts and modules of a skill that a command line starts.

use skills_runtime::discovery::SkillFiles;
use skills_runtime::{RunTarget, ScriptType};

use super::RunnableSkill;

/// Finds the script or module of the skill that a command line starts, if there is one, and returns
/// it with its arguments.
pub(super) fn find_skill_program<'a>(
    skill: &RunnableSkill,
    first: &str,
    rest: &'a [String],
) -> Option<(RunTarget, &'a [String])> {
    let name = skill.entry.name().as_str();
    if let (Some(script_type), Some((script, arguments))) =
        (ScriptType::from_program(first), rest.split_first())
        && let Some(path) = find_in_skill(&skill.files, name, script)
            // `python x.sh` does not run a script of the skill as its type demands, so the
            // interpreter counts as a program of the host.
            .filter(|path| ScriptType::from_path(path.as_ref()) == Some(script_type))
    {
        return Some((RunTarget::Script(path), arguments));
    }
    let path = find_in_skill(&skill.files, name, first)?;
    if ScriptType::from_path(path.as_ref()).is_some() {
        return Some((RunTarget::Script(path), rest));
    }
    // A module runs in the WebAssembly sandbox and needs no interpreter.
    path.ends_with(".wasm")
        .then_some((RunTarget::Module(path), rest))
}

/// Returns the path of a file in the skill, as the directory spells it. Symlinks and hidden files
/// are not found: use the name of the target.
pub(super) fn find_in_skill(files: &SkillFiles, skill: &str, word: &str) -> Option<String> {
    let path = word
        .strip_prefix(&format!("/skills/{skill}/"))
        .or_else(|| word.strip_prefix(&format!("skills/{skill}/")));
    let path = path.unwrap_or_else(|| word.strip_prefix("./").unwrap_or(word));
    // A bare word such as `convert` is a program name, even if the skill has a file of that name.
    let is_plain = path.contains(['/', '.'])
        && !path.starts_with('/')
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    // Compared with the listing, because a case-insensitive file system would open other spellings,
    // too.
    let listed = if is_plain {
        files.list_directory(directory).unwrap_or_default()
    } else {
        Vec::new()
    };
    listed
        .into_iter()
        .map(|file| file.path)
        .find(|known| known == path)
}
