//! A registry, read without credentials.

use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use url::Url;

use super::manifest::Descriptor;
use super::{Blobs, MAX_MANIFEST_BYTES, check_size};
use crate::error::InstallError;
use crate::file_digest::FileDigest;
use crate::web::{Client, Response, check_status, failed};

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
    /// An anonymous token, after the registry asked for one.
    token: RefCell<Option<String>>,
    scratch: PathBuf,
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
            token: RefCell::new(None),
            scratch: scratch.to_owned(),
        })
    }

    fn request_manifest(&self, reference: &str) -> Result<Vec<u8>, InstallError> {
        let url = join(&self.base, &format!("manifests/{reference}"))?;
        let response = check_status(self.request(&url, ACCEPT)?)?;
        self.client.read(response, MAX_MANIFEST_BYTES)
    }

    /// Requests a URL of the registry, again with an anonymous token if it asks for one.
    fn request(&self, url: &Url, accept: &str) -> Result<Response, InstallError> {
        let known = self.token.borrow().clone();
        let response = self.send(url, accept, known.as_deref())?;
        if response.status != 401 || known.is_some() {
            return Ok(response);
        }
        let token = self.anonymous_token(&response)?;
        let response = self.send(url, accept, Some(&token))?;
        *self.token.borrow_mut() = Some(token);
        Ok(response)
    }

    fn send(&self, url: &Url, accept: &str, token: Option<&str>) -> Result<Response, InstallError> {
        let authorization = token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![("accept", accept)];
        if let Some(authorization) = &authorization {
            headers.push(("authorization", authorization.as_str()));
        }
        self.client.get(url, &headers)
    }

    /// Gets a token for reading this repository, without any credentials.
    fn anonymous_token(&self, challenge: &Response) -> Result<String, InstallError> {
        let header = challenge.header("www-authenticate");
        let header = header.ok_or_else(|| self.wants_credentials())?;
        let realm = parameter(header, "realm").ok_or_else(|| self.wants_credentials())?;
        let mut url = Url::parse(realm).map_err(|error| failed(&self.base, error))?;
        {
            let mut query = url.query_pairs_mut();
            if let Some(service) = parameter(header, "service") {
                query.append_pair("service", service);
            }
            // Not the scope of the challenge: nothing else is read here.
            query.append_pair("scope", &format!("repository:{}:pull", self.name));
        }
        let response = self.client.get(&url, &[("accept", "application/json")])?;
        if response.status != 200 {
            return Err(self.wants_credentials());
        }
        let bytes = self.client.read(response, MAX_TOKEN_BYTES)?;
        let answer: TokenResponse =
            serde_json::from_slice(&bytes).map_err(|error| failed(&url, error))?;
        let token = answer.token.or(answer.access_token);
        token
            // A line end in it would be the start of another header.
            .filter(|token| token.bytes().all(|b| b.is_ascii_graphic()))
            .ok_or_else(|| self.wants_credentials())
    }

    fn wants_credentials(&self) -> InstallError {
        InstallError::fetch_with_help(
            self.base.as_str(),
            "the registry wants credentials",
            "this program sends none; copy the artifact to an image layout and add it as `oci:DIR`",
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
fn parameter<'a>(header: &'a str, name: &str) -> Option<&'a str> {
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
}
