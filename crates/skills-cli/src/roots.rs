//! Turns the environment into roots.
#![expect(clippy::disallowed_methods, reason = "this crate is where the environment is read")]

use std::env;
use std::path::PathBuf;

use skills_runtime::{Root, Scope};

/// Where clients keep skills, below a project or below the home directory.
const DIRECTORIES: [&str; 3] = [".agents/skills", ".claude/skills", ".codex/skills"];

/// Returns the directories that were named, else those of the project and of the user.
pub(crate) fn roots(named: &[PathBuf]) -> Vec<Root> {
    if !named.is_empty() {
        return named.iter().map(|path| Root::new(path, Scope::Custom)).collect();
    }
    let below = |base: PathBuf, scope| DIRECTORIES.iter().map(move |directory| Root::new(base.join(directory), scope));
    let project = env::current_dir().ok().into_iter().flat_map(|directory| below(directory, Scope::Repo));
    let user = env::home_dir().into_iter().flat_map(|home| below(home, Scope::User));
    let moved = [("CLAUDE_CONFIG_DIR", "skills"), ("CODEX_HOME", "skills")];
    // Empty and relative values are mistakes, and the working directory is nobody's home.
    let set = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let moved = moved.into_iter().filter_map(|(name, below)| Some(Root::new(set(name)?.join(below), Scope::User)));
    project.chain(user).chain(moved).collect()
}

/// Returns where private scratch directories are made.
pub(crate) fn scratch_directory() -> PathBuf {
    env::temp_dir()
}
