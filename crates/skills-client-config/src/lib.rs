//! Edits the configuration of clients that use MCP servers, and loses nothing else in it.
//!
//! ```text
//! ServerClient, ConfigScope, ClientEnvironment -> ConfigTarget   the file, and the entries for it
//! ConfigTarget::propose                        -> Proposal       the new text and its difference, nothing is written
//! ConfigTarget::write                                            what was agreed to, with an atomic exchange
//! ```
//!
//! A file is JSON with comments, TOML or YAML, of at most 4 MiB. One of its tables has an entry for
//! each server. The [table of clients](skills_clients::CLIENTS) says where the file of a client is,
//! how that table is called, and which fields an entry has.
//!
//! - Bytes outside of an entry are preserved: comments, order, line ends, a byte order mark.
//! - A file that cannot be parsed, or in which a result would not be what was planned, is refused
//!   and never rewritten.
//! - A file is replaced in one step, with its owner and mode, and only if it is the one that was
//!   read: a client that writes at the same time loses nothing. A symlink is kept, and its target
//!   replaced; in a project it must not lead out of it.
//! - A token is never written, only the name of the variable that has it.
//!
//! This crate must not know the environment, the home directory, the working directory or the
//! terminal: paths are values, and the caller asks its user.
//!
//! ```
//! use skills_client_config::{
//!     ServerClient, ClientEnvironment, ConfigTarget, Consent, EntryChange, EntryOrigin, ConfigScope,
//!     ServerEntry, Transport,
//! };
//!
//! # let home = tempfile::tempdir()?;
//! let client = ServerClient::from_name("codex").ok_or("unknown client")?;
//! let environment = ClientEnvironment {
//!     home: Some(home.path().to_owned()),
//!     ..ClientEnvironment::default()
//! };
//! let entry = ServerEntry {
//!     name: "skills".to_owned(),
//!     transport: Transport::Stdio {
//!         command: "/usr/bin/skills".to_owned(),
//!         arguments: vec!["mcp".to_owned()],
//!     },
//!     origin: EntryOrigin::ThisProgram,
//! };
//! let target = ConfigTarget::find(client, ConfigScope::User, vec![entry], &environment)?;
//! let proposal = target.propose()?;
//! assert_eq!(proposal.changes(), [EntryChange::Added]);
//! assert!(proposal.diff().contains("+command = \"/usr/bin/skills\"\n"));
//! target.write(Consent::Proposal(&proposal))?;
//! assert!(target.propose()?.is_unchanged());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod atomic_replace;
mod client;
mod config_edit;
mod config_file;
mod config_path;
mod config_target;
mod diff;
mod entry_fields;
mod error;
mod server_entry;

pub use client::{ConfigScope, ServerClient};
pub use config_path::{ClientEnvironment, System};
pub use config_target::{ConfigTarget, Consent, Proposal, configured_servers};
pub use error::{ConfigError, EditError};
pub use server_entry::{EntryChange, EntryOrigin, ServerEntry, Transport};
