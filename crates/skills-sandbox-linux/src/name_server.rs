//! Answers the name lookups of a run: no name exists, and which ones were tried is recorded.
//!
//! ```text
//! program --getaddrinfo--> C library --TCP 127.0.0.1:53 of the run--> host process: "no such name"
//! ```
//!
//! Names of hosts are not resolved in a run: granted hosts are reached through the proxy, which
//! resolves them. Without an answer a program would fail in its own words, of which no list is complete. Nothing is
//! forwarded, so a lookup reaches no other machine. The listener is a TCP socket, since runs have no
//! datagrams; `/etc/resolv.conf` names it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener as StdListener;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The port of DNS.
pub(crate) const NAME_SERVER_PORT: u16 = 53;
/// The most names that are remembered.
const MAX_NAMES: usize = 64;
/// The most connections that are served at the same time; others wait.
const MAX_CONNECTIONS: usize = 16;
/// The most lookups of one connection.
const MAX_LOOKUPS: usize = 64;
/// How long a connection may be idle.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest lookup that is read; real ones have a name and one record.
const MAX_MESSAGE_BYTES: usize = 1_024;
const HEADER_BYTES: usize = 12;
/// The longest name, in bytes of text.
const MAX_NAME_BYTES: usize = 253;
/// Records with an IPv4 and with an IPv6 address.
const ADDRESS_TYPES: [u16; 2] = [1, 28];

/// The number of lookups of each name.
type Lookups = Arc<Mutex<BTreeMap<String, u64>>>;

/// Serves the lookups of one run.
pub(crate) struct NameServer {
    listener: TcpListener,
    lookups: Lookups,
}

impl NameServer {
    /// Creates the server. `None` without a socket: lookups then fail without an answer.
    pub(crate) fn start(socket: Option<OwnedFd>) -> Option<Self> {
        let listener = StdListener::from(socket?);
        listener.set_nonblocking(true).ok()?;
        Some(Self {
            listener: TcpListener::from_std(listener).ok()?,
            lookups: Lookups::default(),
        })
    }

    /// Answers lookups until the future is dropped.
    pub(crate) async fn serve(&self) -> Infallible {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                Some(_) = connections.join_next() => {}
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    match accepted {
                        Ok((stream, _)) => {
                            let lookups = Arc::clone(&self.lookups);
                            connections.spawn(serve_connection(stream, lookups));
                        }
                        // Such as too many open files. Lookups then wait until they time out.
                        Err(_) => tokio::time::sleep(IDLE_TIMEOUT).await,
                    }
                }
            }
        }
    }

    /// Returns the names that were looked up, with the number of lookups.
    pub(crate) fn into_lookups(self) -> BTreeMap<String, u64> {
        let mut lookups = self.lookups.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut lookups)
    }
}

/// Awaits a run, while its lookups are answered.
pub(crate) async fn with_names<T>(run: impl Future<Output = T>, server: Option<&NameServer>) -> T {
    let Some(server) = server else {
        return run.await;
    };
    tokio::select! {
        biased;
        result = run => result,
        never = server.serve() => match never {},
    }
}

async fn serve_connection(mut stream: TcpStream, lookups: Lookups) {
    for _ in 0..MAX_LOOKUPS {
        // A client that sends nothing, or anything but a lookup, is disconnected.
        if !matches!(
            timeout(IDLE_TIMEOUT, answer_next(&mut stream, &lookups)).await,
            Ok(Ok(true))
        ) {
            return;
        }
    }
}

/// Answers one lookup. Returns false if the message is none.
async fn answer_next(stream: &mut TcpStream, lookups: &Lookups) -> io::Result<bool> {
    let length = usize::from(stream.read_u16().await?);
    if !(HEADER_BYTES..=MAX_MESSAGE_BYTES).contains(&length) {
        return Ok(false);
    }
    let mut message = vec![0; length];
    stream.read_exact(&mut message).await?;
    let Some(question) = parse_question(&message) else {
        return Ok(false);
    };
    if ADDRESS_TYPES.contains(&question.record_type) && is_host_name(&question.name) {
        record(lookups, &question);
    }
    let answer = no_such_name(&message, question.end);
    let length = u16::try_from(answer.len()).unwrap_or_default();
    let framed = [&length.to_be_bytes()[..], &answer].concat();
    stream.write_all(&framed).await?;
    Ok(true)
}

/// Counts a lookup. Resolvers ask for both kinds of addresses, which is one lookup.
fn record(lookups: &Lookups, question: &Question) {
    let mut lookups = lookups.lock().unwrap_or_else(PoisonError::into_inner);
    if lookups.len() >= MAX_NAMES && !lookups.contains_key(&question.name) {
        return;
    }
    let count = lookups.entry(question.name.clone()).or_default();
    if question.record_type == ADDRESS_TYPES[0] || *count == 0 {
        *count = count.saturating_add(1);
    }
}

/// What a lookup asks for.
struct Question {
    name: String,
    record_type: u16,
    /// Where the question ends in the message.
    end: usize,
}

/// Parses the first question of a message. `None` if it is not a lookup.
fn parse_question(message: &[u8]) -> Option<Question> {
    let is_response = message.get(2)? & 0x80 != 0;
    let questions = u16::from_be_bytes(message.get(4..6)?.try_into().ok()?);
    if is_response || questions == 0 {
        return None;
    }
    let mut name = String::new();
    let mut position = HEADER_BYTES;
    loop {
        let length = usize::from(*message.get(position)?);
        position += 1;
        if length == 0 {
            break;
        }
        // Longer ones are references to other names, which a question does not need.
        if length > 63 {
            return None;
        }
        let label = message.get(position..position + length)?;
        position += length;
        if !name.is_empty() {
            name.push('.');
        }
        name.push_str(std::str::from_utf8(label).ok()?);
        if name.len() > MAX_NAME_BYTES {
            return None;
        }
    }
    let record_type = u16::from_be_bytes(message.get(position..position + 2)?.try_into().ok()?);
    let end = position + 4;
    (end <= message.len()).then(|| Question {
        name: name.to_ascii_lowercase(),
        record_type,
        end,
    })
}

/// Returns true for the name of an Internet host. Programs also look up the name of their machine,
/// which has no dot.
fn is_host_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    name.contains('.') && name.chars().all(is_allowed)
}

/// Returns the answer that the name of a lookup does not exist.
fn no_such_name(message: &[u8], question_end: usize) -> Vec<u8> {
    const RESPONSE: u8 = 0x80;
    const KEPT_FLAGS: u8 = 0x79;
    const RECURSION_AVAILABLE: u8 = 0x80;
    const NO_SUCH_NAME: u8 = 3;
    let mut answer = message[..question_end].to_vec();
    answer[2] = RESPONSE | (message[2] & KEPT_FLAGS);
    answer[3] = RECURSION_AVAILABLE | NO_SUCH_NAME;
    // One question, and no records.
    answer[4..HEADER_BYTES].copy_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0]);
    answer
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lookup(name: &str, record_type: u8) -> Vec<u8> {
        let mut message = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1];
        for label in name.split('.') {
            message.push(u8::try_from(label.len()).unwrap());
            message.extend(label.bytes());
        }
        message.extend([0, 0, record_type, 0, 1, 0, 0, 41]);
        message
    }

    #[test]
    fn a_lookup_is_answered_with_its_question_alone() {
        let message = lookup("API.example.com", 28);
        let question = parse_question(&message).unwrap();
        assert_eq!(
            (question.name.as_str(), question.record_type),
            ("api.example.com", 28)
        );
        let answer = no_such_name(&message, question.end);
        assert_eq!(answer.len(), question.end);
        assert_eq!(
            answer[..12],
            [0x12, 0x34, 0x81, 0x83, 0, 1, 0, 0, 0, 0, 0, 0]
        );
        assert!(
            parse_question(&answer).is_none(),
            "an answer is not a lookup"
        );
    }

    #[test]
    fn lookups_of_both_kinds_of_addresses_count_once() {
        let lookups = Lookups::default();
        for record_type in [1, 28, 28, 1] {
            let message = lookup("a.example", record_type);
            record(&lookups, &parse_question(&message).unwrap());
        }
        assert_eq!(lookups.lock().unwrap()["a.example"], 2);
        assert!(!is_host_name("machine") && !is_host_name("_http._tcp.a.example"));
    }

    proptest! {
        #[test]
        fn any_message_is_parsed_without_panic(message in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(question) = parse_question(&message) {
                prop_assert!(question.end <= message.len());
                no_such_name(&message, question.end);
            }
        }
    }
}
