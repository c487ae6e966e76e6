//! How one line follows from the one before it.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Event;
use crate::error::{AuditError, Repr};
use crate::event::hex;

/// What stands for the hash before the first record.
pub(crate) const GENESIS_HASH: &str =
    "0000000000000000000000000000000000000000000000000000000000000000";
/// The longest line that is written, in bytes.
pub(crate) const MAX_LINE_BYTES: usize = 64 * 1024;

/// A line: an event and its place in the chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Its number, from 1.
    pub(crate) sequence: u64,
    #[serde(flatten)]
    pub(crate) event: Event,
    /// The hash of the line before it.
    pub(crate) previous: String,
    /// The SHA-256 over this line without this field.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) hash: String,
    /// Whether the line that this was read from is the one that the hash was made of.
    #[serde(skip)]
    pub(crate) hash_matches: bool,
}

impl Record {
    /// Puts an event behind a line; returns the line, without its end.
    pub(crate) fn to_line(event: &Event, last: Option<&Self>) -> Result<String, AuditError> {
        let (sequence, previous) = last.map_or((1, GENESIS_HASH), |last| {
            (last.sequence.saturating_add(1), last.hash.as_str())
        });
        let mut link = Self {
            sequence,
            event: event.clone(),
            previous: previous.to_owned(),
            hash: String::new(),
            hash_matches: true,
        };
        link.hash = hex(&Sha256::digest(
            serde_json::to_vec(&link).map_err(Repr::Json)?,
        ));
        let line = serde_json::to_string(&link).map_err(Repr::Json)?;
        if line.len() > MAX_LINE_BYTES {
            return Err(Repr::TooLarge {
                bytes: line.len(),
                limit: MAX_LINE_BYTES,
            }
            .into());
        }
        Ok(line)
    }

    /// Reads a line; nothing when it is none. The hash is over the line as it stands, so that
    /// fields which nobody knows count too.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let mut link: Self = serde_json::from_slice(line).ok()?;
        let end = format!(",\"hash\":\"{}\"}}", link.hash);
        link.hash_matches = line
            .strip_suffix(end.as_bytes())
            .is_some_and(|rest| hex(&Sha256::digest([rest, b"}"].concat())) == link.hash);
        Some(link)
    }
}

#[cfg(test)]
mod tests {
    use super::Record;
    use crate::Disposition;

    /// Logs that were written before the keys got their present names stay readable and verifiable.
    #[test]
    fn records_with_former_keys_are_read() {
        let unhashed = r#"{"sequence":1,"time":"t","skill":"s","decision":"granted","layers":[{"name":"files","status":"enforced"}],"outcome":"exit 0","previous":"0"}"#;
        let hash = super::hex(&<sha2::Sha256 as sha2::Digest>::digest(unhashed));
        let line = format!("{},\"hash\":\"{hash}\"}}", unhashed.trim_end_matches('}'));
        let record = Record::parse(line.as_bytes()).unwrap();
        assert!(record.hash_matches);
        assert_eq!(record.event.disposition, Disposition::Granted);
        assert_eq!(record.event.restrictions[0].name, "files");
        assert_eq!(record.event.termination.as_deref(), Some("exit 0"));
    }
}
