//! References of OCI registries: `HOST/NAME:TAG` and `HOST/NAME@sha256:DIGEST`.

use crate::source::problem::Problem;
use crate::source::text::check_archive_digest;

/// Maximum length of a tag, in bytes.
const MAX_TAG_BYTES: usize = 128;
/// Maximum length of the name of a repository, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// Splits the text after `oci://` into host and name, and the tag or digest.
pub(super) fn split(text: &str) -> Result<(String, Option<String>), Problem> {
    let invalid = || {
        Problem::form(
            text,
            "not `HOST/NAME:TAG` or `HOST/NAME@sha256:DIGEST`",
            "write it like `oci://ghcr.io/acme/skills:1.0`, in lowercase",
        )
    };
    let (host, rest) = text.split_once('/').ok_or_else(invalid)?;
    if host.contains('@') {
        return Err(Problem::Password);
    }
    let (name, reference) = match rest.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        // A colon before the last `/` would be that of a port.
        None => match rest.rsplit_once(':') {
            Some((name, tag)) => (name, Some(tag)),
            None => (rest, None),
        },
    };
    // A tag beside a digest says nothing that the digest does not.
    let name = match (name.split_once(':'), reference) {
        (Some((name, _)), Some(digest)) if digest.starts_with("sha256:") => name,
        _ => name,
    };
    if !is_host(host) || !is_name(name) {
        return Err(invalid());
    }
    // One text for one host: rules compare texts.
    let host = host.to_ascii_lowercase();
    let host = host.strip_suffix(":443").unwrap_or(&host);
    Ok((format!("{host}/{name}"), reference.map(str::to_owned)))
}

/// Checks a tag or a digest.
pub(super) fn check(text: &str) -> Result<(), Problem> {
    if text.contains(':') {
        return check_archive_digest(text).map_err(|_| not_a_tag(text));
    }
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let is_valid = text.len() <= MAX_TAG_BYTES
        && text.bytes().next().is_some_and(is_word)
        && text.bytes().all(|b| is_word(b) || matches!(b, b'.' | b'-'));
    if is_valid {
        Ok(())
    } else {
        Err(not_a_tag(text))
    }
}

fn not_a_tag(text: &str) -> Problem {
    let help = "write a tag (letters, digits, `.`, `_` and `-`) or a `sha256:` digest";
    Problem::form(text, "not a tag", help)
}

/// Returns true for a host name or address, with or without a port.
fn is_host(text: &str) -> bool {
    let is_plain =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']');
    !text.starts_with('-')
        && text.bytes().all(is_plain)
        && url::Url::parse(&format!("https://{text}/"))
            .is_ok_and(|url| url.path() == "/" && url.host().is_some())
}

/// Returns true for the name of a repository: lowercase words between `/`.
fn is_name(text: &str) -> bool {
    let is_plain =
        |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'_');
    text.len() <= MAX_NAME_BYTES
        && text.split('/').all(|part| {
            part.bytes()
                .next()
                .is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
                && part.bytes().all(is_plain)
                && !part.contains("..")
        })
}
