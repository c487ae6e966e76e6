//! The file `agents/openai.yaml` of a skill.

use std::path::Path;

use cap_std::fs::{Dir, File};
use skills_manifest::{OpenAiMetadata, OpenAiWarning};

use crate::FileStamp;
use crate::error::{DiscoveryError, DiscoveryErrorKind};
use crate::file_stamp::ScanStart;
use crate::open::{fill_buffer, open_canonical, open_canonical_regular, open_regular};

/// The path of the file, relative to the skill directory.
pub(crate) const OPENAI_FILE: &str = "agents/openai.yaml";
/// The maximum size of the file: 64 KiB. A larger one is treated as unreadable.
const MAX_BYTES: u64 = 64 * 1024;

/// The metadata of `agents/openai.yaml`, and its stamp at the time of reading.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenAiFile {
    /// `None` if the skill has no such file.
    pub(crate) metadata: Option<Box<OpenAiMetadata>>,
    pub(crate) stamp: Option<FileStamp>,
    pub(crate) warnings: Vec<OpenAiWarning>,
}

impl OpenAiFile {
    /// Reads the file of a skill directory. A missing or unreadable file is not an error: the skill
    /// still loads.
    pub(crate) fn read(directory: &Path, below_plugin: Option<&str>) -> Self {
        let scan_start = ScanStart::now();
        // Nearly no skill has the file, and one system call is enough to find that out.
        let opened = match open_canonical_regular(&directory.join(OPENAI_FILE), MAX_BYTES) {
            Some(opened) => opened,
            None => match open_canonical(directory) {
                Ok(handle) => open_regular(&handle, Path::new(OPENAI_FILE), MAX_BYTES),
                Err(_) => return Self::default(),
            },
        };
        let file = Self::from_opened(opened, below_plugin);
        // An unreadable file was not opened, so its stamp comes from its path; without a stamp the
        // file would count as changed in every rescan.
        let stamp = file.stamp.or_else(|| {
            file.metadata
                .as_ref()
                .and_then(|_| FileStamp::from_path(&directory.join(OPENAI_FILE)))
        });
        Self {
            stamp: stamp.map(|stamp| stamp.with_scan_start(scan_start)),
            ..file
        }
    }

    /// Reads the file below the handle of a skill directory.
    pub(crate) fn read_in(handle: &Dir, below_plugin: Option<&str>) -> Self {
        let opened = open_regular(handle, Path::new(OPENAI_FILE), MAX_BYTES);
        Self::from_opened(opened, below_plugin)
    }

    fn from_opened(
        opened: Result<(File, FileStamp), DiscoveryError>,
        below_plugin: Option<&str>,
    ) -> Self {
        let mut bytes = Vec::new();
        let result = opened.and_then(|(mut file, stamp)| {
            fill_buffer(&mut file, &mut bytes, MAX_BYTES as usize).map(|_| stamp)
        });
        match result {
            Ok(stamp) => {
                let (metadata, warnings) = OpenAiMetadata::parse(&bytes, below_plugin);
                Self {
                    metadata: Some(Box::new(metadata)),
                    stamp: Some(stamp),
                    warnings,
                }
            }
            Err(error) if error.kind() == DiscoveryErrorKind::NotFound => Self::default(),
            // `agents` is a file, so there is no `agents/openai.yaml`.
            Err(error) if error.is_not_a_directory() => Self::default(),
            Err(error) => Self::unreadable(&error),
        }
    }

    /// Returns the metadata of a file that exists but cannot be read.
    fn unreadable(error: &DiscoveryError) -> Self {
        // The file may forbid implicit invocation, so it must count as if it did. A policy of an
        // invalid type has this effect.
        let (metadata, _) = OpenAiMetadata::parse(b"policy: unread", None);
        Self {
            metadata: Some(Box::new(metadata)),
            stamp: None,
            warnings: vec![OpenAiWarning {
                field: String::new(),
                reason: error.to_string(),
            }],
        }
    }
}
