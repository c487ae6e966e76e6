//! The files of a skill, which the caller reads.

/// Maximum size of a file that declares packages, in bytes. Larger ones declare nothing.
pub const MAX_FILE_BYTES: u64 = 4 << 20;

/// A function that reads a file of the skill by its relative path, with `/` between parts; `None` if there is no
/// such file, or if it is not text.
pub type ReadFile<'a> = dyn Fn(&str) -> Option<String> + 'a;
