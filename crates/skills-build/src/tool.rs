//! The tools that languages need.

use std::fmt;

use crate::language::Language;

/// A program or component that a build needs. [`for_language`](Self::for_language) lists those of a
/// language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Tool {
    /// Rust's build tool.
    Cargo,
    /// The Rust compiler.
    Rustc,
    /// The standard library for `wasm32-wasip2`.
    RustTarget,
    /// The JavaScript engine that runs the tools for JavaScript.
    Node,
    /// The bundler, which also removes types from TypeScript.
    Esbuild,
    /// Combines QuickJS and a program into a component.
    ComponentizeQjs,
    /// The C compiler with a C library for WASI.
    Zig,
    /// Combines CPython and a program into a component.
    ComponentizePy,
}

impl Tool {
    /// Returns the tools of a language.
    #[must_use]
    pub const fn for_language(language: Language) -> &'static [Self] {
        match language {
            Language::Rust => &[Self::Cargo, Self::Rustc, Self::RustTarget],
            Language::JavaScript | Language::TypeScript => {
                &[Self::Node, Self::Esbuild, Self::ComponentizeQjs]
            }
            Language::C => &[Self::Zig],
            Language::Python => &[Self::ComponentizePy],
        }
    }

    /// Returns the common name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Rustc => "rustc",
            Self::RustTarget => "wasm32-wasip2",
            Self::Node => "node",
            Self::Esbuild => "esbuild",
            Self::ComponentizeQjs => "componentize-qjs",
            Self::Zig => "zig",
            Self::ComponentizePy => "componentize-py",
        }
    }

    /// Returns the install command or download URL.
    #[must_use]
    pub const fn install_hint(self) -> &'static str {
        match self {
            Self::Cargo | Self::Rustc => "https://rustup.rs",
            Self::RustTarget => "rustup target add wasm32-wasip2",
            Self::Node => "https://nodejs.org",
            Self::Esbuild => "npm install esbuild",
            Self::ComponentizeQjs => "npm install componentize-qjs",
            Self::Zig => "pip install ziglang",
            Self::ComponentizePy => "pip install componentize-py",
        }
    }

    /// Returns true if [`install`](crate::install) supports it.
    #[must_use]
    pub const fn is_installable(self) -> bool {
        !matches!(self, Self::Cargo | Self::Rustc | Self::Node)
    }

    /// Returns true if authors install it as a package of a source.
    pub(crate) const fn is_project_local(self) -> bool {
        matches!(
            self,
            Self::Esbuild | Self::ComponentizeQjs | Self::ComponentizePy
        )
    }

    /// The names of its programs, in order of preference.
    pub(crate) const fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Cargo => &["cargo"],
            Self::Rustc | Self::RustTarget => &["rustc"],
            Self::Node => &["node"],
            Self::Esbuild => &["esbuild"],
            Self::ComponentizeQjs => &["componentize-qjs"],
            // The package `ziglang` installs the second one.
            Self::Zig => &["zig", "python-zig"],
            Self::ComponentizePy => &["componentize-py"],
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
