//! Parses the frontmatter into a mapping: fast, with the YAML library, or after a repair.

use serde_json::{Map, Value};

use super::RESTRICTION_FIELDS;
use crate::error::{ManifestError, Repr};
use crate::field_reader::{is_spelling_of, yaml_type_name};
use crate::frontmatter::Frontmatter;
use crate::position::Position;
use crate::repair::{recover_by_line, repair};
use crate::warning::{Warning, WarningKind};
use crate::yaml::{self, ParseError, Parsed};

/// Restrictions that are in the text but could not be parsed.
type Unparsed = Vec<&'static str>;

/// Parses the mapping: with the fast parser, else with the YAML library, else after a repair.
pub(super) fn parse_mapping(
    frontmatter: &Frontmatter<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<(Map<String, Value>, Unparsed), ManifestError> {
    let text = frontmatter.yaml();
    if let Some(map) = yaml::parse_fast(text) {
        return Ok((map, Vec::new()));
    }
    // Other parsers end the text at NUL and would miss the restrictions after it, so this is an
    // error and not a reason to repair.
    if let Some(index) = text.find('\0') {
        let line = frontmatter.first_line() + text[..index].matches('\n').count();
        return Err(Repr::NulCharacter { line }.into());
    }
    let (parsed, unparsed) = parse_or_repair(frontmatter, warnings)?;
    // `name:pdf` without a space is valid YAML, but a scalar; to its author it is a field.
    if !parsed.value.is_object()
        && let Some(repaired) = recover_by_line(frontmatter, Vec::new())
    {
        warnings.extend(repaired.warnings);
        let map = check_duplicate_keys(frontmatter, repaired.parsed, warnings)?;
        return Ok((map, repaired.unparsed));
    }
    let map = check_duplicate_keys(frontmatter, parsed, warnings)?;
    Ok((map, unparsed))
}

/// Parses the text with the YAML library, or repairs it if it is not valid.
fn parse_or_repair(
    frontmatter: &Frontmatter<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<(Parsed, Unparsed), ManifestError> {
    match yaml::parse(frontmatter.yaml()) {
        Ok(parsed) => Ok((parsed, Vec::new())),
        // Not repaired: repairs parse the text again, from which the limits protect.
        Err(ParseError::BudgetExceeded { message, line }) => Err(Repr::BudgetExceeded {
            message,
            line: frontmatter.file_position(line, 1).line,
        }
        .into()),
        Err(ParseError::Syntax {
            message,
            line,
            column,
        }) => {
            let at = frontmatter.file_position(line, column);
            let problem = WarningKind::YamlRepaired {
                problem: message.clone(),
            };
            parse_repaired(frontmatter, problem, at, warnings)
                .ok_or_else(|| Repr::Yaml { message, at }.into())
        }
        Err(ParseError::KeyNotScalar {
            found,
            line,
            column,
        }) => {
            let at = frontmatter.file_position(line, column);
            let problem = WarningKind::KeyNotScalar { found };
            parse_repaired(frontmatter, problem, at, warnings)
                .ok_or_else(|| Repr::KeyNotScalar { found, at }.into())
        }
    }
}

/// Parses the repaired text and adds the repairs to the warnings.
fn parse_repaired(
    frontmatter: &Frontmatter<'_>,
    problem: WarningKind,
    at: Position,
    warnings: &mut Vec<Warning>,
) -> Option<(Parsed, Unparsed)> {
    let repaired = repair(frontmatter, problem, at)?;
    warnings.extend(repaired.warnings);
    Some((repaired.parsed, repaired.unparsed))
}

/// Returns the mapping of a parsed text, after a check of its duplicate keys.
///
/// A duplicate `name`, `description` or restriction is an error: parsers keep the first, the last
/// or neither, so that an approver could see another skill than the one that runs.
fn check_duplicate_keys(
    frontmatter: &Frontmatter<'_>,
    parsed: Parsed,
    warnings: &mut Vec<Warning>,
) -> Result<Map<String, Value>, ManifestError> {
    for duplicate in parsed.duplicate_keys {
        let position = frontmatter.position_of(&duplicate.key, 1);
        let is_significant = ["name", "description"]
            .iter()
            .chain(&RESTRICTION_FIELDS)
            .any(|field| is_spelling_of(&duplicate.key, field));
        if duplicate.is_top_level && is_significant {
            let line = position.map_or(frontmatter.first_line(), |position| position.line);
            return Err(Repr::DuplicateKey {
                key: duplicate.key,
                line,
            }
            .into());
        }
        warnings.push(Warning::new(
            WarningKind::DuplicateKey(duplicate.key),
            position,
        ));
    }
    if parsed.has_tags {
        warnings.push(Warning::new(WarningKind::TagDropped, None));
    }
    match parsed.value {
        Value::Object(map) => Ok(map),
        other => Err(Repr::NotMapping {
            found: yaml_type_name(&other),
            line: frontmatter.first_line(),
        }
        .into()),
    }
}
