//! The most similar name of a wrong one.

/// Returns the most similar name, if it is similar enough.
pub(crate) fn nearest_name<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let scored = names
        .map(|known| (strsim::jaro_winkler(name, known), known))
        // Less similar names are more often wrong than helpful.
        .filter(|(score, _)| *score > 0.85);
    scored
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known.to_owned())
}
