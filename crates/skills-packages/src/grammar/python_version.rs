//! Versions of Python packages and their specifiers (PEP 440).

use std::fmt;

use super::catch_panic;

/// Maximum length of a version or of a list of specifiers, in bytes.
const MAX_BYTES: usize = 1_024;

/// A version of a Python package. Equal versions can have different texts, such as `1.0` and `1.0.0`.
///
/// Displayed in its normalized form: `1.0rc1` for `1.0-c1`.
///
/// ```
/// use skills_packages::PythonVersion;
///
/// assert_eq!(PythonVersion::parse("1.0-RC1").unwrap().to_string(), "1.0rc1");
/// assert_eq!(PythonVersion::parse("1.0"), PythonVersion::parse("1.0.0"));
/// assert!(PythonVersion::parse("1.0é").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonVersion(pep440_rs::Version);

impl PythonVersion {
    /// Parses a version; `None` if the text is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let parse = || text.parse::<pep440_rs::Version>().ok();
        let version = is_plain(text).then(|| catch_panic(parse))??;
        version.map(Self)
    }

    pub(super) fn inner(&self) -> &pep440_rs::Version {
        &self.0
    }
}

impl fmt::Display for PythonVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns the normalized form of version specifiers, such as `>=3.9, <4`; `None` if the text is not
/// one.
pub(crate) fn canonical_specifiers(text: &str) -> Option<String> {
    let parse = || {
        let specifiers = text.parse::<pep440_rs::VersionSpecifiers>().ok()?;
        Some(specifiers.to_string())
    };
    is_plain(text).then(|| catch_panic(parse))??
}

fn is_plain(text: &str) -> bool {
    text.len() <= MAX_BYTES && text.is_ascii()
}
