//! One skill's body, framed for the model.

use crate::escape::{one_line, path, visible};

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

/// What is framed.
#[derive(Debug, Clone, Copy)]
pub struct Fragment<'a> {
    /// The skill's name.
    pub name: &'a str,
    /// The skill's directory, against which relative paths resolve.
    pub directory: &'a str,
    /// The body.
    pub body: &'a str,
    /// Files of the skill, to name and not to read; empty for none.
    pub resources: &'a [&'a str],
    /// Whether the skill has more files than these.
    pub more_resources: bool,
}

/// Frames a skill's body in tags named by the nonce, which the body cannot close. What is ours comes first; everything between the
/// `instructions` tags is the body's.
///
/// The body stays as written, except that invisible characters go and that the nonce, should it occur, becomes `U+FFFD`: cutting it
/// out could join the text around it into the nonce again.
#[must_use]
pub fn frame(fragment: Fragment<'_>, nonce: &Nonce) -> String {
    let tag = format!("skill-{}", nonce.0);
    let name = one_line(fragment.name);
    let directory = path(fragment.directory);
    let body = visible(fragment.body).replace(nonce.0.as_str(), "\u{FFFD}");
    let body = body.trim_matches('\n');
    let mut text = format!("<{tag}>\n<name>{name}</name>\n<directory>{directory}</directory>\n");
    if !fragment.resources.is_empty() {
        text.push_str("<resources>\n");
        for resource in fragment.resources {
            text.push_str(&path(resource));
            text.push('\n');
        }
        text.push_str(if fragment.more_resources { "(and more)\n</resources>\n" } else { "</resources>\n" });
    }
    text.push_str(&format!("<instructions-{nonce}>\n{body}\n</instructions-{nonce}>\n</{tag}>\n", nonce = nonce.0));
    text
}
