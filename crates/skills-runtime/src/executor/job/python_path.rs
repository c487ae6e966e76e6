//! Whether a Python script needs the directory of its skill as a module path.

use std::path::Path;

use skills_discovery::SkillFiles;
use skills_sandbox::ScriptType;

/// Maximum number of files that are searched for imports.
const MAX_FILES: usize = 64;
/// Maximum size of a file that is searched, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Returns true if the script, or a Python file beside it, imports from the directory of the script
/// by its path in the skill, such as `from scripts.utils import x` in `scripts/`. Authors run such a
/// script with `python -m scripts.NAME`, where the directory of the skill is a module path.
pub(super) fn imports_by_skill_path(files: &SkillFiles, script: &str) -> bool {
    let Some((directory, _)) = script.rsplit_once('/') else {
        return false;
    };
    let package = directory.split('/').next().unwrap_or(directory);
    let beside = files.list_directory(directory).unwrap_or_default();
    beside
        .iter()
        .filter(|file| ScriptType::from_path(Path::new(&file.path)) == Some(ScriptType::Python))
        .take(MAX_FILES)
        // A file that cannot be read is not imported either.
        .filter_map(|file| files.read(&file.path, MAX_FILE_BYTES).ok())
        .any(|text| imports_package(&String::from_utf8_lossy(&text), package))
}

fn imports_package(text: &str, package: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        let module = line
            .strip_prefix("from ")
            .or_else(|| line.strip_prefix("import "));
        let rest = module.and_then(|module| module.trim_start().strip_prefix(package));
        rest.is_some_and(|rest| rest.starts_with(['.', ' ', ',']) || rest.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_a_package_are_found() {
        for text in [
            "import os\nfrom scripts.utils import x\n",
            "    import scripts.utils as utils",
            "from scripts import utils",
        ] {
            assert!(imports_package(text, "scripts"), "{text}");
        }
        for text in [
            "from scripts_x import y\n",
            "import os, sys\n# from scripts.x import y\n",
            "from .scripts import x\n",
        ] {
            assert!(!imports_package(text, "scripts"), "{text}");
        }
    }
}
