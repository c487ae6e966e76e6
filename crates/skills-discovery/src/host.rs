//! `agents/openai.yaml` of one skill.

use std::path::Path;

use cap_std::fs::Dir;
use skills_manifest::{HostMetadata, HostNote};

use crate::Stamp;
use crate::error::ErrorKind;
use crate::handle::{fill, open_canonical, open_regular};
use crate::stamp::Moment;

/// Where it lies in a skill.
pub(crate) const HOST_FILE: &str = "agents/openai.yaml";
/// The most bytes of it that are read: 64 KiB. A longer one counts as broken.
const MAX_BYTES: u64 = 64 * 1024;

/// What `agents/openai.yaml` says, and how it looked when it was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Host {
    pub(crate) metadata: Option<Box<HostMetadata>>,
    pub(crate) stamp: Option<Stamp>,
    pub(crate) notes: Vec<HostNote>,
}

impl Host {
    /// Reads it; a skill without it, or with one that cannot be read, loads all the same.
    pub(crate) fn read(directory: &Path, below_plugin: Option<&str>) -> Self {
        match open_canonical(directory) {
            Ok(handle) => {
                let moment = Moment::now();
                let host = Self::below(&handle, below_plugin);
                // What could not be read looks as its path does.
                let stamp = host.stamp.or_else(|| host.metadata.as_ref().and_then(|_| Stamp::of_path(&directory.join(HOST_FILE))));
                Self { stamp: stamp.map(|stamp| stamp.at(moment)), ..host }
            }
            Err(_) => Self::default(),
        }
    }

    /// Reads it below the handle of a skill.
    pub(crate) fn below(handle: &Dir, below_plugin: Option<&str>) -> Self {
        let mut bytes = Vec::new();
        let opened = open_regular(handle, Path::new(HOST_FILE), MAX_BYTES);
        let read = opened.and_then(|(mut file, stamp)| fill(&mut file, &mut bytes, MAX_BYTES as usize).map(|_| stamp));
        match read {
            Ok(stamp) => {
                let (metadata, notes) = HostMetadata::parse(&bytes, below_plugin);
                Self { metadata: Some(Box::new(metadata)), stamp: Some(stamp), notes }
            }
            Err(error) if error.kind() == ErrorKind::Missing => Self::default(),
            // `agents` is a file, then.
            Err(error) if error.is_no_directory() => Self::default(),
            Err(error) => {
                // What stands in it nobody knows; the host is not told of interface or tools, and the skill is not offered.
                let (metadata, _) = HostMetadata::parse(b"policy: unread", None);
                let note = HostNote { field: String::new(), reason: error.to_string() };
                Self { metadata: Some(Box::new(metadata)), stamp: None, notes: vec![note] }
            }
        }
    }
}
