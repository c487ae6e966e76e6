//! Parses frontmatter into a mapping, repaired if it is not valid YAML.

use serde_json::{Map, Value};

use crate::error::{ManifestError, Repr};
use crate::field_names::{REQUIRED_FIELDS, RESTRICTION_FIELDS, is_spelling_of};
use crate::frontmatter::Frontmatter;
use crate::repair::{Repaired, recover_by_line, repair};
use crate::warning::{Warning, WarningKind};
use crate::yaml::{self, DuplicateKey, ParseError, ParseErrorKind};

/// The fields of the frontmatter, before they have types.
pub(crate) struct Mapping {
    pub(crate) fields: Map<String, Value>,
    /// The warnings about delimiters, YAML and repairs.
    pub(crate) warnings: Vec<Warning>,
    /// Restrictions that are in the text but could not be parsed.
    pub(crate) unparsed: Vec<&'static str>,
}

impl Mapping {
    /// Parses the frontmatter, and repairs it if necessary.
    ///
    /// An error carries the warnings about the delimiters.
    pub(crate) fn parse(frontmatter: &Frontmatter<'_>) -> Result<Self, ManifestError> {
        check_nul(frontmatter)
            .and_then(|()| parse_or_repair(frontmatter))
            .and_then(|repaired| Self::from_repaired(frontmatter, repaired))
            .map_err(|error| error.with_warnings(frontmatter.warnings.clone()))
    }

    fn from_repaired(
        frontmatter: &Frontmatter<'_>,
        repaired: Repaired,
    ) -> Result<Self, ManifestError> {
        let parsed = repaired.parsed;
        check_duplicate_keys(frontmatter, &parsed.duplicate_keys)?;
        let mut warnings = frontmatter.warnings.clone();
        warnings.extend(repaired.warnings);
        for duplicate in parsed.duplicate_keys {
            let position = frontmatter.position_of(&duplicate.key, 1);
            let kind = WarningKind::DuplicateKey(duplicate.key);
            warnings.push(Warning::new(kind, position));
        }
        if parsed.has_tags {
            warnings.push(Warning::new(WarningKind::TagDropped, None));
        }
        match parsed.value {
            Value::Object(fields) => Ok(Self {
                fields,
                warnings,
                unparsed: repaired.unparsed,
            }),
            other => Err(Repr::NotMapping {
                found: yaml::type_name(&other),
                line: frontmatter.first_line(),
            }
            .into()),
        }
    }
}

/// Rejects NUL: other parsers end the text there and would miss the restrictions after it, so a
/// repair would not be safe.
fn check_nul(frontmatter: &Frontmatter<'_>) -> Result<(), ManifestError> {
    let text = frontmatter.yaml();
    match memchr::memchr(0, text.as_bytes()) {
        None => Ok(()),
        Some(index) => {
            let line = frontmatter.first_line() + text[..index].matches('\n').count();
            Err(Repr::NulCharacter { line }.into())
        }
    }
}

fn parse_or_repair(frontmatter: &Frontmatter<'_>) -> Result<Repaired, ManifestError> {
    match yaml::parse(frontmatter.yaml()) {
        Ok(parsed) if parsed.value.is_object() => Ok(parsed.into()),
        // `name:pdf` without a space is valid YAML, but a scalar; to its author it is a field.
        Ok(parsed) => Ok(recover_by_line(frontmatter, Vec::new()).unwrap_or_else(|| parsed.into())),
        Err(error) => {
            repair(frontmatter, &error).ok_or_else(|| to_manifest_error(frontmatter, error))
        }
    }
}

fn to_manifest_error(frontmatter: &Frontmatter<'_>, error: ParseError) -> ManifestError {
    let at = frontmatter.file_position(error.line, error.column);
    let message = error.message;
    let repr = match error.kind {
        ParseErrorKind::Syntax => Repr::Yaml { message, at },
        ParseErrorKind::KeyNotScalar { found } => Repr::KeyNotScalar { found, at },
        ParseErrorKind::BudgetExceeded => Repr::BudgetExceeded {
            message,
            line: at.line,
        },
    };
    repr.into()
}

/// Rejects a duplicate `name`, `description` or restriction: parsers keep the first, the last or
/// neither, so that an approver could see another skill than the one that runs.
fn check_duplicate_keys(
    frontmatter: &Frontmatter<'_>,
    duplicates: &[DuplicateKey],
) -> Result<(), ManifestError> {
    match duplicates
        .iter()
        .find(|duplicate| is_significant(duplicate))
    {
        None => Ok(()),
        Some(duplicate) => {
            let key = duplicate.key.clone();
            let position = frontmatter.position_of(&key, 1);
            let line = position.map_or(frontmatter.first_line(), |position| position.line);
            Err(Repr::DuplicateKey { key, line }.into())
        }
    }
}

fn is_significant(duplicate: &DuplicateKey) -> bool {
    duplicate.is_top_level
        && REQUIRED_FIELDS
            .iter()
            .chain(&RESTRICTION_FIELDS)
            .any(|field| is_spelling_of(&duplicate.key, field))
}
