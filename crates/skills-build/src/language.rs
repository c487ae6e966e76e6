//! The languages that skills are written in.

use std::fmt;
use std::str::FromStr;

/// A language whose source can be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Language {
    /// Rust, by cargo: a component of about 70 KB.
    Rust,
    /// JavaScript, by QuickJS: a component of about 1.7 MB.
    JavaScript,
    /// TypeScript, whose types are taken out and not checked; then as JavaScript.
    TypeScript,
    /// C, by zig: a core module for WASI preview 1 of 3 KB and more, which is shipped as it is.
    C,
    /// Python, by componentize-py: a component of about 19 MB.
    Python,
}

/// A word that names no language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownLanguage;

impl Language {
    /// All languages, in the order in which they are told.
    pub const ALL: [Self; 5] = [
        Self::Rust,
        Self::JavaScript,
        Self::TypeScript,
        Self::C,
        Self::Python,
    ];

    /// Returns the short name, as it is typed: `rust`, `js`, `ts`, `c` or `python`.
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

    /// Says whether the same source and tools make the same bytes. Where an interpreter's heap is
    /// stored, as for JavaScript and Python, they do not.
    #[must_use]
    pub const fn is_reproducible(self) -> bool {
        matches!(self, Self::Rust | Self::C)
    }

    /// Returns the files of ours that are built together with the source, with their paths in the
    /// stage.
    pub(crate) const fn generated(self) -> &'static [(&'static str, &'static str)] {
        match self {
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

impl fmt::Display for UnknownLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no such language; there are: {}",
            Language::ALL.map(Language::as_str).join(", ")
        )
    }
}

impl std::error::Error for UnknownLanguage {}
