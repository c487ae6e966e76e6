//! Paths of skills on the command line, in the spelling of skills-ref.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use skills_ref_compat::{Properties, StrictError};
use skills_runtime::discovery::{DiscoveryErrorKind, SkillFiles};

use crate::error::CommandError;

/// A skill given by its directory or its `SKILL.md`.
pub(crate) struct SkillPath {
    directory: PathBuf,
}

impl SkillPath {
    /// Creates it from a command-line argument. A file named `skill.md`, in any case, refers to its
    /// directory.
    pub(crate) fn from_path(path: &Path) -> anyhow::Result<Self> {
        let missing = match path.try_exists() {
            Ok(true) => None,
            Ok(false) => Some(format!("`{}` not found", path.display())),
            Err(error) => Some(format!("cannot open `{}`: {error}", path.display())),
        };
        if let Some(message) = missing {
            return Err(CommandError::input(message).into());
        }
        let path = normalize_path(path);
        let name = path.file_name();
        let is_skill_file = name.is_some_and(|name| name.eq_ignore_ascii_case("skill.md"));
        let directory = match path.parent() {
            Some(parent) if is_skill_file && path.is_file() => normalize_path(parent),
            _ => path,
        };
        Ok(Self { directory })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the last component of the path as typed. It is empty for `.`, which the reference
    /// tool reports as a name mismatch.
    fn typed_name(&self) -> String {
        match self.directory.components().next_back() {
            Some(Component::Normal(name)) => name.to_string_lossy().into_owned(),
            Some(Component::ParentDir) => "..".to_owned(),
            _ => String::new(),
        }
    }

    /// Returns the same skill with its resolved path.
    pub(crate) fn resolve(&self) -> anyhow::Result<Self> {
        let directory = self.directory.canonicalize()?;
        Ok(Self { directory })
    }

    /// Returns the name of the resolved directory.
    pub(crate) fn directory_name(&self) -> String {
        let resolved = self.directory.canonicalize();
        let resolved = resolved.unwrap_or_else(|_| self.directory.clone());
        resolved
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    /// Returns the name of the skill file as spelled on disk.
    pub(crate) fn file_name(&self) -> String {
        SkillFiles::open_directory(&self.directory)
            .map(|files| files.file_name().to_owned())
            .unwrap_or_else(|_| "SKILL.md".to_owned())
    }

    /// Returns the path of the file that the reference tool reads.
    pub(crate) fn reference_file(&self) -> PathBuf {
        let files = SkillFiles::open_like_skills_ref(&self.directory);
        self.directory.join(
            files
                .map(|files| files.file_name().to_owned())
                .unwrap_or_default(),
        )
    }

    pub(crate) fn check_directory(&self) -> Result<(), String> {
        if self.directory.is_dir() {
            Ok(())
        } else {
            Err(format!("Not a directory: {self}"))
        }
    }

    /// Lists the errors that the reference tool reports. The error variant is the single line that
    /// it prints instead.
    pub(crate) fn validate(&self) -> Result<Vec<StrictError>, String> {
        self.check_directory()?;
        let bytes = self.bytes()?.ok_or("Missing required file: SKILL.md")?;
        Ok(skills_ref_compat::validate(&bytes, &self.typed_name()))
    }

    pub(crate) fn properties(&self) -> Result<Properties, String> {
        let bytes = self
            .bytes()?
            .ok_or_else(|| format!("SKILL.md not found in {self}"))?;
        skills_ref_compat::read_properties(&bytes).map_err(|error| error.message().to_owned())
    }

    fn bytes(&self) -> Result<Option<Vec<u8>>, String> {
        let files = match SkillFiles::open_like_skills_ref(&self.directory) {
            Ok(files) => files,
            Err(error) if error.kind() == DiscoveryErrorKind::Io => {
                return Err(error.to_string());
            }
            Err(_) => return Ok(None),
        };
        files
            .read_skill_file()
            .map(Some)
            .map_err(|error| format!("{}: {error}", files.file_name()))
    }
}

impl fmt::Display for SkillPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.directory.display().fmt(f)
    }
}

/// Normalizes a path like Python's `Path`: without `.`, doubled and trailing separators.
fn normalize_path(path: &Path) -> PathBuf {
    let normalized: PathBuf = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect();
    if normalized.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        normalized
    }
}
