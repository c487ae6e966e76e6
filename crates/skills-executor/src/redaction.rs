//! Removes the values of secrets from what programs write.

mod encoded_text;
mod redacted_stream;
mod redactor;

pub(crate) use redacted_stream::RedactedStream;
pub(crate) use redactor::Redactor;
