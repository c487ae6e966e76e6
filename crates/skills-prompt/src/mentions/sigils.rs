//! Names with a sigil: `$name` and `[$name](path)`.

use std::ops::Range;

use crate::word_list::{Words, contains_ignore_case, section};

const WORDS: &str = include_str!("sigils.txt");

static ENVIRONMENT_VARIABLES: Words = Words::new(|| section(WORDS, "environment variables"));

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SigilName<'a> {
    pub(super) name: &'a str,
    /// The path, if the name is a link.
    pub(super) path: Option<&'a str>,
    /// The byte range of sigil, name and path.
    pub(super) span: Range<usize>,
}

/// The characters that a name may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameAlphabet {
    /// ASCII letters, digits, `_`, `-` and `:` (Codex).
    Ascii,
    /// Additionally letters and digits of all scripts.
    Unicode,
}

impl NameAlphabet {
    fn contains(self, c: char) -> bool {
        c.is_ascii_alphanumeric()
            || matches!(c, '_' | '-' | ':')
            || self == Self::Unicode && !c.is_ascii() && c.is_alphanumeric()
    }
}

/// Finds the names in a text in one pass, except those of well-known environment variables.
pub(super) fn find_sigils(text: &str, alphabet: NameAlphabet) -> Vec<SigilName<'_>> {
    let bytes = text.as_bytes();
    let mut names = Vec::new();
    let mut at = 0;
    let mut may_have_links = true;
    while let Some(step) = memchr::memchr2(b'$', b'[', &bytes[at..]) {
        at += step;
        // Without a closing parenthesis there are no more links. Searching for one at each of many
        // brackets would take quadratic time.
        may_have_links =
            may_have_links && (bytes[at] != b'[' || memchr::memchr(b')', &bytes[at..]).is_some());
        let sigil = match bytes[at] {
            b'[' if may_have_links => parse_link(text, at, alphabet),
            b'[' => None,
            _ => parse_plain(text, at, alphabet),
        };
        match sigil {
            Some(sigil) => {
                at = sigil.span.end;
                if !contains_ignore_case(&ENVIRONMENT_VARIABLES, sigil.name) {
                    names.push(sigil);
                }
            }
            None => at += 1,
        }
    }
    names
}

fn parse_plain(text: &str, at: usize, alphabet: NameAlphabet) -> Option<SigilName<'_>> {
    let name = name_prefix(&text[at + 1..], alphabet);
    (!name.is_empty()).then(|| SigilName {
        name,
        path: None,
        span: at..at + 1 + name.len(),
    })
}

fn parse_link(text: &str, at: usize, alphabet: NameAlphabet) -> Option<SigilName<'_>> {
    let inside = text[at..].strip_prefix("[$")?;
    let name = name_prefix(inside, alphabet);
    let after_name = inside[name.len()..].strip_prefix(']')?;
    let path = after_name
        .trim_start_matches(|c: char| c.is_ascii_whitespace())
        .strip_prefix('(')?;
    let end = path.find(')')?;
    let link_path = path[..end].trim();
    let length = text[at..].len() - path.len() + end + 1;
    (!name.is_empty() && !link_path.is_empty()).then(|| SigilName {
        name,
        path: Some(link_path),
        span: at..at + length,
    })
}

/// Returns the longest start of a text that can be a name.
fn name_prefix(text: &str, alphabet: NameAlphabet) -> &str {
    let end = text.find(|c| !alphabet.contains(c));
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, Option<&str>)]) {
        let found = find_sigils(text, NameAlphabet::Ascii);
        assert_eq!(
            found
                .iter()
                .map(|sigil| (sigil.name, sigil.path))
                .collect::<Vec<_>>(),
            expected,
            "{text}"
        );
        for sigil in found {
            let written = &text[sigil.span];
            match sigil.path {
                Some(path) => assert!(
                    written.starts_with("[$") && written.ends_with(')') && written.contains(path),
                    "{written}"
                ),
                None => assert_eq!(written, format!("${}", sigil.name)),
            }
        }
    }

    #[test]
    fn the_list_of_variables_is_well_formed() {
        crate::word_list::check_sections(WORDS, &["environment variables"]);
    }

    #[test]
    fn sigils_are_found() {
        check(
            "$doc. ($doc) $docs $doc_extra",
            &[
                ("doc", None),
                ("doc", None),
                ("docs", None),
                ("doc_extra", None),
            ],
        );
        check(
            "$alpha.skill foo$alpha $$alpha",
            &[("alpha", None), ("alpha", None), ("alpha", None)],
        );
        check(
            "$slack:search $5 $-rf",
            &[("slack:search", None), ("5", None), ("-rf", None)],
        );
        check("$PATH $home [$PATH](/x)", &[]);
        check("$数据", &[]);
        check(&"$".repeat(256), &[]);
        assert_eq!(find_sigils("$数据,", NameAlphabet::Unicode)[0].name, "数据");
    }

    #[test]
    fn links_are_found() {
        check("[$b](/x/SKILL.md)", &[("b", Some("/x/SKILL.md"))]);
        check("[$b] \t\n( /x )", &[("b", Some("/x"))]);
        check("[$b](skill:///x)", &[("b", Some("skill:///x"))]);
        check(
            "see [$b](/x) and (that) [$c](/y).",
            &[("b", Some("/x")), ("c", Some("/y"))],
        );
        check(
            "[$b] /x [$c]() [$d]( ) [$e](",
            &[("b", None), ("c", None), ("d", None), ("e", None)],
        );
        check("[beta](/x)", &[]);
        check("[[$b](/x)", &[("b", Some("/x"))]);
    }
}
