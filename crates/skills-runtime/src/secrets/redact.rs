//! Redacts values of secrets in the output of programs.

use memchr::memmem;
use serde_json::Value;
use skills_sandbox::{CapturedOutput, RunOutput};

/// Minimum length of a redacted value. Shorter values would match unrelated output.
const MIN_BYTES: usize = 8;
/// Minimum length of a partial value at the edge of truncated output that is redacted.
const MIN_PARTIAL_BYTES: usize = 4;

/// The values of one run and their replacements. Only literal values and their JSON escapes are
/// redacted; a program that encodes a value otherwise is not detected.
#[derive(Default)]
pub(crate) struct Redactor {
    /// Longest first, so that a value is not split by a shorter one inside it.
    patterns: Vec<(Vec<u8>, String)>,
    too_short: Vec<String>,
}

impl Redactor {
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut redactor = Self::default();
        for (name, value) in secrets {
            if value.len() < MIN_BYTES {
                redactor.too_short.push(name.to_owned());
                continue;
            }
            let replacement = format!("[redacted {name}]");
            // Values with a trailing line end are often written without it.
            let forms = [value.to_owned(), value.trim().to_owned()]
                .into_iter()
                .chain(json_escapes(value));
            for form in forms.filter(|form| form.len() >= MIN_BYTES) {
                if !redactor
                    .patterns
                    .iter()
                    .any(|(known, _)| known == form.as_bytes())
                {
                    redactor
                        .patterns
                        .push((form.as_bytes().to_vec(), replacement.clone()));
                }
            }
        }
        redactor
            .patterns
            .sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.len()));
        redactor
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
            .flat_map(|home| &mut home.files)
        {
            *file = self.redact_text(file);
        }
        output
    }

    fn redact_captured(&self, captured: CapturedOutput) -> CapturedOutput {
        if self.patterns.is_empty() {
            return captured;
        }
        let mut head = self.redact_bytes(captured.head());
        let mut tail = self.redact_bytes(&captured.tail());
        // Truncation can split a value; what is left of it would be readable otherwise.
        if captured.is_truncated() {
            head = self.redact_partial_end(head);
            tail = self.redact_partial_start(tail);
        }
        captured.with_bytes(head, tail)
    }

    /// Redacts the beginning of a value at the end of `bytes`.
    fn redact_partial_end(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self.longest_part(|pattern| partial_match_at_end(&bytes, pattern)) {
            Some((length, replacement)) => {
                [&bytes[..bytes.len() - length], replacement.as_bytes()].concat()
            }
            None => bytes,
        }
    }

    /// Redacts the rest of a value at the start of `bytes`.
    fn redact_partial_start(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self.longest_part(|pattern| partial_match_at_start(&bytes, pattern)) {
            Some((length, replacement)) => [replacement.as_bytes(), &bytes[length..]].concat(),
            None => bytes,
        }
    }

    /// Returns the longest match of all patterns, with its replacement.
    fn longest_part(&self, match_length: impl Fn(&[u8]) -> Option<usize>) -> Option<(usize, &str)> {
        self.patterns
            .iter()
            .filter_map(|(pattern, replacement)| {
                Some((match_length(pattern)?, replacement.as_str()))
            })
            .max_by_key(|(length, _)| *length)
    }

    pub(crate) fn redact_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.redact_bytes(text.as_bytes())).into_owned()
    }

    /// Redacts the values in all strings of a JSON document, including keys.
    pub(crate) fn redact_value(&self, value: Value) -> Value {
        match value {
            _ if self.patterns.is_empty() => value,
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

    fn redact_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut result = bytes.to_vec();
        for (pattern, replacement) in &self.patterns {
            if let Some(replaced) = replace(&result, pattern, replacement.as_bytes()) {
                result = replaced;
            }
        }
        result
    }
}

/// Returns the ways to write a value in JSON: with the necessary escapes only, with `\/`, and with
/// all non-ASCII characters escaped.
fn json_escapes(value: &str) -> Vec<String> {
    let escaped = serde_json::to_string(value).unwrap_or_default();
    let escaped = escaped
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or_default();
    // Some encoders escape `/` and all non-ASCII characters, with digits in either case.
    let plain = [
        escaped.to_owned(),
        escape_non_ascii(escaped, |unit| format!("\\u{unit:04x}")),
        escape_non_ascii(escaped, |unit| format!("\\u{unit:04X}")),
    ];
    plain
        .iter()
        .flat_map(|text| [text.clone(), text.replace('/', "\\/")])
        .collect()
}

/// Escapes the UTF-16 code units of all non-ASCII characters.
fn escape_non_ascii(text: &str, escape: impl Fn(u16) -> String) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if c.is_ascii() {
            escaped.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            escaped.push_str(&escape(*unit));
        }
    }
    escaped
}

fn replace(bytes: &[u8], pattern: &[u8], replacement: &[u8]) -> Option<Vec<u8>> {
    let mut result = Vec::new();
    let mut from = 0;
    for at in memmem::find_iter(bytes, pattern) {
        result.extend_from_slice(&bytes[from..at]);
        result.extend_from_slice(replacement);
        from = at + pattern.len();
    }
    (from > 0).then(|| {
        result.extend_from_slice(&bytes[from..]);
        result
    })
}

/// Returns the length of the longest suffix of `pattern` at the start of `bytes`.
fn partial_match_at_start(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    let longest = pattern.len().saturating_sub(1).min(bytes.len());
    (MIN_PARTIAL_BYTES..=longest)
        .rev()
        .find(|length| bytes.starts_with(&pattern[pattern.len() - length..]))
}

/// Returns the length of the longest prefix of `pattern` at the end of `bytes`.
fn partial_match_at_end(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    let longest = pattern.len().saturating_sub(1).min(bytes.len());
    (MIN_PARTIAL_BYTES..=longest)
        .rev()
        .find(|length| bytes.ends_with(&pattern[..*length]))
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
}
