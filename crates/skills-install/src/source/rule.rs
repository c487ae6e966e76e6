//! Rules of an administrator about the identities of sources.

use std::fmt;

use wildmatch::WildMatch;

use super::SourceSpec;

/// A pattern of the sources that an administrator allows, such as `git:github.com/acme/*`.
///
/// It is compared with [`SourceSpec::identity`]: `*` matches any number of characters, and
/// everything else matches itself. A pattern without a scheme matches nothing.
///
/// ```
/// use skills_install::{SourceRule, SourceSpec};
///
/// let rule = SourceRule::new("git:github.com/acme/*");
/// assert!(rule.allows(&"acme/skills".parse()?));
/// assert!(!rule.allows(&"acme-evil/skills".parse()?));
/// assert!(!rule.allows(&"https://github.com.evil.example/acme/skills.git".parse()?));
/// # Ok::<(), skills_install::SourceError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRule(String);

impl SourceRule {
    /// Creates a rule from its pattern.
    #[must_use]
    pub fn new(pattern: &str) -> Self {
        // The way in which administrators write the address of a site.
        Self(pattern.replacen("https://", "https:", 1))
    }

    /// Returns true if the rule allows the source.
    #[must_use]
    pub fn allows(&self, spec: &SourceSpec) -> bool {
        // `?` is a usual character of an address, but a wildcard of the library.
        !self.0.contains('?') && WildMatch::new(&self.0).matches(&spec.identity())
    }
}

impl fmt::Display for SourceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
