//! Removes the values of secrets from what programs write.

mod encoded_text;
mod redacting_writer;
mod redactor;

pub(crate) use redacting_writer::RedactingWriter;
pub(crate) use redactor::Redactor;
