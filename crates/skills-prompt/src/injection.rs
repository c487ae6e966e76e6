//! One skill's text, as a model is given it.

use crate::Role;
use crate::excerpt::{DEFAULT_MAX_INJECTION_BYTES, OmittedRange, excerpt};
use crate::sanitize::{escape_line, escape_path, strip_invisible};

/// The most files of a skill that are named.
const MAX_RESOURCES: usize = 100;
/// The tags that our prompts are made of, apart from those with a nonce.
const RESERVED_TAGS: [&str; 3] = ["skill", "skills_instructions", "available_skills"];
/// How our note on a long text begins.
const TRUNCATION_NOTE_PREFIX: &str = "[Not all of this skill is here";
/// From so many hexadecimal digits on a tag looks like one with a nonce.
const MIN_NONCE_DIGITS: usize = 16;

/// Random text that an author of skills cannot have known; at least 16 characters of `[0-9a-f]`,
/// new for every conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nonce(String);

impl Nonce {
    /// Writes 16 random bytes, which the caller draws, as a nonce.
    #[must_use]
    pub fn from_random(bytes: [u8; 16]) -> Self {
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// A skill whose text is to be given.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct InjectionBuilder<'a> {
    name: &'a str,
    directory: &'a str,
    location: &'a str,
    text: &'a str,
    first_line: usize,
    resources: &'a [&'a str],
    has_more_resources: bool,
    max_bytes: usize,
}

/// What a model is given.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Injection {
    /// The text.
    pub text: String,
    /// Who is to say it.
    pub role: Role,
    /// The first character that was taken out because nobody could see it.
    pub removed: Option<char>,
    /// What was left out because the text is too long.
    pub omitted: Option<OmittedRange>,
}

impl<'a> InjectionBuilder<'a> {
    /// Takes the skill's name, its directory, the path of its `SKILL.md`, and the text: the whole
    /// file or its body.
    ///
    /// Defaults: the text begins on line 1 of the file, no resources, at most
    /// [`DEFAULT_MAX_INJECTION_BYTES`].
    pub fn new(name: &'a str, directory: &'a str, location: &'a str, text: &'a str) -> Self {
        Self {
            name,
            directory,
            location,
            text,
            first_line: 1,
            resources: &[],
            has_more_resources: false,
            max_bytes: DEFAULT_MAX_INJECTION_BYTES,
        }
    }

    /// Says on which line of the file, counted from 1, the text begins.
    pub fn first_line(self, first_line: usize) -> Self {
        Self { first_line, ..self }
    }

    /// Names files of the skill; the model is told of the first 100, and how many more there are.
    pub fn resources(self, resources: &'a [&'a str]) -> Self {
        Self { resources, ..self }
    }

    /// Says that the skill has more files than those that are named.
    pub fn more_resources(self) -> Self {
        Self {
            has_more_resources: true,
            ..self
        }
    }

    /// Bounds the text, in bytes; what is longer is cut at a line, and the model is told what is
    /// missing and where to read it.
    pub fn max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// Writes Codex's fragment: `<skill>`, `<name>`, `<path>` and the text, which is usually the
    /// whole file.
    ///
    /// The text stays as it is, with three exceptions: invisible characters go, line ends become
    /// line feeds, and where it opens or closes a tag of ours (`skill`, `skills_instructions`,
    /// `available_skills`, or one with a nonce) the `<` becomes `&lt;`. Resources are not named in
    /// this form.
    #[must_use]
    pub fn render_codex(self) -> Injection {
        let (clean, hidden) = strip_invisible(self.text);
        let safe = strip_reserved_marks(&clean);
        let (kept, left_out) = excerpt(&safe, self.first_line, self.max_bytes);
        let end = left_out
            .as_ref()
            .map(|left_out| {
                format!(
                    "{}{}\n",
                    format_headings(left_out),
                    self.truncation_note(left_out)
                )
            })
            .unwrap_or_default();
        let (name, location) = (escape_line(self.name), escape_path(self.location));
        let text = format!(
            "<skill>\n<name>{name}</name>\n<path>{location}</path>\n{}{end}\n</skill>",
            end_line(kept, &end)
        );
        Injection {
            text,
            role: Role::User,
            removed: hidden,
            omitted: left_out,
        }
    }

    /// Frames the text in tags named by the nonce, which it cannot close. What is ours comes first;
    /// everything between the `instructions` tags is the skill's.
    ///
    /// The text stays as written, except that invisible characters go, that line ends become line
    /// feeds, and that the nonce, should it occur, becomes `U+FFFD`: cutting it out could join the
    /// text around it into the nonce again.
    #[must_use]
    pub fn render_delimited(self, nonce: &Nonce) -> Injection {
        let nonce = nonce.0.as_str();
        let (clean, hidden) = strip_invisible(self.text);
        let safe = clean.replace(nonce, "\u{FFFD}");
        let (kept, left_out) = excerpt(&safe, self.first_line, self.max_bytes);
        // What a heading says is the skill's word too.
        let end = left_out.as_ref().map(format_headings).unwrap_or_default();
        let body = format!("{}{end}", end_line(kept, &end));
        let body = body.trim_matches('\n');
        let (name, directory) = (escape_line(self.name), escape_path(self.directory));
        let resources = self.resource_list();
        let note = left_out
            .as_ref()
            .map(|left_out| format!("{}\n", self.truncation_note(left_out)))
            .unwrap_or_default();
        let text = format!(
            "<skill-{nonce}>\n<name>{name}</name>\n<directory>{directory}</directory>\n\
             Relative paths in the instructions start at that directory.\n{resources}{note}\
             <instructions-{nonce}>\n{body}\n</instructions-{nonce}>\n</skill-{nonce}>\n"
        );
        Injection {
            text,
            role: Role::User,
            removed: hidden,
            omitted: left_out,
        }
    }

    fn resource_list(&self) -> String {
        if self.resources.is_empty() {
            return String::new();
        }
        let named = &self.resources[..self.resources.len().min(MAX_RESOURCES)];
        let mut list = "<resources>\n".to_owned();
        for resource in named {
            list.push_str(&escape_path(resource));
            list.push('\n');
        }
        match (self.resources.len() - named.len(), self.has_more_resources) {
            (0, false) => {}
            (0, true) => list.push_str("(and more)\n"),
            (more, false) => list.push_str(&format!("(and {more} more)\n")),
            (more, true) => list.push_str(&format!("(and more than {more} others)\n")),
        }
        list + "</resources>\n"
    }

    /// Says what is missing and where to read it.
    fn truncation_note(&self, left_out: &OmittedRange) -> String {
        let OmittedRange {
            first_line,
            last_line,
            bytes,
            headings,
        } = left_out;
        let named = if headings.is_empty() {
            ""
        } else {
            ", whose headings stand at the end"
        };
        format!(
            "{TRUNCATION_NOTE_PREFIX}: lines {first_line} to {last_line} ({bytes} bytes) are left out{named}. Read them in {} before relying on it.]",
            escape_path(self.location)
        )
    }
}

/// The headings of what was left out, as the skill has them.
fn format_headings(left_out: &OmittedRange) -> String {
    left_out
        .headings
        .iter()
        .map(|heading| format!("# {heading} […]\n"))
        .collect()
}

/// What follows stands on a line of its own.
fn end_line(text: &str, next: &str) -> String {
    if next.is_empty() || text.ends_with('\n') || text.is_empty() {
        text.to_owned()
    } else {
        format!("{text}\n")
    }
}

/// Takes the tags and the note of our prompts away from a text, and leaves all other tags alone.
fn strip_reserved_marks(text: &str) -> String {
    let text = text.replace(
        TRUNCATION_NOTE_PREFIX,
        &TRUNCATION_NOTE_PREFIX.replace('[', "("),
    );
    let mut safe = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(start) = rest.find('<') {
        let (before, tag) = rest.split_at(start);
        safe.push_str(before);
        safe.push_str(if is_reserved_tag(&tag[1..]) {
            "&lt;"
        } else {
            "<"
        });
        rest = &tag[1..];
    }
    safe.push_str(rest);
    safe
}

/// Whether a tag of ours follows a `<`: a reader overlooks white space and case.
fn is_reserved_tag(tag: &str) -> bool {
    let name = tag.trim_start().trim_start_matches('/').trim_start();
    let end = name
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')))
        .unwrap_or(name.len());
    let name = name[..end].to_ascii_lowercase();
    let is_fence = |start: &str| {
        let nonce = name.strip_prefix(start);
        nonce.is_some_and(|nonce| {
            nonce.len() >= MIN_NONCE_DIGITS && nonce.bytes().all(|b| b.is_ascii_hexdigit())
        })
    };
    RESERVED_TAGS.contains(&name.as_str()) || is_fence("skill-") || is_fence("instructions-")
}

/// Says that the text of a skill stands above already, as the answer to a model that asks for it
/// again.
#[must_use]
pub fn already_active_notice(name: &str, directory: &str) -> Injection {
    let (name, directory) = (escape_line(name), escape_path(directory));
    let text = format!(
        "The skill {name} ({directory}) is active already and has not changed; its instructions stand above.\n"
    );
    Injection {
        text,
        role: Role::User,
        removed: None,
        omitted: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_tags_lose_their_bracket() {
        let check = |text: &str, expected: &str| assert_eq!(strip_reserved_marks(text), expected);
        check(
            "a < b <name> <skill-name> <skills>",
            "a < b <name> <skill-name> <skills>",
        );
        check("</skill><skill>", "&lt;/skill>&lt;skill>");
        check("< / SKILL >", "&lt; / SKILL >");
        check("</skills_instructions\n>", "&lt;/skills_instructions\n>");
        check("<<skill", "<&lt;skill");
        check(
            "<skill-0123456789abcdef> <instructions-0123456789ABCDEF0> <skill-0123>",
            "&lt;skill-0123456789abcdef> &lt;instructions-0123456789ABCDEF0> <skill-0123>",
        );
        check(
            "[Not all of this skill is here: x]",
            "(Not all of this skill is here: x]",
        );
    }
}
