//! The version after `#`: a branch, tag or commit, or the digest of an archive.

use super::problem::Problem;

/// Maximum length of a branch or tag, in bytes.
const MAX_BYTES: usize = 255;

/// Returns true if the text is a full commit: 40 or 64 lowercase hexadecimal digits.
pub(crate) fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && is_hex(text)
}

/// Checks a branch, tag or commit by the rules of `git check-ref-format`.
pub(super) fn check_git_reference(text: &str) -> Result<(), Problem> {
    if is_commit(text) {
        return Ok(());
    }
    // A server finds no object by an abbreviated commit; such a branch is possible but rare.
    if (7..=64).contains(&text.len()) && is_hex(text) {
        return Err(Problem::ShortCommit(text.to_owned()));
    }
    let is_rejected = |c: char| {
        c.is_ascii_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\')
    };
    let is_bad_name = |name: &str| {
        name.is_empty() || name.starts_with('.') || name.ends_with(".lock") || name.ends_with('.')
    };
    // A leading `-` would be an option of git.
    if text.len() > MAX_BYTES
        || text.starts_with('-')
        || text == "@"
        || text.contains("..")
        || text.contains("@{")
        || text.contains(is_rejected)
        || text.split('/').any(is_bad_name)
    {
        return Err(Problem::Reference(text.to_owned()));
    }
    Ok(())
}

/// Checks `sha256:` with 64 hexadecimal digits.
pub(super) fn check_archive_digest(text: &str) -> Result<(), Problem> {
    match text.strip_prefix("sha256:") {
        Some(digits) if digits.len() == 64 && is_hex(digits) => Ok(()),
        _ => Err(Problem::ArchiveDigest(text.to_owned())),
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
}
