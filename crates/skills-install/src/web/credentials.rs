//! The credentials of the user for the server of a source.

use std::cell::{OnceCell, RefCell};

use ureq::http::header::AUTHORIZATION;
use url::{Host, Url};

use super::response::Response;
use crate::error::InstallError;
use crate::origin::git_command::{Credential, GitCredentials, GitOptions};

/// Whether a request had credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CredentialUse {
    /// It must not have any.
    Never,
    /// It could have some, but none are known or needed.
    None,
    Sent,
}

impl CredentialUse {
    /// Returns what to do if the server denies the request.
    pub(super) fn help(self) -> &'static str {
        match self {
            Self::Never => "download the files and add them by path",
            Self::None => {
                "store a token for the server in git (`git credential approve`), or download the files and add them by path"
            }
            Self::Sent => {
                "the server does not accept the credentials that git has for it; store others with `git credential approve`"
            }
        }
    }
}

/// Gets credentials from git when the server asks for them, and tells git whether they were
/// accepted.
pub(crate) struct Credentials {
    git: GitOptions,
    /// The URL of the source. Only its origin gets credentials.
    source: Url,
    helper: OnceCell<Option<GitCredentials>>,
    state: RefCell<State>,
}

enum State {
    Unasked,
    /// Git has none, or the server rejected them.
    Unknown,
    Known {
        credential: Credential,
        /// What is sent with every request, after the server asked for it once.
        header: Option<String>,
        is_approved: bool,
    },
}

impl Credentials {
    /// Returns nothing for a server that the connection does not authenticate, unless it is on this
    /// machine.
    pub(super) fn new(git: GitOptions, source: &Url, has_proxy: bool) -> Option<Self> {
        let is_secure = source.scheme() == "https" || is_loopback(source) && !has_proxy;
        is_secure.then(|| Self {
            git,
            source: source.clone(),
            helper: OnceCell::new(),
            state: RefCell::new(State::Unasked),
        })
    }

    /// Returns true for a URL of the server.
    fn belong_to(&self, url: &Url) -> bool {
        self.source.origin() == url.origin()
    }

    /// Returns the header that was sent before.
    fn authorization(&self) -> Option<String> {
        match &*self.state.borrow() {
            State::Known { header, .. } => header.clone(),
            State::Unasked | State::Unknown => None,
        }
    }

    /// Returns the header with the credential for the kind that a server asks for, if there is one.
    fn find_for(&self, answer: &Response) -> Option<String> {
        let found = authorization(&self.find()?, answer)?;
        if let State::Known { header, .. } = &mut *self.state.borrow_mut() {
            *header = Some(found.clone());
        }
        Some(found)
    }

    /// Returns the credential that was found before.
    pub(crate) fn known(&self) -> Option<Credential> {
        match &*self.state.borrow() {
            State::Known { credential, .. } => Some(credential.clone()),
            State::Unasked | State::Unknown => None,
        }
    }

    /// Returns the credential, for which git is asked once.
    pub(crate) fn find(&self) -> Option<Credential> {
        let is_unasked = matches!(*self.state.borrow(), State::Unasked);
        if is_unasked {
            let found = self.helper().and_then(GitCredentials::fill);
            *self.state.borrow_mut() = found.map_or(State::Unknown, |credential| State::Known {
                credential,
                header: None,
                is_approved: false,
            });
        }
        self.known()
    }

    /// Notes that the server accepted the credential.
    pub(crate) fn approve(&self) {
        if let State::Known {
            credential,
            is_approved,
            ..
        } = &mut *self.state.borrow_mut()
            && !*is_approved
        {
            *is_approved = true;
            if let Some(helper) = self.helper() {
                helper.approve(credential);
            }
        }
    }

    /// Notes that the server rejected the credential. It is not sent again. Git forgets it if it was
    /// sent as a password: that a server accepts no password as a token does not make it a wrong one.
    fn reject(&self) {
        let state = self.state.replace(State::Unknown);
        if let (
            State::Known {
                credential, header, ..
            },
            Some(helper),
        ) = (state, self.helper())
            && header.is_none_or(|header| header == credential.basic())
        {
            helper.reject(&credential);
        }
    }

    /// Notes what the server answers to a request with the credential, after it answered `before` to
    /// the same one without.
    pub(crate) fn note(&self, before: u16, after: u16) {
        match after {
            200..=399 => self.approve(),
            401 if before == 401 => self.reject(),
            _ => {}
        }
    }

    fn helper(&self) -> Option<&GitCredentials> {
        let create = || GitCredentials::new(&self.git, &self.source).ok();
        self.helper.get_or_init(create).as_ref()
    }
}

/// Sends a request with headers.
type SendWith<'a> = &'a dyn Fn(&[(&str, &str)]) -> Result<Response, InstallError>;

/// Sends a request, again with the credentials of the user if it is for their server, which asks for
/// them.
pub(super) fn authorized(
    credentials: Option<&Credentials>,
    url: &Url,
    headers: &[(&str, &str)],
    send: SendWith<'_>,
) -> Result<Response, InstallError> {
    let Some(credentials) = credentials.filter(|known| known.belong_to(url)) else {
        return send(headers);
    };
    let send_with = |authorization: &str| {
        let mut headers = headers.to_vec();
        headers.push((AUTHORIZATION.as_str(), authorization));
        let response = send(&headers);
        response.map(|response| response.with(CredentialUse::Sent))
    };
    if let Some(authorization) = credentials.authorization() {
        return send_with(&authorization);
    }
    let response = send(headers)?.with(CredentialUse::None);
    if !response.is_denied() {
        return Ok(response);
    }
    let Some(authorization) = credentials.find_for(&response) else {
        return Ok(response);
    };
    let before = response.status;
    let response = send_with(&authorization)?;
    credentials.note(before, response.status);
    Ok(response)
}

/// Returns the header for the kind of credentials that a server asks for: a token if it accepts
/// nothing else.
fn authorization(credential: &Credential, answer: &Response) -> Option<String> {
    let mut challenges = answer.challenges().peekable();
    if challenges.peek().is_none() {
        return Some(credential.basic());
    }
    let schemes: Vec<&str> = challenges
        .flat_map(|challenge| challenge.split(','))
        .filter_map(|part| part.split_ascii_whitespace().next())
        .collect();
    let accepts = |name: &str| {
        schemes
            .iter()
            .any(|scheme| scheme.eq_ignore_ascii_case(name))
    };
    if accepts("basic") {
        Some(credential.basic())
    } else if accepts("bearer") {
        credential.bearer()
    } else {
        None
    }
}

/// Returns true if a URL names this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_that_is_authenticated_or_on_this_machine_gets_credentials() {
        let may = |url: &str, has_proxy| {
            let url = Url::parse(url).unwrap();
            Credentials::new(GitOptions::new("git"), &url, has_proxy).is_some()
        };
        assert!(may("https://acme.example/a.tgz", false));
        assert!(may("https://acme.example/a.tgz", true));
        assert!(may("http://localhost:80/a.tgz", false));
        // The proxy would read it.
        assert!(!may("http://localhost:80/a.tgz", true));
        assert!(!may("http://acme.example/a.tgz", false));
        let url = Url::parse("https://acme.example/a.tgz").unwrap();
        let credentials = Credentials::new(GitOptions::new("git"), &url, false).unwrap();
        for (url, expected) in [
            ("https://acme.example/other", true),
            ("https://acme.example:443/", true),
            ("http://acme.example/a.tgz", false),
            ("https://acme.example:8443/a.tgz", false),
            ("https://a.acme.example/a.tgz", false),
        ] {
            assert_eq!(credentials.belong_to(&Url::parse(url).unwrap()), expected);
        }
    }
}
