//! Arguments of `skills tools`, `skills call` and `skills accept`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use skills_runtime::policy::Rule;
use skills_tools::{Mount, ToolFormat};

use super::permission::PermissionParser;

#[derive(Debug, Args)]
pub(crate) struct Tools {
    #[command(flatten)]
    pub(crate) host: Host,

    /// Print the definitions in the format of this API
    #[arg(long = "for", value_name = "HOST", value_enum)]
    pub(crate) flavour: Option<ToolFormatArg>,

    #[command(subcommand)]
    pub(crate) command: Option<ToolsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Configure the tool of a script
    Change(Change),
}

#[derive(Debug, Args)]
pub(crate) struct Change {
    /// Tool name
    pub(crate) tool: String,

    /// Disable the tool
    #[arg(long, conflicts_with = "on")]
    pub(crate) off: bool,

    /// Enable the tool
    #[arg(long)]
    pub(crate) on: bool,

    /// Remove all overrides of the tool
    #[arg(long, conflicts_with_all = ["off", "on", "description", "timeout"])]
    pub(crate) reset: bool,

    /// Description for models
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,

    /// Deadline in seconds, at most 600
    #[arg(long, value_name = "SECONDS", value_parser = super::run::parse_seconds)]
    pub(crate) timeout: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Call {
    /// Tool name
    pub(crate) tool: String,

    /// Arguments of the tool: JSON, @FILE, or - for standard input
    #[arg(value_name = "JSON|@FILE|-", default_value = "{}")]
    pub(crate) arguments: String,

    #[command(flatten)]
    pub(crate) host: Host,

    /// Grant a permission for this call (repeatable)
    ///
    /// One of write:/DIR, spawn, spawn:PROGRAM, network:HOST, env:NAME.
    #[arg(long, value_name = "PERMISSION", value_parser = PermissionParser)]
    pub(crate) allow: Vec<Rule>,

    /// Read variables that skills declare from this .env file (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Vec<PathBuf>,

    /// Approve all requests of this call; `deny` rules still apply
    #[arg(long, conflicts_with = "deny")]
    pub(crate) yes: bool,

    /// Deny all requests of this call
    #[arg(long)]
    pub(crate) deny: bool,
}

/// Directories that tools and programs can access.
#[derive(Debug, Args)]
pub(crate) struct Host {
    /// Workspace directory of tools and programs, writable
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,

    /// Mount another directory under a name, read-only (repeatable)
    ///
    /// The suffix `,rw` makes it writable; `,mirror` makes its host path valid as well.
    #[arg(long, value_name = "NAME=DIR[,rw][,mirror]", value_parser = parse_mount)]
    pub(crate) mount: Vec<MountArg>,

    /// Directory of drafts [default: drafts in the data directory]
    ///
    /// Skills that a model creates are drafts. They do not run until `skills accept`.
    #[arg(long, value_name = "DIR")]
    pub(crate) drafts: Option<PathBuf>,
}

/// A mount as given on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MountArg {
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
    pub(crate) is_writable: bool,
    pub(crate) has_host_path: bool,
}

impl MountArg {
    pub(crate) fn to_mount(&self) -> Mount {
        let mount = if self.is_writable {
            Mount::writable(&self.name, &self.directory)
        } else {
            Mount::read_only(&self.name, &self.directory)
        };
        if self.has_host_path {
            mount.with_host_path()
        } else {
            mount
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ToolFormatArg {
    /// Clients of the Model Context Protocol
    Mcp,
    /// APIs like OpenAI's
    Openai,
    /// Anthropic's API
    Anthropic,
}

impl From<ToolFormatArg> for ToolFormat {
    fn from(flavour: ToolFormatArg) -> Self {
        match flavour {
            ToolFormatArg::Mcp => Self::Mcp,
            ToolFormatArg::Openai => Self::OpenAi,
            ToolFormatArg::Anthropic => Self::Anthropic,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Accept {
    /// Name of the draft; without it, drafts are listed
    pub(crate) name: Option<String>,

    /// Target directory [default: the first trusted user root]
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,

    /// Directory of drafts [default: drafts in the data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) drafts: Option<PathBuf>,

    /// Accept without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Parses `NAME=DIR[,rw][,mirror]`.
fn parse_mount(text: &str) -> Result<MountArg, String> {
    let (name, rest) = text
        .split_once('=')
        .filter(|(name, rest)| !name.is_empty() && !rest.is_empty())
        .ok_or("expected NAME=DIR[,rw][,mirror]")?;
    // Suffixes are removed from the end, since a path can contain commas. A second one of the same
    // kind belongs to the path.
    let (mut directory, mut is_writable, mut is_mirrored) = (rest, false, false);
    loop {
        if let Some(before) = directory.strip_suffix(",rw").filter(|_| !is_writable) {
            (directory, is_writable) = (before, true);
        } else if let Some(before) = directory.strip_suffix(",mirror").filter(|_| !is_mirrored) {
            (directory, is_mirrored) = (before, true);
        } else {
            return Ok(MountArg {
                name: name.to_owned(),
                directory: PathBuf::from(directory),
                is_writable,
                has_host_path: is_mirrored,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_has_a_name_a_directory_and_access() {
        let check = |text: &str, name: &str, directory: &str, is_writable, is_mirrored| {
            let chosen = MountArg {
                name: name.into(),
                directory: directory.into(),
                is_writable,
                has_host_path: is_mirrored,
            };
            assert_eq!(parse_mount(text), Ok(chosen), "{text}");
        };
        check("data=/srv/data", "data", "/srv/data", false, false);
        check("data=/a=b,c,rw", "data", "/a=b,c", true, false);
        check("data=d,mirror,rw", "data", "d", true, true);
        for wrong in ["data", "=/x", "data="] {
            assert!(parse_mount(wrong).is_err(), "{wrong}");
        }
    }
}
