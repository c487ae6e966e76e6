//! One skill's text, as a model is given it.

use crate::Role;
use crate::escape::{one_line, path, visible};
use crate::excerpt::{DEFAULT_MAX_BYTES, LeftOut, excerpt};

/// The most files of a skill that are named.
const MAX_RESOURCES: usize = 100;
/// The tags that our prompts are made of, apart from those with a nonce.
const OUR_TAGS: [&str; 3] = ["skill", "skills_instructions", "available_skills"];
/// How our note on a long text begins.
const NOTE: &str = "[Not all of this skill is here";
/// From so many hexadecimal digits on a tag looks like one with a nonce.
const MIN_NONCE: usize = 16;

/// Random text that an author of skills cannot have known; at least 16 characters of `[0-9a-f]`, new for every conversation.
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
pub struct Injection<'a> {
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
pub struct Injected {
    /// The text.
    pub text: String,
    /// Who is to say it.
    pub role: Role,
    /// The first character that was taken out because nobody could see it.
    pub hidden: Option<char>,
    /// What was left out because the text is too long.
    pub left_out: Option<LeftOut>,
}

impl<'a> Injection<'a> {
    /// Takes the skill's name, its directory, the path of its `SKILL.md`, and the text: the whole file or its body.
    ///
    /// Defaults: the text begins on line 1 of the file, no resources, at most [`DEFAULT_MAX_BYTES`].
    pub fn new(name: &'a str, directory: &'a str, location: &'a str, text: &'a str) -> Self {
        Self { name, directory, location, text, first_line: 1, resources: &[], has_more_resources: false, max_bytes: DEFAULT_MAX_BYTES }
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
        Self { has_more_resources: true, ..self }
    }

    /// Bounds the text, in bytes; what is longer is cut at a line, and the model is told what is missing and where to read it.
    pub fn max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// Writes Codex's fragment: `<skill>`, `<name>`, `<path>` and the text, which is usually the whole file.
    ///
    /// The text stays as it is, with three exceptions: invisible characters go, line ends become line feeds, and where it opens or closes a
    /// tag of ours (`skill`, `skills_instructions`, `available_skills`, or one with a nonce) the `<` becomes `&lt;`. Resources are not named in
    /// this form.
    #[must_use]
    pub fn codex(self) -> Injected {
        let (clean, hidden) = visible(self.text);
        let safe = without_our_marks(&clean);
        let (kept, left_out) = excerpt(&safe, self.first_line, self.max_bytes);
        let end = left_out.as_ref().map(|left_out| format!("{}{}\n", headings(left_out), self.note(left_out))).unwrap_or_default();
        let (name, location) = (one_line(self.name), path(self.location));
        let text = format!("<skill>\n<name>{name}</name>\n<path>{location}</path>\n{}{end}\n</skill>", ended(kept, &end));
        Injected { text, role: Role::User, hidden, left_out }
    }

    /// Frames the text in tags named by the nonce, which it cannot close. What is ours comes first; everything between the `instructions`
    /// tags is the skill's.
    ///
    /// The text stays as written, except that invisible characters go, that line ends become line feeds, and that the nonce, should it occur,
    /// becomes `U+FFFD`: cutting it out could join the text around it into the nonce again.
    #[must_use]
    pub fn fenced(self, nonce: &Nonce) -> Injected {
        let nonce = nonce.0.as_str();
        let (clean, hidden) = visible(self.text);
        let safe = clean.replace(nonce, "\u{FFFD}");
        let (kept, left_out) = excerpt(&safe, self.first_line, self.max_bytes);
        // What a heading says is the skill's word too.
        let end = left_out.as_ref().map(headings).unwrap_or_default();
        let body = format!("{}{end}", ended(kept, &end));
        let body = body.trim_matches('\n');
        let (name, directory) = (one_line(self.name), path(self.directory));
        let resources = self.resource_list();
        let note = left_out.as_ref().map(|left_out| format!("{}\n", self.note(left_out))).unwrap_or_default();
        let text = format!(
            "<skill-{nonce}>\n<name>{name}</name>\n<directory>{directory}</directory>\n\
             Relative paths in the instructions start at that directory.\n{resources}{note}\
             <instructions-{nonce}>\n{body}\n</instructions-{nonce}>\n</skill-{nonce}>\n"
        );
        Injected { text, role: Role::User, hidden, left_out }
    }

    fn resource_list(&self) -> String {
        if self.resources.is_empty() {
            return String::new();
        }
        let named = &self.resources[..self.resources.len().min(MAX_RESOURCES)];
        let mut list = "<resources>\n".to_owned();
        for resource in named {
            list.push_str(&path(resource));
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
    fn note(&self, left_out: &LeftOut) -> String {
        let LeftOut { first_line, last_line, bytes, headings } = left_out;
        let named = if headings.is_empty() { "" } else { ", whose headings stand at the end" };
        format!(
            "{NOTE}: lines {first_line} to {last_line} ({bytes} bytes) are left out{named}. Read them in {} before relying on it.]",
            path(self.location)
        )
    }
}

/// The headings of what was left out, as the skill has them.
fn headings(left_out: &LeftOut) -> String {
    left_out.headings.iter().map(|heading| format!("# {heading} […]\n")).collect()
}

/// What follows stands on a line of its own.
fn ended(text: &str, next: &str) -> String {
    if next.is_empty() || text.ends_with('\n') || text.is_empty() { text.to_owned() } else { format!("{text}\n") }
}

/// Takes the tags and the note of our prompts away from a text, and leaves all other tags alone.
fn without_our_marks(text: &str) -> String {
    let text = text.replace(NOTE, &NOTE.replace('[', "("));
    let mut safe = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(start) = rest.find('<') {
        let (before, tag) = rest.split_at(start);
        safe.push_str(before);
        safe.push_str(if is_ours(&tag[1..]) { "&lt;" } else { "<" });
        rest = &tag[1..];
    }
    safe.push_str(rest);
    safe
}

/// Whether a tag of ours follows a `<`: a reader overlooks white space and case.
fn is_ours(tag: &str) -> bool {
    let name = tag.trim_start().trim_start_matches('/').trim_start();
    let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(name.len());
    let name = name[..end].to_ascii_lowercase();
    let is_fence = |start: &str| {
        let nonce = name.strip_prefix(start);
        nonce.is_some_and(|nonce| nonce.len() >= MIN_NONCE && nonce.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    OUR_TAGS.contains(&name.as_str()) || is_fence("skill-") || is_fence("instructions-")
}

/// Says that the text of a skill stands above already, as the answer to a model that asks for it again.
#[must_use]
pub fn already_active(name: &str, directory: &str) -> Injected {
    let (name, directory) = (one_line(name), path(directory));
    let text = format!("The skill {name} ({directory}) is active already and has not changed; its instructions stand above.\n");
    Injected { text, role: Role::User, hidden: None, left_out: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_tags_lose_their_bracket() {
        let check = |text: &str, expected: &str| assert_eq!(without_our_marks(text), expected);
        check("a < b <name> <skill-name> <skills>", "a < b <name> <skill-name> <skills>");
        check("</skill><skill>", "&lt;/skill>&lt;skill>");
        check("< / SKILL >", "&lt; / SKILL >");
        check("</skills_instructions\n>", "&lt;/skills_instructions\n>");
        check("<<skill", "<&lt;skill");
        check(
            "<skill-0123456789abcdef> <instructions-0123456789ABCDEF0> <skill-0123>",
            "&lt;skill-0123456789abcdef> &lt;instructions-0123456789ABCDEF0> <skill-0123>",
        );
        check("[Not all of this skill is here: x]", "(Not all of this skill is here: x]");
    }
}
