//! The arguments of the tools that a model calls.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use skills_tools::{Mount, ToolFormat};

#[derive(Debug, Args)]
pub(crate) struct Tools {
    #[command(flatten)]
    pub(crate) host: Host,

    /// Print the definitions as this kind of host takes them
    #[arg(long = "for", value_name = "HOST", value_enum)]
    pub(crate) flavour: Option<ToolFormatArg>,

    #[command(subcommand)]
    pub(crate) command: Option<ToolsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Change the tool of a script for good: turn it off or on, or tell models something else of it
    Change(Change),
}

#[derive(Debug, Args)]
pub(crate) struct Change {
    /// Name of the tool
    pub(crate) tool: String,

    /// Do not offer it
    #[arg(long, conflicts_with = "on")]
    pub(crate) off: bool,

    /// Offer it
    #[arg(long)]
    pub(crate) on: bool,

    /// Take back all that was changed about it
    #[arg(long, conflicts_with_all = ["off", "on", "description", "timeout"])]
    pub(crate) reset: bool,

    /// What models are told that it does
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,

    /// Its deadline in seconds, at most 600
    #[arg(long, value_name = "SECONDS", value_parser = super::run::parse_seconds)]
    pub(crate) timeout: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Call {
    /// Name of the tool
    pub(crate) tool: String,

    /// Its arguments: JSON, @FILE, or - for standard input
    #[arg(value_name = "JSON|@FILE|-", default_value = "{}")]
    pub(crate) arguments: String,

    #[command(flatten)]
    pub(crate) host: Host,

    /// Allow, for this call: write:/DIR, spawn, spawn:PROGRAM, network:HOST, env:NAME (repeatable)
    #[arg(long, value_name = "PERMISSION")]
    pub(crate) allow: Vec<String>,

    /// Take the variables that skills declare from this .env file (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Vec<PathBuf>,

    /// Say yes, for this call, to whatever would be asked; what rules forbid stays forbidden
    #[arg(long, conflicts_with = "deny")]
    pub(crate) yes: bool,

    /// Say no to whatever would be asked
    #[arg(long)]
    pub(crate) deny: bool,
}

/// What the tools of a host see of this machine.
#[derive(Debug, Args)]
pub(crate) struct Host {
    /// Directory that tools and programs work in, and may write
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,

    /// Another directory that tools and programs may read, by a name; with `,rw` behind it they may
    /// write it, with `,mirror` its own path leads to it as well (repeatable)
    #[arg(long, value_name = "NAME=DIR[,rw][,mirror]", value_parser = parse_mount)]
    pub(crate) mount: Vec<MountArg>,

    /// Where new skills are made, of which nothing runs until `skills adopt` [default: drafts where
    /// this command keeps its data]
    #[arg(long, value_name = "DIR")]
    pub(crate) drafts: Option<PathBuf>,
}

/// A mount as it was written.
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
    /// Name of the draft; without one they are listed
    pub(crate) name: Option<String>,

    /// Directory to move it to [default: the first place of your own where skills are looked for]
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,

    /// Where drafts lie [default: drafts where this command keeps its data]
    #[arg(long, value_name = "DIR")]
    pub(crate) drafts: Option<PathBuf>,

    /// Adopt it without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Reads `NAME=DIR[,rw][,mirror]`.
fn parse_mount(text: &str) -> Result<MountArg, String> {
    let (name, rest) = text
        .split_once('=')
        .filter(|(name, rest)| !name.is_empty() && !rest.is_empty())
        .ok_or("not NAME=DIR")?;
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
    fn a_mount_has_a_name_a_directory_and_what_may_be_done() {
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
