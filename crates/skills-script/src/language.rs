//! Languages of scripts.

/// The language of a script, as far as its source is inspected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// `.py`.
    Python,
    /// `.js`, `.mjs`, `.cjs` and `.ts`.
    JavaScript,
    /// Any other extension.
    Shell,
}

impl Language {
    /// Returns the language for a file extension.
    pub fn of(file: &str) -> Self {
        match file.rsplit_once('.').map(|(_, extension)| extension) {
            Some("py") => Self::Python,
            Some("js" | "mjs" | "cjs" | "ts") => Self::JavaScript,
            _ => Self::Shell,
        }
    }
}

/// Returns the path of a file without its last extension.
pub fn stem(file: &str) -> &str {
    let name = file.rfind('/').map_or(0, |slash| slash + 1);
    file[name..]
        .rfind('.')
        .map_or(file, |dot| &file[..name + dot])
}

/// Returns the last component of a path without its last extension.
pub fn file_stem(path: &str) -> &str {
    stem(path.rsplit(['/', '\\']).next().unwrap_or(path))
}
