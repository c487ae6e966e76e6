//! Parses the text of a source.

use std::path::{Path, PathBuf};

use skills_manifest::is_invisible;
use url::Url;

use super::problem::{MAX_BYTES, Problem, SourceError};
use super::reference::{check_archive_digest, check_git_reference};
use super::{Source, SourceSpec, clawhub, oci};
use crate::TreePath;

/// The extensions of archives.
const ARCHIVES: [&str; 5] = [".tar.gz", ".tgz", ".tar", ".zip", ".skill"];
/// Hosts whose paths of two or more names are repositories.
const FORGES: [&str; 5] = [
    "github.com",
    "gitlab.com",
    "codeberg.org",
    "bitbucket.org",
    "git.sr.ht",
];

pub(super) fn parse(text: &str) -> Result<SourceSpec, SourceError> {
    let parsed = parse_parts(text.trim()).and_then(|spec| {
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
    parsed.map_err(|problem| error(text, problem))
}

/// Returns the error of a text. Errors are logged; a password is not, also if the URL is wrong in
/// another way, so that its parts are not known.
pub(super) fn error(text: &str, problem: Problem) -> SourceError {
    let text = text.trim();
    let authority = text
        .split_once("://")
        .and_then(|(_, rest)| rest.split('/').next());
    let has_user = authority.is_some_and(|authority| authority.contains('@'));
    let shown = match text.rsplit_once('@') {
        Some((_, host)) if has_user || problem == Problem::Password => format!("…@{host}"),
        _ => text.to_owned(),
    };
    SourceError {
        text: shown.chars().take(200).collect(),
        problem,
    }
}

fn parse_parts(text: &str) -> Result<SourceSpec, Problem> {
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
    // `#` is a usual character of a path, and a directory has no versions.
    if is_path(text) && !is_archive_with_digest(text) {
        return Ok(match path_source(text) {
            // The text of a root ends with `/`, so nothing could follow it.
            Source::Directory(root) if root == Path::new("/") => {
                let source = Source::Directory(root.join(path.as_str()));
                SourceSpec::new(source, None, TreePath::root())
            }
            source => SourceSpec::new(source, None, path),
        });
    }
    let (text, reference) = match text.split_once('#') {
        Some((text, reference)) => (text, Some(reference)),
        None => (text, None),
    };
    if let Some(repository) = text.strip_prefix("oci://") {
        return parse_registry(repository, reference, path);
    }
    if let Some(skill) = text.strip_prefix("clawhub:") {
        return clawhub::parse_short(skill, reference, path);
    }
    if let Some(url) = text.strip_prefix("clawhub+") {
        return clawhub::parse_url(url, reference, path);
    }
    let (source, tree) = match split_tree_url(text) {
        Some((repository, tree_reference, tree_path)) => {
            let tree_path = TreePath::new(&tree_path).unwrap_or_default();
            let source = parse_source(&repository)?;
            (source, Some((tree_reference, tree_path)))
        }
        None => (parse_source(text)?, None),
    };
    let (tree_reference, tree_path) = tree.unzip();
    let reference = reference.map(str::to_owned).or(tree_reference);
    if let Some(reference) = &reference {
        check_reference(&source, reference)?;
    }
    let path = if path.is_root() {
        tree_path.unwrap_or_default()
    } else {
        path
    };
    Ok(SourceSpec::new(source, reference, path))
}

fn parse_registry(
    text: &str,
    reference: Option<&str>,
    path: TreePath,
) -> Result<SourceSpec, Problem> {
    let (repository, written) = oci::split(text)?;
    let reference = written.or_else(|| reference.map(str::to_owned));
    if let Some(reference) = &reference {
        oci::check_reference(reference)?;
    }
    let source = Source::OciRegistry(repository);
    Ok(SourceSpec::new(source, reference, path))
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

fn parse_source(text: &str) -> Result<Source, Problem> {
    check_helper(text)?;
    if let Some(path) = text.strip_prefix("npm:") {
        return local_path(path).map(Source::Packages);
    }
    if let Some(path) = text.strip_prefix("oci:") {
        return local_path(path).map(Source::OciLayout);
    }
    if is_path(text) {
        return Ok(path_source(text));
    }
    if let Some(url) = text.strip_prefix("git+") {
        return parse_git(url);
    }
    if let Some(url) = text.strip_prefix("archive+") {
        return Ok(Source::ArchiveUrl(parse_web_url(url)?));
    }
    if let Some(url) = text.strip_prefix("site+") {
        return Ok(Source::Site(parse_web_url(url)?));
    }
    if let Some(url) = text.strip_prefix("mcp+") {
        return Ok(Source::McpServer(parse_web_url(url)?));
    }
    match text.split_once("://") {
        Some(("https" | "http", _)) => parse_web(text),
        Some(("ssh" | "git", _)) => parse_git(text),
        Some((scheme, _)) => Err(Problem::Scheme(scheme.to_owned())),
        None if is_scp_address(text) => parse_git(text),
        None => parse_short(text),
    }
}

/// Parses the path after `npm:` or `oci:`. The root is none: nothing could follow its text.
fn local_path(text: &str) -> Result<PathBuf, Problem> {
    let path: PathBuf = Path::new(text).components().collect();
    if path.as_os_str().is_empty() || path == Path::new("/") {
        return Err(Problem::Empty);
    }
    Ok(path)
}

/// Rejects `ext::sh -c …` and the like, which start a helper of git. The colons of `[::1]` do not.
fn check_helper(text: &str) -> Result<(), Problem> {
    match text.split_once("::") {
        Some((helper, _)) if !helper.contains("://[") => Err(Problem::Helper(helper.to_owned())),
        _ => Ok(()),
    }
}

/// Parses `owner/repo` of GitHub.
fn parse_short(text: &str) -> Result<Source, Problem> {
    if let Some((scheme, _)) = text.split_once(':') {
        return Err(Problem::Scheme(scheme.to_owned()));
    }
    let is_name = |name: &str| {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        !name.is_empty() && !name.starts_with(['-', '.']) && name.bytes().all(is_plain)
    };
    match text.split_once('/') {
        Some((owner, repository)) if is_name(owner) && is_name(repository) => {
            let repository = repository.strip_suffix(".git").unwrap_or(repository);
            Ok(Source::Git(format!(
                "https://github.com/{owner}/{repository}.git"
            )))
        }
        _ => Err(Problem::BareWord),
    }
}

fn parse_web(text: &str) -> Result<Source, Problem> {
    let url = parse_web_url(text)?;
    Ok(if is_archive_by_itself(&url) {
        Source::ArchiveUrl(url)
    } else if is_git_by_itself(&url) {
        Source::Git(with_git_suffix(url))
    } else {
        Source::Site(url)
    })
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

pub(super) fn parse_web_url(text: &str) -> Result<String, Problem> {
    let url = Url::parse(text).map_err(Problem::Url)?;
    match url.scheme() {
        "https" | "http" => {}
        scheme => return Err(Problem::Scheme(scheme.to_owned())),
    }
    if url.password().is_some() || !url.username().is_empty() {
        return Err(Problem::Password);
    }
    check_traversal(url.path())?;
    Ok(url.to_string())
}

/// Rejects a path that a server could read as another one than rules of sources do.
fn check_traversal(path: &str) -> Result<(), Problem> {
    let lower = path.to_ascii_lowercase();
    let has_encoded = ["%2e", "%2f", "%5c"]
        .iter()
        .any(|code| lower.contains(code));
    // URLs have `/` for `\`, so an empty name can come of one that was not written.
    let has_empty = path.contains("//");
    if has_encoded || has_empty || path.split('/').any(|name| name == "..") {
        return Err(Problem::HiddenTraversal);
    }
    Ok(())
}

/// Parses the address of a repository, without what git could read as an option or a helper.
fn parse_git(text: &str) -> Result<Source, Problem> {
    check_helper(text)?;
    if !text.contains("://") {
        if is_path(text) {
            return Ok(Source::Git(text.to_owned()));
        }
        if is_scp_address(text) {
            let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
            if host.starts_with('-') || text.starts_with('-') {
                return Err(Problem::OptionHost);
            }
            check_traversal(host.split_once(':').map_or("", |(_, path)| path))?;
            return Ok(Source::Git(text.to_owned()));
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
    Ok(Source::Git(url.to_string()))
}

/// Returns true if the text is a path and not `owner/repo` or a URL.
pub(super) fn is_path(text: &str) -> bool {
    let bytes = text.as_bytes();
    let has_drive = bytes.len() >= 3
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'/' | b'\\');
    matches!(text, "." | "..")
        || ["./", "../", ".\\", "..\\", "/", "\\\\"]
            .iter()
            .any(|start| text.starts_with(start))
        || has_drive
}

fn path_source(text: &str) -> Source {
    // Without repeated separators, which would be read as the start of `//path`.
    let path: PathBuf = Path::new(text).components().collect();
    if has_archive_extension(&path.to_string_lossy()) {
        Source::ArchiveFile(path)
    } else {
        Source::Directory(path)
    }
}

/// Returns true for `./a.zip#sha256:…`, since the digest follows the extension.
fn is_archive_with_digest(text: &str) -> bool {
    text.rsplit_once("#sha256:")
        .is_some_and(|(path, _)| has_archive_extension(path))
}

/// Returns true for `user@host:path` and `host:path`.
fn is_scp_address(text: &str) -> bool {
    let Some((host, path)) = text.split_once(':') else {
        return false;
    };
    let is_host = host.contains('@') || host.contains('.');
    is_host && !host.contains('/') && !path.is_empty()
}

fn has_archive_extension(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    ARCHIVES.iter().any(|end| lower.ends_with(end))
}

/// Returns true if a URL is that of an archive without a prefix.
pub(super) fn is_archive_by_itself(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| {
        matches!(url.scheme(), "https" | "http") && has_archive_extension(url.path())
    })
}

/// Returns true if an address is that of a repository without a prefix.
pub(super) fn is_git_by_itself(text: &str) -> bool {
    let Ok(url) = Url::parse(text).map_err(|_| ()) else {
        return is_scp_address(text);
    };
    match url.scheme() {
        "ssh" | "git" => true,
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

/// Returns true if a URL is that of a web site without a prefix.
pub(super) fn is_site_by_itself(url: &str) -> bool {
    !is_archive_by_itself(url) && !is_git_by_itself(url)
}

fn check_reference(source: &Source, reference: &str) -> Result<(), Problem> {
    match source {
        Source::Git(_) => check_git_reference(reference),
        Source::ArchiveFile(_) | Source::ArchiveUrl(_) => check_archive_digest(reference),
        Source::OciLayout(_) | Source::OciRegistry(_) => oci::check_reference(reference),
        Source::ClawHub { .. } => clawhub::check_version(reference),
        Source::Directory(_) => Err(Problem::NoVersions("directory")),
        Source::Packages(_) => Err(Problem::NoVersions("directory of packages")),
        Source::Site(_) => Err(Problem::NoVersions("web site")),
        Source::McpServer(_) => Err(Problem::NoVersions("server")),
        // Never the result of parsing.
        Source::Unusable { .. } => Ok(()),
    }
}
