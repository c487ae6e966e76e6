//! Media types by file extension.

/// Returns the media type for a file name. Text is never reported as audio, video or an image that
/// has the same extension (`.ts`).
pub(crate) fn media_type(name: &str, is_text: bool) -> String {
    let fits = |mime: &mime_guess::Mime| {
        !is_text
            || !["audio", "video", "image"].contains(&mime.type_().as_str())
            || mime.subtype() == "svg"
    };
    let fallback = if is_text {
        "text/plain"
    } else {
        "application/octet-stream"
    };
    let guess = mime_guess::from_path(name).first().filter(fits);
    guess.map_or_else(|| fallback.to_owned(), |mime| mime.essence_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_decide_and_text_is_not_media() {
        assert_eq!(media_type("SKILL.md", true), "text/markdown");
        assert_eq!(media_type("a.json", true), "application/json");
        assert_eq!(media_type("module.ts", true), "text/plain", "not a video");
        assert_eq!(media_type("logo.svg", true), "image/svg+xml");
        assert_eq!(media_type("logo.png", false), "image/png");
        assert_eq!(media_type("Makefile", true), "text/plain");
        assert_eq!(media_type("data", false), "application/octet-stream");
    }
}
