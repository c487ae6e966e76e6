//! Values that must not be printed.

use std::fmt;

/// A secret value, such as an API token. `Debug` is redacted.
///
/// It is not zeroed when dropped; pass it only to the program that needs it.
///
/// ```
/// use skills_policy::Secret;
///
/// let token = Secret::new("s3cret");
/// assert_eq!(format!("{token:?}"), "Secret(…)");
/// assert_eq!(token.expose_secret(), "s3cret");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Returns the value, to pass it to the program that needs it.
    #[must_use]
    pub fn expose_secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A derived `Debug` would write the secret into logs.
        f.write_str("Secret(…)")
    }
}
