//! Search for the programs of skills.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use skills_sandbox::ScriptType;

/// Finds interpreters.
#[cfg(all(feature = "programs", unix))]
pub type ProgramSearch = skills_process::ProgramFinder;
/// Without a backend for scripts, no interpreters are searched.
#[cfg(not(all(feature = "programs", unix)))]
pub type ProgramSearch = ();

/// The finders of the built-in backends for scripts.
#[derive(Clone, Default)]
pub struct Finders {
    /// That of all other skills.
    pub default: ProgramSearch,
    /// Those of skills with interpreters of their own, by skill name.
    pub by_skill: BTreeMap<String, ProgramSearch>,
}

impl Finders {
    /// Returns the finder for the programs of a skill.
    pub fn for_skill(&self, skill: &str) -> &ProgramSearch {
        self.by_skill.get(skill).unwrap_or(&self.default)
    }
}

/// Returns the path by which the interpreter for scripts of a type is called.
#[cfg(all(feature = "programs", unix))]
#[must_use]
pub fn find_interpreter(finder: &ProgramSearch, script_type: ScriptType) -> Option<PathBuf> {
    Some(finder.find_interpreter(script_type).ok()?.argv0)
}

/// Returns `None`: this build searches no interpreters.
#[cfg(not(all(feature = "programs", unix)))]
#[must_use]
pub fn find_interpreter(_finder: &ProgramSearch, _type: ScriptType) -> Option<PathBuf> {
    None
}

/// Returns the finder with these interpreters in place of those that it finds.
#[cfg(all(feature = "programs", unix))]
#[must_use]
pub fn with_interpreters<'a>(
    finder: &'a ProgramSearch,
    chosen: &BTreeMap<ScriptType, PathBuf>,
) -> Cow<'a, ProgramSearch> {
    finder.with_interpreters(chosen)
}

/// Returns the finder unchanged: this build searches no interpreters.
#[cfg(not(all(feature = "programs", unix)))]
#[must_use]
pub fn with_interpreters<'a>(
    finder: &'a ProgramSearch,
    _chosen: &BTreeMap<ScriptType, PathBuf>,
) -> Cow<'a, ProgramSearch> {
    Cow::Borrowed(finder)
}

/// Returns true if a program with this name exists where runs find it.
#[cfg(all(feature = "programs", unix))]
#[must_use]
pub fn has_program(finder: &ProgramSearch, name: &str) -> bool {
    // A skill must not use a path to find out which files exist on the host.
    is_bare_name(name) && finder.has_program(name)
}

/// Returns the executable of a package manager, which a run finds by its name.
#[cfg(all(feature = "programs", unix))]
#[must_use]
pub fn find_tool(finder: &ProgramSearch, name: &str) -> Option<PathBuf> {
    Some(finder.find_program(name)?.executable)
}

/// Returns `None`: this build searches no programs.
#[cfg(not(all(feature = "programs", unix)))]
#[must_use]
pub fn find_tool(_finder: &ProgramSearch, _name: &str) -> Option<PathBuf> {
    None
}

/// Returns true if programs of a run can start a program with this name, which an interpreter from
/// an override is not.
#[cfg(all(feature = "programs", unix))]
#[must_use]
pub fn is_startable(finder: &ProgramSearch, name: &str) -> bool {
    is_bare_name(name) && finder.find_program(name).is_some()
}

#[cfg(not(all(feature = "programs", unix)))]
pub use has_program as is_startable;

/// Returns true if a program with this name is in a directory of the system. This build starts no
/// programs itself, but the application may.
#[cfg(not(all(feature = "programs", unix)))]
#[must_use]
pub fn has_program(_finder: &ProgramSearch, name: &str) -> bool {
    let directories = ["/usr/local/bin", "/usr/bin", "/bin"];
    is_bare_name(name)
        && directories
            .iter()
            .any(|directory| std::path::Path::new(directory).join(name).is_file())
}

fn is_bare_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\']) && name != "." && name != ".."
}
