//! The HTTP client of all sources on servers.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skills_address::is_private_network;
use ureq::http::{HeaderMap, Request, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body, Error, Proxy, ProxyProtocol, Timeout};
use url::{Host, Url};

use super::resolver::{AllowedAddresses, CheckedResolver, NotPublic};
use super::{PrivateHost, WebOptions};
use crate::FetchLimits;
use crate::error::{InstallError, Repr};
use crate::file_digest::FileDigest;

/// Maximum number of redirects of one request.
const MAX_REDIRECTS: usize = 5;
/// Maximum length of a message of a server in an error, in characters.
const MAX_MESSAGE_CHARS: usize = 200;
/// How long a name may take to be resolved and a connection to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a server may send nothing.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
const USER_AGENT: &str = concat!("skills/", env!("CARGO_PKG_VERSION"));

/// Reaches the servers of one source, with limits for all requests together.
pub(crate) struct Client {
    agent: Agent,
    options: WebOptions,
    allows_http: bool,
    allowed: AllowedAddresses,
    proxy: Option<(String, u16)>,
    limits: FetchLimits,
    deadline: Instant,
    received: Cell<u64>,
}

/// The start of a response. Its body is read by the client, which counts bytes.
pub(crate) struct Response {
    /// The URL after redirects.
    pub(crate) url: Url,
    pub(crate) status: u16,
    headers: HeaderMap,
    body: Body,
}

impl Response {
    /// Returns a header, if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl Client {
    /// Creates a client for a source, whose URL the user wrote.
    pub(crate) fn new(
        options: &WebOptions,
        limits: &FetchLimits,
        source: &Url,
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
        let roots = options.roots.iter();
        let roots: Vec<_> = roots
            .map(|der| Certificate::from_der(der).to_owned())
            .collect();
        let roots = if roots.is_empty() {
            RootCerts::WebPki
        } else {
            RootCerts::Specific(Arc::new(roots))
        };
        let tls = TlsConfig::builder()
            .root_certs(roots)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // Each is checked here.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(USER_AGENT)
            .timeout_resolve(Some(CONNECT_TIMEOUT))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_per_read(Some(READ_TIMEOUT))
            .proxy(proxy)
            .tls_config(tls)
            .build();
        Ok(Self {
            agent: Agent::with_parts(config, DefaultConnector::default(), resolver),
            options: options.clone(),
            // A server with TLS leads to none without.
            allows_http: options.http && source.scheme() == "http",
            allowed,
            proxy: proxy_host,
            limits: limits.clone(),
            deadline: Instant::now() + limits.timeout,
            received: Cell::new(0),
        })
    }

    /// Requests a URL and follows redirects. Headers are sent to the origin of the URL only.
    pub(crate) fn get(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
    ) -> Result<Response, InstallError> {
        let mut current = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            self.check(&current)?;
            let headers = if current.origin() == url.origin() {
                headers
            } else {
                &[]
            };
            let request = Request::get(current.as_str());
            let request = headers.iter().fold(request, |request, (name, value)| {
                request.header(*name, *value)
            });
            let request = request.body(()).map_err(|error| failed(&current, error))?;
            let response = self.run(&current, request)?;
            match redirect(&response)? {
                None => return Ok(response),
                Some(target) => current = target,
            }
        }
        Err(failed(url, format!("more than {MAX_REDIRECTS} redirects")))
    }

    /// Sends a body. Redirects are errors: what was sent was meant for this server.
    pub(crate) fn post(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Response, InstallError> {
        self.check(url)?;
        let request = Request::post(url.as_str());
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        let request = request.body(body).map_err(|error| failed(url, error))?;
        let response = self.run(url, request)?;
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
        self.copy(response, limit, &mut |bytes| {
            file.write_all(bytes).map_err(write)
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

    /// Downloads the signature of a file, if there is one beside it with this extension.
    pub(crate) fn signature(
        &self,
        url: &Url,
        extension: &str,
        max_bytes: u64,
    ) -> Result<Option<String>, InstallError> {
        let mut url = url.clone();
        url.set_path(&format!("{}{extension}", url.path()));
        let response = self.get(&url, &[])?;
        if matches!(response.status, 404 | 410) {
            return Ok(None);
        }
        let bytes = self.read(check_status(response)?, max_bytes)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Returns the size of all bodies that were received, in bytes.
    pub(crate) fn received(&self) -> u64 {
        self.received.get()
    }

    /// Reads the body of a response.
    pub(crate) fn read(&self, response: Response, max_bytes: u64) -> Result<Vec<u8>, InstallError> {
        let mut bytes = Vec::new();
        self.copy(response, max_bytes, &mut |read| {
            bytes.extend_from_slice(read);
            Ok(())
        })?;
        Ok(bytes)
    }

    /// Reads the body of a response in parts, until `goes_on` returns false.
    pub(crate) fn read_while(
        &self,
        response: Response,
        max_bytes: u64,
        goes_on: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), InstallError> {
        self.copy_while(response, max_bytes, &mut |part| Ok(goes_on(part)))
    }

    fn copy(
        &self,
        response: Response,
        max_bytes: u64,
        write: &mut dyn FnMut(&[u8]) -> Result<(), InstallError>,
    ) -> Result<(), InstallError> {
        self.copy_while(response, max_bytes, &mut |bytes| {
            write(bytes).map(|()| true)
        })
    }

    fn copy_while(
        &self,
        response: Response,
        max_bytes: u64,
        write: &mut dyn FnMut(&[u8]) -> Result<bool, InstallError>,
    ) -> Result<(), InstallError> {
        let url = response.url;
        let too_large = |limit| Repr::Limit {
            what: "bytes in a download",
            limit,
        };
        // A wrong length is found when the body is read.
        if response
            .body
            .content_length()
            .is_some_and(|length| length > max_bytes)
        {
            return Err(too_large(max_bytes).into());
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
                return Err(too_large(max_bytes).into());
            }
            self.received.set(self.received.get() + read as u64);
            self.options
                .progress
                .received(url.as_str(), self.received.get());
            if self.received.get() > self.limits.max_archive_bytes {
                return Err(too_large(self.limits.max_archive_bytes).into());
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
        let request = self
            .agent
            .configure_request(request)
            .timeout_global(Some(left.max(Duration::from_millis(1))))
            .build();
        let response = self
            .agent
            .run(request)
            .map_err(|error| self.transport_error(url, error))?;
        let (parts, body) = response.into_parts();
        Ok(Response {
            url: url.clone(),
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
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
            return Err(Repr::Fetch {
                from: url.to_string(),
                cause: format!("`{}:` is not allowed", url.scheme()),
                help: Some("use an `https:` URL; plain HTTP authenticates no server"),
            }
            .into());
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
            Error::Io(error) => match error.get_ref().and_then(|cause| cause.downcast_ref()) {
                Some(refused) => blocked(url, refused),
                None => failed(url, error),
            },
            error => failed(url, error),
        }
    }

    fn timed_out(&self) -> InstallError {
        Repr::Limit {
            what: "seconds of a download",
            limit: self.limits.timeout.as_secs(),
        }
        .into()
    }
}

/// Returns a response whose status is 200.
pub(crate) fn check_status(response: Response) -> Result<Response, InstallError> {
    let help = match response.status {
        200 => return Ok(response),
        401 | 403 => "this program sends no credentials; download the files and add them by path",
        404 | 410 => "check the address",
        _ => "try again later",
    };
    Err(Repr::Fetch {
        from: response.url.to_string(),
        cause: format!("the server answers with status {}", response.status),
        help: Some(help),
    }
    .into())
}

/// Returns the target of a redirect.
fn redirect(response: &Response) -> Result<Option<Url>, InstallError> {
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

/// Parses the URL of a proxy. It may have a password, so it is in no error.
fn parse_proxy(text: &str, no_proxy: &[String], source: &Url) -> Result<Proxy, InstallError> {
    let invalid = || Repr::Fetch {
        from: source.to_string(),
        cause: "the URL of the proxy is not valid".to_owned(),
        help: Some("write it as `http://HOST:PORT`"),
    };
    let given = Proxy::new(text).map_err(|_| invalid())?;
    let protocol = given.protocol();
    if !matches!(protocol, ProxyProtocol::Http | ProxyProtocol::Https) {
        return Err(invalid().into());
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
    builder.build().map_err(|_| invalid().into())
}

fn blocked(url: &Url, refused: &NotPublic) -> InstallError {
    Repr::Fetch {
        from: url.to_string(),
        cause: refused.to_string(),
        help: Some(if is_private_network(refused.address) {
            "if you know the source and it is on a private network itself, list its host in the setting `private-sources`; else download the files and add them by path"
        } else {
            "download the files and add them by path"
        }),
    }
    .into()
}

pub(crate) fn failed(url: &Url, cause: impl ToString) -> InstallError {
    let cause: String = cause.to_string().chars().take(MAX_MESSAGE_CHARS).collect();
    InstallError::fetch(url.as_str(), cause)
}
