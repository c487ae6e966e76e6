//! Paths passed to the profile as parameters (`-D`), never interpolated.

use std::fmt;
use std::path::Path;

use crate::error::{ProfileError, Repr};

/// A named path, which `sandbox-exec -D NAME=PATH` makes available as `(param "NAME")`. So the text
/// of a path cannot change the profile.
///
/// Names consist of uppercase letters, digits and `_`, and are chosen by this crate. The path is
/// absolute, UTF-8, without `.`, `..`, empty components and control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    name: String,
    path: String,
}

impl Parameter {
    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.path)
    }
}

/// A path in a profile: literal if it belongs to the system, otherwise a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfilePath {
    /// A system path, written literally.
    System(&'static str),
    /// A path from the caller, by the name of its [`Parameter`].
    Parameter(String),
}

impl fmt::Display for ProfilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(path) => write!(f, "\"{path}\""),
            Self::Parameter(name) => write!(f, "(param \"{name}\")"),
        }
    }
}

/// The parameters of a profile under construction.
#[derive(Debug, Default)]
pub(crate) struct Parameters(Vec<Parameter>);

impl Parameters {
    /// Adds a path with a unique name.
    pub(crate) fn add_unique(
        &mut self,
        name: &'static str,
        path: &Path,
    ) -> Result<ProfilePath, ProfileError> {
        self.add(name.to_owned(), path)
    }

    /// Adds a path with the next number of a kind.
    pub(crate) fn add_numbered(
        &mut self,
        kind: &'static str,
        path: &Path,
    ) -> Result<ProfilePath, ProfileError> {
        let prefix = format!("{kind}_");
        let known = self.0.iter();
        // Numbered in order of addition, so that equal grants have equal profiles.
        let number = known.filter(|one| one.name.starts_with(&prefix)).count();
        self.add(format!("{kind}_{number}"), path)
    }

    fn add(&mut self, name: String, path: &Path) -> Result<ProfilePath, ProfileError> {
        self.0.push(Parameter {
            name: name.clone(),
            path: check_path(path)?.to_owned(),
        });
        Ok(ProfilePath::Parameter(name))
    }

    pub(crate) fn into_vec(self) -> Vec<Parameter> {
        self.0
    }
}

/// Returns true if a path can be written in a profile.
pub(crate) fn is_printable(path: &Path) -> bool {
    check_path(path).is_ok()
}

/// Seatbelt compares the paths that the kernel resolved: any other path would match nothing, or
/// something else than expected.
fn check_path(path: &Path) -> Result<&str, ProfileError> {
    let text = path
        .to_str()
        .filter(|text| !text.chars().any(char::is_control));
    let text = text.ok_or_else(|| Repr::Unprintable(path.to_owned()))?;
    let Some(below) = text.strip_prefix('/') else {
        return Err(Repr::RelativePath(path.to_owned()).into());
    };
    if !is_canonical(below) {
        return Err(Repr::NotCanonical(path.to_owned()).into());
    }
    Ok(text)
}

/// Returns true for the text of a canonical path after its first slash.
fn is_canonical(below: &str) -> bool {
    let is_special = |part| matches!(part, "" | "." | "..");
    below.is_empty() || !below.split('/').any(is_special)
}
