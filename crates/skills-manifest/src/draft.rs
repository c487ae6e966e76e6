//! Writes a `SKILL.md`: the counterpart of [`Document`](crate::Document).

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
/// How much of a key an error shows.
const MAX_SHOWN_CHARACTERS: usize = 64;
const INSTRUCTIONS_MAX_BYTES: usize = 64 * 1024;
/// The keys of metadata that stand for whole blocks: what a skill requires, how that is installed,
/// what its scripts take.
const RESERVED_KEYS: [&str; 5] = ["openclaw", "clawdbot", "clawdis", "moltbot", "scripts"];

/// A skill that is being written: parts that are right by themselves, and the file that they make.
///
/// [`render`](Self::render) gives a file that [`Document::parse`](crate::Document::parse) reads
/// without a warning on its frontmatter and to the same texts, and with which
/// [`strict::validate`](crate::strict::validate) finds nothing wrong in a directory of the same
/// name.
///
/// Left out by default: the license, metadata and instructions. Each call sets its part anew.
///
/// ```
/// use skills_manifest::Draft;
///
/// let draft = Draft::new("code-reviewer", "Reviews code: bugs first.")?.instructions("# Steps\n\n1. Read the diff.")?;
/// let text = "---\nname: code-reviewer\ndescription: 'Reviews code: bugs first.'\n---\n\n# Steps\n\n1. Read the diff.\n";
/// assert_eq!(draft.render(), text);
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
    /// Begins a skill.
    ///
    /// The name has 1 to 64 characters: lower-case ASCII letters, digits and single hyphens between
    /// them, a letter first. The description is one visible line of at most 1024 characters.
    ///
    /// # Errors
    /// [`DraftError`] when either breaks its rule; for a name it may have a
    /// [`suggestion`](DraftError::suggestion).
    pub fn new(name: &str, description: &str) -> Result<Self, DraftError> {
        name::check_name(name)?;
        check_non_blank_line("description", description, DESCRIPTION_MAX_CHARACTERS)?;
        let (name, description) = (name.to_owned(), description.to_owned());
        Ok(Self {
            name,
            description,
            license: None,
            metadata: Vec::new(),
            instructions: String::new(),
        })
    }

    /// Sets the license: one visible line of at most 200 characters.
    ///
    /// # Errors
    /// [`DraftError`] when it is blank, longer, of several lines or holds hidden characters.
    pub fn license(mut self, license: &str) -> Result<Self, DraftError> {
        check_non_blank_line("license", license, LICENSE_MAX_CHARACTERS)?;
        self.license = Some(license.to_owned());
        self.check_frontmatter_size()
    }

    /// Sets the metadata, in the order given: at most 50 entries whose keys and values are lines of
    /// at most 1 KiB each.
    ///
    /// A value may be empty and is always text, also where it looks like a number. The keys
    /// `openclaw`, `clawdbot`, `clawdis`, `moltbot` and `scripts` are refused: clients read
    /// requirements, installers and arguments of programs from them.
    ///
    /// # Errors
    /// [`DraftError`] for the first entry that breaks a rule, for a key that stands twice or is
    /// blank, and when the frontmatter would be longer than [`MAX_FRONTMATTER_BYTES`].
    pub fn metadata(
        mut self,
        entries: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, DraftError> {
        self.metadata.clear();
        for (key, value) in entries {
            if self.metadata.len() == METADATA_MAX_ENTRIES {
                return Err(Repr::TooManyEntries {
                    limit: METADATA_MAX_ENTRIES,
                }
                .into());
            }
            check_entry(&key, &value)?;
            if self.metadata.iter().any(|(known, _)| *known == key) {
                return Err(Repr::DuplicateKey {
                    key: key.chars().take(MAX_SHOWN_CHARACTERS).collect(),
                }
                .into());
            }
            self.metadata.push((key, value));
        }
        self.check_frontmatter_size()
    }

    /// Sets the Markdown below the frontmatter: at most 64 KiB. Blank lines before it and white
    /// space behind it are cut off.
    ///
    /// Other invisible characters than those below pass, since some scripts and emoji need joiners;
    /// reading the file may warn of them.
    ///
    /// # Errors
    /// [`DraftError`] when it is longer, begins with `---`, or holds NUL, tag characters or
    /// bidirectional controls, which hide text from people or show it in another order.
    pub fn instructions(mut self, text: &str) -> Result<Self, DraftError> {
        const FIELD: &str = "instructions";
        if text.len() > INSTRUCTIONS_MAX_BYTES {
            return Err(Repr::TooManyBytes {
                field: FIELD,
                actual: text.len(),
                limit: INSTRUCTIONS_MAX_BYTES,
            }
            .into());
        }
        if let Some(c) = text.chars().find(|c| is_deceptive(*c)) {
            return Err(Repr::Invisible {
                field: FIELD,
                code_point: c as u32,
            }
            .into());
        }
        let text = text.trim_end();
        let indented = text.trim_start();
        if indented.starts_with("---") {
            return Err(Repr::LeadingDelimiter.into());
        }
        // The indentation of the first line may make it a block of code.
        let blank = &text[..text.len() - indented.len()];
        let start = blank.rfind(['\n', '\r']).map_or(0, |end| end + 1);
        text[start..].clone_into(&mut self.instructions);
        Ok(self)
    }

    /// Returns the name, which the directory of the skill must have too.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes the whole file: the frontmatter, a blank line and the instructions, with one newline
    /// at the end.
    ///
    /// The order of fields is name, description, license, metadata. Without instructions the file
    /// ends with the frontmatter.
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

    /// Refuses a frontmatter that readers would not take: quotes and escapes make it longer than
    /// its texts.
    fn check_frontmatter_size(self) -> Result<Self, DraftError> {
        let actual = self.render_frontmatter().len();
        if actual > MAX_FRONTMATTER_BYTES {
            return Err(Repr::TooManyBytes {
                field: "frontmatter",
                actual,
                limit: MAX_FRONTMATTER_BYTES,
            }
            .into());
        }
        Ok(self)
    }
}

fn check_entry(key: &str, value: &str) -> Result<(), DraftError> {
    const FIELD: &str = "metadata";
    for text in [key, value] {
        if text.len() > METADATA_MAX_BYTES {
            return Err(Repr::TooManyBytes {
                field: FIELD,
                actual: text.len(),
                limit: METADATA_MAX_BYTES,
            }
            .into());
        }
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

/// Accepts a line that says something, within a number of characters.
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

/// Accepts one line without hidden characters.
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

/// Whether a character is NUL, turns the direction of the text around it, or is one of those that
/// spell what only models read.
fn is_deceptive(c: char) -> bool {
    matches!(c, '\0' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{E0000}'..='\u{E0FFF}')
}
