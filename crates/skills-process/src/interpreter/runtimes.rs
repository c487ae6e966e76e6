//! Programs, arguments and limits for each kind of script.

use std::path::Path;

use skills_sandbox::ScriptType;

use super::resolved_program::ResolvedProgram;

/// The directories of subcommands, relative to the prefix of a program.
const SUBCOMMANDS: [(&str, [&str; 2]); 1] = [("git", ["lib/git-core", "libexec/git-core"])];

/// Adds the directory with the subcommands of a program, which it starts as programs of their own.
pub(super) fn add_subcommands(name: &str, program: &mut ResolvedProgram) {
    let directories = SUBCOMMANDS.iter().filter(|(known, _)| *known == name);
    let prefix = program.executable.parent().and_then(Path::parent);
    let Some(prefix) = prefix.map(Path::to_owned) else {
        return;
    };
    let directories = directories.flat_map(|(_, directories)| directories);
    let existing = directories.map(|directory| prefix.join(directory));
    program
        .executable_paths
        .extend(existing.filter(|directory| directory.is_dir()));
}

/// Returns the programs to search for scripts of this kind, the best one first.
#[must_use]
pub fn interpreter_names(kind: ScriptType) -> &'static [&'static str] {
    match kind {
        // `python` can be Python 2.
        ScriptType::Python => &["python3"],
        _ => kind.program_names(),
    }
}

/// Returns the arguments before the script for an interpreter with this name.
#[must_use]
pub fn interpreter_args(kind: ScriptType, name: &str) -> &'static [&'static str] {
    match kind {
        // Start files of the user are not part of the skill.
        ScriptType::Shell if name == "bash" => &["--noprofile", "--norc"],
        // The sandbox enforces access, so Deno's own permission prompts and fetching are disabled.
        ScriptType::Deno => &["run", "--quiet", "--no-prompt", "--cached-only", "-A"],
        _ => &[],
    }
}

/// The argument that keeps the heap of an interpreter of this kind below `mebibytes`.
pub(super) fn heap_argument(kind: ScriptType, mebibytes: u64) -> Option<String> {
    match kind {
        ScriptType::Node => Some(format!("--max-old-space-size={mebibytes}")),
        ScriptType::Deno => Some(format!("--v8-flags=--max-old-space-size={mebibytes}")),
        _ => None,
    }
}

/// How to install an interpreter.
pub(super) fn install_hint(kind: ScriptType) -> &'static str {
    match kind {
        ScriptType::Python => "install Python 3 from the system's packages",
        ScriptType::Shell => "install bash or a POSIX shell",
        ScriptType::Node => "install Node.js from the system's packages or from nodejs.org",
        ScriptType::Deno => {
            "install Node.js 22.18 or newer, or Deno from deno.com, which run TypeScript"
        }
        ScriptType::Ruby => "install Ruby from the system's packages",
        ScriptType::Perl => "install Perl from the system's packages",
        _ => "install an interpreter for the language",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_script_has_a_hint() {
        for kind in ScriptType::ALL {
            assert!(!install_hint(kind).contains("an interpreter"), "{kind:?}");
        }
    }
}
