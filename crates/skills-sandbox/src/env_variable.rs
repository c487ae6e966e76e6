//! An environment variable of a job.

use std::fmt;

/// An environment variable.
#[derive(Clone)]
pub(crate) struct EnvVariable {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) is_secret: bool,
}

/// A secret shows only its name.
impl fmt::Debug for EnvVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.is_secret { "…" } else { &self.value };
        write!(f, "{}={value:?}", self.name)
    }
}
