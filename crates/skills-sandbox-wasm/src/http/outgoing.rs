//! A request as it is sent.

use http::header::{CONNECTION, CONTENT_LENGTH, HOST, PROXY_AUTHORIZATION, TE, TRAILER};
use http::uri::Scheme;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, Version};
use skills_egress::{Authority, ExceededLimit, TLS_PORT, UpstreamProxy};
use wasmtime_wasi_http::{DEFAULT_FORBIDDEN_HEADERS, Error, WasiBody};

use super::failure::HttpFailure;
use super::limits::HttpLimits;
use super::target::{Security, Target};

/// Bytes around the method, the path and the version; around each field.
const LINE_OVERHEAD_BYTES: usize = " HTTP/1.1\r\n ".len();
const FIELD_OVERHEAD_BYTES: usize = ": \r\n".len();

/// Serializes the head again for the host that is connected to, without fields that a program must
/// not set, however it set them.
pub(super) fn forwarded_request(
    request: Request<WasiBody>,
    target: &Target,
    limits: &HttpLimits,
) -> Result<Request<WasiBody>, HttpFailure> {
    let (mut parts, body) = request.into_parts();
    parts.uri = Uri::from(target.path.clone());
    parts.version = Version::HTTP_11;
    let forbidden: Vec<_> = parts
        .headers
        .keys()
        .filter(|name| is_forbidden_header(name))
        .cloned()
        .collect();
    for name in forbidden {
        parts.headers.remove(name);
    }
    let host = HeaderValue::try_from(host_field(target))
        .map_err(|_| HttpFailure::unrecorded(Error::HttpRequestUriInvalid))?;
    // From the parsed target, so that the server sees the host that was checked.
    parts.headers.insert(HOST, host);
    parts
        .headers
        // A connection carries one request.
        .insert(CONNECTION, HeaderValue::from_static("close"));
    let line_bytes = parts.method.as_str().len() + target.path.as_str().len() + LINE_OVERHEAD_BYTES;
    if line_bytes > limits.connections.max_head_bytes {
        return Err(HttpFailure::new(
            Error::HttpRequestUriTooLong,
            ExceededLimit::HeadBytes,
        ));
    }
    if line_bytes + header_bytes(&parts.headers) > limits.connections.max_head_bytes {
        let limit = u32::try_from(limits.connections.max_head_bytes).ok();
        return Err(HttpFailure::new(
            Error::HttpRequestHeaderSectionSize(limit),
            ExceededLimit::HeadBytes,
        ));
    }
    // Saves the transfer; a body without a declared length is counted.
    if content_length(&parts.headers) > limits.max_request_body_bytes {
        return Err(HttpFailure::new(
            Error::HttpRequestBodySize(Some(limits.max_request_body_bytes)),
            ExceededLimit::Bytes,
        ));
    }
    Ok(Request::from_parts(parts, body))
}

/// Addresses a request without TLS to a proxy of the user: with an absolute target and the
/// credentials, which the program cannot read.
pub(super) fn request_to_proxy<B>(
    mut request: Request<B>,
    target: &Target,
    proxy: &UpstreamProxy,
) -> Result<Request<B>, HttpFailure> {
    let invalid = |_| HttpFailure::unrecorded(Error::HttpRequestUriInvalid);
    *request.uri_mut() = Uri::builder()
        .scheme(Scheme::HTTP)
        .authority(host_field(target))
        .path_and_query(target.path.clone())
        .build()
        .map_err(invalid)?;
    if let Some(value) = proxy.authorization() {
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| HttpFailure::unrecorded(Error::HttpRequestUriInvalid))?;
        value.set_sensitive(true);
        request.headers_mut().insert(PROXY_AUTHORIZATION, value);
    }
    Ok(request)
}

/// Returns the field `Host`, with the port unless it is that of the scheme.
fn host_field(target: &Target) -> String {
    let Authority { host, port, .. } = &target.authority;
    match (target.security, *port) {
        (Security::Tls, TLS_PORT) => host.as_str().to_owned(),
        (_, port) => host.field_text(port),
    }
}

fn header_bytes(headers: &HeaderMap) -> usize {
    headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + FIELD_OVERHEAD_BYTES)
        .sum()
}

/// Returns the declared length of the body; the engine has validated it.
fn content_length(headers: &HeaderMap) -> u64 {
    let text = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok());
    // A length that cannot be parsed exceeds every limit.
    text.map_or(0, |text| text.parse().unwrap_or(u64::MAX))
}

/// Fields that belong to a connection or a proxy and not to a message (RFC 9110, 7.6.1), and
/// `Host`.
pub(super) fn is_forbidden_header(name: &HeaderName) -> bool {
    DEFAULT_FORBIDDEN_HEADERS.contains(name)
        || [TE, TRAILER].contains(name)
        || name.as_str().starts_with("proxy-")
}
