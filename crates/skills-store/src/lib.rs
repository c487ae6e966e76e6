//! Directories and files of the host application: created privately, replaced atomically, and, if they
//! decide what runs, opened only if no other user can change them. Those are policy, settings,
//! approvals, tokens, keys, the audit log and the locks beside them.
//!
//! ```text
//! path --each component, links resolved--> owner, mode, access control list
//!                                             |
//!                open (no link, no waiting) --> type, owner, mode and size of the open file
//!                                             |
//!                                      File | TrustError: the component at fault, and its fix
//! ```
//!
//! A file that another user can change, or replace by changing a directory that leads to it, would let
//! that user decide. The check is the same for all of these files, so it is here and nowhere else.
//!
//! This crate must not know what the files contain, what they are for, or where they are.
//!
//! ```
//! use skills_store::trusted_file::{self, Privacy};
//!
//! # let directory = tempfile::tempdir()?;
//! let path = directory.path().join("policy.toml");
//! # let mut options = std::fs::OpenOptions::new();
//! # options.create(true).write(true);
//! std::io::Write::write_all(&mut trusted_file::open_with(&path, &mut options)?, b"mode = 'ask'")?;
//! assert_eq!(trusted_file::read(&path, 1 << 20, Privacy::Readable)?, b"mode = 'ask'");
//! assert!(trusted_file::read(&path, 4, Privacy::Readable).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod file_lock;
mod locations;
mod private_dir;
mod replace_file;
pub mod trusted_file;

pub use file_lock::lock_with_timeout;
pub use locations::locations;
pub use private_dir::{PrivateDir, create_private_dir};
pub use replace_file::{FileMode, replace_file};
