//! Whether a Python script needs the directory of its skill as a module path.

use std::collections::BTreeSet;
use std::path::Path;

use skills_discovery::SkillFiles;
use skills_sandbox::ScriptType;

/// Maximum number of files that are searched for imports.
const MAX_FILES: usize = 64;
/// Maximum size of a file that is searched, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Maximum number of imported names that are searched in the skill.
const MAX_NAMES: usize = 256;

/// Returns true if the script, or a Python file beside it, imports a module or package at the top of
/// the skill, such as `from scripts.utils import x` in `scripts/`. Authors run such a script with
/// `python -m scripts.NAME`, where the directory of the skill is a module path.
pub(crate) fn imports_from_top(files: &SkillFiles, script: &str) -> bool {
    // Python searches the directory of the script itself.
    let Some((directory, _)) = script.rsplit_once('/') else {
        return false;
    };
    let beside = files.list_directory(directory).unwrap_or_default();
    let mut names = BTreeSet::new();
    for file in beside
        .iter()
        .filter(|file| is_python(&file.path))
        .take(MAX_FILES)
    {
        // A file that cannot be read is not imported either.
        if let Ok(text) = files.read(&file.path, MAX_FILE_BYTES) {
            names.extend(imported_names(&String::from_utf8_lossy(&text)));
        }
    }
    let top = files.list_directory("").unwrap_or_default();
    let is_at_top = |name: &String| {
        let file = format!("{name}.py");
        let is_file = top.iter().any(|known| known.path == file);
        let package = || files.list_directory(name).unwrap_or_default();
        is_file || package().iter().any(|file| is_python(&file.path))
    };
    names.iter().take(MAX_NAMES).any(is_at_top)
}

fn is_python(path: &str) -> bool {
    ScriptType::from_path(Path::new(path)) == Some(ScriptType::Python)
}

/// Returns the first part of each module that a text imports, without relative ones.
fn imported_names(text: &str) -> impl Iterator<Item = String> {
    let modules = text.lines().flat_map(|line| {
        let line = line.trim_start();
        let (modules, is_list) = match line.strip_prefix("import ") {
            Some(modules) => (modules, true),
            None => (line.strip_prefix("from ").unwrap_or_default(), false),
        };
        modules
            .split(',')
            .take(if is_list { usize::MAX } else { 1 })
    });
    let names = modules.filter_map(|module| {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let module = module.trim_start();
        let end = module.find(|c| !is_name(c)).unwrap_or(module.len());
        module.get(..end).filter(|name| !name.is_empty())
    });
    names.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_parts_of_imported_modules_are_found() {
        let text = "import os, scripts.utils as utils\n    from lib import x, y\n# from no.x import y\nfrom .own import z\nimportant = 1\n";
        let names: Vec<String> = imported_names(text).collect();
        assert_eq!(names, ["os", "scripts", "lib"]);
    }
}
