//! The text of a skill, as the caller read it.

#[derive(Debug, Clone, Copy)]
pub(crate) struct File<'a> {
    pub(crate) path: &'a str,
    /// The text, or none if it is not UTF-8.
    pub(crate) text: Option<&'a str>,
}

/// The name and the files of a skill.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct SkillText<'a> {
    pub(crate) name: &'a str,
    pub(crate) files: Vec<File<'a>>,
}

impl<'a> SkillText<'a> {
    /// Creates the text of a skill without files. The name is that of the manifest or of the
    /// directory; an empty one is not checked.
    pub fn new(name: &'a str) -> Self {
        Self {
            name,
            files: Vec::new(),
        }
    }

    /// Adds a text file, `SKILL.md` among them. The path is only shown, and its extension says
    /// what the text is.
    pub fn file(mut self, path: &'a str, text: &'a str) -> Self {
        self.files.push(File {
            path,
            text: Some(text),
        });
        self
    }

    /// Adds a file that is not text, of which only the path is checked.
    pub fn binary(mut self, path: &'a str) -> Self {
        self.files.push(File { path, text: None });
        self
    }
}
