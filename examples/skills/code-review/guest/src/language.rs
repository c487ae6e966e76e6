//! Languages by file name.

#[derive(Clone, Copy, PartialEq)]
pub enum Language {
    Rust,
    Python,
    Script,
    Go,
    Shell,
    Other,
}

impl Language {
    pub fn of_file(file: &str) -> Self {
        match file.rsplit('.').next().unwrap_or_default() {
            "rs" => Self::Rust,
            "py" => Self::Python,
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" => Self::Script,
            "go" => Self::Go,
            "sh" | "bash" => Self::Shell,
            _ => Self::Other,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Python => "Python",
            Self::Script => "JavaScript or TypeScript",
            Self::Go => "Go",
            Self::Shell => "shell",
            Self::Other => "unknown language",
        }
    }

    /// What starts a comment that ends with its line.
    pub fn line_comment(self) -> &'static str {
        match self {
            Self::Python | Self::Shell => "#",
            _ => "//",
        }
    }

    pub fn has_block_comments(self) -> bool {
        matches!(self, Self::Rust | Self::Script | Self::Go)
    }

    /// What encloses text. A single quote in Rust is mostly a lifetime.
    pub fn quotes(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["\"\"\"", "'''", "\"", "'"],
            Self::Script => &["\"", "'", "`"],
            Self::Go => &["\"", "`"],
            Self::Rust => &["\""],
            Self::Shell | Self::Other => &["\"", "'"],
        }
    }
}
