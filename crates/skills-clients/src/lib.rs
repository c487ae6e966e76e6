//! The table of clients: where each keeps skills and configuration, as data.
//!
//! Three crates that may not depend on each other need the same facts: `skills-discovery` scans
//! the roots of skills, `skills-policy` keeps programs from writing them, and
//! `skills-client-config` edits the configuration of MCP servers. With a table each, a file that one
//! of them writes would not be protected by the other.
//!
//! ```text
//! CLIENTS --roots-----------> universal_roots, for a scan
//!         --scanned---------> the scan of one client
//!         --config, servers-> files that a registration of a server writes, and its entry in them
//!         --all of them-----> protected_paths, which no wider grant makes writable
//! ```
//!
//! The crate is data: it reads no file and no variable, and knows neither skills nor policy.
//!
//! ```
//! let codex = skills_clients::CLIENTS.iter().find(|client| client.id == "codex");
//! assert_eq!(codex.map(|client| client.project_config), Some(&[".codex/config.toml"][..]));
//! assert!(skills_clients::protected_paths().contains(".codex"));
//! ```

mod client;
mod scan_order;
mod server_format;
mod table;

pub use client::{Client, ConfigBase, ConfigFile, Root, RootBase, RootScope};
pub use scan_order::universal_roots;
pub use server_format::{ConfigLanguage, DefaultValue, Expansion, ServerField, ServerFormat};
pub use table::CLIENTS;

use std::collections::BTreeSet;

/// Returns the relative paths that belong to clients, in any directory, in alphabetical order:
/// a program that can write there decides what a client executes or trusts at its next start.
#[must_use]
pub fn protected_paths() -> BTreeSet<String> {
    let own = CLIENTS.iter().flat_map(Client::protected_paths);
    // Some clients scan directories of former versions, which are in no row of their own.
    let scanned = CLIENTS.iter().flat_map(|client| client.scanned);
    own.chain(scanned.filter_map(Root::protected_path))
        .collect()
}
