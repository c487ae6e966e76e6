//! HTTP/1 requests, to a proxy and to a server.

use crate::body_framing::BodyFraming;
use crate::buffered::ParseResult;
use crate::close_reason::{RejectReason, malformed};
use crate::host::{Authority, HTTP_PORT, Host};
use crate::host_connector::Destination;
use crate::http_head::{Fields, MAX_FIELDS, head_length, write_field};

/// A request whose body was not read yet.
#[derive(Debug)]
pub(crate) struct Request {
    method: String,
    target: String,
    /// The second number of the version, 0 or 1.
    minor_version: u8,
    pub(crate) fields: Fields,
}

#[derive(Debug)]
pub(crate) struct ForwardedRequest {
    pub(crate) head: Vec<u8>,
    pub(crate) body: BodyFraming,
    pub(crate) response_body: ResponseBody,
    pub(crate) sender: ResponseSender,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseBody {
    Present,
    /// A response to `HEAD` has no body, whatever its head says.
    Omitted,
}

/// Who responds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseSender {
    Host,
    /// A proxy of the user, which can also respond for itself.
    Proxy,
}

impl Request {
    /// Parses a head and returns its length too; `None` if it is incomplete.
    pub(crate) fn parse(bytes: &[u8]) -> ParseResult<Self> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut request = httparse::Request::new(&mut headers);
        let parsed = request.parse(bytes);
        let Some(length) = head_length(bytes, parsed)? else {
            return Ok(None);
        };
        let (Some(method), Some(target), Some(minor_version)) =
            (request.method, request.path, request.version)
        else {
            return Ok(None);
        };
        // A fragment is never sent to a server, and other bytes are not valid in a URI.
        if !target.bytes().all(|b| b.is_ascii_graphic() && b != b'#') {
            return Err(malformed("invalid target"));
        }
        let request = Self {
            method: method.to_owned(),
            target: target.to_owned(),
            minor_version,
            fields: Fields::new(request.headers),
        };
        Ok(Some((request, length)))
    }

    /// Returns the authority (host and port) of a `CONNECT` request; `None` for other methods.
    pub(crate) fn tunnel_authority(&self) -> Option<&str> {
        (self.method == "CONNECT").then_some(self.target.as_str())
    }

    /// Returns the authority and the path of a request to a proxy.
    pub(crate) fn absolute_target(&self) -> Result<(&str, String), RejectReason> {
        let scheme = self
            .target
            .get(..7)
            .filter(|scheme| scheme.eq_ignore_ascii_case("http://"));
        let rest = scheme
            .map(|scheme| &self.target[scheme.len()..])
            .ok_or(malformed("target does not begin with `http://`"))?;
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        // A target such as `http://a?b` has an empty path.
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok((authority, format!("{slash}{path}")))
    }

    /// Returns the path of a request to a server.
    pub(crate) fn origin_path(&self) -> Result<&str, RejectReason> {
        let path = Some(self.target.as_str())
            .filter(|target| target.starts_with('/') && self.tunnel_authority().is_none());
        path.ok_or(malformed("target does not begin with `/`"))
    }

    /// Requires that the field `Host` names this host and port.
    pub(crate) fn require_host(&self, host: &Host, port: u16) -> Result<(), RejectReason> {
        let named = self
            .fields
            .unique_value("host")?
            .and_then(|value| Authority::parse(value, Some(HTTP_PORT)));
        if named.is_some_and(|named| named.port == port && named.host == *host) {
            Ok(())
        } else {
            Err(RejectReason::HostMismatch)
        }
    }

    /// Serializes the request for a destination. Everything that delimits it is written from the
    /// parsed values, not copied.
    pub(crate) fn forwarded(
        &self,
        destination: &Destination,
        path: &str,
    ) -> Result<ForwardedRequest, RejectReason> {
        let body = BodyFraming::from_fields(&self.fields)?;
        // HTTP/1.0 has no chunks, so such a server would read the body differently.
        if matches!(body, Some(BodyFraming::Chunked(_))) && self.minor_version == 0 {
            return Err(malformed("chunked body in HTTP/1.0"));
        }
        // `Host` comes from the checked host, and the lengths from the parsed ones.
        let host = destination.host.field_text(destination.port);
        let proxy = destination.proxy();
        let origin = match proxy {
            Some(_) => format!("http://{host}"),
            None => String::new(),
        };
        let mut head = format!(
            "{} {origin}{path} HTTP/1.{}\r\nHost: {host}\r\n",
            self.method, self.minor_version,
        )
        .into_bytes();
        self.fields
            .write_to(&["host", "content-length", "transfer-encoding"], &mut head);
        // Those of the program are not written: it must not authenticate to a proxy of the user.
        if let Some(value) = proxy.and_then(|proxy| proxy.authorization()) {
            write_field("Proxy-Authorization", value.as_bytes(), &mut head);
        }
        match body {
            Some(BodyFraming::Length(length)) => {
                write_field("Content-Length", length.to_string().as_bytes(), &mut head)
            }
            Some(BodyFraming::Chunked(_)) => {
                write_field("Transfer-Encoding", b"chunked", &mut head)
            }
            None => {}
        }
        // One request for each connection, since a second one would not be checked.
        head.extend_from_slice(b"Connection: close\r\n\r\n");
        let answer = if self.method == "HEAD" {
            ResponseBody::Omitted
        } else {
            ResponseBody::Present
        };
        Ok(ForwardedRequest {
            head,
            body: body.unwrap_or(BodyFraming::EMPTY),
            response_body: answer,
            sender: match proxy {
                Some(_) => ResponseSender::Proxy,
                None => ResponseSender::Host,
            },
        })
    }
}
