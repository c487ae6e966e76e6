//! Secret variables and their sources.

mod env_file;

use std::collections::BTreeMap;

use skills_policy::Secret;

pub use env_file::EnvFileWarning;

/// Environment variables of the host application for its skills.
///
/// A program receives a variable only if its skill declares it and policy or an approver allows it.
/// Values of at least 8 bytes are redacted in everything that the program writes. `Debug` does not
/// print values.
///
/// ```
/// use skills_library::Secrets;
///
/// let (secrets, warnings) = Secrets::from_env_text("export API_KEY='hunter2' # comment\nbroken\n");
/// assert_eq!(secrets.get("API_KEY").unwrap().expose_secret(), "hunter2");
/// assert_eq!(warnings[0].to_string(), "line 2: missing `=`");
/// assert!(!format!("{secrets:?}").contains("hunter2"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secrets(BTreeMap<String, Secret>);

impl Secrets {
    /// Parses the text of a `.env` file.
    ///
    /// Each line is `NAME=value`, optionally after `export`. Values in single quotes are literal;
    /// values in double quotes support the escapes `\n`, `\t`, `\r`, `\"`, `\\` and `\$`; both can
    /// span several lines. An unquoted value ends at ` #` and is trimmed. Nothing is expanded or
    /// executed. The last of several values applies. Invalid lines are skipped and returned as
    /// warnings.
    #[must_use]
    pub fn from_env_text(text: &str) -> (Self, Vec<EnvFileWarning>) {
        let (values, warnings) = env_file::parse(text);
        (
            values
                .into_iter()
                .map(|(name, value)| (name, Secret::new(value)))
                .collect(),
            warnings,
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

    /// Returns the names of all variables.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl FromIterator<(String, Secret)> for Secrets {
    fn from_iter<I: IntoIterator<Item = (String, Secret)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}
