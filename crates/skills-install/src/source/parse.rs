//! Parses the text of a source with a table of kinds.

use skills_manifest::is_invisible;

use super::problem::{MAX_BYTES, Problem, SourceError};
use super::text::{check_helper, has_archive_extension, is_path};
use super::{SourceKind, SourceSpec, SourceText};
use crate::TreePath;

/// Parses the text of a source. The first kind wins that knows the text.
pub(crate) fn parse(text: &str, kinds: &[&dyn SourceKind]) -> Result<SourceSpec, SourceError> {
    let parsed = parse_parts(text.trim(), kinds).and_then(|spec| {
        // It would be lost when the text of the source is read again.
        match spec
            .to_string()
            .chars()
            .last()
            .filter(|c| c.is_whitespace())
        {
            Some(c) => Err(Problem::Invisible(c)),
            None => Ok(spec),
        }
    });
    parsed.map_err(|problem| SourceError::new(text, problem))
}

fn parse_parts(text: &str, kinds: &[&dyn SourceKind]) -> Result<SourceSpec, Problem> {
    if text.is_empty() {
        return Err(Problem::Empty);
    }
    if text.len() > MAX_BYTES {
        return Err(Problem::TooLong);
    }
    if let Some(c) = text.chars().find(|c| is_invisible(*c)) {
        return Err(Problem::Invisible(c));
    }
    let file = text
        .strip_prefix("file://")
        .or_else(|| text.strip_prefix("file:"));
    let text = match file {
        Some("") => return Err(Problem::Empty),
        Some(path) if is_path(path) => path.to_owned(),
        // Not a repository of a forge, whatever it looks like.
        Some(path) => format!("./{path}"),
        None => text.to_owned(),
    };
    let (text, path) = split_path(&text)?;
    if !is_local(text) {
        check_helper(text)?;
    }
    let (text, reference) = match text.split_once('#') {
        // `#` is a usual character of a path, and a directory has no versions.
        Some(_) if is_path(text) && !has_digest(text) => (text, None),
        Some((text, reference)) => (text, Some(reference)),
        None => (text, None),
    };
    let parts = SourceText {
        text,
        reference,
        path,
    };
    let parsed = kinds.iter().find_map(|kind| kind.parse(&parts));
    let spec = parsed.unwrap_or_else(|| Err(unknown(text)))?;
    spec.check_reference()?;
    Ok(spec)
}

/// Returns true for a path, also after the prefix of a kind: `::` is part of a name there. Git reads
/// no text as a helper that has a separator of paths before `::`.
fn is_local(text: &str) -> bool {
    let after_prefix = text.split_once(['+', ':']).map(|(_, rest)| rest);
    is_path(text) || after_prefix.is_some_and(is_path)
}

/// Returns true for `./a.zip#sha256:…`. Only archives on disk have versions.
fn has_digest(text: &str) -> bool {
    text.rsplit_once("#sha256:")
        .is_some_and(|(path, _)| has_archive_extension(path))
}

/// Returns what is wrong with a text that no kind knows.
fn unknown(text: &str) -> Problem {
    match text.split_once("://").or_else(|| text.split_once(':')) {
        Some((scheme, _)) => Problem::Scheme(scheme.to_owned()),
        None => Problem::BareWord,
    }
}

/// Splits `//path` off, which is after the scheme of a URL and after a version.
fn split_path(text: &str) -> Result<(&str, TreePath), Problem> {
    // `//` of a scheme, of a path of Windows (`//server`) and at the start do not count.
    let is_scheme = |scheme: &str| {
        !scheme.is_empty()
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'+')
    };
    let scheme = text.find("://").filter(|at| is_scheme(&text[..*at]));
    let after_scheme = scheme.map_or(0, |at| at + 3);
    let start = after_scheme.max(text.len() - text.trim_start_matches('/').len());
    let Some(at) = text[start..].find("//").map(|at| at + start) else {
        return Ok((text, TreePath::root()));
    };
    // Of more than two, the first ones are the end of the URL.
    let run = text[at..].len() - text[at..].trim_start_matches('/').len();
    let at = at + run - 2;
    let path = text[at + 2..].trim_matches('/');
    if path.is_empty() {
        return Ok((&text[..at], TreePath::root()));
    }
    let parsed = TreePath::new(path).map_err(|problem| Problem::Path {
        path: path.to_owned(),
        problem,
    })?;
    Ok((&text[..at], parsed))
}
