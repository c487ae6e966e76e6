//! Programs of jobs, and the languages of scripts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The program of a job. Each backend runs some of these kinds and rejects the others with
/// [`SandboxError`](crate::SandboxError).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Program {
    /// A WebAssembly component or module, as bytes.
    Wasm(Arc<[u8]>),
    /// A script for an interpreter that the backend selects by `kind`, never by the path in the
    /// first line of the script.
    Script {
        /// The language.
        kind: ScriptType,
        /// The absolute path, inside a directory that the grants make readable.
        path: PathBuf,
    },
    /// A program of the host that the grants allow to start.
    Command {
        /// The name, without a path; the backend searches the same directories as for interpreters.
        name: String,
    },
}

/// The language of a script, which decides the interpreter. The caller takes it from the program that
/// the first line names ([`from_interpreter`](Self::from_interpreter)), else from the file extension
/// ([`from_path`](Self::from_path)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ScriptType {
    /// `.py`, run by Python 3.
    Python,
    /// `.sh` and `.bash`, run by bash or, if that is not installed, by a POSIX shell.
    Shell,
    /// `.js`, `.mjs` and `.cjs`, run by Node.
    Node,
    /// `.ts`, `.mts` and `.cts`, run by Deno, or another runtime of TypeScript; not `.d.ts`, which
    /// contains only declarations.
    Deno,
    /// `.rb`, run by Ruby.
    Ruby,
    /// `.pl`, run by Perl.
    Perl,
}

impl ScriptType {
    /// All languages.
    pub const ALL: [Self; 6] = [
        Self::Python,
        Self::Shell,
        Self::Node,
        Self::Deno,
        Self::Ruby,
        Self::Perl,
    ];

    /// Returns the language as one lowercase word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Shell => "shell",
            Self::Node => "node",
            Self::Deno => "deno",
            Self::Ruby => "ruby",
            Self::Perl => "perl",
        }
    }

    /// Returns the names of the programs that run scripts of this language, the best one first.
    /// Shell scripts of skills are mostly written for bash, which also runs POSIX shell scripts.
    #[must_use]
    pub fn program_names(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["python3", "python"],
            Self::Shell => &["bash", "sh"],
            Self::Node => &["node"],
            Self::Deno => &["deno"],
            Self::Ruby => &["ruby"],
            Self::Perl => &["perl"],
        }
    }

    /// Returns the language that a program runs, by its name without a path.
    #[must_use]
    pub fn from_program(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.program_names().contains(&name))
    }

    /// Returns the language for the name of an interpreter as first lines of scripts have it, also
    /// with the number of a version: `python3.12`, `nodejs`, `dash`. Other versions of a language
    /// (`python2`) are `None`, like all other programs.
    #[must_use]
    pub fn from_interpreter(name: &str) -> Option<Self> {
        let plain = name.trim_end_matches(|one: char| one.is_ascii_digit() || one == '.');
        match plain {
            "python" if name == plain || name[plain.len()..].starts_with('3') => Some(Self::Python),
            "ruby" => Some(Self::Ruby),
            "perl" if !name[plain.len()..].starts_with('6') => Some(Self::Perl),
            _ => match name {
                "dash" | "ash" => Some(Self::Shell),
                "nodejs" => Some(Self::Node),
                "bun" | "tsx" | "ts-node" => Some(Self::Deno),
                _ => Self::from_program(name),
            },
        }
    }

    /// Returns the language for the extension of a file name; `None` if it is unknown.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "py" => Some(Self::Python),
            "sh" | "bash" => Some(Self::Shell),
            "js" | "mjs" | "cjs" => Some(Self::Node),
            // A declaration file contains nothing to run.
            "ts" | "mts" | "cts" => path
                .file_stem()
                .is_some_and(|stem| Path::new(stem).extension().is_none_or(|inner| inner != "d"))
                .then_some(Self::Deno),
            "rb" => Some(Self::Ruby),
            "pl" => Some(Self::Perl),
            _ => None,
        }
    }
}

impl Program {
    /// Creates a script program.
    pub fn script(kind: ScriptType, path: impl Into<PathBuf>) -> Self {
        Self::Script {
            kind,
            path: path.into(),
        }
    }

    /// Creates a command: a program of the host, by name.
    pub fn command(name: impl Into<String>) -> Self {
        Self::Command { name: name.into() }
    }
}
