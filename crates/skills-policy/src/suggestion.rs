//! Suggests what an invalid rule was meant to be.

use std::net::Ipv6Addr;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use crate::numeric_address::parse_ipv4;
use crate::package::Registry;
use crate::path::is_pattern;
use crate::{HostPattern, Target};

/// Maximum edit distance of a name to the name that was probably meant.
const MAX_TYPOS: usize = 2;
/// Capabilities as rules name them.
const CAPABILITIES: [&str; 6] = ["read", "write", "spawn", "network", "env", "packages"];

/// Returns the valid target that is most similar to an invalid one; `None` if there is none, or
/// several are as likely.
pub(crate) fn target(text: &str) -> Option<String> {
    let (name, value) = match text.split_once(':') {
        Some((name, value)) => (name, Some(value.trim())),
        None => (text, None),
    };
    let capability = capability(&name.trim().to_lowercase())?;
    let corrected = match value {
        None => capability.to_owned(),
        Some(value) => format!("{capability}:{}", corrected_value(capability, value)?),
    };
    let is_other = corrected != text;
    (is_other && Target::from_str(&corrected).is_ok()).then_some(corrected)
}

fn capability(name: &str) -> Option<&'static str> {
    match name {
        // Names of other programs for the same capabilities.
        "exec" | "run" | "program" => Some("spawn"),
        "net" | "host" => Some("network"),
        "environment" | "variable" => Some("env"),
        "package" => Some("packages"),
        _ => nearest(name, &CAPABILITIES),
    }
}

/// Returns the known name with the fewest typing mistakes, if there is one.
fn nearest(name: &str, known: &[&'static str]) -> Option<&'static str> {
    let distances = known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(known, name), *known));
    let (typos, nearest) = distances.min()?;
    (typos <= MAX_TYPOS).then_some(nearest)
}

/// Returns the part of a value that its capability accepts.
fn corrected_value(capability: &str, value: &str) -> Option<String> {
    match capability {
        "network" => host(value),
        "packages" => package(value),
        "spawn" => Some(Path::new(value).file_name()?.to_str()?.to_owned()),
        "env" => Some(variable(value)),
        _ => path(value),
    }
}

/// Returns the host of a URL, or of an address in another notation.
fn host(text: &str) -> Option<String> {
    let has_scheme = text.contains("://");
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    if let Ok(address) = authority.parse::<Ipv6Addr>() {
        return Some(format!("[{address}]"));
    }
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (authority, None),
    };
    // `.example.com` and `*example.com` mean all hosts below the domain elsewhere.
    let name = match name.strip_prefix("*.") {
        None => match name
            .strip_prefix(['.', '*'])
            .filter(|rest| !rest.is_empty())
        {
            Some(domain) => format!("*.{domain}"),
            None => name.to_owned(),
        },
        Some(_) => name.to_owned(),
    };
    let name = parse_ipv4(&name).map_or(name, |address| address.to_string());
    let port = port.and_then(|port| port.trim_start_matches('0').parse::<u16>().ok());
    // A URL means the default port, and a host without a port has both of them.
    let port = port.filter(|port| !(has_scheme && matches!(port, 80 | 443)));
    let with_port = port.map(|port| format!("{name}:{port}"));
    // A pattern of hosts has no port.
    with_port
        .into_iter()
        .chain([name])
        .find(|host| HostPattern::from_str(host).is_ok())
}

/// Returns the package of a requirement, in the registry that was probably meant.
fn package(text: &str) -> Option<String> {
    let (registry, name) = match text.split_once(':') {
        Some((registry, name)) => {
            let known = Registry::ALL.map(Registry::as_str);
            (
                nearest(&registry.trim().to_lowercase(), &known)?,
                name.trim(),
            )
        }
        // Only npm has scopes; other names can be of both registries.
        None if text.starts_with('@') => ("npm", text),
        None => return None,
    };
    if registry == "pypi" {
        // Without the version, the extras and the marker of a requirement.
        let name = name
            .split(['[', '<', '>', '=', '!', '~', ';', ' '])
            .next()?;
        return Some(format!("pypi:{}", name.trim_matches(['-', '_', '.'])));
    }
    let version = name.char_indices().skip(1).find(|(_, c)| *c == '@');
    let name = version.map_or(name, |(at, _)| &name[..at]);
    let name = name.trim_end_matches('/');
    // A scope alone means its packages.
    let is_scope = name.starts_with('@') && !name.contains('/');
    Some(format!("npm:{name}{}", if is_scope { "/*" } else { "" }))
}

/// Returns the name of `NAME=VALUE`, `$NAME` and `${NAME}`.
fn variable(text: &str) -> String {
    let name = text.split('=').next().unwrap_or(text);
    let name = name.trim_start_matches('$').trim_matches(['{', '}']);
    name.replace(['-', '.'], "_")
}

/// Returns an absolute path without `..`, or the directory of a pattern of everything in it.
fn path(text: &str) -> Option<String> {
    let path = Path::new(text);
    let end = path.file_name();
    let is_everything = end.is_some_and(|end| end == "*" || end == "**");
    let path = if is_everything { path.parent()? } else { path };
    // A directory above a pattern inside of a path is more than was meant.
    if !path.is_absolute() || is_pattern(path) {
        return None;
    }
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            part => resolved.push(part),
        }
    }
    Some(resolved.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_valid_targets() {
        for (text, suggestion) in [
            ("exec", Some("spawn")),
            ("exec:/usr/bin/git", Some("spawn:git")),
            ("spawn:./git", Some("spawn:git")),
            ("ntwork:api.example.com", Some("network:api.example.com")),
            (
                "network:https://user@api.example.com:443/v1?q",
                Some("network:api.example.com"),
            ),
            (
                "network:http://api.example.com:8080/v1",
                Some("network:api.example.com:8080"),
            ),
            ("network:*.example.com:443", Some("network:*.example.com")),
            ("network:.example.com", Some("network:*.example.com")),
            ("network:*example.com", Some("network:*.example.com")),
            ("network:::1", Some("network:[::1]")),
            ("network:127.1", Some("network:127.0.0.1")),
            ("network:0x7f.1:0080", Some("network:127.0.0.1:80")),
            ("network:2130706433", Some("network:127.0.0.1")),
            ("network:017700000001", Some("network:127.0.0.1")),
            ("network:4294967296", None),
            ("network:1.2.3.4.5", None),
            ("net:[::1]", Some("network:[::1]")),
            ("net:a.example", Some("network:a.example")),
            ("host:a.example", Some("network:a.example")),
            ("environment:KEY", Some("env:KEY")),
            ("variable:KEY", Some("env:KEY")),
            ("package:pypi:pypdf", Some("packages:pypi:pypdf")),
            ("Env:API_KEY", Some("env:API_KEY")),
            ("env:API_KEY=secret", Some("env:API_KEY")),
            ("env:${API-KEY}", Some("env:API_KEY")),
            ("wrtie:/data", Some("write:/data")),
            ("write:/data/../etc", Some("write:/etc")),
            ("read:/home/me/.ssh/**", Some("read:/home/me/.ssh")),
            ("read:/home/*/.ssh", None),
            ("packages:pipy:pypdf", Some("packages:pypi:pypdf")),
            ("packages:PyPI:Foo_Bar[x]>=1", Some("packages:pypi:Foo_Bar")),
            ("packages:npm:@acme", Some("packages:npm:@acme/*")),
            ("packages:npm:@acme/x@^1", Some("packages:npm:@acme/x")),
            ("packages:@acme/x", Some("packages:npm:@acme/x")),
            ("packages:pypdf", None),
            ("packages:conda:numpy", None),
            // The error of these shows the expected form.
            ("git", None),
            ("write:../data", None),
            ("spawn:", None),
            ("", None),
        ] {
            assert_eq!(target(text).as_deref(), suggestion, "{text}");
        }
    }
}
