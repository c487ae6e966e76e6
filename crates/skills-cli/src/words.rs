//! Lists of words in sentences, and similar names.

/// Maximum edit distance of a suggestion.
const MAX_TYPOS: usize = 2;

/// Joins words with commas, and the last one with a conjunction: `a, b or c`.
pub(crate) fn join_words(words: &[impl AsRef<str>], conjunction: &str) -> String {
    let mut text = String::new();
    for (index, word) in words.iter().enumerate() {
        match index {
            0 => {}
            _ if index + 1 == words.len() => text.push_str(&format!(" {conjunction} ")),
            _ => text.push_str(", "),
        }
        text.push_str(word.as_ref());
    }
    text
}

/// Returns the known name that is most similar to an unknown one, if there is one.
pub(crate) fn similar(name: &str, known: &[&'static str]) -> Option<&'static str> {
    let distance = |known: &'static str| (strsim::damerau_levenshtein(known, name), known);
    let (typos, nearest) = known.iter().copied().map(distance).min()?;
    (typos <= MAX_TYPOS).then_some(nearest)
}
