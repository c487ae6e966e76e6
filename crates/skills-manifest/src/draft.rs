//! Writes a new `SKILL.md`: the counterpart of [`Document`](crate::Document).

mod error;
mod name;

pub use error::{DraftError, DraftErrorKind};

use crate::yaml::{Field, write_fields};
use crate::{MAX_FRONTMATTER_BYTES, is_invisible};
use error::Repr;

const DESCRIPTION_MAX_CHARACTERS: usize = 1024;
const LICENSE_MAX_CHARACTERS: usize = 200;
const METADATA_MAX_ENTRIES: usize = 50;
const METADATA_MAX_BYTES: usize = 1024;
/// Maximum length of a key in an error, in characters.
const MAX_SHOWN_CHARACTERS: usize = 64;
const INSTRUCTIONS_MAX_BYTES: usize = 64 * 1024;
/// The keys of metadata that clients parse as requirements, installers or script arguments.
///
/// A draft may come from a model, whose metadata must not declare programs to install.
const RESERVED_KEYS: [&str; 5] = ["openclaw", "clawdbot", "clawdis", "moltbot", "scripts"];

/// Builder for a new `SKILL.md`. Setters validate; [`render`](Self::render) writes the file.
///
/// [`Document::parse`](crate::Document::parse) reads the file as the same texts, without a warning
/// about its frontmatter. The reference validator of the specification reports no errors for it in
/// a directory with the name of the skill.
///
/// License, metadata and instructions are optional and omitted by default. A setter replaces the
/// value of an earlier call.
///
/// ```
/// use skills_manifest::Draft;
///
/// let draft = Draft::new("code-reviewer", "Reviews code: bugs first.")?
///     .instructions("# Steps\n\n1. Read the diff.")?;
/// let frontmatter = "---\nname: code-reviewer\ndescription: 'Reviews code: bugs first.'\n---\n";
/// assert_eq!(draft.render(), format!("{frontmatter}\n# Steps\n\n1. Read the diff.\n"));
/// assert_eq!(Draft::new("Code-Reviewer", "…").unwrap_err().suggestion(), Some("code-reviewer"));
/// # Ok::<(), skills_manifest::DraftError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a draft does nothing until it is rendered"]
pub struct Draft {
    name: String,
    description: String,
    license: Option<String>,
    metadata: Vec<(String, String)>,
    instructions: String,
}

impl Draft {
    /// Creates a draft with the required fields.
    ///
    /// The name has 1 to 64 characters: lowercase ASCII letters, digits and single inner hyphens,
    /// starting with a letter. The description is one line of visible text with at most 1,024
    /// characters.
    ///
    /// # Errors
    /// [`DraftError`] if one of them is invalid; for a name it may have a
    /// [`suggestion`](DraftError::suggestion).
    pub fn new(name: &str, description: &str) -> Result<Self, DraftError> {
        name::check_name(name).map_err(Repr::Name)?;
        check_non_blank_line("description", description, DESCRIPTION_MAX_CHARACTERS)?;
        Ok(Self {
            name: name.to_owned(),
            description: description.to_owned(),
            license: None,
            metadata: Vec::new(),
            instructions: String::new(),
        })
    }

    /// Sets the license: one line of visible text with at most 200 characters.
    ///
    /// # Errors
    /// [`DraftError`] if it is blank or longer, or contains line ends or invisible characters.
    pub fn license(mut self, license: &str) -> Result<Self, DraftError> {
        check_non_blank_line("license", license, LICENSE_MAX_CHARACTERS)?;
        self.license = Some(license.to_owned());
        self.check_frontmatter_size()
    }

    /// Sets the metadata, in the given order: at most 50 entries, with keys and values of one line
    /// and at most 1 KiB each.
    ///
    /// A value may be empty and is always text, also if it looks like a number. The keys
    /// `openclaw`, `clawdbot`, `clawdis`, `moltbot` and `scripts` are reserved: clients parse
    /// requirements, installers and script arguments from them.
    ///
    /// # Errors
    /// [`DraftError`] for the first invalid entry, a blank or duplicate key, and a frontmatter
    /// longer than [`MAX_FRONTMATTER_BYTES`].
    pub fn metadata(
        mut self,
        entries: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, DraftError> {
        // An error leaves no partial draft behind, since `self` is consumed.
        self.metadata.clear();
        for (key, value) in entries {
            if self.metadata.len() == METADATA_MAX_ENTRIES {
                let limit = METADATA_MAX_ENTRIES;
                return Err(Repr::TooManyEntries { limit }.into());
            }
            check_entry(&key, &value)?;
            if self.metadata.iter().any(|(known, _)| *known == key) {
                let key = key.chars().take(MAX_SHOWN_CHARACTERS).collect();
                return Err(Repr::DuplicateKey { key }.into());
            }
            self.metadata.push((key, value));
        }
        self.check_frontmatter_size()
    }

    /// Sets the body, Markdown of at most 64 KiB, without blank lines before it and white space
    /// after it.
    ///
    /// Invisible characters other than those below are accepted, since some scripts and emoji need
    /// joiners; parsing the file may warn of them.
    ///
    /// # Errors
    /// [`DraftError`] if it is longer, starts with `---`, or contains NUL, tag characters or
    /// bidirectional controls, which hide text from people or show it in another order.
    pub fn instructions(mut self, text: &str) -> Result<Self, DraftError> {
        const FIELD: &str = "instructions";
        check_bytes(FIELD, text.len(), INSTRUCTIONS_MAX_BYTES)?;
        // A user approves the text as it is displayed; these characters make a model read another.
        if let Some(c) = text.chars().find(|c| is_deceptive(*c)) {
            return Err(Repr::Invisible {
                field: FIELD,
                code_point: c as u32,
            }
            .into());
        }
        let text = text.trim_end();
        let indented = text.trim_start();
        // Models often repeat the frontmatter; some clients would read the second one.
        if indented.starts_with("---") {
            return Err(Repr::LeadingDelimiter.into());
        }
        // Keeps the indentation of the first line, which can make it a code block.
        let blank = &text[..text.len() - indented.len()];
        let start = blank.rfind(['\n', '\r']).map_or(0, |end| end + 1);
        text[start..].clone_into(&mut self.instructions);
        Ok(self)
    }

    /// Returns the name, which must be the name of the skill directory too.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the whole file: the frontmatter, a blank line and the instructions, with one newline
    /// at the end.
    ///
    /// The fields are in the order name, description, license, metadata. Without instructions, the
    /// file ends after the frontmatter.
    #[must_use]
    pub fn render(&self) -> String {
        let frontmatter = self.render_frontmatter();
        match self.instructions.as_str() {
            "" => format!("---\n{frontmatter}---\n"),
            text => format!("---\n{frontmatter}---\n\n{text}\n"),
        }
    }

    fn render_frontmatter(&self) -> String {
        let mut fields = vec![
            ("name", Field::Text(&self.name)),
            ("description", Field::Text(&self.description)),
        ];
        fields.extend(
            self.license
                .as_deref()
                .map(|license| ("license", Field::Text(license))),
        );
        if !self.metadata.is_empty() {
            fields.push(("metadata", Field::Mapping(&self.metadata)));
        }
        write_fields(&fields)
    }

    /// Rejects a frontmatter that exceeds the limit of the parser.
    ///
    /// Quotes and escapes make it longer than its texts, so the rendered form counts.
    fn check_frontmatter_size(self) -> Result<Self, DraftError> {
        let actual = self.render_frontmatter().len();
        check_bytes("frontmatter", actual, MAX_FRONTMATTER_BYTES)?;
        Ok(self)
    }
}

fn check_bytes(field: &'static str, actual: usize, limit: usize) -> Result<(), DraftError> {
    if actual > limit {
        return Err(Repr::TooManyBytes {
            field,
            actual,
            limit,
        }
        .into());
    }
    Ok(())
}

fn check_entry(key: &str, value: &str) -> Result<(), DraftError> {
    const FIELD: &str = "metadata";
    for text in [key, value] {
        check_bytes(FIELD, text.len(), METADATA_MAX_BYTES)?;
        check_line(FIELD, text)?;
    }
    if key.trim().is_empty() {
        return Err(Repr::BlankKey.into());
    }
    match RESERVED_KEYS.into_iter().find(|reserved| *reserved == key) {
        Some(key) => Err(Repr::ReservedKey { key }.into()),
        None => Ok(()),
    }
}

/// Checks that a text is one line of visible characters, at most `limit` of them.
fn check_non_blank_line(field: &'static str, text: &str, limit: usize) -> Result<(), DraftError> {
    let actual = text.chars().count();
    if actual > limit {
        return Err(Repr::TooManyCharacters {
            field,
            actual,
            limit,
        }
        .into());
    }
    check_line(field, text)?;
    if text.trim().is_empty() {
        Err(Repr::Blank { field }.into())
    } else {
        Ok(())
    }
}

/// Checks that a text is one line without invisible characters.
fn check_line(field: &'static str, text: &str) -> Result<(), DraftError> {
    match text.chars().find(|c| is_invisible(*c)) {
        None => Ok(()),
        Some('\n' | '\r') => Err(Repr::MultiLine { field }.into()),
        Some(c) => Err(Repr::Invisible {
            field,
            code_point: c as u32,
        }
        .into()),
    }
}

/// Returns true if a character is NUL, a bidirectional control, or a tag character, which only
/// models read.
fn is_deceptive(c: char) -> bool {
    matches!(c, '\0' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{E0000}'..='\u{E0FFF}')
}
