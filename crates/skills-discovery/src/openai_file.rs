//! `agents/openai.yaml` of one skill.

use std::path::Path;

use cap_std::fs::Dir;
use skills_manifest::{OpenAiMetadata, OpenAiWarning};

use crate::FileStamp;
use crate::error::ErrorKind;
use crate::file_stamp::ScanStart;
use crate::open::{fill_buffer, open_canonical, open_regular};

/// Where it lies in a skill.
pub(crate) const OPENAI_FILE: &str = "agents/openai.yaml";
/// The most bytes of it that are read: 64 KiB. A longer one counts as broken.
const MAX_BYTES: u64 = 64 * 1024;

/// What `agents/openai.yaml` says, and how it looked when it was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenAiFile {
    pub(crate) metadata: Option<Box<OpenAiMetadata>>,
    pub(crate) stamp: Option<FileStamp>,
    pub(crate) warnings: Vec<OpenAiWarning>,
}

impl OpenAiFile {
    /// Reads it; a skill without it, or with one that cannot be read, loads all the same.
    pub(crate) fn read(directory: &Path, below_plugin: Option<&str>) -> Self {
        match open_canonical(directory) {
            Ok(handle) => {
                let moment = ScanStart::now();
                let host = Self::read_in(&handle, below_plugin);
                // What could not be read looks as its path does.
                let stamp = host.stamp.or_else(|| {
                    host.metadata
                        .as_ref()
                        .and_then(|_| FileStamp::from_path(&directory.join(OPENAI_FILE)))
                });
                Self {
                    stamp: stamp.map(|stamp| stamp.with_scan_start(moment)),
                    ..host
                }
            }
            Err(_) => Self::default(),
        }
    }

    /// Reads it below the handle of a skill.
    pub(crate) fn read_in(handle: &Dir, below_plugin: Option<&str>) -> Self {
        let mut bytes = Vec::new();
        let opened = open_regular(handle, Path::new(OPENAI_FILE), MAX_BYTES);
        let read = opened.and_then(|(mut file, stamp)| {
            fill_buffer(&mut file, &mut bytes, MAX_BYTES as usize).map(|_| stamp)
        });
        match read {
            Ok(stamp) => {
                let (metadata, notes) = OpenAiMetadata::parse(&bytes, below_plugin);
                Self {
                    metadata: Some(Box::new(metadata)),
                    stamp: Some(stamp),
                    warnings: notes,
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Self::default(),
            // `agents` is a file, then.
            Err(error) if error.is_not_a_directory() => Self::default(),
            Err(error) => {
                // What stands in it nobody knows; the host is not told of interface or tools, and
                // the skill is not offered.
                let (metadata, _) = OpenAiMetadata::parse(b"policy: unread", None);
                let note = OpenAiWarning {
                    field: String::new(),
                    reason: error.to_string(),
                };
                Self {
                    metadata: Some(Box::new(metadata)),
                    stamp: None,
                    warnings: vec![note],
                }
            }
        }
    }
}
