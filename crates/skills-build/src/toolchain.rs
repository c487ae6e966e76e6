//! The tools that were found.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::tool::Tool;

/// A tool on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledTool {
    /// The absolute path of its program.
    pub program: PathBuf,
    /// The version that it reports, on one line and without its name; `unknown` if it reports none.
    pub version: String,
}

/// Details of the Rust toolchain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RustToolchain {
    /// The directory of the toolchain.
    pub sysroot: PathBuf,
    /// The commit that it was built from; `unknown` for compilers of distributions.
    pub commit: String,
    /// The directory of the workspace that contains the source, according to cargo; `None` if it
    /// cannot tell.
    pub workspace: Option<PathBuf>,
}

/// The installed tools of one language. Returned by [`ToolFinder::find`](crate::ToolFinder::find).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toolchain {
    /// The tools.
    pub tools: BTreeMap<Tool, InstalledTool>,
    /// Details of the Rust compiler, if it is among them.
    pub rust: Option<RustToolchain>,
    /// The `PATH` of started programs.
    pub search_path: OsString,
}

impl Toolchain {
    /// Returns the program of a tool; its bare name if it was not found, so that starting it fails
    /// with that name.
    pub(crate) fn program(&self, tool: Tool) -> PathBuf {
        self.tools.get(&tool).map_or_else(
            || PathBuf::from(tool.as_str()),
            |installed| installed.program.clone(),
        )
    }

    /// Lists the tools with their versions, in a fixed order.
    pub(crate) fn versions(&self) -> Vec<(String, String)> {
        // The target has the version of the compiler.
        let tools = self
            .tools
            .iter()
            .filter(|(tool, _)| **tool != Tool::RustTarget);
        tools
            .map(|(tool, installed)| (tool.as_str().to_owned(), installed.version.clone()))
            .collect()
    }
}
