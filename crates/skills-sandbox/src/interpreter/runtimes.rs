//! What each kind of script is run by.

use crate::ScriptType;

/// Which limit of the operating system bounds the memory of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryRlimit {
    /// The address space (`RLIMIT_AS`).
    AddressSpace,
    /// Private writable memory (`RLIMIT_DATA`), for programs that reserve far more addresses than
    /// they ever use: V8 does.
    Data,
}

impl MemoryRlimit {
    /// Returns the limit that fits what runs scripts of this kind.
    #[must_use]
    pub fn for_script(kind: ScriptType) -> Self {
        match kind {
            ScriptType::Node | ScriptType::Deno => Self::Data,
            ScriptType::Python | ScriptType::Shell | ScriptType::Ruby | ScriptType::Perl => {
                Self::AddressSpace
            }
        }
    }

    /// The same by the name of a program.
    pub(super) fn for_program(name: &str) -> Self {
        if ["node", "deno", "bun"].contains(&name) {
            Self::Data
        } else {
            Self::AddressSpace
        }
    }
}

/// The programs that run this kind, the best first. Scripts of skills are mostly written for bash,
/// which runs those for POSIX shells too.
pub(super) fn program_names(kind: ScriptType) -> &'static [&'static str] {
    match kind {
        ScriptType::Python => &["python3"],
        ScriptType::Shell => &["bash", "sh"],
        ScriptType::Node => &["node"],
        ScriptType::Deno => &["deno"],
        ScriptType::Ruby => &["ruby"],
        ScriptType::Perl => &["perl"],
    }
}

/// The arguments before the script of an interpreter with this name.
pub(super) fn leading_args(kind: ScriptType, name: &str) -> &'static [&'static str] {
    match kind {
        ScriptType::Shell if name == "bash" => &["--noprofile", "--norc"],
        // The sandbox holds the walls: deno asks nobody, and fetches nothing that is not there.
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

/// What to do when there is none.
pub(super) fn install_hint(kind: ScriptType) -> &'static str {
    match kind {
        ScriptType::Python => "install Python 3 from the system's packages",
        ScriptType::Shell => "install bash or a POSIX shell",
        ScriptType::Node => "install Node.js from the system's packages or from nodejs.org",
        ScriptType::Deno => "install Deno, which runs TypeScript, from deno.com",
        ScriptType::Ruby => "install Ruby from the system's packages",
        ScriptType::Perl => "install Perl from the system's packages",
    }
}
