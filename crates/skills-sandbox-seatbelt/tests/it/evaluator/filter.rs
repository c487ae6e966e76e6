//! The filters of rules.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use regex_lite::Regex;

use super::expression::Expression;

/// The protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Tcp,
    Udp,
}

/// The subject of an operation.
#[derive(Debug, Clone)]
pub(crate) enum Subject {
    Nothing,
    /// A path as the kernel resolved it; also that of a socket.
    Path {
        path: PathBuf,
        is_character_device: bool,
    },
    Remote {
        protocol: Protocol,
        address: IpAddr,
        port: u16,
    },
    Process {
        is_in_same_sandbox: bool,
    },
    /// A kernel value or a system service.
    Name(String),
}

impl Subject {
    pub(crate) fn path(path: impl Into<PathBuf>) -> Self {
        Self::Path {
            path: path.into(),
            is_character_device: false,
        }
    }

    pub(crate) fn device(path: &str) -> Self {
        Self::Path {
            path: path.into(),
            is_character_device: true,
        }
    }

    pub(crate) fn remote(address: &str, port: u16) -> Self {
        Self::Remote {
            protocol: Protocol::Tcp,
            address: address.parse().expect("an address"),
            port,
        }
    }

    pub(crate) fn datagram(address: &str, port: u16) -> Self {
        Self::Remote {
            protocol: Protocol::Udp,
            address: address.parse().expect("an address"),
            port,
        }
    }

    pub(crate) fn name(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

pub(super) enum Filter {
    Literal(PathBuf),
    Subpath(PathBuf),
    Regex(Regex),
    CharacterDevice,
    LocalPort(u16),
    SameSandbox,
    Exactly(String),
    Starting(String),
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
}

impl Filter {
    pub(super) fn read(filter: &Expression, parameters: &BTreeMap<&str, &str>) -> Self {
        let (name, arguments) = filter.list().split_first().expect("an empty filter");
        let several = || {
            arguments
                .iter()
                .map(|filter| Self::read(filter, parameters))
                .collect()
        };
        match (name.symbol(), arguments) {
            ("literal", [path]) => Self::Literal(place(path, parameters)),
            ("subpath", [path]) => Self::Subpath(place(path, parameters)),
            ("regex", [Expression::Raw(pattern)]) => Self::Regex(regex(pattern)),
            ("vnode-type", [kind]) if kind.symbol() == "CHARACTER-DEVICE" => Self::CharacterDevice,
            ("remote", [protocol, address]) if protocol.symbol() == "tcp" => {
                let port = address
                    .text()
                    .strip_prefix("localhost:")
                    .expect("seatbelt knows `localhost` and `*` alone");
                Self::LocalPort(port.parse().expect("a port"))
            }
            ("target", [target]) if target.symbol() == "same-sandbox" => Self::SameSandbox,
            ("global-name", [name]) => Self::Exactly(name.text().to_owned()),
            ("sysctl-name-prefix", [start]) => Self::Starting(start.text().to_owned()),
            ("require-all", [_, ..]) => Self::All(several()),
            ("require-any", [_, ..]) => Self::Any(several()),
            ("require-not", [one]) => Self::Not(Box::new(Self::read(one, parameters))),
            (other, arguments) => panic!("unknown filter {other} {arguments:?}"),
        }
    }

    pub(super) fn fits(&self, subject: &Subject) -> bool {
        match (self, subject) {
            (Self::All(filters), _) => filters.iter().all(|filter| filter.fits(subject)),
            (Self::Any(filters), _) => filters.iter().any(|filter| filter.fits(subject)),
            (Self::Not(filter), _) => !filter.fits(subject),
            (Self::Literal(literal), Subject::Path { path, .. }) => path == literal,
            (Self::Subpath(top), Subject::Path { path, .. }) => path.starts_with(top),
            (Self::Regex(regex), Subject::Path { path, .. }) => {
                path.to_str().is_some_and(|path| regex.is_match(path))
            }
            (
                Self::CharacterDevice,
                Subject::Path {
                    is_character_device,
                    ..
                },
            ) => *is_character_device,
            (
                Self::LocalPort(allowed),
                Subject::Remote {
                    protocol,
                    address,
                    port,
                },
            ) => *protocol == Protocol::Tcp && address.is_loopback() && allowed == port,
            (Self::SameSandbox, Subject::Process { is_in_same_sandbox }) => *is_in_same_sandbox,
            (Self::Exactly(exact), Subject::Name(name)) => exact == name,
            (Self::Starting(start), Subject::Name(name)) => name.starts_with(start),
            _ => false,
        }
    }
}

/// A literal path or a parameter, which must be a path that the kernel could return.
fn place(path: &Expression, parameters: &BTreeMap<&str, &str>) -> PathBuf {
    let path = match path {
        Expression::Text(path) => path.as_str(),
        Expression::List(list) => match list.as_slice() {
            [param, name] if param.symbol() == "param" => parameters
                .get(name.text())
                .unwrap_or_else(|| panic!("no parameter {name:?}")),
            other => panic!("unknown place {other:?}"),
        },
        other => panic!("unknown place {other:?}"),
    };
    assert!(Path::new(path).is_absolute(), "{path:?} is not absolute");
    path.into()
}

/// Only patterns that have the same meaning in both regex dialects.
fn regex(pattern: &str) -> Regex {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "^$()|?+[]./-_ ".contains(c);
    assert!(
        pattern.chars().all(is_plain),
        "{pattern} may mean something else to seatbelt"
    );
    assert!(
        !pattern.replace("[.]", "").contains('.'),
        "{pattern} contains a wildcard"
    );
    Regex::new(pattern).expect("a pattern")
}
