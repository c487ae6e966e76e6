//! Parts of the text of sources that several kinds have.

use std::path::{Path, PathBuf};

use url::Url;

use super::problem::Problem;

/// The extensions of archives.
const ARCHIVES: [&str; 5] = [".tar.gz", ".tgz", ".tar", ".zip", ".skill"];

/// Returns true if the text is a path and not `owner/repo` or a URL.
pub(crate) fn is_path(text: &str) -> bool {
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

/// Splits the name of a skill off the short form of a repository, `OWNER/REPO@NAME`; `None` if the
/// text has none. The version can follow.
///
/// ```
/// assert_eq!(
///     skills_install::split_skill("acme/skills@pdf#v1"),
///     Some(("acme/skills#v1".to_owned(), "pdf"))
/// );
/// assert_eq!(skills_install::split_skill("git@github.com:acme/skills"), None);
/// ```
#[must_use]
pub fn split_skill(text: &str) -> Option<(String, &str)> {
    let end = text.find('#').unwrap_or(text.len());
    let (short, version) = text.split_at(end);
    let (repository, name) = short.rsplit_once('@')?;
    // After `//` it is part of a directory, and `@SCOPE/NAME` is a package.
    let is_short = repository.contains('/') && !name.is_empty() && !short.contains([':', '\\']);
    let is_short = is_short && !is_path(short) && !short.contains("//");
    is_short.then(|| (format!("{repository}{version}"), name))
}

/// Returns a path without repeated separators, which would be read as the start of `//path`.
pub(crate) fn plain_path(text: &str) -> PathBuf {
    Path::new(text).components().collect()
}

/// Parses the path after `npm:` or `oci:`. The root is none: nothing could follow its text.
pub(crate) fn local_path(text: &str) -> Result<PathBuf, Problem> {
    let path = plain_path(text);
    if path.as_os_str().is_empty() || path == Path::new("/") {
        return Err(Problem::Empty);
    }
    Ok(path)
}

/// Rejects `ext::sh -c …` and the like, which start a helper of git. The colons of `[::1]` do not.
pub(crate) fn check_helper(text: &str) -> Result<(), Problem> {
    match text.split_once("::") {
        Some((helper, _)) if !helper.contains("://[") => Err(Problem::Helper(helper.to_owned())),
        _ => Ok(()),
    }
}

/// Parses the URL of a web server, without a password.
pub(crate) fn parse_web_url(text: &str) -> Result<String, Problem> {
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
pub(crate) fn check_traversal(path: &str) -> Result<(), Problem> {
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

/// Checks `sha256:` with 64 hexadecimal digits.
pub(crate) fn check_archive_digest(text: &str) -> Result<(), Problem> {
    match text.strip_prefix("sha256:") {
        Some(digits) if digits.len() == 64 && is_hex(digits) => Ok(()),
        _ => Err(Problem::form(
            text,
            "not the digest of an archive",
            "write `#sha256:` with 64 hexadecimal digits, or nothing",
        )),
    }
}

/// Returns true for lowercase hexadecimal digits.
pub(crate) fn is_hex(text: &str) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
}

/// Returns the identity of a URL: `secure` is the scheme of servers that are authenticated.
pub(crate) fn url_identity(text: &str, secure: &str) -> String {
    let Ok(url) = Url::parse(text) else {
        return format!("insecure:{text}");
    };
    let scheme = match url.scheme() {
        "https" | "ssh" => secure,
        "file" => "dir",
        _ => "insecure",
    };
    let port = url.port().map(|port| format!(":{port}"));
    let path = url.path().trim_end_matches('/');
    let path = if scheme == secure && secure == "git" || path.ends_with(".git") {
        path.strip_suffix(".git").unwrap_or(path)
    } else {
        path
    };
    // A registry can have all of its skills at one path.
    let query = url.query().map(|query| format!("?{query}"));
    format!(
        "{scheme}:{}{}{path}{}",
        url.host_str().unwrap_or_default(),
        port.unwrap_or_default(),
        query.unwrap_or_default()
    )
}

/// Returns a path as text that parses as a path.
pub(crate) fn explicit_path(path: &Path) -> String {
    let text = slash_path(path);
    if path.is_absolute() || text.starts_with('.') || is_path(&text) {
        text
    } else if is_path(&format!("{text}/")) {
        // The root of a drive.
        format!("{text}/")
    } else {
        format!("./{text}")
    }
}

/// Returns a path with `/` as separator.
pub(crate) fn slash_path(path: &Path) -> String {
    let text = path.to_string_lossy();
    if cfg!(windows) {
        text.replace('\\', "/")
    } else {
        text.into_owned()
    }
}

/// Returns true if a path or the path of a URL is that of an archive.
pub(crate) fn has_archive_extension(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    ARCHIVES.iter().any(|end| lower.ends_with(end))
}
