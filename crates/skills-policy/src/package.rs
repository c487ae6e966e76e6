//! Names of packages.

use std::fmt;
use std::str::FromStr;

use crate::PolicyError;
use crate::error::Repr;

/// The registries that packages can be from.
const REGISTRIES: [&str; 2] = ["pypi", "npm"];
/// Maximum length of a package name, in bytes.
const MAX_NAME_BYTES: usize = 214;

/// A pattern of packages of one registry: `pypi:pypdf`, `npm:@acme/*` or `pypi:*`.
///
/// Names are compared exactly. Those of `pypi` have to be normalized: lowercase, with `-` between
/// words.
///
/// ```
/// use skills_policy::PackagePattern;
///
/// let pattern: PackagePattern = "npm:@acme/*".parse()?;
/// assert!(pattern.matches("npm:@acme/tools") && !pattern.matches("pypi:acme"));
/// # Ok::<(), skills_policy::PolicyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackagePattern {
    /// The registry and the name, or the start of the name.
    text: String,
    is_prefix: bool,
}

impl PackagePattern {
    /// Returns true if a package, with its registry, matches.
    #[must_use]
    pub fn matches(&self, package: &str) -> bool {
        if self.is_prefix {
            package.starts_with(&self.text)
        } else {
            package == self.text
        }
    }
}

impl FromStr for PackagePattern {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let parsed = text.split_once(':').and_then(|(registry, name)| {
            let (name, is_prefix) = match name.strip_suffix('*') {
                Some(prefix) => (prefix, true),
                None => (name, false),
            };
            let is_valid = REGISTRIES.contains(&registry)
                && (is_prefix || !name.is_empty())
                && name.len() <= MAX_NAME_BYTES
                && name.bytes().all(is_name_byte);
            is_valid.then(|| Self {
                text: format!("{registry}:{name}"),
                is_prefix,
            })
        });
        parsed.ok_or_else(|| {
            Repr::Package {
                text: text.to_owned(),
            }
            .into()
        })
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"@/._-".contains(&byte)
}

impl fmt::Display for PackagePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        f.write_str(if self.is_prefix { "*" } else { "" })
    }
}
