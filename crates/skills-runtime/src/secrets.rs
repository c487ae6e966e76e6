//! Values that nobody sees by accident, and where they come from.

mod env_file;
mod redact;

use std::collections::BTreeMap;

use skills_prompt::Secret;

pub use env_file::EnvFileWarning;
pub(crate) use redact::Redactor;

/// The variables that a host has for its skills. A program sees those of them that its skill
/// declares and somebody allows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secrets(BTreeMap<String, Secret>);

impl Secrets {
    /// Reads the text of a `.env` file.
    ///
    /// `NAME=value` a line, perhaps behind `export`; a value in single quotes is taken as it is,
    /// one in double quotes with the escapes `\n`, `\t`, `\r`, `\"`, `\\` and `\$`, and both may go
    /// over several lines; any other ends at ` #` and loses the white space around it. Nothing is
    /// expanded or run. The last of several values counts. Lines that are none of this are
    /// problems, and the others count.
    #[must_use]
    pub fn from_env_text(text: &str) -> (Self, Vec<EnvFileWarning>) {
        let (values, problems) = env_file::parse(text);
        (
            values
                .into_iter()
                .map(|(name, value)| (name, Secret::new(value)))
                .collect(),
            problems,
        )
    }

    /// Adds a variable.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.insert(name.into(), Secret::new(value));
        self
    }

    /// Returns the value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.0.get(name)
    }

    /// Returns the names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl FromIterator<(String, Secret)> for Secrets {
    fn from_iter<I: IntoIterator<Item = (String, Secret)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}
