//! The languages that skills are written in.

use std::fmt;
use std::str::FromStr;

/// A language whose source can be built. It decides the required tools and the form of the
/// artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Language {
    /// Rust, with cargo: a component of about 70 KB.
    Rust,
    /// JavaScript, with QuickJS: a component of about 1.7 MB.
    JavaScript,
    /// TypeScript, whose types are removed and not checked; then like JavaScript.
    TypeScript,
    /// C, with zig: a core module for WASI preview 1 of at least 3 KB, shipped unchanged.
    C,
    /// Python, with componentize-py: a component of about 19 MB.
    Python,
}

/// An unknown name of a language.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown language; expected one of: {}", Language::ALL.map(Language::as_str).join(", "))]
pub struct UnknownLanguage;

impl Language {
    /// All languages, in display order.
    pub const ALL: [Self; 5] = [
        Self::Rust,
        Self::JavaScript,
        Self::TypeScript,
        Self::C,
        Self::Python,
    ];

    /// Returns the short name: `rust`, `js`, `ts`, `c` or `python`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::JavaScript => "js",
            Self::TypeScript => "ts",
            Self::C => "c",
            Self::Python => "python",
        }
    }

    /// Returns true if the same source and tools create the same bytes. They do not if the heap of
    /// an interpreter is stored, as for JavaScript and Python.
    #[must_use]
    pub const fn is_reproducible(self) -> bool {
        matches!(self, Self::Rust | Self::C)
    }

    /// Returns the files of this crate that are built together with the source, with their paths in
    /// the staging directory.
    pub(crate) const fn generated(self) -> &'static [(&'static str, &'static str)] {
        match self {
            // Their compilers build for WASI without files of this crate.
            Self::Rust | Self::C => &[],
            Self::JavaScript | Self::TypeScript => SCRIPT,
            Self::Python => PYTHON,
        }
    }
}

const WIT: (&str, &str) = ("wit/skill.wit", include_str!("../guest/wit/skill.wit"));
const WIT_CLI: (&str, &str) = (
    "wit/deps/cli/cli.wit",
    include_str!("../guest/wit/deps/cli/cli.wit"),
);
const WIT_FILES: (&str, &str) = (
    "wit/deps/filesystem/filesystem.wit",
    include_str!("../guest/wit/deps/filesystem/filesystem.wit"),
);
const WIT_IO: (&str, &str) = (
    "wit/deps/io/io.wit",
    include_str!("../guest/wit/deps/io/io.wit"),
);
const SCRIPT: &[(&str, &str)] = &[
    ("entry.js", include_str!("../guest/entry.js")),
    ("skill.js", include_str!("../guest/skill.js")),
    ("utf8.js", include_str!("../guest/utf8.js")),
    WIT,
    WIT_CLI,
    WIT_FILES,
    WIT_IO,
];
const PYTHON: &[(&str, &str)] = &[
    ("skill_entry.py", include_str!("../guest/skill_entry.py")),
    WIT,
    WIT_CLI,
    WIT_FILES,
    WIT_IO,
];

impl FromStr for Language {
    type Err = UnknownLanguage;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|language| language.as_str() == text)
            .ok_or(UnknownLanguage)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
