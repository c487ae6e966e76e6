//! Reads `agents/openai.yaml`.

use std::path::Path;

use cap_std::fs::{Dir, File};
use skills_manifest::OpenAiMetadata;

use super::{OPENAI_FILE, OpenAiFile};
use crate::FileStamp;
use crate::error::{DiscoveryError, DiscoveryErrorKind};
use crate::file_stamp::ScanStart;
use crate::open::{fill_buffer, open_canonical, open_canonical_regular, open_regular};

/// The maximum size of the file: 64 KiB. A larger one is treated as unreadable.
const MAX_BYTES: u64 = 64 * 1024;

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

    /// Reads the file from its content; `None` if there is none.
    pub(crate) fn of_content(content: Option<&[u8]>, below_plugin: Option<&str>) -> Self {
        let Some(content) = content else {
            return Self::default();
        };
        if content.len() as u64 > MAX_BYTES {
            return Self::unreadable(format!("larger than {MAX_BYTES} bytes"));
        }
        let (metadata, warnings) = OpenAiMetadata::parse(content, below_plugin);
        Self {
            metadata: Some(Box::new(metadata)),
            stamp: None,
            warnings,
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
            Err(error) => Self::unreadable(error.to_string()),
        }
    }
}
