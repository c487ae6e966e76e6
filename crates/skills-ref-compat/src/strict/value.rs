//! A parsed value.

/// A value as strictyaml parses it: every scalar is text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    /// An unquoted `=` or `<<`, which strictyaml does not parse as text.
    Indicator(String),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
}

impl Value {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) | Self::Indicator(text) => text.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Map(entries) => entries.is_empty(),
        }
    }
}
