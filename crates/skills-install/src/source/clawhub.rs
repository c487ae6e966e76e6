//! Skills of a ClawHub registry: `clawhub:SLUG@VERSION` and `clawhub+https://HOST/SLUG@VERSION`.

use url::Url;

use super::problem::Problem;
use super::{Source, SourceSpec};
use crate::TreePath;

/// The registry of a source that names none.
pub(crate) const PUBLIC_REGISTRY: &str = "https://clawhub.ai/";
/// Maximum length of a slug and of a version, in bytes.
const MAX_NAME_BYTES: usize = 200;

/// Parses the text after `clawhub:`.
pub(super) fn parse_short(
    text: &str,
    reference: Option<&str>,
    path: TreePath,
) -> Result<SourceSpec, Problem> {
    spec(PUBLIC_REGISTRY.to_owned(), text, reference, path)
}

/// Parses the text after `clawhub+`: the URL of a registry, and the slug as the last name of it.
pub(super) fn parse_url(
    text: &str,
    reference: Option<&str>,
    path: TreePath,
) -> Result<SourceSpec, Problem> {
    let invalid = || Problem::ClawHubReference(text.to_owned());
    let (registry, skill) = text.rsplit_once('/').ok_or_else(invalid)?;
    spec(parse_registry(registry)?, skill, reference, path)
}

/// Returns the URL of a registry with a `/` at its end, so that one registry has one text.
pub(super) fn parse_registry(text: &str) -> Result<String, Problem> {
    let registry = super::parse::parse_web_url(text)?;
    let url = Url::parse(&registry).map_err(Problem::Url)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(Problem::ClawHubReference(text.to_owned()));
    }
    Ok(format!("{}/", registry.trim_end_matches('/')))
}

fn spec(
    registry: String,
    skill: &str,
    reference: Option<&str>,
    path: TreePath,
) -> Result<SourceSpec, Problem> {
    let (slug, written) = match skill.split_once('@') {
        Some((slug, version)) => (slug, Some(version)),
        None => (skill, None),
    };
    if !is_name(slug) {
        return Err(Problem::ClawHubReference(skill.to_owned()));
    }
    let version = written.or(reference);
    version.map_or(Ok(()), check_version)?;
    let source = Source::ClawHub {
        registry,
        slug: slug.to_owned(),
    };
    Ok(SourceSpec::new(source, version.map(str::to_owned), path))
}

/// Checks a version, which becomes a part of URLs.
pub(super) fn check_version(text: &str) -> Result<(), Problem> {
    if is_name(text) {
        Ok(())
    } else {
        Err(Problem::ClawHubReference(text.to_owned()))
    }
}

/// Returns true for a slug or a version.
pub(crate) fn is_name(text: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'+');
    text.len() <= MAX_NAME_BYTES
        && text
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphanumeric())
        && text.bytes().all(is_plain)
        && !text.contains("..")
}
