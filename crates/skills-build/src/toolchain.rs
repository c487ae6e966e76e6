//! The tools that were found.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::tool::Tool;

/// A tool of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledTool {
    /// The absolute path of its program.
    pub program: PathBuf,
    /// What it says of its version, on one line and without its name; `unknown` when it says
    /// nothing.
    pub version: String,
}

/// What the Rust compiler says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RustToolchain {
    /// Where the toolchain lies.
    pub sysroot: PathBuf,
    /// The commit that it was made from; `unknown` for compilers of distributions.
    pub commit: String,
    /// The directory of the workspace that the source belongs to, by cargo; nothing when it cannot
    /// say.
    pub workspace: Option<PathBuf>,
}

/// All tools of one language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toolchain {
    /// The tools.
    pub tools: BTreeMap<Tool, InstalledTool>,
    /// More about the Rust compiler, when it is among them.
    pub rust: Option<RustToolchain>,
    /// The `PATH` that programs are started with.
    pub search_path: OsString,
}

impl Toolchain {
    /// Returns the program of a tool; its bare name when it was not found, which then fails with
    /// that name.
    pub(crate) fn program(&self, tool: Tool) -> PathBuf {
        self.tools.get(&tool).map_or_else(
            || PathBuf::from(tool.as_str()),
            |installed| installed.program.clone(),
        )
    }

    /// Lists the tools with their versions, in a fixed order.
    pub(crate) fn versions(&self) -> Vec<(String, String)> {
        // The target's version is the compiler's.
        let tools = self
            .tools
            .iter()
            .filter(|(tool, _)| **tool != Tool::RustTarget);
        tools
            .map(|(tool, installed)| (tool.as_str().to_owned(), installed.version.clone()))
            .collect()
    }
}
