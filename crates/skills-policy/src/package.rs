//! Names of packages.

use std::fmt;
use std::str::FromStr;

use crate::PolicyError;
use crate::error::Repr;

/// Maximum length of a package name, in bytes.
const MAX_NAME_BYTES: usize = 214;
/// Names that npm never publishes.
const RESERVED_NPM_NAMES: [&str; 2] = ["node_modules", "favicon.ico"];

/// A pattern of packages of one registry: `pypi:pypdf`, `npm:@acme/*` or `pypi:*`.
///
/// Names of `pypi` are normalized as PEP 503 says, in patterns, too: `Python_DateUtil` is
/// `python-dateutil`. Names of `npm` keep their case, since some old packages have capitals and are
/// other packages than those with the same name in lowercase: an `allow` rule compares them exactly,
/// and `deny` and `ask` rules ignore case. A name or a prefix that no package can have is an error.
///
/// ```
/// use skills_policy::PackagePattern;
///
/// let pattern: PackagePattern = "npm:@acme/*".parse()?;
/// assert!(pattern.matches("npm:@acme/tools") && !pattern.matches("pypi:acme"));
/// let pattern: PackagePattern = "pypi:Zope.*".parse()?;
/// assert_eq!(pattern.to_string(), "pypi:zope-*");
/// assert!(pattern.matches("pypi:zope_interface"));
/// # Ok::<(), skills_policy::PolicyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackagePattern {
    registry: Registry,
    /// The normalized name, or the start of the name.
    name: String,
    is_prefix: bool,
}

/// A registry that packages can be from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Registry {
    Pypi,
    Npm,
}

impl PackagePattern {
    /// Returns true if a package, with its registry, matches. A text that is not the name of a
    /// package matches nothing.
    #[must_use]
    pub fn matches(&self, package: &str) -> bool {
        let Some((registry, name)) = parse_package(package) else {
            return false;
        };
        registry == self.registry && self.matches_name(&name)
    }

    /// Returns true if denying `self` denies a package: case is ignored, and a text that is not the
    /// name of a package cannot be compared, so that every rule denies it.
    pub(crate) fn denies(&self, package: &str) -> bool {
        let Some((registry, name)) = parse_package(package) else {
            return true;
        };
        let pattern = Self {
            name: self.name.to_ascii_lowercase(),
            ..self.clone()
        };
        registry == self.registry && pattern.matches_name(&name.to_ascii_lowercase())
    }

    /// Returns true if it matches all packages with a start of their names.
    pub(crate) fn is_prefix(&self) -> bool {
        self.is_prefix
    }

    fn matches_name(&self, name: &str) -> bool {
        if self.is_prefix {
            name.starts_with(&self.name)
        } else {
            name == self.name
        }
    }
}

impl Registry {
    pub(crate) const ALL: [Self; 2] = [Self::Pypi, Self::Npm];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Pypi => "pypi",
            Self::Npm => "npm",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|registry| registry.as_str() == text)
    }

    /// Returns the normalized name of a package; `None` if no package can have it.
    fn normalize(self, name: &str) -> Option<String> {
        let is_valid = name.len() <= MAX_NAME_BYTES
            && match self {
                Self::Pypi => is_pypi_name(name),
                Self::Npm => is_npm_name(name),
            };
        is_valid.then(|| match self {
            Self::Pypi => normalize_separators(name),
            Self::Npm => name.to_owned(),
        })
    }

    /// Returns the normalized start of names; `None` if no name can begin with it.
    fn normalize_prefix(self, prefix: &str) -> Option<String> {
        // Whether a name begins with it is decided by completing it. An npm scope may lack its `/`.
        let endings: &[&str] = match self {
            Self::Pypi => &["a"],
            Self::Npm => &["a", "/a", "a/a"],
        };
        let mut names = endings.iter().map(|ending| format!("{prefix}{ending}"));
        let is_valid = names.any(|name| self.normalize(&name).is_some());
        is_valid.then(|| match self {
            Self::Pypi => normalize_separators(prefix),
            Self::Npm => prefix.to_owned(),
        })
    }
}

/// Returns the normalized text of a package with its registry; `None` if it is not one.
pub(crate) fn normalize_package(text: &str) -> Option<String> {
    let (registry, name) = parse_package(text)?;
    Some(format!("{}:{name}", registry.as_str()))
}

fn parse_package(text: &str) -> Option<(Registry, String)> {
    let (registry, name) = text.split_once(':')?;
    let registry = Registry::parse(registry)?;
    Some((registry, registry.normalize(name)?))
}

/// Returns true for a name that PEP 508 allows: letters, digits, and `._-` between them.
fn is_pypi_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_outer = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    name.bytes().all(is_inner)
        && is_outer(name.bytes().next())
        && is_outer(name.bytes().next_back())
}

/// Returns true for the name of a package of npm, with or without a scope.
fn is_npm_name(name: &str) -> bool {
    match name.strip_prefix('@') {
        Some(scoped) => scoped
            .split_once('/')
            .is_some_and(|(scope, name)| is_npm_part(scope) && is_npm_part(name)),
        // `_` begins no name without a scope.
        None => {
            is_npm_part(name)
                && !name.starts_with('_')
                && !RESERVED_NPM_NAMES.contains(&name.to_ascii_lowercase().as_str())
        }
    }
}

fn is_npm_part(part: &str) -> bool {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte);
    !part.is_empty() && !part.starts_with('.') && part.bytes().all(is_valid)
}

/// Returns the text in lowercase, with one `-` for each run of `-`, `_` and `.` (PEP 503).
fn normalize_separators(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    for character in name.chars() {
        if !matches!(character, '-' | '_' | '.') {
            normal.push(character.to_ascii_lowercase());
        } else if !normal.ends_with('-') {
            normal.push('-');
        }
    }
    normal
}

impl FromStr for PackagePattern {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let parse = || {
            let (registry, name) = text.split_once(':')?;
            let registry = Registry::parse(registry)?;
            let (name, is_prefix) = match name.strip_suffix('*') {
                Some(prefix) => (registry.normalize_prefix(prefix)?, true),
                None => (registry.normalize(name)?, false),
            };
            Some(Self {
                registry,
                name,
                is_prefix,
            })
        };
        parse().ok_or_else(|| {
            Repr::Package {
                text: text.to_owned(),
            }
            .into()
        })
    }
}

impl fmt::Display for PackagePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.registry.as_str(), self.name)?;
        f.write_str(if self.is_prefix { "*" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_normalized_by_their_registry() {
        for (text, normalized) in [
            ("pypi:Python_Dateutil", Some("pypi:python-dateutil")),
            ("npm:JSONStream", Some("npm:JSONStream")),
            ("npm:@scope/a", Some("npm:@scope/a")),
            ("pypi:-x", None),
            ("gem:rake", None),
            ("pypi", None),
        ] {
            assert_eq!(normalize_package(text).as_deref(), normalized, "{text}");
        }
    }

    #[test]
    fn a_denied_name_denies_its_other_spellings() {
        let pattern: PackagePattern = "npm:JSONStream".parse().unwrap();
        for (package, is_denied) in [
            ("npm:JSONStream", true),
            ("npm:jsonstream", true),
            ("npm:json", false),
            ("pypi:jsonstream", false),
            ("no package", true),
        ] {
            assert_eq!(pattern.denies(package), is_denied, "{package}");
        }
        assert!(!pattern.matches("npm:jsonstream"), "another package");
    }
}
