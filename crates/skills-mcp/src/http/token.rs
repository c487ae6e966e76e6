//! Bearer tokens.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A bearer token: a secret with the name of its principal.
///
/// The name has 1 to 64 ASCII letters, digits, `-`, `_` and `.`; `local`, `stdio` and `unknown` are
/// reserved. The secret has 32 to 512 ASCII letters, digits, `-`, `.`, `_`, `~`, `+`, `/` and `=`.
/// `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken {
    name: String,
    secret: String,
}

impl BearerToken {
    /// Name of a token in a file that does not name it.
    const DEFAULT_NAME: &str = "default";

    /// Creates a token from a name and a secret.
    ///
    /// # Errors
    ///
    /// Fails if the name or the secret has an invalid length or character, or the name is reserved.
    pub fn new(name: &str, secret: &str) -> Result<Self, TokenError> {
        if name.is_empty() || name.len() > 64 || !has_only(name, b"-_.") {
            return Err(TokenError::InvalidName);
        }
        if RESERVED_NAMES.contains(&name) {
            let name = name.to_owned();
            return Err(TokenError::ReservedName { name });
        }
        // Requests are not delayed after an invalid token, so it must be too long to guess.
        let characters = secret.len();
        if characters < MIN_CHARACTERS {
            return Err(TokenError::TooShort { characters });
        }
        if characters > MAX_CHARACTERS || !has_only(secret, b"-._~+/=") {
            return Err(TokenError::InvalidSecret);
        }
        Ok(Self {
            name: name.to_owned(),
            secret: secret.to_owned(),
        })
    }

    /// Generates a token of 256 random bits.
    ///
    /// # Errors
    ///
    /// Fails if the name is invalid, or the system has no source of randomness.
    pub fn generate(name: &str) -> Result<Self, TokenError> {
        let mut bits = [0; 32];
        getrandom::fill(&mut bits).map_err(TokenError::NoRandomness)?;
        Self::new(name, &URL_SAFE_NO_PAD.encode(bits))
    }

    /// Parses a token file: one `name: token` per line, or a single token without a name, which
    /// gets the name `default`.
    ///
    /// Empty lines and lines that start with `#` are skipped.
    ///
    /// ```
    /// use skills_mcp::BearerToken;
    ///
    /// let file = "# Build server\nci: 0123456789abcdef0123456789abcdef\n";
    /// let tokens = BearerToken::parse_file(file)?;
    /// assert_eq!(tokens[0].name(), "ci");
    /// assert!(BearerToken::parse_file("ci: short").is_err());
    /// # Ok::<(), skills_mcp::TokenError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if a line is invalid or repeats a name or secret, and if no line has a token. The error
    /// contains the number of the line, and never its content.
    pub fn parse_file(text: &str) -> Result<Vec<Self>, TokenError> {
        let mut tokens: Vec<Self> = vec![];
        let mut nameless = false;
        // Editors on Windows write a byte order mark.
        for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            // With the line number only: the line itself can contain a secret.
            let at_line = |source| TokenError::InvalidLine {
                line: index + 1,
                source: Box::new(source),
            };
            let (name, secret) = line.split_once(':').map_or((None, line), |(name, secret)| {
                (Some(name.trim()), secret.trim())
            });
            nameless |= name.is_none();
            // Two tokens without a name would be the same principal.
            if nameless && !tokens.is_empty() {
                return Err(at_line(TokenError::MissingName));
            }
            let token = Self::new(name.unwrap_or(Self::DEFAULT_NAME), secret).map_err(at_line)?;
            if tokens
                .iter()
                .any(|other| other.name == token.name || other.secret == token.secret)
            {
                return Err(at_line(TokenError::Duplicate));
            }
            tokens.push(token);
        }
        if tokens.is_empty() {
            Err(TokenError::Empty)
        } else {
            Ok(tokens)
        }
    }

    /// Returns the name, which is the principal of its requests.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the secret, to show or store it once after it was generated.
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

/// Error of an invalid token or token file.
///
/// No message contains a secret, so errors can be shown and logged. For files,
/// [`InvalidLine`](Self::InvalidLine) has the line number and the cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The name has an invalid length or character.
    #[error("invalid token name: expected 1 to 64 letters, digits, `-`, `_` and `.`")]
    InvalidName,
    /// The name is reserved for requests without a token.
    #[error("invalid token name `{name}`: reserved for requests without a token")]
    ReservedName {
        /// The name.
        name: String,
    },
    /// The secret is short enough to be guessed.
    #[error("invalid token: expected at least {MIN_CHARACTERS} characters, found {characters}")]
    TooShort {
        /// Its length in characters.
        characters: usize,
    },
    /// The secret is too long, or has a character that a header cannot contain.
    #[error(
        "invalid token: expected at most {MAX_CHARACTERS} letters, digits, `-`, `.`, `_`, `~`, `+`, `/` and `=`"
    )]
    InvalidSecret,
    /// A token without a name is not the only one.
    #[error("expected `NAME: TOKEN`; only a single token may have no name")]
    MissingName,
    /// An earlier line has the same name or the same secret.
    #[error("duplicate token name or token")]
    Duplicate,
    /// There is no token.
    #[error("no token found")]
    Empty,
    /// A line of a token file is invalid.
    #[error("invalid token on line {line}")]
    InvalidLine {
        /// The line number, from 1.
        line: usize,
        /// The cause.
        source: Box<TokenError>,
    },
    /// The system has no source of randomness.
    #[error("cannot generate a token: no source of randomness")]
    NoRandomness(#[source] getrandom::Error),
}

/// Principals of requests without a token.
const RESERVED_NAMES: [&str; 3] = ["local", "stdio", "unknown"];
const MIN_CHARACTERS: usize = 32;
const MAX_CHARACTERS: usize = 512;

/// Returns true if a text has only ASCII letters, digits and these characters.
fn has_only(text: &str, others: &[u8]) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_alphanumeric() || others.contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0123456789abcdef0123456789abcdef";
    const TWO: &str = "fedcba9876543210fedcba9876543210";

    #[test]
    fn generated_tokens_differ_and_round_trip() {
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
    fn debug_and_errors_do_not_show_the_secret() {
        let token = BearerToken::new("ci", ONE).unwrap();
        assert_eq!(format!("{token:?}"), r#"Token { name: "ci", .. }"#);
        let error = BearerToken::parse_file(&format!("ci: {ONE} {ONE}")).unwrap_err();
        assert!(!format!("{error:?} {error}").contains(ONE));
    }

    #[test]
    fn files_contain_one_token_or_named_ones() {
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
    fn errors_of_files_name_the_line() {
        let line = |text: &str| match BearerToken::parse_file(text).unwrap_err() {
            TokenError::InvalidLine { line, source } => format!("{line}: {source}"),
            other => other.to_string(),
        };
        assert_eq!(line("\n# nothing\n"), "no token found");
        assert_eq!(
            line(&format!("{ONE}\n{TWO}")),
            "2: expected `NAME: TOKEN`; only a single token may have no name"
        );
        assert_eq!(
            line(&format!("ci: {ONE}\n{TWO}")),
            "2: expected `NAME: TOKEN`; only a single token may have no name"
        );
        assert_eq!(
            line(&format!("{ONE}\nci: {TWO}")),
            "2: expected `NAME: TOKEN`; only a single token may have no name"
        );
        assert_eq!(
            line(&format!("ci: {ONE}\nci: {TWO}")),
            "2: duplicate token name or token"
        );
        assert_eq!(
            line(&format!("ci: {ONE}\nlaptop: {ONE}")),
            "2: duplicate token name or token"
        );
        assert_eq!(
            line("ci: short"),
            "1: invalid token: expected at least 32 characters, found 5"
        );
        assert_eq!(
            line(&format!("stdio: {ONE}")),
            "1: invalid token name `stdio`: reserved for requests without a token"
        );
        assert_eq!(
            line(&format!("my laptop: {ONE}")),
            "1: invalid token name: expected 1 to 64 letters, digits, `-`, `_` and `.`"
        );
    }
}
