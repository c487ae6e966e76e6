//! The HTTP client of all sources on servers.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::net::IpAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use rustls::CertificateError;
use skills_egress::is_private_network;
use ureq::http::Request;
use ureq::http::request::Builder;
use ureq::{Error, Proxy, ProxyProtocol, Timeout};
use url::{Host, Url};

use super::agents::{Agents, READ_TIMEOUT};
use super::credentials::{CredentialUse, Credentials, authorized, is_loopback};
use super::options::WebOptions;
use super::private_host::PrivateHost;
use super::resolver::{AllowedAddresses, CheckedResolver, NotPublic};
use super::response::{Response, check_status, failed, redirect};
use crate::error::InstallError;
use crate::file_digest::FileDigest;
use crate::{FetchLimits, GitOptions};

/// Maximum number of redirects of one request.
const MAX_REDIRECTS: usize = 5;

/// Reaches the servers of one source, with limits for all requests together.
pub(crate) struct Client {
    agents: Agents,
    options: WebOptions,
    allows_http: bool,
    allowed: AllowedAddresses,
    proxy: Option<(String, u16)>,
    credentials: Option<Credentials>,
    limits: FetchLimits,
    deadline: Instant,
    received: Cell<u64>,
}

impl Client {
    /// Creates a client for a source, whose URL the user wrote. With `git` its server gets the
    /// credentials that git has, if it asks for some.
    pub(crate) fn new(
        options: &WebOptions,
        limits: &FetchLimits,
        source: &Url,
        git: Option<GitOptions>,
    ) -> Result<Self, InstallError> {
        let proxy = options.proxy.as_deref();
        let proxy = proxy.map(|url| parse_proxy(url, &options.no_proxy, source));
        let proxy = proxy.transpose()?;
        let proxy_host = proxy
            .as_ref()
            .map(|proxy| (proxy.host().to_owned(), proxy.port()));
        let is_private = |known: &PrivateHost| {
            let (host, port) = (source.host_str(), source.port_or_known_default());
            known.contains(host.unwrap_or_default(), port.unwrap_or_default())
        };
        let allowed = AllowedAddresses {
            loopback: options.loopback && is_loopback(source),
            // A server elsewhere leads to no private network.
            private: if options.private.iter().any(is_private) {
                options.private.clone()
            } else {
                Vec::new()
            },
        };
        let resolver = CheckedResolver {
            lookup: options.lookup.clone(),
            allowed: allowed.clone(),
            proxy: proxy_host.clone(),
        };
        Ok(Self {
            agents: Agents::new(resolver, proxy, options.roots.clone()),
            options: options.clone(),
            // A server with TLS leads to none without.
            allows_http: options.http && source.scheme() == "http",
            allowed,
            credentials: git.and_then(|git| Credentials::new(git, source, proxy_host.is_some())),
            proxy: proxy_host,
            limits: limits.clone(),
            deadline: Instant::now() + limits.timeout,
            received: Cell::new(0),
        })
    }

    /// Requests a URL and follows redirects. Headers are sent to the origin of the URL only, before
    /// a redirect to another one. The same goes for credentials, if it is the origin of the source.
    pub(crate) fn get(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
    ) -> Result<Response, InstallError> {
        self.follow(url, headers, self.credentials.as_ref())
    }

    /// Requests a URL like [`get`](Self::get), with the given headers only.
    pub(crate) fn get_without_credentials(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
    ) -> Result<Response, InstallError> {
        self.follow(url, headers, None)
    }

    fn follow(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
        credentials: Option<&Credentials>,
    ) -> Result<Response, InstallError> {
        let mut current = url.clone();
        let mut has_left = false;
        for _ in 0..=MAX_REDIRECTS {
            self.check(&current)?;
            // Another server must not choose what is requested with them.
            has_left |= current.origin() != url.origin();
            let response = if has_left {
                self.get_once(&current, &[])?
            } else {
                authorized(credentials, &current, headers, &|headers| {
                    self.get_once(&current, headers)
                })?
            };
            match redirect(&response)? {
                None => return Ok(response),
                Some(target) => current = target,
            }
        }
        Err(failed(url, format!("more than {MAX_REDIRECTS} redirects")))
    }

    fn get_once(&self, url: &Url, headers: &[(&str, &str)]) -> Result<Response, InstallError> {
        let request = with_headers(Request::get(url.as_str()), headers);
        let request = request.body(()).map_err(|error| failed(url, error))?;
        self.run(url, request)
    }

    /// Returns the credentials of the user for the server of the source, if they are used.
    pub(crate) fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }

    /// Removes the password that was sent from a text of the server.
    pub(crate) fn redact(&self, text: &str) -> String {
        let known = self.credentials.as_ref().and_then(Credentials::known);
        known.map_or_else(|| text.to_owned(), |known| known.redact(text))
    }

    /// Sends a body. Redirects are errors: what was sent was meant for this server.
    pub(crate) fn post(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Response, InstallError> {
        self.check(url)?;
        let response = authorized(self.credentials.as_ref(), url, headers, &|headers| {
            let request = with_headers(Request::post(url.as_str()), headers);
            let request = request.body(body).map_err(|error| failed(url, error))?;
            self.run(url, request)
        })?;
        match redirect(&response)? {
            None => Ok(response),
            Some(target) => Err(failed(url, format!("it redirects to `{target}`"))),
        }
    }

    /// Downloads a file to a temporary file of a directory, if the status is 200.
    pub(crate) fn download(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
        directory: &Path,
    ) -> Result<File, InstallError> {
        let response = check_status(self.get(url, headers)?)?;
        self.save(response, directory)
    }

    /// Writes the body of a response to a temporary file of a directory.
    pub(crate) fn save(&self, response: Response, directory: &Path) -> Result<File, InstallError> {
        let write = |error| InstallError::io("write", directory, error);
        let mut file = tempfile::tempfile_in(directory).map_err(write)?;
        let limit = self.limits.max_archive_bytes;
        self.read_parts(response, limit, &mut |bytes| {
            file.write_all(bytes).map_err(write)?;
            Ok(true)
        })?;
        file.rewind().map_err(write)?;
        Ok(file)
    }

    /// Downloads a file like [`download`](Self::download), and checks its digest.
    pub(crate) fn download_checked(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
        directory: &Path,
        expected: FileDigest,
    ) -> Result<File, InstallError> {
        let mut file = self.download(url, headers, directory)?;
        let digest = FileDigest::of_file(&mut file)
            .map_err(|error| InstallError::io("read", directory, error))?;
        digest.check(expected, url.as_str())?;
        Ok(file)
    }

    /// Returns the size of all bodies that were received, in bytes.
    pub(crate) fn received(&self) -> u64 {
        self.received.get()
    }

    /// Reads the body of a response.
    pub(crate) fn read(&self, response: Response, max_bytes: u64) -> Result<Vec<u8>, InstallError> {
        let mut bytes = Vec::new();
        self.read_parts(response, max_bytes, &mut |read| {
            bytes.extend_from_slice(read);
            Ok(true)
        })?;
        Ok(bytes)
    }

    /// Reads at most `max_bytes` of the body of a response, however long it is.
    pub(crate) fn read_start(
        &self,
        response: Response,
        max_bytes: u64,
    ) -> Result<Vec<u8>, InstallError> {
        let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        let limit = self.limits.max_archive_bytes;
        self.read_parts(response, limit, &mut |part| {
            bytes.extend_from_slice(part);
            Ok(bytes.len() < max_bytes)
        })?;
        bytes.truncate(max_bytes);
        Ok(bytes)
    }

    /// Reads the body of a response in parts, until `write` returns false.
    pub(crate) fn read_parts(
        &self,
        response: Response,
        max_bytes: u64,
        write: &mut dyn FnMut(&[u8]) -> Result<bool, InstallError>,
    ) -> Result<(), InstallError> {
        let url = response.url;
        let too_large = |limit| InstallError::limit("bytes in a download", limit);
        // A wrong length is found when the body is read.
        if response
            .body
            .content_length()
            .is_some_and(|length| length > max_bytes)
        {
            return Err(too_large(max_bytes));
        }
        let mut body = response.body.into_reader();
        let mut buffer = vec![0; 64 * 1024];
        let mut total: u64 = 0;
        loop {
            let read = match body.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.transport_error(&url, Error::from(error))),
            };
            total += read as u64;
            if total > max_bytes {
                return Err(too_large(max_bytes));
            }
            self.received.set(self.received.get() + read as u64);
            self.options
                .progress
                .received(url.as_str(), self.received.get());
            if self.received.get() > self.limits.max_archive_bytes {
                return Err(too_large(self.limits.max_archive_bytes));
            }
            if !write(&buffer[..read])? {
                return Ok(());
            }
        }
    }

    fn run(
        &self,
        url: &Url,
        request: Request<impl ureq::AsSendBody>,
    ) -> Result<Response, InstallError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(self.timed_out());
        }
        let agent = self.agents.get(url).map_err(|error| InstallError::fetch_with_help(
            url.as_str(),
            error.to_string(),
            "correct `SSL_CERT_FILE` and `SSL_CERT_DIR`, or remove them to use the certificates of the system, which must be readable",
        ))?;
        let request = agent
            .configure_request(request)
            .timeout_global(Some(left.max(Duration::from_millis(1))))
            .build();
        let response = agent
            .run(request)
            .map_err(|error| self.transport_error(url, error))?;
        let (parts, body) = response.into_parts();
        Ok(Response {
            url: url.clone(),
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
            credentials: CredentialUse::Never,
        })
    }

    /// Checks a URL before anything is sent.
    fn check(&self, url: &Url) -> Result<(), InstallError> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err(failed(url, "its URL contains a password"));
        }
        let Some(host) = url.host() else {
            return Err(failed(url, "it has no host"));
        };
        let is_loopback = is_loopback(url);
        let is_allowed = match url.scheme() {
            "https" => true,
            "http" => self.allows_http || self.allowed.loopback && is_loopback,
            _ => false,
        };
        if !is_allowed {
            return Err(InstallError::fetch_with_help(
                url.as_str(),
                format!("`{}:` is not allowed", url.scheme()),
                "use an `https:` URL; plain HTTP authenticates no server",
            ));
        }
        let port = url.port_or_known_default().unwrap_or_default();
        if self.proxy.as_ref() == Some(&(host.to_string(), port)) {
            return Err(failed(url, "it is the address of the proxy"));
        }
        // With a proxy nothing is resolved here.
        let address: Option<IpAddr> = match host {
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
            Host::Domain(_) => is_loopback.then_some(std::net::Ipv4Addr::LOCALHOST.into()),
        };
        let name = host.to_string();
        let is_refused = |address: &IpAddr| !self.allowed.contains(*address, &name, port);
        match address.filter(is_refused) {
            None => Ok(()),
            Some(address) => {
                let host = name.clone();
                Err(blocked(url, &NotPublic { host, address }))
            }
        }
    }

    fn transport_error(&self, url: &Url, error: Error) -> InstallError {
        match error {
            Error::Timeout(Timeout::Global) => self.timed_out(),
            Error::Timeout(Timeout::PerRead) => {
                let seconds = READ_TIMEOUT.as_secs();
                failed(
                    url,
                    format!("the server sent nothing for {seconds} seconds"),
                )
            }
            Error::Io(error) => {
                let cause = error.get_ref();
                if let Some(refused) = cause.and_then(|cause| cause.downcast_ref()) {
                    return blocked(url, refused);
                }
                match cause.and_then(|cause| cause.downcast_ref()) {
                    Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
                        InstallError::fetch_with_help(
                            url.as_str(),
                            error.to_string(),
                            "if the server is one of your organization, add its certificate authority to those of the system, or name a file with it in `SSL_CERT_FILE`",
                        )
                    }
                    _ => failed(url, error),
                }
            }
            error => failed(url, error),
        }
    }

    fn timed_out(&self) -> InstallError {
        InstallError::limit("seconds of a download", self.limits.timeout.as_secs())
    }
}

fn with_headers(request: Builder, headers: &[(&str, &str)]) -> Builder {
    headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    })
}

/// Parses the URL of a proxy. It may have a password, so it is in no error.
fn parse_proxy(text: &str, no_proxy: &[String], source: &Url) -> Result<Proxy, InstallError> {
    let invalid = || {
        let cause = "the URL of the proxy is not valid";
        InstallError::fetch_with_help(source.as_str(), cause, "write it as `http://HOST:PORT`")
    };
    let given = Proxy::new(text).map_err(|_| invalid())?;
    let protocol = given.protocol();
    if !matches!(protocol, ProxyProtocol::Http | ProxyProtocol::Https) {
        return Err(invalid());
    }
    let builder = Proxy::builder(protocol)
        .host(given.host())
        .port(given.port());
    let builder = match given.username() {
        Some(name) => builder.username(name),
        None => builder,
    };
    let builder = match given.password() {
        Some(password) => builder.password(password),
        None => builder,
    };
    let builder = no_proxy
        .iter()
        .fold(builder, |builder, host| builder.no_proxy(host));
    builder.build().map_err(|_| invalid())
}

fn blocked(url: &Url, refused: &NotPublic) -> InstallError {
    let help = if is_private_network(refused.address) {
        "if you know the source and it is on a private network itself, list its host in the setting `private-sources`; else download the files and add them by path"
    } else {
        "download the files and add them by path"
    };
    InstallError::fetch_with_help(url.as_str(), refused.to_string(), help)
}
