//! Lists of words in sentences.

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
