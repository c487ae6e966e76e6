//! Returns frontmatter as fields only if all YAML parsers agree on it.

mod number;
mod probe;

use serde_json::{Map, Value};

use crate::frontmatter::Frontmatter;
use crate::invisible::escape_invisible;
use crate::yaml::{self, ParseErrorKind, Parsed};
use crate::{Warning, WarningKind};

impl Frontmatter<'_> {
    /// Returns all fields with their YAML values, in the order of the file.
    ///
    /// Unlike a [`Manifest`](crate::Manifest), the result has unknown fields too, nothing in it is
    /// repaired or renamed, and numbers are numbers: `1.10` is 1.1, which
    /// [`Manifest::extra`](crate::Manifest::extra) keeps as text.
    ///
    /// YAML 1.1 and 1.2 parsers agree on the result, except for words such as `yes` and for dates,
    /// which YAML 1.1 does not parse as text. Values that are a number in some versions only, such
    /// as `017`, `1_000`, `1e3` and `12:30`, must be quoted.
    ///
    /// # Errors
    /// [`AmbiguousYaml`] if parsers would disagree about the file: its delimiters are non-standard,
    /// it is not valid YAML or not a mapping, or it contains values without a JSON equivalent.
    pub fn portable_fields(&self) -> Result<Map<String, Value>, AmbiguousYaml> {
        if let Some(kind) = self.warnings.iter().map(Warning::kind).next() {
            return Err(AmbiguousYaml::Delimiters(kind.clone()));
        }
        // YAML allows a lone carriage return as a line end, but editors and many parsers do not.
        if self.yaml.replace("\r\n", "\n").contains('\r') {
            return Err(AmbiguousYaml::CarriageReturns);
        }
        // Line ends in YAML 1.1 and text in 1.2: a parser of one version sees another field.
        if self.yaml.contains(['\u{85}', '\u{2028}', '\u{2029}']) {
            return Err(AmbiguousYaml::LineSeparators);
        }
        // Not the fast parser, which does not report tags and duplicate keys.
        let exact = yaml::parse_exact(self.yaml).map_err(|error| match error.kind {
            ParseErrorKind::KeyNotScalar { .. } => AmbiguousYaml::NonTextKey,
            ParseErrorKind::Syntax | ParseErrorKind::BudgetExceeded => AmbiguousYaml::Yaml {
                message: error.message,
                line: self.file_position(error.line, 1).line,
            },
        })?;
        let null_count = exact.null_count;
        let fields = into_fields(exact)?;
        if probe::has_lenient_syntax(self.yaml) {
            return Err(AmbiguousYaml::LenientSyntax);
        }
        match probe::find_ambiguous_number(self.yaml, null_count) {
            Some(number) => Err(AmbiguousYaml::AmbiguousNumber(number)),
            None => Ok(fields),
        }
    }
}

/// An error of [`Frontmatter::portable_fields`]: YAML parsers disagree about the frontmatter.
///
/// A skill with such frontmatter loads here, but is not published to other programs, which could
/// see another skill than the user who approved it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AmbiguousYaml {
    /// The file does not start with `---`, or a delimiter is non-standard.
    #[error("the frontmatter is not delimited by plain `---` lines: {0}")]
    Delimiters(WarningKind),
    /// A line ends in a carriage return alone.
    #[error("a line of the frontmatter ends in a carriage return alone")]
    CarriageReturns,
    /// The frontmatter contains U+0085, U+2028 or U+2029, which end a line in YAML 1.1 only.
    #[error(
        "the frontmatter contains U+0085, U+2028 or U+2029, which end a line for some parsers only"
    )]
    LineSeparators,
    /// A tab or a byte order mark is outside of texts and comments, or a comment follows `|` or `>`
    /// without a space. Only some parsers accept that.
    #[error(
        "a tab or a byte order mark separates values, or a comment follows `|` or `>` without a space"
    )]
    LenientSyntax,
    /// An unquoted value or key is a number for some parsers, and text or another number for
    /// others; its first 40 characters.
    #[error("`{0}` is not the same number for all parsers; put it in quotes")]
    AmbiguousNumber(String),
    /// The frontmatter is not valid YAML, or it exceeds a limit of the parser.
    #[error("line {line}: invalid YAML: {message}")]
    Yaml {
        /// The message of the parser.
        message: String,
        /// The line of the file, counted from 1.
        line: usize,
    },
    /// The frontmatter is YAML but not a mapping.
    #[error("the frontmatter is not a mapping")]
    NotMapping,
    /// A key occurs twice in one mapping.
    #[error("duplicate key `{}`", escape_invisible(.0))]
    DuplicateKey(String),
    /// A value has a tag.
    #[error("a value has a YAML tag (`!…`)")]
    Tag,
    /// A key is not text, or it is `<<`, which YAML 1.1 parsers merge.
    #[error("a key is `<<` or not text")]
    NonTextKey,
    /// A number has no JSON equivalent: it is infinite, not a number, or longer than 64 bits.
    #[error("a number has no JSON equivalent")]
    UnrepresentableNumber,
}

/// Returns the fields of a document that all parsers agree on.
fn into_fields(parsed: Parsed) -> Result<Map<String, Value>, AmbiguousYaml> {
    if parsed.has_tags {
        return Err(AmbiguousYaml::Tag);
    }
    if parsed.has_non_text_key {
        return Err(AmbiguousYaml::NonTextKey);
    }
    if parsed.has_unrepresentable_number {
        return Err(AmbiguousYaml::UnrepresentableNumber);
    }
    if let Some(duplicate) = parsed.duplicate_keys.into_iter().next() {
        return Err(AmbiguousYaml::DuplicateKey(duplicate.key));
    }
    match parsed.value {
        Value::Object(fields) => Ok(fields),
        _ => Err(AmbiguousYaml::NotMapping),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrontmatterScan;

    fn portable(file: &str) -> Result<Value, String> {
        let frontmatter =
            FrontmatterScan::parse_file(file.as_bytes()).map_err(|error| error.to_string())?;
        frontmatter
            .portable_fields()
            .map(Value::Object)
            .map_err(|error| error.to_string())
    }

    fn check(yaml: &str, expected: &str) {
        let result = portable(&format!("---\n{yaml}---\nBody\n"));
        assert_eq!(
            result.map_or_else(|error| error, |value| value.to_string()),
            expected,
            "{yaml:?}"
        );
    }

    #[test]
    fn values_have_their_yaml_types() {
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
    fn crlf_is_accepted() {
        let file = "---\r\nname: a\r\ntext: |\r\n  one\r\n  two\r\n---\r\nBody\r\n";
        assert_eq!(
            portable(file).unwrap().to_string(),
            r#"{"name":"a","text":"one\ntwo\n"}"#
        );
    }

    #[test]
    fn values_that_parsers_disagree_about_are_rejected() {
        check("a: 1\na: 2\n", "duplicate key `a`");
        check("a: {b: 1, b: 2}\n", "duplicate key `b`");
        check("a: !mine 1\n", "a value has a YAML tag (`!…`)");
        check(
            "base: &b {x: 1}\nc:\n  <<: *b\n",
            "a key is `<<` or not text",
        );
        check("a: {1: b}\n", "a key is `<<` or not text");
        check("a: .inf\n", "a number has no JSON equivalent");
        check(
            "a: 99999999999999999999\n",
            "a number has no JSON equivalent",
        );
        check("- a\n", "the frontmatter is not a mapping");
        check(
            "hint: [a] [b]\n",
            "line 2: invalid YAML: did not find expected key, while parsing a block mapping",
        );
    }

    #[test]
    fn line_ends_of_some_parsers_are_rejected() {
        for c in ['\u{85}', '\u{2028}', '\u{2029}'] {
            let expected = "the frontmatter contains U+0085, U+2028 or U+2029, which end a line for some parsers only";
            check(
                &format!("description: one{c}allowed-tools: Bash\n"),
                expected,
            );
            check(&format!("description: \"one{c}two\"\n"), expected);
            check(&format!("a: 1 # x{c}b: 2\n"), expected);
        }
        check("a: \"one\\Ltwo\"\n", "{\"a\":\"one\u{2028}two\"}");
    }

    #[test]
    fn numbers_of_some_parsers_are_rejected_unless_quoted() {
        let expected = "`017` is not the same number for all parsers; put it in quotes";
        for yaml in [
            "a: 017\n",
            "017: a\n",
            "a: [x, {b: 017}]\n",
            "a: &x 017\n",
            "a:\r\n  - 017 # x\r\n",
        ] {
            check(yaml, expected);
        }
        check(
            "a: '017'\nb: \"1_000\"\nc: |\n  017\nd: at 12:30 of 017\n",
            r#"{"a":"017","b":"1_000","c":"017\n","d":"at 12:30 of 017"}"#,
        );
    }

    #[test]
    fn explicitly_tagged_text_is_not_a_number() {
        check("a: !!str 017\n", r#"{"a":"017"}"#);
        let expected = "`0o17` is not the same number for all parsers; put it in quotes";
        check("a: !!int 0o17\n", expected);
    }

    #[test]
    fn lenient_syntax_is_rejected_outside_of_texts_and_comments() {
        let expected = "a tab or a byte order mark separates values, or a comment follows `|` or `>` without a space";
        for yaml in [
            "a:\tb\n",
            "a: b\t\n",
            "a: b\tc\n",
            "a: \"b\"\t# c\n",
            "a: {b:\tc}\n",
            "a: {\t}\n",
            "a: [b\t]\n",
            "a: |\t\n  b\n",
            "a: |# b\n  c\n",
            "a: >-# b\n  c\n",
            "a:\n\u{feff}\n",
        ] {
            check(yaml, expected);
        }
        check(
            "a: 'b\tc'\nd: |\n  e\tf\n# g\th\n",
            "{\"a\":\"b\\tc\",\"d\":\"e\\tf\\n\"}",
        );
        check(
            "a: b |# c\nd: ' >#'\ne: 1#\n",
            r##"{"a":"b |# c","d":" >#","e":"1#"}"##,
        );
    }

    #[test]
    fn the_first_unquoted_number_is_named() {
        let expected = "`1_0` is not the same number for all parsers; put it in quotes";
        check("a: '017'\nb: at 017\nc: {\"d\":1_0, e: 017}\n", expected);
        let many = "- '017'\n".repeat(5_000);
        check(&format!("a:\n{many}b: 1_0\nc: 017\n"), expected);
    }

    #[test]
    fn non_standard_delimiters_are_rejected() {
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
            let error = portable(&file).unwrap_err();
            assert!(
                error.contains("plain `---` lines") || error.contains("carriage return"),
                "{file:?}: {error}"
            );
        }
    }
}
