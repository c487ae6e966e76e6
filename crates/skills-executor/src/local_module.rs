//! Modules of Python that a program does not find and that are files, not packages: an attacker could
//! register a package of their name.

use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::explain::LocalModulePlace;
use crate::options::Workspace;
use crate::packages::imported_module;
use crate::plan::Planned;

/// The most directories beside a skill that are searched for a module.
const MAX_NEIGHBORS: usize = 200;
/// The ends of the names of files that are modules, and of directories with their stubs.
const MODULE_SUFFIXES: [&str; 5] = ["", ".py", ".pyi", ".pyc", "-stubs"];

/// Returns where a module is that a program did not find, unless it is not local. `reported` is its
/// name as the program wrote it.
///
/// Outside of the skill only what its `script` or another file of it imports is searched: a program may
/// name a module to learn what exists.
pub(crate) fn local_module(
    reported: &str,
    planned: &Planned,
    script: (&str, &str),
) -> Option<LocalModulePlace> {
    let imported = imported_module(planned, reported);
    let module = imported.as_deref().unwrap_or(reported);
    let top = module.split('.').next().unwrap_or(module);
    let skill = planned.skill()?;
    let listing = skill.files.list("").unwrap_or_default();
    let paths = || listing.resources.iter().map(|file| file.path.as_str());
    if paths().any(|path| is_importable(path, script.0, top)) {
        return Some(LocalModulePlace::Skill);
    }
    if paths().any(|path| path.split('/').any(|part| is_name_of(part, top))) {
        return Some(LocalModulePlace::SkillDirectory);
    }
    let is_name = !top.is_empty() && top.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_imported = || imported.is_some() || script.1.lines().any(|line| imports(line, top));
    if !is_name || !is_imported() {
        return None;
    }
    let parent = skill.entry.directory().parent();
    if parent.is_some_and(|parent| is_in_a_directory_of(parent, top)) {
        return Some(LocalModulePlace::BesideSkill);
    }
    let workspace = match &planned.options().workspace {
        Workspace::Directory(directory) => directory.as_path(),
        Workspace::Session(session) => session.path(),
        Workspace::None | Workspace::Private(_) => return None,
    };
    let is_in_workspace = has_module(workspace, top) || has_module(&workspace.join("src"), top);
    is_in_workspace.then_some(LocalModulePlace::Workspace)
}

/// Returns true if a path is a Python file of the module, at the top of the skill or beside the script.
fn is_importable(path: &str, script: &str, top: &str) -> bool {
    let beside = script
        .rsplit_once('/')
        .map_or("", |(directory, _)| directory);
    let names_top = |path: &str| {
        let rest = path.strip_prefix(top);
        rest.is_some_and(|rest| rest == ".py" || rest.starts_with('/') && rest.ends_with(".py"))
    };
    let below = path
        .strip_prefix(beside)
        .and_then(|rest| rest.strip_prefix('/'));
    names_top(path) || below.is_some_and(names_top)
}

/// Returns true if a file or directory has the name of a module, or of its stubs.
fn is_name_of(part: &str, top: &str) -> bool {
    let Some(rest) = part.strip_prefix(top) else {
        return false;
    };
    let is_compiled = rest.starts_with('.') && (rest.ends_with(".so") || rest.ends_with(".pyd"));
    is_compiled || MODULE_SUFFIXES.contains(&rest)
}

fn imports(line: &str, top: &str) -> bool {
    let line = line.trim_start();
    let modules = match line.strip_prefix("import ") {
        Some(modules) => modules,
        None => match line.strip_prefix("from ") {
            Some(rest) => rest.split(' ').next().unwrap_or(rest),
            None => return false,
        },
    };
    let mut names = modules.split([',', ';']).map(str::trim);
    names.any(|name| name.split(['.', ' ', '#']).next() == Some(top))
}

fn is_in_a_directory_of(parent: &Path, top: &str) -> bool {
    let entries = Dir::open_ambient_dir(parent, ambient_authority()).and_then(|dir| dir.entries());
    let names = entries.into_iter().flatten().flatten().take(MAX_NEIGHBORS);
    names
        .map(|entry| parent.join(entry.file_name()))
        .any(|directory| has_module(&directory, top))
}

fn has_module(directory: &Path, top: &str) -> bool {
    let file = |name: String| -> PathBuf { directory.join(name) };
    file(format!("{top}.py")).is_file()
        || file(format!("{top}.pyi")).is_file()
        || file(format!("{top}/__init__.py")).is_file()
        || file(format!("{top}-stubs")).is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_of_the_skill_is_not_a_package() {
        let paths = [
            "SKILL.md",
            "scripts/run.py",
            "scripts/utils.py",
            "lib/a/b.py",
        ];
        let is_own = |module| {
            let mut paths = paths.into_iter();
            paths.any(|path| is_importable(path, "scripts/run.py", module))
        };
        assert!(is_own("scripts") && is_own("utils") && is_own("lib"));
        assert!(!is_own("util") && !is_own("pypdf") && !is_own("SKILL"));
    }

    #[test]
    fn each_module_of_a_statement_is_imported() {
        for line in [
            "import a",
            "import b, a.c as d",
            "  from a.b import c",
            "import a; b()",
        ] {
            assert!(imports(line, "a"), "{line}");
        }
        for line in ["import ab", "from b import a", "a = 1", "importa"] {
            assert!(!imports(line, "a"), "{line}");
        }
    }

    #[test]
    fn files_and_stubs_have_the_names_of_modules() {
        for part in ["a", "a.py", "a.pyi", "a-stubs", "a.cpython-312.so"] {
            assert!(is_name_of(part, "a"), "{part}");
        }
        for part in ["a.md", "ab", "b", "a.py.txt", "as.so"] {
            assert!(!is_name_of(part, "a"), "{part}");
        }
    }
}
