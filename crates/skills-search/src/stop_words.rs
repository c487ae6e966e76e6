//! Words that say nothing about which skill a request is about.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use foldhash::fast::RandomState;

/// The lists, as a data file: sections with words that are separated by spaces.
const LISTS: &str = include_str!("stop_words.txt");

static STOP_WORDS: LazyLock<StopWords> = LazyLock::new(|| StopWords::parse(LISTS));

/// The parsed lists.
struct StopWords {
    words: HashSet<&'static str, RandomState>,
    conversation: HashSet<&'static str, RandomState>,
    /// The phrases by their first character, longest first, so that a phrase is removed before its
    /// parts.
    phrases: HashMap<char, Vec<Vec<char>>, RandomState>,
    characters: HashSet<char, RandomState>,
}

impl StopWords {
    fn parse(text: &'static str) -> Self {
        let mut words = HashSet::default();
        let mut conversation = HashSet::default();
        let mut phrases: Vec<Vec<char>> = Vec::new();
        let mut section = "";
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(name) = line
                .strip_prefix('[')
                .and_then(|line| line.strip_suffix(']'))
            {
                section = name;
                continue;
            }
            let entries = line.split_whitespace();
            match section {
                "chinese" => phrases.extend(entries.map(|phrase| phrase.chars().collect())),
                "english-conversation" => conversation.extend(entries),
                _ => words.extend(entries),
            }
        }
        phrases.sort_by_key(|phrase| std::cmp::Reverse(phrase.len()));
        let single = phrases.iter().filter(|phrase| phrase.len() == 1);
        let characters = single.flatten().copied().collect();
        phrases.retain(|phrase| phrase.len() > 1);
        let mut by_first: HashMap<char, Vec<Vec<char>>, RandomState> = HashMap::default();
        for phrase in phrases {
            by_first.entry(phrase[0]).or_default().push(phrase);
        }
        Self {
            words,
            conversation,
            phrases: by_first,
            characters,
        }
    }
}

/// Returns true for a lowercase, unstemmed word of a script with spaces.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.words.contains(word) || is_conversation_word(word)
}

/// Returns true for a stop word with which users talk to an agent instead of naming a task.
pub(crate) fn is_conversation_word(word: &str) -> bool {
    STOP_WORDS.conversation.contains(word)
}

/// Returns true for a word of one character in a script without spaces.
pub(crate) fn is_stop_character(character: char) -> bool {
    STOP_WORDS.characters.contains(&character)
}

/// Splits a run of a script without spaces at the phrases that carry no meaning for a search.
pub(crate) fn split_at_phrases(run: &[char]) -> Vec<&[char]> {
    let stop_words = &*STOP_WORDS;
    let mut pieces = Vec::new();
    let (mut start, mut position) = (0, 0);
    while position < run.len() {
        let mut phrases = stop_words.phrases.get(&run[position]).into_iter().flatten();
        let phrase = phrases.find(|phrase| run[position..].starts_with(phrase));
        match phrase {
            Some(phrase) => {
                pieces.push(&run[start..position]);
                position += phrase.len();
                start = position;
            }
            None => position += 1,
        }
    }
    pieces.push(&run[start..]);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_removed_before_their_parts() {
        let run: Vec<char> = "请帮我写文章".chars().collect();
        let pieces: Vec<String> = split_at_phrases(&run)
            .iter()
            .map(|p| p.iter().collect())
            .collect();
        assert_eq!(pieces, ["写文章"]);
    }

    #[test]
    fn stop_words_are_lowercase_words() {
        assert!(is_stop_word("please") && !is_stop_word("pdf"));
        let is_plain = |word: &str| word.to_lowercase() == word;
        assert!(STOP_WORDS.words.iter().all(|word| is_plain(word)));
    }
}
