//! A line of the ledger: an event as JSON.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::error::{LedgerError, Repr};
use crate::event::{Digest, Event, MAX_NAME_BYTES, MAX_SCOPE_BYTES, SessionHash, cut};
use crate::{Activity, Timestamp};

/// Maximum length of a line, in bytes. It bounds the memory of readers, and longer ones are
/// malformed.
pub(crate) const MAX_LINE_BYTES: usize = 1_280;

/// The fields in the order in which they are written. A digest or session that is not in
/// hexadecimal digits, as a later version may write, counts as none.
#[derive(Debug, Serialize, Deserialize)]
struct Line<'a> {
    #[serde(rename = "t")]
    time: Timestamp,
    #[serde(borrow)]
    skill: Cow<'a, str>,
    #[serde(borrow, default)]
    scope: Cow<'a, str>,
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    class: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    digest: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    session: Cow<'a, str>,
}

/// What a line contains.
#[derive(Debug, PartialEq)]
pub(crate) enum Parsed<'a> {
    Event(Event<'a>),
    /// An event of a later version.
    Unknown,
    /// Partially written before a crash, or edited.
    Malformed,
}

/// Appends the line of an event, with its newline.
pub(crate) fn write(event: &Event<'_>, lines: &mut Vec<u8>) -> Result<(), LedgerError> {
    let (kind, class) = event.activity.words();
    let line = Line {
        time: event.time,
        // The fields are public, so only here they are known to be short.
        skill: Cow::Borrowed(cut(&event.skill, MAX_NAME_BYTES)),
        scope: Cow::Borrowed(cut(&event.scope, MAX_SCOPE_BYTES)),
        event: Cow::Borrowed(kind),
        class: Cow::Borrowed(class),
        digest: digits(event.digest),
        session: digits(event.session),
    };
    serde_json::to_writer(&mut *lines, &line).map_err(Repr::Json)?;
    lines.push(b'\n');
    Ok(())
}

/// Parses a line without its newline.
pub(crate) fn parse(line: &[u8]) -> Parsed<'_> {
    if line.len() > MAX_LINE_BYTES {
        return Parsed::Malformed;
    }
    let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else {
        return Parsed::Malformed;
    };
    let Some(activity) = Activity::from_words(&line.event, &line.class) else {
        return Parsed::Unknown;
    };
    let event = Event::new(line.skill, line.scope, activity, line.time);
    let event = event.digest(Digest::parse(&line.digest));
    Parsed::Event(event.session(SessionHash::parse(&line.session)))
}

fn digits(value: Option<impl ToString>) -> Cow<'static, str> {
    value.map_or_else(Cow::default, |value| value.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(event: &Event<'_>) -> String {
        let mut bytes = Vec::new();
        write(event, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn every_activity_survives_its_line() {
        for activity in Activity::all() {
            let event = Event::new("pdf", "user", activity, Timestamp::from_millis(7))
                .digest(Digest::from_content_digest(&[0xab; 32]))
                .session(SessionHash::new("s"));
            let text = line(&event);
            assert_eq!(parse(text.trim_end().as_bytes()), Parsed::Event(event));
        }
    }

    #[test]
    fn a_line_has_only_its_fields() {
        let event = Event::new("pdf", "user", Activity::Offered, Timestamp::from_millis(7));
        insta::assert_snapshot!(
            line(&event),
            @r#"{"t":7,"skill":"pdf","scope":"user","event":"offered"}"#
        );
    }

    #[test]
    fn the_longest_line_is_within_the_limit() {
        let name = "\u{1}".repeat(1_000);
        let event = Event::new(
            name.clone(),
            name,
            Activity::Offered,
            Timestamp::from_millis(u64::MAX),
        )
        .digest(Digest::from_content_digest(&[0; 32]))
        .session(SessionHash::new(""));
        let text = line(&event);
        assert!(text.len() <= MAX_LINE_BYTES, "{} bytes", text.len());
        assert_eq!(parse(text.trim_end().as_bytes()), Parsed::Event(event));
    }

    #[test]
    fn lines_of_later_versions_and_torn_lines_differ() {
        let later = r#"{"t":7,"skill":"pdf","scope":"user","event":"praised","stars":5}"#;
        assert_eq!(parse(later.as_bytes()), Parsed::Unknown);
        for torn in ["", "{", r#"{"t":7,"skill":"pdf","#, "[]", "\u{0}\u{0}"] {
            assert_eq!(parse(torn.as_bytes()), Parsed::Malformed, "{torn}");
        }
    }
}
