//! How repositories are written: `owner/repo`, URLs and addresses of SSH.

use url::Url;

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

/// A parsed text.
pub(super) struct Parsed {
    pub(super) location: Location,
    pub(super) reference: Option<String>,
    pub(super) path: TreePath,
}

/// Parses the text of a source; `None` if it is not one of a repository.
pub(super) fn parse(source: &SourceText<'_>) -> Option<Result<Parsed, Problem>> {
    let parsed = |location: Result<Location, Problem>| {
        location.map(|location| Parsed {
            location,
            reference: source.reference.map(str::to_owned),
            path: source.path.clone(),
        })
    };
    if let Some((repository, reference, path)) = split_tree_url(source.text) {
        let tree = parsed(parse_web(&repository)).map(|parsed| Parsed {
            reference: parsed.reference.or(Some(reference)),
            path: if source.path.is_root() {
                TreePath::new(&path).unwrap_or_default()
            } else {
                parsed.path
            },
            ..parsed
        });
        return Some(tree);
    }
    parse_location(source.text).map(parsed)
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
        None => parse_short(text).map(Ok),
    }
}

pub(super) fn text(location: &Location) -> String {
    match location {
        Location::Path(path) => format!("git+{}", explicit_path(path)),
        other => {
            let address = other.address();
            if is_by_itself(&address) {
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

/// Splits the address of a directory, as browsers show it, into repository, version and directory.
fn split_tree_url(text: &str) -> Option<(String, String, String)> {
    let rest = text.strip_prefix("https://github.com/")?;
    let mut parts = rest.splitn(5, '/');
    let (owner, repository) = (parts.next()?, parts.next()?);
    if !matches!(parts.next()?, "tree" | "blob") {
        return None;
    }
    let reference = parts.next()?;
    let path = parts.next().unwrap_or_default();
    let path = path.strip_suffix("SKILL.md").unwrap_or(path);
    Some((
        format!("https://github.com/{owner}/{repository}"),
        reference.to_owned(),
        path.trim_matches('/').to_owned(),
    ))
}

/// Parses `owner/repo` of GitHub.
fn parse_short(text: &str) -> Option<Location> {
    let is_name = |name: &str| {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        !name.is_empty() && !name.starts_with(['-', '.']) && name.bytes().all(is_plain)
    };
    let (owner, repository) = text.split_once('/')?;
    let repository = repository.strip_suffix(".git").unwrap_or(repository);
    let is_short = is_name(owner) && is_name(repository);
    is_short.then(|| Location::Address(format!("https://github.com/{owner}/{repository}.git")))
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

/// Returns true if an address is that of a repository without a prefix.
pub(crate) fn is_by_itself(text: &str) -> bool {
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
