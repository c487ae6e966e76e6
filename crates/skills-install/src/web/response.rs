//! What a server answers.

use ureq::Body;
use ureq::http::{HeaderMap, header};
use url::Url;

use super::credentials::CredentialUse;
use crate::error::InstallError;

/// Maximum length of a message of a server in an error, in characters.
const MAX_MESSAGE_CHARS: usize = 200;

/// The start of a response. Its body is read by the client, which counts bytes.
pub(crate) struct Response {
    /// The URL after redirects.
    pub(crate) url: Url,
    pub(crate) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
    pub(super) credentials: CredentialUse,
}

impl Response {
    /// Returns what the server says about the credentials that it wants.
    pub(crate) fn challenges(&self) -> impl Iterator<Item = &str> {
        let values = self.headers.get_all(header::WWW_AUTHENTICATE).iter();
        values.filter_map(|value| value.to_str().ok())
    }

    pub(super) fn with(mut self, credentials: CredentialUse) -> Self {
        self.credentials = credentials;
        self
    }

    /// Returns true for status 401 and 403.
    pub(crate) fn is_denied(&self) -> bool {
        matches!(self.status, 401 | 403)
    }

    /// Returns a header, if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Returns a response whose status is 200.
pub(crate) fn check_status(response: Response) -> Result<Response, InstallError> {
    let help = match response.status {
        200 => return Ok(response),
        401 | 403 => response.credentials.help(),
        404 | 410 => "check the address",
        _ => "try again later",
    };
    let cause = format!("the server answers with status {}", response.status);
    Err(InstallError::fetch_with_help(
        response.url.as_str(),
        cause,
        help,
    ))
}

/// Returns the target of a redirect.
pub(super) fn redirect(response: &Response) -> Result<Option<Url>, InstallError> {
    if !matches!(response.status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let from = &response.url;
    let target = response
        .header(header::LOCATION.as_str())
        .and_then(|location| from.join(location).ok())
        .ok_or_else(|| failed(from, "it redirects to an address that is not valid"))?;
    // The rest of the way would authenticate nothing.
    if from.scheme() == "https" && target.scheme() != "https" {
        return Err(failed(
            from,
            format!("it redirects to `{target}`, without TLS"),
        ));
    }
    Ok(Some(target))
}

/// Returns the error of a request, with the start of a cause that a server may have written.
pub(crate) fn failed(url: &Url, cause: impl ToString) -> InstallError {
    let cause: String = cause.to_string().chars().take(MAX_MESSAGE_CHARS).collect();
    InstallError::fetch(url.as_str(), cause)
}
