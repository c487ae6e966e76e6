//! Frontmatter as any reader of YAML has it.

mod number;

use serde_json::{Map, Value};

use crate::frontmatter::Frontmatter;
use crate::yaml::{self, ParseError, ParsedExact};
use crate::{Warning, WarningKind, strict};

/// So much of a value is told, in characters.
const MAX_SHOWN_CHARACTERS: usize = 40;

impl Frontmatter<'_> {
    /// Reads all fields as YAML has them, in their order: unknown ones stay, nothing is repaired,
    /// renamed or normalised, and a number is a number (`1.10` is 1.1, which
    /// [`Manifest::extra`](crate::Manifest::extra) would keep as text).
    ///
    /// Whoever parses the same file with another reader finds the same values, but that older
    /// readers take words such as `yes`, and dates, for something else than text. What only some
    /// readers take for a number, such as `017`, `1_000`, `1e3` and `12:30`, has to be quoted.
    ///
    /// # Errors
    /// [`AmbiguousYaml`], when readers would disagree about the file: when it has no usual fences,
    /// is no YAML or no mapping, or holds what JSON does not have.
    pub fn portable_fields(&self) -> Result<Map<String, Value>, AmbiguousYaml> {
        if let Some(kind) = self.warnings.iter().map(Warning::kind).next() {
            return Err(AmbiguousYaml::Delimiters(kind.clone()));
        }
        if self.yaml.replace("\r\n", "\n").contains('\r') {
            return Err(AmbiguousYaml::CarriageReturns);
        }
        if self.yaml.contains(['\u{85}', '\u{2028}', '\u{2029}']) {
            return Err(AmbiguousYaml::LineSeparators);
        }
        let exact = yaml::parse_exact(self.yaml).map_err(|failure| match failure {
            ParseError::Syntax { message, line, .. }
            | ParseError::BudgetExceeded { message, line } => AmbiguousYaml::Yaml {
                message,
                line: self.file_position(line, 1).line,
            },
            ParseError::KeyNotScalar { .. } => AmbiguousYaml::NonTextKey,
        })?;
        let fields = exact.into_fields()?;
        let not_read = |(message, line): (String, usize)| AmbiguousYaml::Yaml {
            message,
            line: self.file_position(line, 1).line,
        };
        let scalars = strict::plain_scalars(&self.yaml.replace("\r\n", "\n")).map_err(not_read)?;
        match scalars
            .into_iter()
            .find(|scalar| number::is_ambiguous_number(scalar))
        {
            Some(scalar) => Err(AmbiguousYaml::AmbiguousNumber(
                scalar.chars().take(MAX_SHOWN_CHARACTERS).collect(),
            )),
            None => Ok(fields),
        }
    }
}

/// Why frontmatter is not read in the same way by everybody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AmbiguousYaml {
    /// The fences are not the usual ones, or something stands before them.
    #[error("the frontmatter does not stand between plain `---` lines at the beginning: {0}")]
    Delimiters(WarningKind),
    /// Lines end in a carriage return alone.
    #[error("lines of the frontmatter end in a carriage return alone")]
    CarriageReturns,
    /// It has U+0085, U+2028 or U+2029, of which readers disagree whether they end a line.
    #[error("the frontmatter has U+0085, U+2028 or U+2029, which end a line for some readers only")]
    LineSeparators,
    /// A value or key without quotes is a number to some readers and not to others, or another one;
    /// at most its first 40 characters.
    #[error("{0:?} is not the same to all readers of numbers; quote it, or write it otherwise")]
    AmbiguousNumber(String),
    /// It is no YAML, or beyond the bounds of YAML that is read.
    #[error("line {line} is not read as YAML: {message}")]
    Yaml {
        /// What the YAML library says of it.
        message: String,
        /// The line of the file, counted from 1.
        line: usize,
    },
    /// It is YAML but no mapping.
    #[error("the frontmatter is no mapping")]
    NotMapping,
    /// A key stands twice in one mapping.
    #[error("the key {0:?} stands twice")]
    DuplicateKey(String),
    /// A value has a tag.
    #[error("a value has a YAML tag (`!…`)")]
    Tag,
    /// A key is no text, or `<<`, which some readers merge.
    #[error("a key is `<<` or no text")]
    NonTextKey,
    /// A number that JSON does not have: infinite, none at all, longer than 64 bits.
    #[error("a number is none that JSON has")]
    UnrepresentableNumber,
}

impl ParsedExact {
    fn into_fields(self) -> Result<Map<String, Value>, AmbiguousYaml> {
        match self {
            Self { has_tags: true, .. } => Err(AmbiguousYaml::Tag),
            Self {
                has_non_text_key: true,
                ..
            } => Err(AmbiguousYaml::NonTextKey),
            Self {
                has_unrepresentable_number: true,
                ..
            } => Err(AmbiguousYaml::UnrepresentableNumber),
            Self {
                duplicate_key: Some(key),
                ..
            } => Err(AmbiguousYaml::DuplicateKey(key)),
            Self {
                value: Value::Object(fields),
                ..
            } => Ok(fields),
            _ => Err(AmbiguousYaml::NotMapping),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrontmatterScan;

    fn plain(file: &str) -> Result<Value, String> {
        let frontmatter =
            FrontmatterScan::parse_file(file.as_bytes()).map_err(|error| error.to_string())?;
        frontmatter
            .portable_fields()
            .map(Value::Object)
            .map_err(|problem| problem.to_string())
    }

    fn check(yaml: &str, expected: &str) {
        let read = plain(&format!("---\n{yaml}---\nBody\n"));
        assert_eq!(
            read.map_or_else(|problem| problem, |value| value.to_string()),
            expected,
            "{yaml:?}"
        );
    }

    #[test]
    fn values_are_what_yaml_says() {
        check(
            "name: a\nDescription: ' b '\nx-odd: {deep: [1, {e: null}]}\nversion: 1.10\nhex: 0x1F\nflag: yes\nday: 2024-01-01\n",
            r#"{"name":"a","Description":" b ","x-odd":{"deep":[1,{"e":null}]},"version":1.1,"hex":31,"flag":"yes","day":"2024-01-01"}"#,
        );
        check(
            "a: &x [1]\nb: *x\nc: !!str 1\n",
            r#"{"a":[1],"b":[1],"c":"1"}"#,
        );
        check("text: |\n  one\n  two\n", r#"{"text":"one\ntwo\n"}"#);
    }

    #[test]
    fn line_ends_of_two_characters_are_line_ends() {
        let file = "---\r\nname: a\r\ntext: |\r\n  one\r\n  two\r\n---\r\nBody\r\n";
        assert_eq!(
            plain(file).unwrap().to_string(),
            r#"{"name":"a","text":"one\ntwo\n"}"#
        );
    }

    #[test]
    fn what_readers_take_differently_is_refused() {
        check("a: 1\na: 2\n", "the key \"a\" stands twice");
        check("a: {b: 1, b: 2}\n", "the key \"b\" stands twice");
        check("a: !mine 1\n", "a value has a YAML tag (`!…`)");
        check(
            "base: &b {x: 1}\nc:\n  <<: *b\n",
            "a key is `<<` or no text",
        );
        check("a: {1: b}\n", "a key is `<<` or no text");
        check("a: .inf\n", "a number is none that JSON has");
        check(
            "a: 99999999999999999999\n",
            "a number is none that JSON has",
        );
        check("- a\n", "the frontmatter is no mapping");
        check(
            "hint: [a] [b]\n",
            "line 2 is not read as YAML: did not find expected key, while parsing a block mapping",
        );
    }

    #[test]
    fn what_ends_a_line_for_some_is_refused() {
        for c in ['\u{85}', '\u{2028}', '\u{2029}'] {
            let problem = "the frontmatter has U+0085, U+2028 or U+2029, which end a line for some readers only";
            check(
                &format!("description: one{c}allowed-tools: Bash\n"),
                problem,
            );
            check(&format!("description: \"one{c}two\"\n"), problem);
            check(&format!("a: 1 # x{c}b: 2\n"), problem);
        }
        check("a: \"one\\Ltwo\"\n", "{\"a\":\"one\u{2028}two\"}");
    }

    #[test]
    fn what_is_a_number_for_some_is_refused_unless_it_is_quoted() {
        let problem =
            "\"017\" is not the same to all readers of numbers; quote it, or write it otherwise";
        for yaml in [
            "a: 017\n",
            "017: a\n",
            "a: [x, {b: 017}]\n",
            "a: &x 017\n",
            "a:\r\n  - 017 # x\r\n",
        ] {
            check(yaml, problem);
        }
        check(
            "a: '017'\nb: \"1_000\"\nc: |\n  017\nd: at 12:30 of 017\n",
            r#"{"a":"017","b":"1_000","c":"017\n","d":"at 12:30 of 017"}"#,
        );
    }

    #[test]
    fn only_plain_fences_are_taken() {
        let field = "name: a\ndescription: b\n";
        for file in [
            format!("\u{feff}---\n{field}---\n"),
            format!("\n---\n{field}---\n"),
            format!("---\n{field}----\n"),
            format!("{field}\nBody\n"),
            format!("---\n{field}\nBody\n"),
            format!("```yaml\n---\n{field}---\n```\n"),
            format!("---\n{field}---\n").replace('\n', "\r"),
        ] {
            let problem = plain(&file).unwrap_err();
            assert!(
                problem.contains("plain `---` lines") || problem.contains("carriage return"),
                "{file:?}: {problem}"
            );
        }
    }
}
