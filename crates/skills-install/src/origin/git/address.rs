//! How repositories are written: `owner/repo`, URLs and addresses of SSH.

use url::Url;

use super::page::{self, Page};
use crate::TreePath;
use crate::source::problem::Problem;
use crate::source::text::{
    check_traversal, explicit_path, has_archive_extension, is_hex, is_path, parse_web_url,
    plain_path, url_identity,
};
use crate::source::{Location, SourceText};

/// Hosts whose paths of two or more names are repositories.
const FORGES: [&str; 5] = [
    "github.com",
    "gitlab.com",
    "codeberg.org",
    "bitbucket.org",
    "git.sr.ht",
];
/// Maximum length of a branch or tag, in bytes.
const MAX_REFERENCE_BYTES: usize = 255;

/// What to write after `#`.
const REFERENCE_HELP: &str = "write a branch, a tag, or all 40 or 64 digits of a commit after `#`";
/// What to write for a repository of another server.
const SERVER_HELP: &str = "write `https://` in front of the address of a server";
/// What to write for a directory of a repository.
const DIRECTORY_HELP: &str = "write the directory once, after `//`";

/// A parsed text.
pub(super) struct Parsed {
    pub(super) location: Location,
    pub(super) reference: Option<String>,
    pub(super) path: TreePath,
    /// True if the version may go on in the path.
    pub(super) is_page: bool,
}

/// Parses the text of a source; `None` if it is not one of a repository.
pub(super) fn parse(source: &SourceText<'_>) -> Option<Result<Parsed, Problem>> {
    if let Some(url) = url_of_forge(source.text) {
        return parse_text(&url, source);
    }
    parse_text(source.text, source)
}

fn parse_text(text: &str, source: &SourceText<'_>) -> Option<Result<Parsed, Problem>> {
    if let Some(page) = page::parse(text) {
        return Some(page.and_then(|page| parse_page(page, source)));
    }
    let is_address = text.contains(':') || is_path(text) || text.starts_with("git+");
    if !is_address {
        return parse_short(text, source);
    }
    let location = parse_location(text)?;
    Some(location.map(|location| Parsed {
        location,
        reference: source.reference.map(str::to_owned),
        path: source.path.clone(),
        is_page: false,
    }))
}

/// Divides the names after the repository. `//` divides them where the user says, and otherwise the
/// version is the first name as far as the text says.
fn parse_page(page: Page, source: &SourceText<'_>) -> Result<Parsed, Problem> {
    let location = parse_web(&page.repository)?;
    if !source.path.is_root() {
        return Ok(Parsed {
            location,
            reference: Some(
                source
                    .reference
                    .map_or_else(|| page.names.join("/"), str::to_owned),
            ),
            path: source.path.clone(),
            is_page: false,
        });
    }
    let (first, names) = page.names.split_first().ok_or(Problem::Empty)?;
    let path = match names {
        [] => TreePath::root(),
        names => new_path(&names.join("/"))?,
    };
    Ok(Parsed {
        location,
        reference: Some(source.reference.unwrap_or(first).to_owned()),
        is_page: source.reference.is_none() && !path.is_root() && !is_commit(first),
        path,
    })
}

fn new_path(path: &str) -> Result<TreePath, Problem> {
    TreePath::new(path).map_err(|problem| Problem::Path {
        path: path.to_owned(),
        problem,
    })
}

/// Returns the URL of a repository of a known server that is written without its scheme.
fn url_of_forge(text: &str) -> Option<String> {
    let (host, _) = text.split_once('/')?;
    let is_forge = FORGES.iter().any(|forge| host.eq_ignore_ascii_case(forge));
    is_forge.then(|| format!("https://{text}"))
}

fn parse_location(text: &str) -> Option<Result<Location, Problem>> {
    if let Some(address) = text.strip_prefix("git+") {
        return Some(parse_address(address));
    }
    match text.split_once("://") {
        Some(("https" | "http", _)) => is_by_itself(text).then(|| parse_web(text)),
        Some(("ssh" | "git", _)) => Some(parse_address(text)),
        Some(_) => None,
        None if is_path(text) => None,
        None if is_scp_address(text) => Some(parse_address(text)),
        None => None,
    }
}

pub(super) fn text(location: &Location) -> String {
    match location {
        Location::Path(path) => format!("git+{}", explicit_path(path)),
        other => {
            let address = other.address();
            if is_by_itself(&address) && !page::is_page(&address) {
                address.into_owned()
            } else {
                format!("git+{address}")
            }
        }
    }
}

/// Returns the identity of a repository by its address.
pub(super) fn identity(address: &str) -> String {
    let without_suffix = |path: &str| {
        let path = path.trim_matches('/');
        path.strip_suffix(".git").unwrap_or(path).to_owned()
    };
    if address.contains("://") {
        return url_identity(address, "git");
    }
    match address.split_once(':') {
        Some((host, path)) if !is_path(address) => {
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            format!("git:{}/{}", host.to_ascii_lowercase(), without_suffix(path))
        }
        _ => path_identity(address),
    }
}

/// Returns the identity of a repository on disk.
pub(super) fn path_identity(path: &str) -> String {
    format!("dir:{}", path.strip_suffix(".git").unwrap_or(path))
}

/// Parses `OWNER/REPO` and `OWNER/REPO/DIR` of GitHub.
fn parse_short(text: &str, source: &SourceText<'_>) -> Option<Result<Parsed, Problem>> {
    let is_name = |name: &str| {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        !name.is_empty() && !name.starts_with(['-', '.']) && name.bytes().all(is_plain)
    };
    let (owner, rest) = text.split_once('/')?;
    let (repository, directory) = match rest.split_once('/') {
        Some((repository, directory)) => (repository, Some(directory)),
        None => (rest, None),
    };
    let repository = repository.strip_suffix(".git").unwrap_or(repository);
    // A `/` at the end and the extension of an archive are those of a path without its `./`.
    let is_local = text.ends_with('/') || has_archive_extension(text);
    if is_local || !is_name(owner) || !is_name(repository) {
        return None;
    }
    // No owner has a dot in its name.
    if owner.contains('.') {
        return Some(Err(Problem::form(
            owner,
            "the name of a server",
            SERVER_HELP,
        )));
    }
    let path = match directory {
        None => Ok(source.path.clone()),
        Some(directory) if source.path.is_root() => new_path(directory),
        Some(directory) => Err(Problem::form(
            directory,
            "a second directory",
            DIRECTORY_HELP,
        )),
    };
    let url = format!("https://github.com/{owner}/{repository}.git");
    Some(path.map(|path| Parsed {
        location: Location::Address(url),
        reference: source.reference.map(str::to_owned),
        path,
        is_page: false,
    }))
}

fn parse_web(text: &str) -> Result<Location, Problem> {
    parse_web_url(text).map(|url| Location::Address(with_git_suffix(url)))
}

/// Adds the suffix that the address of a repository of a forge lacks, so that one repository has
/// one text.
fn with_git_suffix(url: String) -> String {
    let trimmed = url.trim_end_matches('/');
    if trimmed.ends_with(".git") || trimmed.starts_with("https://git.sr.ht/") {
        trimmed.to_owned()
    } else {
        format!("{trimmed}.git")
    }
}

/// Parses the address of a repository, without what git could read as an option or a helper.
fn parse_address(text: &str) -> Result<Location, Problem> {
    if !text.contains("://") {
        if is_path(text) {
            return Ok(Location::Path(plain_path(text)));
        }
        if is_scp_address(text) {
            let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
            if host.starts_with('-') || text.starts_with('-') {
                return Err(Problem::OptionHost);
            }
            check_traversal(host.split_once(':').map_or("", |(_, path)| path))?;
            return Ok(Location::Address(text.to_owned()));
        }
        return Err(Problem::BareWord);
    }
    let url = Url::parse(text).map_err(Problem::Url)?;
    match url.scheme() {
        "https" | "http" | "ssh" | "git" => {}
        scheme => return Err(Problem::Scheme(scheme.to_owned())),
    }
    // An SSH address needs a user name, `git@` mostly; a password is a secret in any of them.
    if url.password().is_some() || url.scheme() != "ssh" && !url.username().is_empty() {
        return Err(Problem::Password);
    }
    // `ssh://-oProxyCommand=…` made old versions of git run a program.
    if url.host_str().is_none_or(|host| host.starts_with('-')) || url.username().starts_with('-') {
        return Err(Problem::OptionHost);
    }
    check_traversal(url.path())?;
    Ok(Location::Address(url.to_string()))
}

/// Returns true for `user@host:path` and `host:path`.
fn is_scp_address(text: &str) -> bool {
    let Some((host, path)) = text.split_once(':') else {
        return false;
    };
    let is_host = host.contains('@') || host.contains('.');
    is_host && !host.contains('/') && !path.is_empty()
}

/// Returns true if an address is that of a repository, or of a page of one, without a prefix.
pub(crate) fn is_by_itself(text: &str) -> bool {
    if page::is_page(text) {
        return true;
    }
    let Ok(url) = Url::parse(text).map_err(|_| ()) else {
        return is_scp_address(text);
    };
    match url.scheme() {
        "ssh" | "git" => true,
        "https" | "http" if has_archive_extension(url.path()) => false,
        "https" | "http" => {
            let path = url.path().trim_matches('/');
            let is_forge = url.host_str().is_some_and(|host| FORGES.contains(&host));
            path.ends_with(".git") || is_forge && path.split('/').count() >= 2
        }
        "file" => false,
        // `host:path` parses as a URL, too.
        _ => is_scp_address(text),
    }
}

/// Returns true if the text is a full commit: 40 or 64 lowercase hexadecimal digits.
fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && is_hex(text)
}

/// Checks a branch, tag or commit by the rules of `git check-ref-format`.
pub(super) fn check_reference(text: &str) -> Result<(), Problem> {
    if is_commit(text) {
        return Ok(());
    }
    // A server finds no object by an abbreviated commit; such a branch is possible but rare.
    if (7..=64).contains(&text.len()) && is_hex(text) {
        return Err(Problem::form(text, "an abbreviated commit", REFERENCE_HELP));
    }
    let is_rejected = |c: char| {
        c.is_ascii_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\')
    };
    let is_bad_name = |name: &str| {
        name.is_empty() || name.starts_with('.') || name.ends_with(".lock") || name.ends_with('.')
    };
    // A leading `-` would be an option of git.
    if text.len() > MAX_REFERENCE_BYTES
        || text.starts_with('-')
        || text == "@"
        || text.contains("..")
        || text.contains("@{")
        || text.contains(is_rejected)
        || text.split('/').any(is_bad_name)
    {
        let problem = "not a branch, tag or commit";
        return Err(Problem::form(text, problem, REFERENCE_HELP));
    }
    Ok(())
}
