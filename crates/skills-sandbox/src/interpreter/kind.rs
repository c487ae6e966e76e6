//! What each kind of script is run by.

use crate::ScriptKind;

/// Which limit of the operating system bounds the memory of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Memory {
    /// The address space (`RLIMIT_AS`).
    AddressSpace,
    /// Private writable memory (`RLIMIT_DATA`), for programs that reserve far more addresses than
    /// they ever use: V8 does.
    Data,
}

impl Memory {
    /// Returns the limit that fits what runs scripts of this kind.
    #[must_use]
    pub fn of(kind: ScriptKind) -> Self {
        match kind {
            ScriptKind::Node | ScriptKind::Deno => Self::Data,
            ScriptKind::Python | ScriptKind::Shell | ScriptKind::Ruby | ScriptKind::Perl => {
                Self::AddressSpace
            }
        }
    }

    /// The same by the name of a program.
    pub(super) fn of_program(name: &str) -> Self {
        if ["node", "deno", "bun"].contains(&name) {
            Self::Data
        } else {
            Self::AddressSpace
        }
    }
}

/// The programs that run this kind, the best first. Scripts of skills are mostly written for bash,
/// which runs those for POSIX shells too.
pub(super) fn names(kind: ScriptKind) -> &'static [&'static str] {
    match kind {
        ScriptKind::Python => &["python3"],
        ScriptKind::Shell => &["bash", "sh"],
        ScriptKind::Node => &["node"],
        ScriptKind::Deno => &["deno"],
        ScriptKind::Ruby => &["ruby"],
        ScriptKind::Perl => &["perl"],
    }
}

/// The arguments before the script of an interpreter with this name.
pub(super) fn arguments(kind: ScriptKind, name: &str) -> &'static [&'static str] {
    match kind {
        ScriptKind::Shell if name == "bash" => &["--noprofile", "--norc"],
        // The sandbox holds the walls: deno asks nobody, and fetches nothing that is not there.
        ScriptKind::Deno => &["run", "--quiet", "--no-prompt", "--cached-only", "-A"],
        _ => &[],
    }
}

/// The argument that keeps the heap of an interpreter of this kind below `mebibytes`.
pub(super) fn heap_argument(kind: ScriptKind, mebibytes: u64) -> Option<String> {
    match kind {
        ScriptKind::Node => Some(format!("--max-old-space-size={mebibytes}")),
        ScriptKind::Deno => Some(format!("--v8-flags=--max-old-space-size={mebibytes}")),
        _ => None,
    }
}

/// What to do when there is none.
pub(super) fn hint(kind: ScriptKind) -> &'static str {
    match kind {
        ScriptKind::Python => "install Python 3 from the system's packages",
        ScriptKind::Shell => "install bash or a POSIX shell",
        ScriptKind::Node => "install Node.js from the system's packages or from nodejs.org",
        ScriptKind::Deno => "install Deno, which runs TypeScript, from deno.com",
        ScriptKind::Ruby => "install Ruby from the system's packages",
        ScriptKind::Perl => "install Perl from the system's packages",
    }
}
