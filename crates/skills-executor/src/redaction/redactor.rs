//! Redacts values of secrets in the output of programs.

use serde_json::Value;
use skills_sandbox::{CapturedOutput, RunOutput};

use super::encoded_text::{TextMatch, can_start, match_text};

/// Minimum length of a redacted value. Shorter values would match unrelated output.
const MIN_BYTES: usize = 8;
/// Minimum length of a partial value at the edge of truncated output that is redacted.
const MIN_PARTIAL_BYTES: usize = 4;
/// Maximum length of the rest of an encoded character at the start of truncated output.
const MAX_CUT_BYTES: usize = 12;

/// The values of one run and their replacements.
///
/// A value is redacted however an encoder escapes its characters
/// ([`encoded_text`](super::encoded_text)). A program that transforms the value as a whole, for
/// example with Base64, is not detected.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redactor {
    patterns: Vec<Pattern>,
    too_short: Vec<String>,
}

#[derive(Clone)]
struct Pattern {
    characters: Vec<char>,
    replacement: String,
}

impl std::fmt::Debug for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.replacement)
    }
}

/// What follows the bytes that are redacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// Nothing: the program wrote no more.
    End,
    /// Bytes that were dropped, so that the last of these may be the start of a value.
    Dropped,
    /// More bytes, with which this function is called again.
    More,
}

/// The result of redacting the start of a stream.
pub(super) struct RedactedPart {
    pub(super) bytes: Vec<u8>,
    /// The number of bytes that were processed; the others are the start of the next part.
    pub(super) processed: usize,
    /// The number of bytes of the next part that belong to a value that was replaced.
    pub(super) covered: usize,
}

impl Redactor {
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut redactor = Self::default();
        for (name, value) in secrets {
            if value.len() < MIN_BYTES {
                redactor.too_short.push(name.to_owned());
                continue;
            }
            // Values with a trailing line end are often written without it.
            for form in [value, value.trim()] {
                let characters: Vec<char> = form.chars().collect();
                let is_known = redactor
                    .patterns
                    .iter()
                    .any(|known| known.characters == characters);
                if form.len() >= MIN_BYTES && !is_known {
                    redactor.patterns.push(Pattern {
                        characters,
                        replacement: format!("[redacted {name}]"),
                    });
                }
            }
        }
        redactor
    }

    /// Returns true if there are no values to redact.
    pub(crate) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns the variables whose values are too short to be redacted.
    pub(crate) fn too_short(&self) -> &[String] {
        &self.too_short
    }

    /// Redacts the streams and the refusals of a run. Everything that is read from its output comes
    /// after this: a part of a secret, such as a path that ends at a colon, is not recognized.
    pub(crate) fn redact_streams(&self, mut output: RunOutput) -> RunOutput {
        output.stdout = self.redact_captured(output.stdout);
        output.stderr = self.redact_captured(output.stderr);
        output.refusals = output.refusals.map_text(|text| self.redact_text(text));
        for lookup in &mut output.lookups {
            lookup.host = self.redact_text(&lookup.host);
        }
        for file in output
            .private_home
            .iter_mut()
            .chain(&mut output.discarded)
            .flat_map(|home| &mut home.files)
        {
            *file = self.redact_text(file);
        }
        output
    }

    fn redact_captured(&self, captured: CapturedOutput) -> CapturedOutput {
        if self.is_empty() {
            return captured;
        }
        // Truncation can split a value; what is left of it would be readable otherwise.
        let after_head = if captured.is_truncated() {
            After::Dropped
        } else {
            After::End
        };
        let head = self.redact_part(captured.head(), 0, after_head).bytes;
        let tail = self.redact_tail(&captured.tail());
        captured.with_bytes(head, tail)
    }

    /// Redacts bytes before which others were dropped.
    fn redact_tail(&self, tail: &[u8]) -> Vec<u8> {
        match self.partial_start(tail) {
            Some((end, replacement)) => {
                let rest = self.redact_part(tail, end, After::End).bytes;
                [replacement.as_bytes(), &rest].concat()
            }
            None => self.redact_part(tail, 0, After::End).bytes,
        }
    }

    /// Returns the end of the longest rest of a value at the start of `bytes`, with the replacement of
    /// the value.
    fn partial_start(&self, bytes: &[u8]) -> Option<(usize, &str)> {
        // The first character of the rest may be cut itself.
        let cut = bytes.iter().take(MAX_CUT_BYTES);
        let cut = cut.take_while(|byte| can_be_encoding(**byte)).count();
        let mut longest = None;
        for pattern in &self.patterns {
            for from in 1..pattern.characters.len() {
                for start in 0..=cut {
                    let found = match_text(&pattern.characters[from..], bytes, start);
                    let end = found.end.filter(|end| *end >= MIN_PARTIAL_BYTES);
                    if end > longest.map(|(end, _)| end) {
                        longest = end.map(|end| (end, pattern.replacement.as_str()));
                    }
                }
            }
        }
        longest
    }

    pub(crate) fn redact_all<'a>(&self, texts: impl IntoIterator<Item = &'a mut String>) {
        for text in texts {
            *text = self.redact_text(text);
        }
    }

    pub(crate) fn redact_text(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        let bytes = self.redact_part(text.as_bytes(), 0, After::End).bytes;
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Redacts the values in all strings of a JSON document, including keys.
    pub(crate) fn redact_value(&self, value: Value) -> Value {
        match value {
            _ if self.is_empty() => value,
            Value::String(text) => Value::String(self.redact_text(&text)),
            Value::Array(items) => items
                .into_iter()
                .map(|item| self.redact_value(item))
                .collect(),
            Value::Object(map) => map
                .into_iter()
                .map(|(key, value)| (self.redact_text(&key), self.redact_value(value)))
                .collect(),
            other => other,
        }
    }

    /// Redacts a part of a stream, of which the first `covered` bytes belong to a value that was
    /// replaced. Values that overlap get one replacement.
    pub(super) fn redact_part(&self, bytes: &[u8], covered: usize, after: After) -> RedactedPart {
        let mut redacted = Vec::with_capacity(bytes.len());
        let mut covered = covered;
        let mut at = 0;
        while let Some(start) = self.next_start(bytes, at) {
            at = start;
            let (end, replacement) = match self.find_at(bytes, at, after) {
                Found::Nothing => {
                    at += 1;
                    continue;
                }
                Found::Undecided => {
                    redacted.extend_from_slice(bytes.get(covered..at).unwrap_or_default());
                    return RedactedPart {
                        bytes: redacted,
                        processed: at,
                        covered: covered.saturating_sub(at),
                    };
                }
                Found::Value { end, replacement } => (end, replacement),
            };
            if at >= covered {
                redacted.extend_from_slice(&bytes[covered..at]);
                redacted.extend_from_slice(replacement.as_bytes());
            }
            covered = covered.max(end);
            at += 1;
        }
        redacted.extend_from_slice(bytes.get(covered..).unwrap_or_default());
        RedactedPart {
            bytes: redacted,
            processed: bytes.len(),
            covered: covered.saturating_sub(bytes.len()),
        }
    }

    /// Returns the next position at which a value may start.
    fn next_start(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let can_start_value = |byte: &u8| {
            let mut patterns = self.patterns.iter();
            patterns.any(|pattern| can_start(pattern.characters[0], *byte))
        };
        let rest = bytes.get(at..)?;
        Some(at + rest.iter().position(can_start_value)?)
    }

    /// Returns the longest value at a position.
    fn find_at(&self, bytes: &[u8], at: usize, after: After) -> Found<'_> {
        let mut found = Found::Nothing;
        for pattern in &self.patterns {
            let TextMatch { end, is_cut } = match_text(&pattern.characters, bytes, at);
            let end = match after {
                After::More if is_cut => return Found::Undecided,
                After::Dropped if is_cut && bytes.len() - at >= MIN_PARTIAL_BYTES => {
                    Some(bytes.len())
                }
                _ => end,
            };
            let longest = match found {
                Found::Value { end, .. } => Some(end),
                _ => None,
            };
            if let Some(end) = end.filter(|end| Some(*end) > longest) {
                let replacement = &pattern.replacement;
                found = Found::Value { end, replacement };
            }
        }
        found
    }
}

/// What is at a position.
enum Found<'a> {
    Nothing,
    /// More bytes are needed.
    Undecided,
    Value {
        end: usize,
        replacement: &'a str,
    },
}

/// Returns true if an encoded character can contain the byte.
fn can_be_encoding(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"{};#&\\%=\"'".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(text: &str, limit: usize) -> CapturedOutput {
        let mut captured = CapturedOutput::default();
        captured.push(text.as_bytes(), limit);
        captured
    }

    #[test]
    fn values_are_redacted_everywhere() {
        let redactor = Redactor::new([
            ("KEY", "hunter2hunter2"),
            ("PART", "hunter2h"),
            ("PIN", "1234"),
            ("PEM", "line \"one\"\nline two\n"),
        ]);
        let check = |text: &str| redactor.redact_captured(captured(text, 1_000)).text();
        assert_eq!(
            check("a hunter2hunter2 b hunter2h c"),
            "a [redacted KEY] b [redacted PART] c"
        );
        assert_eq!(check("pin 1234"), "pin 1234");
        assert_eq!(
            check(r#"{"pem":"line \"one\"\nline two\n"}"#),
            r#"{"pem":"[redacted PEM]"}"#
        );
        assert_eq!(check("line \"one\"\nline two"), "[redacted PEM]");
        let escaped = Redactor::new([
            ("PATH", "abcd/efgh/ijkl"),
            ("UMLAUT", "p\u{e4}ssw\u{f6}rter-geheim"),
            ("QUOTE", "ends-in-a-\""),
        ]);
        let check_escaped = |text: &str| escaped.redact_captured(captured(text, 1_000)).text();
        assert_eq!(
            check_escaped(
                r#"abcd\/efgh\/ijkl p\u00e4ssw\u00f6rter-geheim p\u00E4ssw\u00F6rter-geheim"#
            ),
            "[redacted PATH] [redacted UMLAUT] [redacted UMLAUT]"
        );
        assert_eq!(
            check_escaped(r#"{"k": "ends-in-a-\""}"#),
            r#"{"k": "[redacted QUOTE]"}"#
        );
        assert_eq!(redactor.too_short(), ["PIN"]);
        assert_eq!(redactor.redact_text("nothing"), "nothing");
    }

    #[test]
    fn other_json_escapes_are_redacted_after_parsing() {
        let redactor = Redactor::new([("KEY", "abcd/efgh/ijkl"), ("NAME", "caf\u{e9}-caf\u{e9}")]);
        let value: Value =
            serde_json::from_str(r#"{"abcd\/efgh\/ijkl": ["caf\u00e9-caf\u00e9", 1]}"#).unwrap();
        assert_eq!(
            redactor.redact_value(value).to_string(),
            r#"{"[redacted KEY]":["[redacted NAME]",1]}"#
        );
    }

    #[test]
    fn a_truncated_value_is_redacted() {
        let redactor = Redactor::new([("KEY", "hunter2hunter2")]);
        let cut = redactor.redact_captured(captured("ok hunter2hunter2", 12));
        assert_eq!(
            (cut.head(), cut.total_bytes(), cut.dropped_bytes()),
            (b"ok [redacted KEY]".as_slice(), 17, 5)
        );
        let long = redactor.redact_captured(captured(
            &format!("{}hunter2hunter2 end", "x".repeat(100)),
            60,
        ));
        assert_eq!(
            String::from_utf8(long.tail()).unwrap(),
            "[redacted KEY] end"
        );
        assert_eq!(
            redactor.redact_captured(captured("ok hunter2", 100)).text(),
            "ok hunter2"
        );
    }

    #[test]
    fn values_are_redacted_as_common_encoders_write_them() {
        let redactor = Redactor::new([("KEY", "p&ss=w/rd+<\"é 😀\\'>")]);
        for (encoder, text) in [
            ("Go", r#"p\u0026ss=w/rd+\u003c\"é 😀\\'\u003e"#),
            (
                ".NET",
                r"p\u0026ss=w/rd\u002B\u003C\u0022\u00E9 \uD83D\uDE00\\\u0027\u003E",
            ),
            ("PHP", r#"p&ss=w\/rd+<\"\u00e9 \ud83d\ude00\\'>"#),
            (
                "Java properties",
                r#"p&ss\=w/rd+<"\u00E9\ \uD83D\uDE00\\'>"#,
            ),
            ("Python", r#"p&ss=w/rd+<"\xe9 \U0001f600\\\'>"#),
            (
                "quote",
                "p%26ss%3Dw/rd%2B%3C%22%C3%A9%20%F0%9F%98%80%5C%27%3E",
            ),
            (
                "urlencode",
                "p%26ss%3dw%2frd%2b%3c%22%c3%a9+%f0%9f%98%80%5c%27%3e",
            ),
            ("escape", "p%26ss%3Dw/rd+%3C%22%E9%20%uD83D%uDE00%5C%27%3E"),
            ("HTML", "p&amp;ss=w/rd+&lt;&quot;é 😀\\&#39;&gt;"),
            (
                "XML",
                "p&#38;ss=w/rd+&#x3C;&#34;&#xe9; &#128512;&#92;&apos;&#62;",
            ),
            (
                "HTML twice",
                "p&amp;amp;ss=w/rd+&amp;lt;&amp;quot;é 😀\\&amp;#39;&amp;gt;",
            ),
            (
                "URL twice",
                "p%2526ss%253Dw%252Frd%252B%253C%2522%25C3%25A9%2520%25F0%259F%2598%2580%255C%2527%253E",
            ),
            (
                "JSON in JSON",
                r#"p\\u0026ss=w/rd+\\u003c\\\"é 😀\\\\'\\u003e"#,
            ),
            ("CSV", "p&ss=w/rd+<\"\"é 😀\\'>"),
            ("shell", "'p&ss=w/rd+<\"é 😀\\'\\''>'"),
            ("C", r#"p&ss=w/rd+<\"\303\251 \360\237\230\200\\'>"#),
            ("JavaScript", r#"p\x26ss=w/rd+<\"\u{e9} \u{1F600}\\'>"#),
            ("CSS", r#"p\26 ss\00003dw/rd+<"é 😀\5c\27>"#),
            ("mail", "p&ss=3Dw/rd+<\"=C3=A9=20=F0=9F=98=80\\'>"),
        ] {
            let text = redactor.redact_text(text);
            let text = text.replace('\'', "");
            assert_eq!(text, "[redacted KEY]", "{encoder}");
        }
    }

    /// Encodes a character in one of many ways.
    fn encode(c: char, kind: usize) -> String {
        let code = u32::from(c);
        let each_byte = |format: fn(u8) -> String| {
            let mut buffer = [0; 4];
            c.encode_utf8(&mut buffer).bytes().map(format).collect()
        };
        let each_unit = |format: fn(u16) -> String| {
            let mut buffer = [0; 2];
            let units = c.encode_utf16(&mut buffer).iter();
            units.map(|unit| format(*unit)).collect()
        };
        match kind {
            0 => each_unit(|unit| format!("\\u{unit:04x}")),
            1 => each_unit(|unit| format!("\\u{unit:04X}")),
            2 => each_unit(|unit| format!("\\\\u{unit:04x}")),
            3 => each_unit(|unit| format!("%u{unit:04X}")),
            4 => each_byte(|byte| format!("%{byte:02x}")),
            5 => each_byte(|byte| format!("%25{byte:02X}")),
            6 => each_byte(|byte| format!("\\x{byte:02x}")),
            7 => each_byte(|byte| format!("\\{byte:03o}")),
            8 => each_byte(|byte| format!("={byte:02X}")),
            9 => format!("&#{code};"),
            10 => format!("&#x{code:X};"),
            11 => format!("&amp;#{code:03};"),
            12 => format!("\\u{{{code:x}}}"),
            13 => format!("\\U{code:08x}"),
            14 if !c.is_ascii_alphanumeric() => format!("\\{c}"),
            15 if c == ' ' => "+".to_owned(),
            16 => serde_json::to_string(&c.to_string())
                .unwrap_or_default()
                .trim_matches('"')
                .to_owned(),
            _ => c.to_string(),
        }
    }

    proptest::proptest! {
        #[test]
        fn no_mixture_of_encodings_shows_a_value(
            secret in "[ -~é漢😀\n]{4,20}[!-~]{4,12}",
            kinds in proptest::collection::vec(0..20usize, 40),
            chunk in 1..40usize,
        ) {
            let characters: Vec<(usize, char)> = secret.chars().enumerate().collect();
            let encoded: String = characters
                .iter()
                // `serde_json` leaves nothing of a quote without its backslash.
                .map(|(index, c)| encode(*c, if *c == '"' { kinds[*index] % 15 } else { kinds[*index] }))
                .collect();
            let redactor = Redactor::new([("KEY", secret.as_str())]);
            let text = format!("<{encoded}>");
            let redacted = redactor.redact_text(&text);
            proptest::prop_assert_eq!(&redacted, "<[redacted KEY]>", "{}", text);
            let mut stream = crate::redaction::RedactedStream::new(redactor);
            let parts = text.as_bytes().chunks(chunk);
            let mut streamed: Vec<u8> = parts.flat_map(|part| stream.push(part)).collect();
            streamed.extend(stream.end(true));
            proptest::prop_assert_eq!(String::from_utf8_lossy(&streamed), redacted);
        }
    }
}
