//! MCP servers that a skill requires.

use std::net::IpAddr;

use crate::{ToolDependency, is_invisible};

/// The transport of servers with a URL, and of those that name none, as in Codex.
const HTTP: &str = "streamable_http";
/// The transport of servers that the client starts.
const STDIO: &str = "stdio";

/// A required MCP server.
///
/// A locator cannot mislead a person who reads it: it has no space, no invisible character and no
/// arguments, and a URL is encrypted unless it leads to this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequiredServer {
    /// The name that the skill gives it.
    pub name: String,
    /// Its identity: `mcp__{transport}__{url or command}`. Two names of one server have one key.
    pub key: String,
    /// `streamable_http` or `stdio`.
    pub transport: String,
    /// Its URL, or the command that starts it, which is a program without arguments: a name or an
    /// absolute path.
    pub locator: String,
}

impl RequiredServer {
    /// Returns the key of a server with this URL.
    #[must_use]
    pub fn url_key(url: &str) -> String {
        key(HTTP, url)
    }

    /// Returns the key of a server that this command starts, whatever its arguments.
    #[must_use]
    pub fn command_key(command: &str) -> String {
        key(STDIO, command)
    }

    /// Returns true if the client starts the server as a program, outside of any sandbox.
    #[must_use]
    pub fn is_program(&self) -> bool {
        self.transport == STDIO
    }

    /// Parses a dependency of the type `mcp`.
    pub(super) fn parse(tool: &ToolDependency) -> Result<Self, String> {
        let name = &tool.value;
        let transport = tool.transport.as_deref().unwrap_or(HTTP);
        let transport = transport.to_ascii_lowercase();
        let (locator, field) = match transport.as_str() {
            HTTP => (tool.url.as_deref(), "url"),
            STDIO => (tool.command.as_deref(), "command"),
            _ => {
                return Err(format!(
                    "unsupported MCP transport `{transport}` of server `{name}`"
                ));
            }
        };
        if !is_server_name(name) {
            return Err(format!("invalid MCP server name `{name}`"));
        }
        let Some(locator) = locator.map(str::trim).filter(|locator| !locator.is_empty()) else {
            return Err(format!("missing `{field}` of MCP server `{name}`"));
        };
        let problem = if transport == STDIO {
            command_problem(locator)
        } else {
            url_problem(locator)
        };
        if let Some(problem) = problem {
            return Err(format!(
                "invalid `{field}` of MCP server `{name}`: `{locator}` {problem}"
            ));
        }
        Ok(Self {
            name: name.clone(),
            key: key(&transport, locator),
            locator: locator.to_owned(),
            transport,
        })
    }
}

fn key(transport: &str, locator: &str) -> String {
    format!("mcp__{transport}__{locator}")
}

/// Maximum length of a command, in bytes.
const MAX_COMMAND_BYTES: usize = 256;

/// Returns true for what names of programs consist of. Other letters can look the same, and other signs
/// mean something to shells.
fn is_command_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._+@/:\\-".contains(&byte)
}

/// Returns why a command is rejected.
fn command_problem(command: &str) -> Option<&'static str> {
    // The user must see exactly what is started: nothing hidden, and no arguments, which could
    // make any program run any code.
    if has_unclear_character(command) || !command.bytes().all(is_command_byte) {
        return Some("is not one program without arguments");
    }
    if command.len() > MAX_COMMAND_BYTES {
        return Some("is too long");
    }
    if command.split(['/', '\\']).any(|part| part == "..") {
        return Some("is a path with `..`");
    }
    // A relative path would start a file of the project in which the client happens to run.
    let is_path = command.contains(['/', '\\']);
    let is_relative = is_path && !is_absolute(command);
    is_relative.then_some("is a relative path")
}

/// Returns why a URL is rejected.
fn url_problem(url: &str) -> Option<&'static str> {
    let is_encrypted = url.starts_with("https://");
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let Some(rest) = rest else {
        return Some("does not start with `https://`");
    };
    // Letters of other scripts and `\` make one host look like another.
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\'' | '\\');
    if !url.chars().all(is_plain) {
        return Some("has characters that are not allowed in a URL");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // `https://known.example@other.example` leads to the other host.
    if authority.contains('@') {
        return Some("has a user name or password");
    }
    match host(authority) {
        "" => Some("has no host"),
        host if !is_encrypted && !is_loopback(host) => Some("is not encrypted"),
        _ => None,
    }
}

/// Returns the host of an authority, without port and brackets.
fn host(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Returns true for an absolute path of any system.
fn is_absolute(path: &str) -> bool {
    let mut start = path.chars();
    path.starts_with('/')
        || (start.next().is_some_and(|c| c.is_ascii_alphabetic())
            && start.next() == Some(':')
            && matches!(start.next(), Some('/' | '\\')))
}

fn has_unclear_character(text: &str) -> bool {
    text.chars().any(|c| c.is_whitespace() || is_invisible(c))
}

/// Returns true if `name` cannot pass for a part of the question in which it is shown.
fn is_server_name(name: &str) -> bool {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@' | ':' | '+');
    !name.is_empty() && name.chars().count() <= 64 && name.chars().all(is_plain)
}
