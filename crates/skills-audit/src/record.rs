//! A record: an event with its position in the hash chain.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{AuditError, Repr};
use crate::event::Event;

/// Previous hash of the first record.
pub(crate) const GENESIS_HASH: &str =
    "0000000000000000000000000000000000000000000000000000000000000000";
/// Maximum length of a line, in bytes. It bounds the memory of readers, and longer ones are
/// malformed.
pub(crate) const MAX_LINE_BYTES: usize = 64 * 1024;

/// Maximum size of a file of the log that is read as a whole. Of a larger one, such as one with a
/// hole, only both ends are read, and it is not continued.
pub(crate) const MAX_FILE_BYTES: u64 = 1 << 28;

/// A line of the log: an event with its number and hashes. The fields are serialized in this order,
/// with the hash last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Number in the log, from 1.
    pub(crate) sequence: u64,
    #[serde(flatten)]
    pub(crate) event: Event,
    /// Number of the oldest record that the log keeps, in the first record of each file that
    /// continues another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) oldest: Option<u64>,
    /// Length of an incomplete line that was removed before this record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) removed_bytes: Option<u64>,
    /// Hash of the previous record.
    pub(crate) previous: String,
    /// SHA-256 of this line without this field.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) hash: String,
    /// True if the hash is that of the line which this was parsed from.
    #[serde(skip)]
    pub(crate) hash_matches: bool,
}

/// The position of the next record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position<'a> {
    /// The record before it.
    pub(crate) last: Option<&'a Record>,
    /// [`Record::oldest`]
    pub(crate) oldest: Option<u64>,
    /// [`Record::removed_bytes`]
    pub(crate) removed_bytes: Option<u64>,
}

impl Record {
    /// Returns the line of an event at a position, without a newline.
    pub(crate) fn to_line(event: &Event, position: Position<'_>) -> Result<String, AuditError> {
        let previous = position
            .last
            .map_or(GENESIS_HASH, |last| last.hash.as_str());
        let mut record = Self {
            sequence: Self::next_sequence(position.last),
            event: event.clone(),
            oldest: position.oldest,
            removed_bytes: position.removed_bytes,
            previous: previous.to_owned(),
            hash: String::new(),
            hash_matches: true,
        };
        record.hash = hex::encode(Sha256::digest(
            serde_json::to_vec(&record).map_err(Repr::Json)?,
        ));
        let line = serde_json::to_string(&record).map_err(Repr::Json)?;
        if line.len() > MAX_LINE_BYTES {
            return Err(Repr::TooLarge {
                bytes: line.len(),
                limit: MAX_LINE_BYTES,
            }
            .into());
        }
        Ok(line)
    }

    /// Returns the number of the record that follows `last`.
    pub(crate) fn next_sequence(last: Option<&Self>) -> u64 {
        // Saturating: a forged number must not stop the log. `verify` reports the duplicate.
        last.map_or(1, |last| last.sequence.saturating_add(1))
    }

    /// Parses a line; `None` if it is not a record.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        if line.len() > MAX_LINE_BYTES {
            return None;
        }
        let mut record: Self = serde_json::from_slice(line).ok()?;
        // The bytes of the line are hashed, not the parsed event: unknown fields would otherwise
        // not be covered by the hash.
        let end = format!(",\"hash\":\"{}\"}}", record.hash);
        record.hash_matches = line
            .strip_suffix(end.as_bytes())
            .is_some_and(|rest| hex::encode(Sha256::digest([rest, b"}"].concat())) == record.hash);
        Some(record)
    }
}
