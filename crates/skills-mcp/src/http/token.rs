//! The secrets that clients prove themselves by.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A secret with the name of who holds it.
///
/// The name has 1 to 64 ASCII letters, digits, `-`, `_` and `.`, and is none of `local`, `stdio`
/// and `unknown`. The secret has 32 to 512 ASCII letters, digits, `-`, `.`, `_`, `~`, `+`, `/` and
/// `=`. It is never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken {
    name: String,
    secret: String,
}

impl BearerToken {
    /// The name of a token in a file that names none.
    pub const DEFAULT_NAME: &str = "default";

    /// Makes a token of a name and a secret.
    ///
    /// # Errors
    ///
    /// Fails if either has a length or a character that it may not have, or if the name is
    /// reserved.
    pub fn new(name: &str, secret: &str) -> Result<Self, TokenError> {
        if name.is_empty()
            || name.len() > 64
            || !name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        {
            return Err(TokenError::InvalidName);
        }
        if RESERVED_NAMES.contains(&name) {
            return Err(TokenError::ReservedName {
                name: name.to_owned(),
            });
        }
        if secret.len() < MIN_CHARACTERS {
            return Err(TokenError::TooShort {
                characters: secret.len(),
            });
        }
        if secret.len() > MAX_CHARACTERS
            || !secret
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b))
        {
            return Err(TokenError::InvalidSecret);
        }
        Ok(Self {
            name: name.to_owned(),
            secret: secret.to_owned(),
        })
    }

    /// Makes a token of 256 random bits.
    ///
    /// # Errors
    ///
    /// Fails if the name is none, or the system has no randomness to give.
    pub fn generate(name: &str) -> Result<Self, TokenError> {
        let mut bits = [0; 32];
        getrandom::fill(&mut bits).map_err(TokenError::NoRandomness)?;
        Self::new(name, &URL_SAFE_NO_PAD.encode(bits))
    }

    /// Reads the tokens of a file: one `name: token` on each line, or a single token without a
    /// name, which is then `default`.
    ///
    /// Empty lines and those that begin with `#` are passed over.
    ///
    /// # Errors
    ///
    /// Fails at the first line that holds no token, or one whose name or secret an earlier line
    /// has, and if there is none at all. The error says which line it is, and never what stands on
    /// it.
    pub fn parse_file(text: &str) -> Result<Vec<Self>, TokenError> {
        let mut tokens: Vec<Self> = vec![];
        let mut nameless = false;
        for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let at = |source| TokenError::InvalidLine {
                line: index + 1,
                source: Box::new(source),
            };
            let (name, secret) = line.split_once(':').map_or((None, line), |(name, secret)| {
                (Some(name.trim()), secret.trim())
            });
            nameless |= name.is_none();
            if nameless && !tokens.is_empty() {
                return Err(at(TokenError::MissingName));
            }
            let token = Self::new(name.unwrap_or(Self::DEFAULT_NAME), secret).map_err(at)?;
            if tokens
                .iter()
                .any(|other| other.name == token.name || other.secret == token.secret)
            {
                return Err(at(TokenError::Duplicate));
            }
            tokens.push(token);
        }
        if tokens.is_empty() {
            Err(TokenError::Empty)
        } else {
            Ok(tokens)
        }
    }

    /// Returns the name, which becomes the principal of its requests.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the secret, for the one time that it is shown or kept.
    #[must_use]
    pub fn expose_secret(&self) -> &str {
        &self.secret
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Says why something is no token. It never repeats the secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The name has a length or a character that names do not have.
    #[error("the name of a token has 1 to 64 letters, digits, `-`, `_` and `.`")]
    InvalidName,
    /// The name stands for requests without a token.
    #[error("the name {name} stands for requests without a token")]
    ReservedName {
        /// The name.
        name: String,
    },
    /// The secret can be guessed.
    #[error("a token has at least {MIN_CHARACTERS} characters, this one has {characters}")]
    TooShort {
        /// How many it has.
        characters: usize,
    },
    /// The secret is too long, or has a character that no header may carry.
    #[error(
        "a token has at most {MAX_CHARACTERS} characters, all of them letters, digits, `-`, `.`, `_`, `~`, `+`, `/` or `=`"
    )]
    InvalidSecret,
    /// A token without a name stands beside others.
    #[error("only a token that is alone may be without a name")]
    MissingName,
    /// An earlier line has the same name or the same secret.
    #[error("an earlier line has the same name or the same token")]
    Duplicate,
    /// There is no token at all.
    #[error("there is no token")]
    Empty,
    /// A line of a file holds no token.
    #[error("line {line} holds no token")]
    InvalidLine {
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        source: Box<TokenError>,
    },
    /// The system has no randomness to give.
    #[error("no random bits can be had")]
    NoRandomness(#[source] getrandom::Error),
}

/// The principals of requests without a token.
const RESERVED_NAMES: [&str; 3] = ["local", "stdio", "unknown"];
const MIN_CHARACTERS: usize = 32;
const MAX_CHARACTERS: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0123456789abcdef0123456789abcdef";
    const TWO: &str = "fedcba9876543210fedcba9876543210";

    #[test]
    fn generated_tokens_differ_and_can_be_read_back() {
        let token = BearerToken::generate("ci").unwrap();
        assert_eq!(token.expose_secret().len(), 43, "256 bits in base64");
        assert_ne!(
            token.expose_secret(),
            BearerToken::generate("ci").unwrap().expose_secret()
        );
        assert_eq!(
            BearerToken::new("ci", token.expose_secret()).unwrap(),
            token
        );
    }

    #[test]
    fn nothing_shows_the_secret() {
        let token = BearerToken::new("ci", ONE).unwrap();
        assert_eq!(format!("{token:?}"), r#"Token { name: "ci", .. }"#);
        let error = BearerToken::parse_file(&format!("ci: {ONE} {ONE}")).unwrap_err();
        assert!(!format!("{error:?} {error}").contains(ONE));
    }

    #[test]
    fn files_hold_one_token_or_named_ones() {
        let names = |text: &str| {
            BearerToken::parse_file(text)
                .unwrap()
                .iter()
                .map(|token| token.name().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            names(&format!("\u{feff}# mine\n\n  {ONE}\r\n")),
            ["default"]
        );
        assert_eq!(
            names(&format!("ci: {ONE}\n#{TWO}\nlaptop:{TWO}")),
            ["ci", "laptop"]
        );
    }

    #[test]
    fn files_that_are_wrong_say_where() {
        let line = |text: &str| match BearerToken::parse_file(text).unwrap_err() {
            TokenError::InvalidLine { line, source } => format!("{line}: {source}"),
            other => other.to_string(),
        };
        assert_eq!(line("\n# nothing\n"), "there is no token");
        assert_eq!(
            line(&format!("{ONE}\n{TWO}")),
            "2: only a token that is alone may be without a name"
        );
        assert_eq!(
            line(&format!("ci: {ONE}\n{TWO}")),
            "2: only a token that is alone may be without a name"
        );
        assert_eq!(
            line(&format!("{ONE}\nci: {TWO}")),
            "2: only a token that is alone may be without a name"
        );
        assert_eq!(
            line(&format!("ci: {ONE}\nci: {TWO}")),
            "2: an earlier line has the same name or the same token"
        );
        assert_eq!(
            line(&format!("ci: {ONE}\nlaptop: {ONE}")),
            "2: an earlier line has the same name or the same token"
        );
        assert_eq!(
            line("ci: short"),
            "1: a token has at least 32 characters, this one has 5"
        );
        assert_eq!(
            line(&format!("stdio: {ONE}")),
            "1: the name stdio stands for requests without a token"
        );
        assert_eq!(
            line(&format!("my laptop: {ONE}")),
            "1: the name of a token has 1 to 64 letters, digits, `-`, `_` and `.`"
        );
    }
}
