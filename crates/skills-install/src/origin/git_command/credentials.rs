//! Credentials that the user's git has for servers.

use std::fmt;
use std::io::Read;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use url::{Position, Url};

use super::{GitOptions, GitRepository};
use crate::FetchLimits;
use crate::error::InstallError;
use crate::progress::Progress;

/// How long git and its helpers may take. They ask no person.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of an answer, in bytes.
const MAX_ANSWER_BYTES: u64 = 64 << 10;
/// What a secret becomes in a text.
const REDACTED: &str = "[REDACTED]";

/// A user name and a password or token for one server.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credential {
    /// The answer of git, which it gets back to approve or reject the credential.
    answer: String,
    username: String,
    password: String,
}

impl Credential {
    /// Parses an answer about a host.
    fn parse(answer: String, host: &str) -> Option<Self> {
        let value = |name: &str| {
            let mut lines = answer.lines().filter_map(|line| line.split_once('='));
            lines.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        // A helper can answer for another server.
        if value("host") != Some(host) {
            return None;
        }
        let username = value("username")?.to_owned();
        let password = value("password").filter(|password| !password.is_empty())?;
        let password = password.to_owned();
        Some(Self {
            answer,
            username,
            password,
        })
    }

    /// Returns the value of a header `authorization` with user name and password.
    pub(crate) fn basic(&self) -> String {
        let text = format!("{}:{}", self.username, self.password);
        format!("Basic {}", STANDARD.encode(text))
    }

    /// Returns the value of a header `authorization` with the password as a token.
    pub(crate) fn bearer(&self) -> Option<String> {
        // Others cannot be in a header.
        let is_token = self.password.bytes().all(|b| b.is_ascii_graphic());
        is_token.then(|| format!("Bearer {}", self.password))
    }

    /// Removes the password from a text of the server.
    pub(crate) fn redact(&self, text: &str) -> String {
        let basic = self.basic();
        let encoded = basic.trim_start_matches("Basic ");
        text.replace(&self.password, REDACTED)
            .replace(encoded, REDACTED)
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(..)")
    }
}

/// Asks git for the credentials of one server, without asking a person.
pub(crate) struct GitCredentials {
    git: GitRepository,
    url: Url,
}

impl GitCredentials {
    /// Asks for the server of a source. `url` is that of the source: git can have credentials for
    /// each path.
    pub(crate) fn new(options: &GitOptions, url: &Url) -> Result<Self, InstallError> {
        let options = options.clone().progress(Progress::default());
        // It can hold a token, and becomes part of command lines.
        let mut url = url.clone();
        url.set_query(None);
        url.set_fragment(None);
        let limits = FetchLimits {
            timeout: TIMEOUT,
            ..FetchLimits::default()
        };
        Ok(Self {
            git: GitRepository::create(&options, url.as_str(), &limits)?,
            url,
        })
    }

    /// Returns the credential, if git has one.
    pub(crate) fn fill(&self) -> Option<Credential> {
        let answer = self.run("fill", format!("url={}\n\n", self.url)).ok()?;
        let host = &self.url[Position::BeforeHost..Position::AfterPort];
        Credential::parse(String::from_utf8(answer).ok()?, host)
    }

    /// Tells git that the server accepted a credential, so that helpers can store it.
    pub(crate) fn approve(&self, credential: &Credential) {
        // The download does not depend on it.
        let _ = self.run("approve", credential.answer.clone());
    }

    /// Tells git that the server did not accept a credential, so that helpers forget it.
    pub(crate) fn reject(&self, credential: &Credential) {
        let _ = self.run("reject", credential.answer.clone());
    }

    fn run(&self, action: &str, input: String) -> Result<Vec<u8>, InstallError> {
        let mut command =
            self.git
                .command(&["-c", "credential.interactive=false", "credential", action]);
        command
            // Takes precedence over the configuration of a program that asks.
            .env("GIT_ASKPASS", "")
            .env("GCM_INTERACTIVE", "never");
        let mut running = self.git.start_command(command, input.into_bytes())?;
        let mut answer = Vec::new();
        let read = running
            .by_ref()
            .take(MAX_ANSWER_BYTES)
            .read_to_end(&mut answer);
        read.map_err(|error| self.git.read_error(error))?;
        running.finish()?;
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_for_its_host_only_and_is_never_shown() {
        let parse = |answer: &str| Credential::parse(answer.to_owned(), "a.example:8443");
        let answer = "protocol=https\nhost=a.example:8443\nusername=ada\npassword=s=3\n";
        let credential = parse(answer).unwrap();
        assert_eq!(credential.basic(), "Basic YWRhOnM9Mw==");
        assert_eq!(credential.bearer().unwrap(), "Bearer s=3");
        assert_eq!(format!("{credential:?}"), "Credential(..)");
        let text = "no s=3, no YWRhOnM9Mw==";
        assert_eq!(credential.redact(text), "no [REDACTED], no [REDACTED]");
        assert_eq!(parse(&answer.replace("s=3", "a b")).unwrap().bearer(), None);
        for other in [
            answer.replace("a.example", "b.example"),
            answer.replace("password=s=3", "password="),
            answer.replace("password", "passwort"),
            answer.replace("username", "name"),
            answer.replace(":8443", ""),
            String::new(),
        ] {
            assert_eq!(parse(&other), None, "{other}");
        }
    }
}
