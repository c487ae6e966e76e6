//! A registry, read without the credentials of the user as far as it allows that.

use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use url::Url;

use super::manifest::Descriptor;
use super::{Blobs, MAX_MANIFEST_BYTES, check_size};
use crate::error::InstallError;
use crate::file_digest::FileDigest;
use crate::web::credentials::Credentials;
use crate::web::response::Response;
use crate::web::{Client, check_status, failed};

/// Maximum size of the answer with a token, in bytes.
const MAX_TOKEN_BYTES: u64 = 64 << 10;
/// The documents that are understood.
const ACCEPT: &str = "application/vnd.oci.image.manifest.v1+json, \
     application/vnd.oci.image.index.v1+json, \
     application/vnd.docker.distribution.manifest.v2+json, \
     application/vnd.docker.distribution.manifest.list.v2+json";
/// The tag of a reference without one.
const DEFAULT_TAG: &str = "latest";

pub(super) struct Registry {
    client: Client,
    /// `https://HOST/v2/NAME/`.
    base: Url,
    name: String,
    /// What the registry accepted, after it asked for it.
    authorization: RefCell<Option<Authorization>>,
    scratch: PathBuf,
}

/// The value of a header `authorization`.
#[derive(Clone)]
enum Authorization {
    Anonymous(String),
    /// From the credentials of the user.
    Personal(String),
}

impl Authorization {
    fn value(&self) -> &str {
        match self {
            Self::Anonymous(value) | Self::Personal(value) => value,
        }
    }
}

/// What a server for tokens answers.
enum Token {
    /// The value of a header `authorization`.
    Granted(String),
    Denied(u16),
}

#[derive(Deserialize)]
struct TokenResponse {
    token: Option<String>,
    access_token: Option<String>,
}

impl Registry {
    /// Uses the repository `name` of the registry whose URL is `host`.
    pub(super) fn new(
        client: Client,
        host: &Url,
        name: &str,
        scratch: &Path,
    ) -> Result<Self, InstallError> {
        Ok(Self {
            client,
            base: join(host, &format!("/v2/{name}/"))?,
            name: name.to_owned(),
            authorization: RefCell::new(None),
            scratch: scratch.to_owned(),
        })
    }

    fn request_manifest(&self, reference: &str) -> Result<Vec<u8>, InstallError> {
        let url = join(&self.base, &format!("manifests/{reference}"))?;
        let response = check_status(self.request(&url, ACCEPT)?)?;
        self.client.read(response, MAX_MANIFEST_BYTES)
    }

    /// Requests a URL of the registry: again with an anonymous token if it asks for one, and with
    /// the credentials of the user if that does not suffice.
    fn request(&self, url: &Url, accept: &str) -> Result<Response, InstallError> {
        let known = self.authorization.take();
        let response = self.send(url, accept, known.as_ref())?;
        let is_user = matches!(known, Some(Authorization::Personal(_)));
        if !response.is_denied() || is_user && response.status == 403 {
            self.authorization.replace(known);
            return Ok(response);
        }
        // Without a token, or with one that has expired or is for another repository.
        let needs_token = response.status == 401;
        // Where blobs are stored is another server, which must not name one for tokens.
        if response.url.origin() != self.base.origin() {
            return Ok(response);
        }
        let token_url = self.token_url(&response)?;
        if needs_token
            && let Some(token_url) = &token_url
            && let Token::Granted(token) = self.token(token_url, None)?
        {
            let token = Authorization::Anonymous(token);
            let response = self.send(url, accept, Some(&token))?;
            if !response.is_denied() {
                *self.authorization.borrow_mut() = Some(token);
                return Ok(response);
            }
        }
        match self.client.credentials() {
            Some(credentials) if may_get_credentials(&self.base, token_url.as_ref()) => self
                .request_as_user(credentials, token_url.as_ref(), response, &|personal| {
                    self.send(url, accept, Some(personal))
                }),
            _ => self.without_credentials(response),
        }
    }

    /// Sends a request that was denied again, with the credentials of the user.
    fn request_as_user(
        &self,
        credentials: &Credentials,
        token_url: Option<&Url>,
        denied: Response,
        send: &dyn Fn(&Authorization) -> Result<Response, InstallError>,
    ) -> Result<Response, InstallError> {
        let Some(credential) = credentials.find() else {
            return self.without_credentials(denied);
        };
        let basic = credential.basic();
        let value = match token_url
            .map(|url| self.token(url, Some(&basic)))
            .transpose()?
        {
            None => basic,
            Some(Token::Granted(value)) => {
                credentials.approve();
                value
            }
            Some(Token::Denied(status)) => {
                // The registry denied access without them, too.
                credentials.note(denied.status, status);
                return Err(self.rejects_credentials());
            }
        };
        let personal = Authorization::Personal(value);
        let response = send(&personal)?;
        if token_url.is_none() {
            credentials.note(denied.status, response.status);
        }
        if response.is_denied() {
            return Err(self.rejects_credentials());
        }
        *self.authorization.borrow_mut() = Some(personal);
        Ok(response)
    }

    fn without_credentials(&self, denied: Response) -> Result<Response, InstallError> {
        if denied.status == 401 {
            Err(self.wants_credentials())
        } else {
            Ok(denied)
        }
    }

    fn send(
        &self,
        url: &Url,
        accept: &str,
        authorization: Option<&Authorization>,
    ) -> Result<Response, InstallError> {
        let mut headers = vec![("accept", accept)];
        headers.extend(authorization.map(|known| ("authorization", known.value())));
        self.client.get_without_credentials(url, &headers)
    }

    /// Returns where the registry grants tokens for reading this repository, if it does.
    fn token_url(&self, challenge: &Response) -> Result<Option<Url>, InstallError> {
        let mut challenges = challenge.challenges();
        let Some((header, realm)) =
            challenges.find_map(|header| Some((header, parameter(header, "realm")?)))
        else {
            return Ok(None);
        };
        let mut url = Url::parse(realm).map_err(|error| failed(&self.base, error))?;
        {
            let mut query = url.query_pairs_mut();
            if let Some(service) = parameter(header, "service") {
                query.append_pair("service", service);
            }
            // Not the scope of the challenge: nothing else is read here.
            query.append_pair("scope", &format!("repository:{}:pull", self.name));
        }
        Ok(Some(url))
    }

    /// Asks for a token, without credentials if `authorization` is `None`.
    fn token(&self, url: &Url, authorization: Option<&str>) -> Result<Token, InstallError> {
        let mut headers = vec![("accept", "application/json")];
        headers.extend(authorization.map(|value| ("authorization", value)));
        let response = self.client.get_without_credentials(url, &headers)?;
        if response.status != 200 {
            return Ok(Token::Denied(response.status));
        }
        let bytes = self.client.read(response, MAX_TOKEN_BYTES)?;
        let answer: TokenResponse =
            serde_json::from_slice(&bytes).map_err(|error| failed(url, error))?;
        let token = answer.token.or(answer.access_token);
        let token = token
            // A line end in it would be the start of another header.
            .filter(|token| token.bytes().all(|b| b.is_ascii_graphic()))
            .ok_or_else(|| self.wants_credentials())?;
        Ok(Token::Granted(format!("Bearer {token}")))
    }

    fn rejects_credentials(&self) -> InstallError {
        InstallError::fetch_with_help(
            self.base.as_str(),
            "the registry does not accept the credentials that git has for it",
            "store others with `git credential approve`, for a user who may read the artifact",
        )
    }

    fn wants_credentials(&self) -> InstallError {
        InstallError::fetch_with_help(
            self.base.as_str(),
            "the registry wants credentials",
            "store a token for its host in git (`git credential approve`), or copy the artifact to an image layout and add it as `oci:DIR`",
        )
    }
}

impl Blobs for Registry {
    fn resolve(&self, reference: Option<&str>) -> Result<(FileDigest, Vec<u8>), InstallError> {
        let reference = reference.unwrap_or(DEFAULT_TAG);
        let bytes = self.request_manifest(reference)?;
        let digest = FileDigest::of(&bytes);
        if let Ok(expected) = reference.parse() {
            digest.check(expected, &format!("{}manifests", self.base))?;
        }
        Ok((digest, bytes))
    }

    fn manifest(&self, descriptor: Descriptor) -> Result<Vec<u8>, InstallError> {
        let bytes = self.request_manifest(&descriptor.digest.to_string())?;
        FileDigest::of(&bytes).check(descriptor.digest, "manifest")?;
        Ok(bytes)
    }

    fn blob(&self, descriptor: Descriptor) -> Result<File, InstallError> {
        let url = join(&self.base, &format!("blobs/{}", descriptor.digest))?;
        let response = check_status(self.request(&url, "*/*")?)?;
        let mut file = self.client.save(response, &self.scratch)?;
        let failed = |error| InstallError::io("read", &self.scratch, error);
        check_size(
            url.as_str(),
            descriptor,
            file.metadata().map_err(failed)?.len(),
        )?;
        let actual = FileDigest::of_file(&mut file).map_err(failed)?;
        actual.check(descriptor.digest, url.as_str())?;
        Ok(file)
    }
}

fn join(base: &Url, path: &str) -> Result<Url, InstallError> {
    base.join(path).map_err(|error| failed(base, error))
}

/// Returns a quoted parameter of a `Bearer` challenge.
pub(super) fn parameter<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    let rest = header
        .get(..7)
        .filter(|scheme| scheme.eq_ignore_ascii_case("bearer "))
        .and_then(|_| header.get(7..))?;
    let mut rest = rest.trim_start();
    loop {
        let (key, after) = rest.split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        if key
            .trim_start_matches([',', ' '])
            .eq_ignore_ascii_case(name)
        {
            return Some(value);
        }
        rest = after;
    }
}

/// Returns true if the server for tokens, if there is one, is the registry, or named by it over a
/// connection that authenticates both.
fn may_get_credentials(registry: &Url, token_url: Option<&Url>) -> bool {
    let is_secure = |url: &Url| url.scheme() == "https";
    token_url.is_none_or(|url| {
        url.origin() == registry.origin() || is_secure(registry) && is_secure(url)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_read_by_the_names_of_its_parameters() {
        let header = r#"Bearer realm="https://a/t",service="r, x", scope="s""#;
        assert_eq!(parameter(header, "realm"), Some("https://a/t"));
        assert_eq!(parameter(header, "service"), Some("r, x"));
        assert_eq!(parameter(header, "scope"), Some("s"));
        assert_eq!(parameter(header, "error"), None);
        assert_eq!(parameter("Basic realm=\"x\"", "realm"), None);
        assert_eq!(parameter("Bear", "realm"), None);
        assert_eq!(parameter("Bearer realm=x", "realm"), None);
    }

    #[test]
    fn credentials_are_for_the_registry_and_the_https_server_that_it_names() {
        let may_get = |registry: &str, token_url: Option<&str>| {
            let token_url = token_url.map(|url| Url::parse(url).unwrap());
            may_get_credentials(&Url::parse(registry).unwrap(), token_url.as_ref())
        };
        assert!(may_get("http://127.0.0.1:5000/", None));
        for (registry, token_url, expected) in [
            ("https://r.example/", "https://auth.example/token", true),
            ("https://r.example/", "http://auth.example/token", false),
            ("https://r.example/", "http://r.example/token", false),
            (
                "http://127.0.0.1:5000/",
                "http://127.0.0.1:5000/token",
                true,
            ),
            (
                "http://127.0.0.1:5000/",
                "http://127.0.0.1:5001/token",
                false,
            ),
            (
                "http://127.0.0.1:5000/",
                "https://auth.example/token",
                false,
            ),
        ] {
            let actual = may_get(registry, Some(token_url));
            assert_eq!(actual, expected, "{registry} {token_url}");
        }
    }
}
