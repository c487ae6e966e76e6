//! The scripts and modules of a skill that a command line starts.

use skills_runtime::discovery::SkillFiles;
use skills_runtime::{RunTarget, ScriptLanguage, ScriptType, without_launcher};

use super::runnable_skill::RunnableSkill;

/// Finds the script or module of the skill that a command line starts, if there is one, and returns
/// it with its arguments.
pub(crate) fn find_skill_program<'a>(
    skill: &RunnableSkill,
    words: &'a [String],
) -> Option<(RunTarget, &'a [String])> {
    let command = without_launcher(words);
    let first = command.first()?;
    let name = skill.entry.name().as_str();
    if let Some(found) = find_python_module(skill, words) {
        return Some(found);
    }
    if let Some(script_type) = ScriptType::from_interpreter(first)
        && let Some((script, arguments)) = words.get(program_index(words)?..)?.split_first()
        && let Some(path) = find_in_skill(&skill.files, name, script)
            // `python x.sh` does not run a script of the skill as its type demands, so the
            // interpreter counts as a program of the host.
            .filter(|path| known_type(&skill.files, path) == Some(script_type))
    {
        return Some((RunTarget::Script(path), arguments));
    }
    let path = find_in_skill(&skill.files, name, first)?;
    if ScriptLanguage::of_file(&skill.files, &path).is_some() {
        return Some((RunTarget::Script(path), &command[1..]));
    }
    // A module runs in the WebAssembly sandbox and needs no interpreter.
    path.ends_with(".wasm")
        .then_some((RunTarget::Module(path), &command[1..]))
}

/// Returns the language of a script of the skill, if the sandbox selects its interpreter.
pub(crate) fn known_type(files: &SkillFiles, path: &str) -> Option<ScriptType> {
    ScriptLanguage::of_file(files, path)?.known()
}

/// Returns which word of a command is the program that it starts: the first, or the one after a
/// launcher and an interpreter.
pub(crate) fn program_index(words: &[String]) -> Option<usize> {
    let command = without_launcher(words);
    let launcher = words.len() - command.len();
    let (first, rest) = command.split_first()?;
    let script_type = ScriptType::from_interpreter(first);
    if script_type.is_none() {
        return Some(launcher);
    }
    let is_ignored = |(index, word): &(usize, &String)| match script_type {
        // What Deno may do is up to the sandbox.
        Some(ScriptType::Deno) => {
            word.starts_with("--allow-") || *word == "-A" || *index == 0 && *word == "run"
        }
        // The output of scripts is not buffered anyway.
        _ => *word == "-u",
    };
    let ignored = rest.iter().enumerate().take_while(is_ignored).count();
    Some(launcher + 1 + ignored)
}

/// Finds the script of the skill that `python -m` names as a module, from the directory of the skill.
fn find_python_module<'a>(
    skill: &RunnableSkill,
    words: &'a [String],
) -> Option<(RunTarget, &'a [String])> {
    let command = without_launcher(words);
    let rest = match command.split_first()? {
        (first, rest) if ScriptType::from_interpreter(first) == Some(ScriptType::Python) => rest,
        _ if command.len() < words.len() => command,
        _ => return None,
    };
    let [option, module, arguments @ ..] = rest else {
        return None;
    };
    if !matches!(option.as_str(), "-m" | "--module") || module.contains('/') {
        return None;
    }
    let path = module.replace('.', "/");
    // A package precedes a module, as in Python; a directory without `__init__.py` follows it.
    let name = skill.entry.name().as_str();
    let is_package = find_in_skill(&skill.files, name, &format!("{path}/__init__.py")).is_some();
    let mut files = [format!("{path}.py"), format!("{path}/__main__.py")];
    if is_package {
        files.reverse();
    }
    let mut found = files
        .iter()
        .filter_map(|file| find_in_skill(&skill.files, name, file));
    Some((RunTarget::Script(found.next()?), arguments))
}

/// Returns the path of a file in the skill, as the directory spells it. Symlinks and hidden files
/// are not found: use the name of the target.
pub(crate) fn find_in_skill(files: &SkillFiles, skill: &str, word: &str) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, expected: &str, index: usize) {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        assert_eq!(without_launcher(&words).join(" "), expected, "{command}");
        assert_eq!(program_index(&words), Some(index), "{command}");
    }

    #[test]
    fn launchers_are_removed_with_the_options_that_select_an_environment() {
        check("uv run a.py -v", "a.py -v", 2);
        check("uv run --no-project -q a.py", "a.py", 4);
        check(
            "uv run --with x --python=3.12 python -u a.py",
            "python -u a.py",
            7,
        );
        check("poetry run python a.py --with b", "python a.py --with b", 3);
        check("uv run -- a.py", "a.py", 3);
        check("uv run -m scripts.a b", "-m scripts.a b", 2);
        check("npx -y bun a.ts x", "bun a.ts x", 3);
        check("npx tsx a.ts", "tsx a.ts", 2);
        check("deno run --allow-net a.ts", "deno run --allow-net a.ts", 3);
        check("bun run a.ts", "bun run a.ts", 2);
    }

    #[test]
    fn other_commands_and_options_are_kept() {
        for command in [
            "uv run --directory x a.py",
            "uv run --with",
            "uv pip install x",
            "uv run",
            "npx -y cowsay a.ts",
            "npx -p evil tsx a.ts",
            "npx --yes -c tsx",
        ] {
            check(command, command, 0);
        }
        check("python a.py", "python a.py", 1);
    }
}
