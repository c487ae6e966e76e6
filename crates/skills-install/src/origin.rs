//! The kinds of sources. Each file parses the text of its kind, names it and fetches it.

mod archive;
#[cfg(feature = "clawhub")]
mod clawhub;
mod directory;
mod git;
pub(crate) mod git_command;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
#[cfg(feature = "oci")]
mod oci;
#[cfg(feature = "npm")]
mod packages;
mod site;
pub(crate) mod tree;

use std::str::FromStr;

use crate::source::{SourceError, SourceKind, SourceSpec, parse};

pub(crate) use site::index::{SCHEMA as INDEX_SCHEMA, is_name as is_index_name};

/// All kinds. The first one wins that knows a text: those with a prefix of their own are first, and
/// a web site is any URL that is nothing else.
static KINDS: &[&dyn SourceKind] = &[
    #[cfg(feature = "oci")]
    &oci::OciRegistryKind,
    #[cfg(feature = "oci")]
    &oci::OciLayoutKind,
    #[cfg(feature = "clawhub")]
    &clawhub::ClawHubKind,
    #[cfg(feature = "npm")]
    &packages::NpmKind,
    #[cfg(feature = "mcp")]
    &mcp::McpKind,
    &git::GitKind,
    &archive::ArchiveKind,
    &directory::DirectoryKind,
    &site::SiteKind,
];

impl FromStr for SourceSpec {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::parse(text, KINDS)
    }
}

/// Passes bytes to each parser of a document that servers send.
pub(crate) fn parse_documents(bytes: &[u8]) {
    KINDS.iter().for_each(|kind| kind.parse_documents(bytes));
}
