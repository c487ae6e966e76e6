//! The rules by which clients read a `SKILL.md` differently.

use std::borrow::Cow;

use crate::error::{ManifestError, Repr};
use crate::frontmatter::Frontmatter;
use crate::warning::WarningKind;
use crate::{Manifest, MissingDescription, Peek};

/// Maximum length of a name with [`NameRule::Short`], in characters.
const SHORT_NAME_CHARACTERS: usize = 64;

/// How one client reads a `SKILL.md`, where clients differ.
///
/// The default reads all files that this crate can read. No rule lifts a restriction: each either
/// rejects a file, or chooses another name or description.
///
/// ```
/// use skills_manifest::{Document, NameRule, ReadingRules};
///
/// let mut rules = ReadingRules::default();
/// rules.name = NameRule::Portable;
/// let document = Document::parse_with(b"---\nname: a/b\ndescription: c\n---\n", rules)?;
/// assert_eq!(document.manifest().name().map(|name| name.as_str()), Some("a-b"));
/// # Ok::<(), skills_manifest::ManifestError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ReadingRules {
    /// What happens to a file without a description. Default: it is rejected.
    pub missing_description: MissingDescription,
    /// Which names are accepted, and as what. Default: all, as written.
    pub name: NameRule,
    /// Which delimiters are accepted. Default: all that occur in published skills.
    pub delimiters: DelimiterRule,
}

/// Which names a client accepts, and how it reads them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NameRule {
    /// All names as written; without a valid one, that of the directory.
    #[default]
    Any,
    /// Names over 64 characters are rejected (Codex).
    Short,
    /// A name is required; characters that file names must not contain become hyphens (Gemini).
    Portable,
    /// A name is required, and must not contain `/` (Goose).
    Required,
    /// The name of the directory, whatever the file declares (Copilot in VS Code). The manifest
    /// has the declared one; a scan replaces it.
    Directory,
}

/// Which delimiters of the frontmatter a client accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DelimiterRule {
    /// All forms that [`FrontmatterScan`](crate::FrontmatterScan) accepts.
    #[default]
    Any,
    /// Only lines of `---`, which may be indented, from the first line (Codex).
    Dashes,
}

impl ReadingRules {
    /// As [`Manifest::peek_name`]; `None` also if these rules may read the frontmatter otherwise
    /// than the default rules.
    #[must_use]
    pub fn peek_name(self, frontmatter: &Frontmatter<'_>) -> Option<Peek> {
        self.delimiters.check(frontmatter).ok()?;
        let peek = Manifest::peek_name(frontmatter)?;
        let name = peek.name.as_ref().map(|name| name.as_str());
        let is_as_written = self.name == NameRule::Any
            || name.is_some_and(|name| self.name.read(Some(name)) == Ok(Some(name.into())));
        is_as_written.then_some(peek)
    }
}

impl DelimiterRule {
    pub(crate) fn check(self, frontmatter: &Frontmatter<'_>) -> Result<(), ManifestError> {
        let is_rejected = |kind: &WarningKind| *kind != WarningKind::IndentedDelimiter;
        let rejected = match self {
            Self::Any => None,
            Self::Dashes => frontmatter
                .warnings
                .iter()
                .find(|warning| is_rejected(warning.kind())),
        };
        match rejected {
            None => Ok(()),
            Some(warning) => Err(Repr::DelimiterRejected {
                line: warning.line().unwrap_or(1),
            }
            .into()),
        }
    }
}

impl NameRule {
    /// Returns the name that the client uses, or why it rejects the file.
    pub(crate) fn read(self, raw: Option<&str>) -> Result<Option<Cow<'_, str>>, &'static str> {
        let raw = raw.filter(|raw| !raw.trim().is_empty());
        let is_required = matches!(self, Self::Portable | Self::Required);
        let Some(name) = raw else {
            return if is_required {
                Err("it is missing")
            } else {
                Ok(None)
            };
        };
        match self {
            Self::Short if name.trim().chars().count() > SHORT_NAME_CHARACTERS => {
                Err("it has more than 64 characters")
            }
            Self::Required if name.contains('/') => Err("it contains `/`"),
            Self::Portable if name.contains(is_not_portable) => {
                Ok(Some(name.replace(is_not_portable, "-").into()))
            }
            _ => Ok(Some(name.into())),
        }
    }
}

/// Returns true for the characters that some file system rejects in names.
fn is_not_portable(c: char) -> bool {
    matches!(c, ':' | '\\' | '/' | '<' | '>' | '*' | '?' | '"' | '|')
}
