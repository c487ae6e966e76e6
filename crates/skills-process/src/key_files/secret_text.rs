//! Signs of passwords and tokens in the text of settings.

/// Parts of values and comments that may name a password.
const SECRET_WORDS: [&str; 8] = [
    "authorization",
    "basic ",
    "bearer",
    "credential",
    "passw",
    "pwd",
    "secret",
    "token",
];
/// The length of the shortest word of letters and digits that may be a token.
const MIN_TOKEN_BYTES: usize = 20;
/// Starts of tokens that services issue.
const TOKEN_PREFIXES: [&str; 9] = [
    "atatt",
    "atbb",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "hf_",
];

/// Returns true if a text may contain a password: a word for one, or what
/// [`looks_like_secret`] recognizes.
pub(super) fn may_hold_secret(text: &str) -> bool {
    names_secret(text) || looks_like_secret(text)
}

/// Returns true for a text with a word such as `password`.
pub(super) fn names_secret(text: &str) -> bool {
    let lower = text.to_lowercase();
    SECRET_WORDS.iter().any(|word| lower.contains(word))
}

/// Returns true for a text with a URL that has a [password](has_password), or with a long word of
/// letters and digits.
pub(super) fn looks_like_secret(text: &str) -> bool {
    has_token(text) || has_password(text)
}

/// Returns true for a text with a long word of letters and digits.
pub(super) fn has_token(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(is_token)
}

fn is_token(word: &str) -> bool {
    word.len() >= MIN_TOKEN_BYTES
        && word.contains(|c: char| c.is_ascii_digit())
        && word.contains(|c: char| c.is_ascii_alphabetic())
}

/// Returns true for a URL with a password, with a user of HTTP that may be a token, or with
/// parameters.
fn has_password(value: &str) -> bool {
    let Some((scheme, rest)) = value.split_once("://") else {
        return false;
    };
    let is_secret_user =
        |user: &str| user.contains(':') || !scheme.ends_with("ssh") && !is_user_name(user);
    user_of(rest).is_some_and(is_secret_user) || value.contains(['?', '#']) || rest.contains("://")
}

/// Returns true for a URL with a user.
pub(super) fn has_user(value: &str) -> bool {
    let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
    user_of(rest).is_some()
}

/// Returns what is before the host of a URL without its scheme, if there is something.
fn user_of(rest: &str) -> Option<&str> {
    let authority = rest.split('/').next().unwrap_or_default();
    authority.rsplit_once('@').map(|(user, _)| user)
}

/// Returns true for the name of a person or an organization that is not a token.
pub(super) fn is_user_name(user: &str) -> bool {
    // An address of mail; a URL escapes its `@`. Other escapes could hide a password.
    let user = user.replace("%40", "@");
    let is_word = |word: &str| word.len() < MIN_TOKEN_BYTES;
    let lower = user.to_lowercase();
    let has_digit = user.contains(|c: char| c.is_ascii_digit());
    user.chars()
        .all(|c| c.is_ascii_alphanumeric() || "@+-._".contains(c))
        && !names_secret(&user)
        && !TOKEN_PREFIXES.iter().any(|start| lower.starts_with(start))
        && (user.len() < MIN_TOKEN_BYTES
            || !has_digit
                && user
                    .split(|c: char| !c.is_ascii_alphanumeric())
                    .all(is_word))
}

/// Returns true for a value that only names a variable: `${NPM_TOKEN}`.
pub(super) fn is_variable(value: &str) -> bool {
    let value = value.trim().trim_matches(['"', '\'']);
    let name = value
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    // A default value (`${NAME-value}`) could be the password.
    name.is_some_and(|name| {
        let name = name.trim_end_matches(['-', '?']);
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_users_are_told_from_tokens() {
        for user in [
            "anna",
            "org",
            "Anna.Maria_7",
            "anna%40corp.example",
            "christopher.robertson-smith",
        ] {
            assert!(is_user_name(user), "{user}");
        }
        for user in [
            "u:p",
            "u%3Ap",
            "x-token",
            "x-access-token",
            "ghp_abc",
            "glpat-ab-cd",
            "0123456789abcdef0123456789abcdef01234567",
            "abcdefghijklmnopqrstuvwxyz",
            "ab1-cd2-ef3-gh4-ij5-kl6",
        ] {
            assert!(!is_user_name(user), "{user}");
        }
    }

    #[test]
    fn only_a_variable_alone_is_no_value() {
        assert!(is_variable("${NPM_TOKEN}") && is_variable("\"${NPM_TOKEN-}\""));
        for value in [
            "${NPM_TOKEN-abc}",
            "${NPM_TOKEN}abc",
            "$NPM_TOKEN",
            "${}",
            "abc",
        ] {
            assert!(!is_variable(value), "{value}");
        }
    }
}
