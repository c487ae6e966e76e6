//! Words that stand for values, lists of words in sentences, and similar names.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use skills_runtime::ScriptType;

/// Maximum edit distance of a suggestion.
const MAX_TYPOS: usize = 2;

/// Parses a word of a table: each word with its help and the value that it stands for. Words after
/// `|` stand for the same value and are not in help.
pub(crate) fn word_parser<T: Clone + Send + Sync + 'static>(
    table: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let values = table.iter();
    let values = values.map(|(words, help, _)| {
        let mut words = words.split('|');
        let shown = words.next().unwrap_or_default();
        PossibleValue::new(shown).aliases(words).help(*help)
    });
    PossibleValuesParser::new(values).try_map(|word| {
        let mut known = table.iter();
        let found = known.find(|(words, ..)| words.split('|').any(|known| known == word));
        found
            .map(|(_, _, value)| value.clone())
            .ok_or("unknown word")
    })
}

/// Returns the number of characters of the longest text.
pub(crate) fn widest<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> usize {
    let lengths = texts.into_iter().map(|text| text.as_ref().chars().count());
    lengths.max().unwrap_or_default()
}

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

/// Parses the name of a type of scripts, which messages call `what`.
pub(crate) fn parse_script_type(what: &str, name: &str) -> Result<ScriptType, String> {
    let mut all = ScriptType::ALL.into_iter();
    let known = all.find(|known| known.as_str() == name);
    known.ok_or_else(|| unknown(what, name, &ScriptType::ALL.map(ScriptType::as_str)))
}

/// Returns the message about a name that is not one of the known ones, with the most similar one.
pub(crate) fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let distance = |known: &&str| strsim::damerau_levenshtein(known, &name.to_lowercase());
    let nearest = known.iter().min_by_key(|known| (distance(known), **known));
    match nearest.filter(|known| distance(known) <= MAX_TYPOS) {
        Some(nearest) => format!("unknown {what} `{name}`; did you mean `{nearest}`?"),
        None => format!(
            "unknown {what} `{name}`: expected one of {}",
            known.join(", ")
        ),
    }
}
