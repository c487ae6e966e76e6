//! Packages that are listed by name: in the frontmatter or the text of a skill, or in settings.

use std::fmt;

use skills_manifest::RequiredPackage;

use crate::grammar::PythonRequirement;
use crate::npm_name::{is_npm_package_name, is_range_of_registry, split_version};
use crate::shown_text::shown;

/// Maximum length of a listed package, in bytes.
const MAX_BYTES: usize = 256;

/// A package that is listed by name.
///
/// Displayed as settings take it: `pypdf>=4`, `npm:left-pad@1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPackage {
    /// The registry that has it.
    pub registry: Registry,
    /// The requirement as written: `pypdf>=4`, `left-pad@1`.
    pub requirement: String,
    /// Where it is listed, as problems name it: `SKILL.md`, `settings`.
    pub source: String,
}

/// A registry of packages.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Registry {
    /// Python packages.
    Pypi,
    /// Node packages.
    Npm,
}

/// A text that is not a package of a registry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid package `{text}`: {reason}")]
pub struct InvalidPackage {
    text: String,
    reason: String,
}

impl ListedPackage {
    /// Parses `REQUIREMENT`, `pypi:REQUIREMENT` or `npm:NAME@RANGE`.
    ///
    /// # Errors
    /// Fails for a text that does not name a package of a registry, such as a URL, a path or an
    /// option.
    pub fn parse(text: &str, source: &str) -> Result<Self, InvalidPackage> {
        let text = text.trim();
        let (registry, requirement) = match text.split_once(':') {
            Some(("npm", requirement)) => (Registry::Npm, requirement),
            Some(("pypi", requirement)) => (Registry::Pypi, requirement),
            _ => (Registry::Pypi, text),
        };
        Self::of_registry(registry, requirement, source)
    }

    /// Lists a package that a frontmatter requires, without a check.
    #[must_use]
    pub fn of_frontmatter(package: RequiredPackage) -> Self {
        Self {
            registry: match package.registry {
                "npm" => Registry::Npm,
                _ => Registry::Pypi,
            },
            requirement: package.requirement,
            source: "SKILL.md".to_owned(),
        }
    }

    /// Returns the full name without a version, as permissions have it: `pypi:pypdf`. Empty for a
    /// requirement that cannot be parsed, as a frontmatter may have.
    #[must_use]
    pub fn name(&self) -> String {
        let name = match self.registry {
            Registry::Npm => split_version(&self.requirement).0.to_owned(),
            Registry::Pypi => match PythonRequirement::parse(&self.requirement) {
                Ok(requirement) => requirement.name().to_owned(),
                Err(_) => return String::new(),
            },
        };
        format!("{}:{name}", self.registry)
    }

    /// Parses the requirement of a package of this registry.
    pub(crate) fn of_registry(
        registry: Registry,
        requirement: &str,
        source: &str,
    ) -> Result<Self, InvalidPackage> {
        // A quoted argument can have spaces around the name.
        let requirement = requirement.trim();
        let checked = match registry {
            _ if requirement.len() > MAX_BYTES => Err("more than 256 bytes".to_owned()),
            Registry::Pypi => PythonRequirement::parse(requirement)
                .map(drop)
                .map_err(|invalid| invalid.to_string()),
            Registry::Npm => check_node(requirement),
        };
        match checked {
            Ok(()) => Ok(Self {
                registry,
                requirement: requirement.to_owned(),
                source: source.to_owned(),
            }),
            Err(reason) => Err(InvalidPackage {
                text: shown(requirement),
                reason,
            }),
        }
    }
}

#[cfg(test)]
impl ListedPackage {
    /// Lists a text without a check, as a frontmatter does.
    pub(crate) fn of_npm(text: &str) -> Self {
        Self {
            registry: Registry::Npm,
            requirement: text.to_owned(),
            source: "SKILL.md".to_owned(),
        }
    }
}

fn check_node(requirement: &str) -> Result<(), String> {
    let (name, range) = split_version(requirement);
    if !is_npm_package_name(name) {
        let reason = "expected a name with a range of versions, such as `left-pad@1`";
        return Err(reason.to_owned());
    }
    if !is_range_of_registry(range) {
        return Err("not from a registry".to_owned());
    }
    Ok(())
}

impl fmt::Display for ListedPackage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.registry {
            Registry::Pypi => f.write_str(&self.requirement),
            Registry::Npm => write!(f, "npm:{}", self.requirement),
        }
    }
}

impl Registry {
    /// Returns the registry as one lowercase word, as rules name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pypi => "pypi",
            Self::Npm => "npm",
        }
    }
}

impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_displayed_as_they_are_parsed() {
        for (text, registry) in [
            ("pypdf>=4", Registry::Pypi),
            ("markitdown[pptx]", Registry::Pypi),
            ("npm:left-pad@1", Registry::Npm),
            ("npm:@scope/name@^1.2", Registry::Npm),
        ] {
            let package = ListedPackage::parse(text, "settings").unwrap();
            assert_eq!(
                (package.registry, package.to_string().as_str()),
                (registry, text)
            );
        }
        let prefixed = ListedPackage::parse(" pypi:pypdf ", "settings").unwrap();
        assert_eq!(prefixed.to_string(), "pypdf");
    }

    #[test]
    fn other_texts_are_invalid() {
        let invalid = |text: &str| {
            ListedPackage::parse(text, "settings")
                .unwrap_err()
                .to_string()
        };
        insta::assert_snapshot!(
            ["", "-r x", "../x", "a b", "x @ https://x.example/x.whl", "npm:", "npm:../x", "npm:a@file:.."]
                .map(invalid)
                .join("\n"),
            @r"
        invalid package ``: expected a name with versions, such as `pypdf>=4`
        invalid package `-r x`: expected a name with versions, such as `pypdf>=4`
        invalid package `../x`: expected a name with versions, such as `pypdf>=4`
        invalid package `a b`: expected a name with versions, such as `pypdf>=4`
        invalid package `x @ https://x.example/x.whl`: not from an index
        invalid package ``: expected a name with a range of versions, such as `left-pad@1`
        invalid package `../x`: expected a name with a range of versions, such as `left-pad@1`
        invalid package `a@file:..`: not from a registry
        "
        );
        assert!(invalid(&"x".repeat(300)).contains("more than 256 bytes"));
    }
}
