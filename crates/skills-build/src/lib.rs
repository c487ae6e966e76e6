//! Compiles a skill's source to a WebAssembly component with the tools of its language.
//!
//! ```text
//! guest/ --Source--> language, entries ---\
//! directories --ToolFinder--> Toolchain --+--> Plan --execute--> artifact and lock file
//! ```
//!
//! | source | language | tools |
//! |---|---|---|
//! | `guest/Cargo.toml` | Rust | cargo, the target `wasm32-wasip2` |
//! | `guest/{main,index,skill}.{js,mjs}` | JavaScript | node, esbuild, componentize-qjs |
//! | `guest/{main,index,skill}.ts` | TypeScript | the same; types are removed, not checked |
//! | `guest/*.c` | C | zig |
//! | `guest/{app,main}.py` | Python | componentize-py |
//!
//! This is for authors. Building runs code of the source (build scripts, packages, compilers) with
//! the rights of the current user and without a sandbox; running a skill never builds it. Nothing
//! of a skill is passed to a shell: programs are started by path, with a list of arguments.
//!
//! This crate must not know policies, sandboxes or the content of a `SKILL.md`, and it does not
//! read the environment: the directories of tools and temporary files are arguments.
//!
//! ```
//! use skills_build::Language;
//!
//! assert_eq!("js".parse(), Ok(Language::JavaScript));
//! assert!(Language::Rust.is_reproducible() && !Language::Python.is_reproducible());
//! ```

mod artifact;
mod build;
mod error;
mod execute;
mod files;
mod hash;
mod install;
mod invocation;
mod language;
mod lock;
mod plan;
mod request;
mod source;
mod template;
mod tool;
mod tool_finder;
mod toolchain;

pub use artifact::{Artifact, BuildStatus, LOCK};
pub use build::{BuildMode, build};
pub use error::{BuildError, BuildErrorKind};
pub use install::install;
pub use invocation::Invocation;
pub use language::{Language, UnknownLanguage};
pub use lock::ArtifactLock;
pub use plan::{BuildDirs, Plan};
pub use request::BuildRequest;
pub use source::{Source, SourceAccess};
pub use template::template;
pub use tool::Tool;
pub use tool_finder::ToolFinder;
pub use toolchain::{InstalledTool, RustToolchain, Toolchain};
