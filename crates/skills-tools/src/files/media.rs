//! Media types by file extension.

/// What the bytes of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentKind {
    Text,
    Binary,
}

impl ContentKind {
    /// Returns `Text` for UTF-8 without NUL.
    pub(crate) fn of(content: &[u8]) -> Self {
        match std::str::from_utf8(content) {
            Ok(text) if !text.contains('\0') => Self::Text,
            _ => Self::Binary,
        }
    }
}

/// Returns the media type for a file name, without the content. `application/octet-stream` if the
/// extension is unknown.
#[must_use]
pub fn media_type_by_name(name: &str) -> String {
    media_type(name, ContentKind::Binary)
}

/// Returns the media type for a file name. Text is never reported as audio, video or an image that
/// has the same extension (`.ts`).
pub(crate) fn media_type(name: &str, kind: ContentKind) -> String {
    let fits = |mime: &mime_guess::Mime| {
        kind == ContentKind::Binary
            || !["audio", "video", "image"].contains(&mime.type_().as_str())
            || mime.subtype() == "svg"
    };
    let fallback = match kind {
        ContentKind::Text => "text/plain",
        ContentKind::Binary => "application/octet-stream",
    };
    let guess = mime_guess::from_path(name).first().filter(fits);
    guess.map_or_else(|| fallback.to_owned(), |mime| mime.essence_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_decide_and_text_is_not_media() {
        assert_eq!(media_type("SKILL.md", ContentKind::Text), "text/markdown");
        assert_eq!(media_type("a.json", ContentKind::Text), "application/json");
        assert_eq!(
            media_type("module.ts", ContentKind::Text),
            "text/plain",
            "not a video"
        );
        assert_eq!(media_type("logo.svg", ContentKind::Text), "image/svg+xml");
        assert_eq!(media_type("logo.png", ContentKind::Binary), "image/png");
        assert_eq!(media_type("Makefile", ContentKind::Text), "text/plain");
        assert_eq!(
            media_type("data", ContentKind::Binary),
            "application/octet-stream"
        );
    }
}
