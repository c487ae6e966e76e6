//! Addresses of the pages on which servers of repositories show a directory, as browsers have them.

use std::collections::HashSet;

use percent_encoding::percent_decode_str;
use skills_discovery::SKILL_FILE;
use skills_manifest::is_invisible;

use super::GitRepository;
use super::address::check_reference;
use crate::TreePath;
use crate::error::InstallError;
use crate::source::SourceSpec;
use crate::source::problem::Problem;
use crate::source::text::check_traversal;

/// Parts of the path of a page between the repository and the version, of servers of any name.
const SEPARATORS: [&str; 5] = [
    "/-/tree/",
    "/-/blob/",
    "/src/branch/",
    "/src/tag/",
    "/src/commit/",
];

/// Where the names of branches and tags start.
const KINDS: [&str; 2] = ["refs/heads/", "refs/tags/"];
/// What to write if several versions fit.
const DIVIDE_HELP: &str = "write the version after `#` and the directory after `//`";

/// The address of a page, divided as far as the text alone says.
#[derive(Debug)]
pub(super) struct Page {
    /// The URL of the repository.
    pub(super) repository: String,
    /// The names of the version and of the directory after it. Both can have several.
    pub(super) names: Vec<String>,
}

/// Parses the address of a page; `None` if it is not one.
pub(super) fn parse(text: &str) -> Option<Result<Page, Problem>> {
    let (repository, rest) = split(text)?;
    let rest = rest.split('?').next().unwrap_or_default();
    let rest = rest.trim_matches('/');
    if repository.contains('?') || rest.is_empty() {
        return None;
    }
    let names = check_traversal(rest).and_then(|()| decode_names(rest));
    Some(names.map(|names| Page { repository, names }))
}

/// Returns true for the address of a page.
pub(crate) fn is_page(text: &str) -> bool {
    parse(text).is_some()
}

/// Splits a URL into that of the repository, and the version with the directory.
fn split(text: &str) -> Option<(String, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    if !matches!(scheme, "https" | "http") {
        return None;
    }
    let (host, path) = rest.split_once('/')?;
    let (repository, rest) = match host.to_ascii_lowercase().as_str() {
        "github.com" => split_after_repository(path, &["tree", "blob"])?,
        "bitbucket.org" => split_after_repository(path, &["src"])?,
        _ => split_at_separator(path)?,
    };
    Some((format!("{scheme}://{host}/{repository}"), rest))
}

/// Splits `OWNER/REPO/WORD/REST`.
fn split_after_repository<'a>(path: &'a str, words: &[&str]) -> Option<(&'a str, &'a str)> {
    let slashes: Vec<usize> = path.match_indices('/').map(|(at, _)| at).take(3).collect();
    let [_, second, third] = slashes[..] else {
        return None;
    };
    let word = &path[second + 1..third];
    words
        .contains(&word)
        .then(|| (&path[..second], &path[third + 1..]))
}

/// Splits at the first separator: a directory may have names like another one.
fn split_at_separator(path: &str) -> Option<(&str, &str)> {
    let found = SEPARATORS.iter().filter_map(|separator| {
        let at = path.find(separator)?;
        Some((at, separator.len()))
    });
    let (at, length) = found.min()?;
    let repository = &path[..at];
    let has_owner = repository
        .split('/')
        .filter(|name| !name.is_empty())
        .count()
        >= 2;
    has_owner.then(|| (repository, &path[at + length..]))
}

/// Decodes names that browsers encode. The name of the file that makes a skill stands for its
/// directory.
fn decode_names(rest: &str) -> Result<Vec<String>, Problem> {
    let decode = |name: &str| {
        let decoded = percent_decode_str(name).decode_utf8();
        let decoded = decoded.map_err(|_| Problem::HiddenTraversal)?;
        match decoded.chars().find(|c| is_invisible(*c)) {
            Some(c) => Err(Problem::Invisible(c)),
            None => Ok(decoded.into_owned()),
        }
    };
    let mut names = rest.split('/').map(decode).collect::<Result<Vec<_>, _>>()?;
    if names.len() > 1 && names.last().is_some_and(|name| name == SKILL_FILE) {
        names.pop();
    }
    Ok(names)
}

/// Returns the version and directory of the address of a page, by the branches and tags that the
/// repository has; `None` if none of them fits.
///
/// # Errors
/// Fails if several fit: who can push a tag must not choose what another address means.
pub(super) fn divide(
    repository: &GitRepository,
    source: &SourceSpec,
) -> Result<Option<(String, TreePath)>, InstallError> {
    let divisions = divisions(source);
    let full_names = divisions
        .iter()
        .flat_map(|(version, _)| KINDS.map(|kind| format!("{kind}{version}")));
    let full_names: Vec<String> = full_names.collect();
    let mut command = vec!["ls-remote", "--quiet", "--refs", "origin"];
    command.extend(full_names.iter().map(String::as_str));
    let listed = repository.output(&command)?;
    let listed = String::from_utf8_lossy(&listed);
    // `COMMIT\tNAME`. Patterns of git match the end of a name.
    let listed: HashSet<&str> = listed
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(_, name)| name)
        .collect();
    let is_listed = |version: &str| {
        KINDS
            .iter()
            .any(|kind| listed.contains(format!("{kind}{version}").as_str()))
    };
    let mut found = divisions
        .into_iter()
        .filter(|(version, _)| is_listed(version));
    let first = found.next();
    match (&first, found.next()) {
        (Some((first, _)), Some((second, _))) => {
            let cause = format!("it has the versions `{first}` and `{second}`");
            Err(InstallError::fetch_with_help(
                &source.to_string(),
                cause,
                DIVIDE_HELP,
            ))
        }
        _ => Ok(first),
    }
}

/// Returns the versions that the names of a page may start with, each with the directory after it.
fn divisions(source: &SourceSpec) -> Vec<(String, TreePath)> {
    let names: Vec<&str> = source
        .reference()
        .into_iter()
        .chain(source.path().names())
        .collect();
    let division = |count: usize| {
        let version = names[..count].join("/");
        check_reference(&version).ok()?;
        let path = match &names[count..] {
            [] => TreePath::root(),
            names => TreePath::new(&names.join("/")).ok()?,
        };
        Some((version, path))
    };
    (1..=names.len()).filter_map(division).collect()
}
