//! The kind of content that a file is told to have.

/// Returns the media type that a file's name stands for. What is text is none of the films and
/// pictures that have the same ending.
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
    fn endings_decide_and_text_stays_text() {
        assert_eq!(media_type("SKILL.md", true), "text/markdown");
        assert_eq!(media_type("a.json", true), "application/json");
        assert_eq!(media_type("module.ts", true), "text/plain", "no film");
        assert_eq!(media_type("logo.svg", true), "image/svg+xml");
        assert_eq!(media_type("logo.png", false), "image/png");
        assert_eq!(media_type("Makefile", true), "text/plain");
        assert_eq!(media_type("data", false), "application/octet-stream");
    }
}
