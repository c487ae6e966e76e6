//! The words of requests in both languages: verbs, fillers, separators and the word "skill".

use std::ops::Range;
use std::sync::LazyLock;

use super::request::Verb;
use super::tokens::{ASCII_WORD_CHARACTERS, Paragraph, TokenKind};
use crate::word_list::{WordMap, Words, contains_ignore_case, section, section_map};

/// The word lists of English.
pub(super) const ENGLISH: &str = include_str!("english.txt");
/// The word lists of Chinese.
pub(super) const CHINESE: &str = include_str!("chinese.txt");

static VERBS: Words = Words::new(|| section(ENGLISH, "verbs"));
static VERB_PREPOSITIONS: Words = Words::new(|| section(ENGLISH, "verb prepositions"));
static FILLERS: Words = Words::new(|| section(ENGLISH, "fillers"));
static ARTICLES: Words = Words::new(|| section(ENGLISH, "articles"));
static ADJECTIVES: Words = Words::new(|| section(ENGLISH, "adjectives"));
static VAGUE_WORDS: Words = Words::new(|| section(ENGLISH, "vague"));
static CHINESE_VERBS: Words = Words::new(|| section(CHINESE, "verbs"));
static CHINESE_PREPOSITIONS: Words = Words::new(|| section(CHINESE, "verb prepositions"));
static OTHER_WORDS_BEFORE: WordMap = WordMap::new(|| section_map(CHINESE, "other words before"));
static OTHER_WORDS_AFTER: WordMap = WordMap::new(|| section_map(CHINESE, "other words after"));
static CHINESE_FILLERS: Words = Words::new(|| section(CHINESE, "fillers"));
static CHINESE_TRAILERS: Words = Words::new(|| section(CHINESE, "trailers"));
static CHINESE_VAGUE_WORDS: Words = Words::new(|| section(CHINESE, "vague"));
static CHINESE_BREAKS: Words = Words::new(|| section(CHINESE, "breaks"));

/// The first characters of Chinese verbs, one bit per code point up to U+FFFF. They rule out nearly
/// all other characters of a text.
static CHINESE_VERB_INITIALS: LazyLock<[u64; 1024]> = LazyLock::new(|| {
    let mut bits = [0; 1024];
    for verb in CHINESE_VERBS.iter().chain(CHINESE_PREPOSITIONS.iter()) {
        let initial = verb.chars().next().map_or(0, |c| c as usize);
        bits[initial / 64] |= 1 << (initial % 64);
    }
    bits
});

/// The English verbs by their length.
static ENGLISH_VERBS: LazyLock<[SameLength; 16]> = LazyLock::new(|| {
    let mut verbs = <[SameLength; 16]>::default();
    for (list, kind) in [
        (&VERBS, Verb::Imperative),
        (&VERB_PREPOSITIONS, Verb::Preposition),
    ] {
        for verb in list.iter() {
            verbs[verb.len()].initials |= letter_bit(verb);
            verbs[verb.len()].verbs.push((verb, kind));
        }
    }
    verbs
});

/// The English verbs of one length.
#[derive(Default)]
struct SameLength {
    /// Their first letters, one bit each. Two operations rule out nearly all words of a text.
    initials: u32,
    verbs: Vec<(&'static str, Verb)>,
}

/// A verb in a paragraph.
#[derive(Clone, Copy)]
pub(super) struct VerbMatch {
    pub(super) kind: Verb,
    pub(super) position: usize,
    /// The position after the verb.
    pub(super) end: usize,
}

/// Returns the verb at a token.
pub(super) fn match_verb(paragraph: &Paragraph<'_>, position: usize) -> Option<VerbMatch> {
    let (kind, length) = match paragraph.kind(position)? {
        TokenKind::Word => (spoken_english_verb(paragraph.word(position))?, 1),
        TokenKind::Cjk(c) if may_begin_chinese_verb(c) => {
            let start = paragraph.tokens[position].start;
            let (kind, verb) = chinese_verb(&paragraph.text[start..])?;
            is_whole_verb(paragraph.text, start, verb).then(|| (kind, verb.chars().count()))?
        }
        TokenKind::Cjk(_) | TokenKind::Punctuation(_) => return None,
    };
    Some(VerbMatch {
        kind,
        position,
        end: position + length,
    })
}

fn spoken_english_verb(word: &str) -> Option<Verb> {
    if word.is_ascii() {
        return english_verb(word);
    }
    // An invisible character inside of a verb must not hide the phrase from the rules.
    english_verb(&lowercase_plain(word))
}

/// Returns the Chinese verb or preposition with which a text begins.
fn chinese_verb(text: &str) -> Option<(Verb, &'static str)> {
    let verb = longest_prefix(&CHINESE_VERBS, text).map(|verb| (Verb::Imperative, verb));
    let preposition = || longest_prefix(&CHINESE_PREPOSITIONS, text);
    verb.or_else(|| Some((Verb::Preposition, preposition()?)))
}

/// Returns the longest entry with which a text begins; in the lists it precedes shorter ones.
pub(super) fn longest_prefix(list: &[&'static str], text: &str) -> Option<&'static str> {
    list.iter().find(|word| text.starts_with(**word)).copied()
}

/// Returns true if a Chinese verb is not a part of another word.
fn is_whole_verb(text: &str, start: usize, verb: &str) -> bool {
    let before = text[..start].chars().next_back();
    let after = text[start + verb.len()..].chars().next();
    let forms_other_word = |map: &WordMap, c: Option<char>| {
        c.zip(map.get(verb))
            .is_some_and(|(c, characters)| characters.iter().any(|list| list.contains(c)))
    };
    !forms_other_word(&OTHER_WORDS_BEFORE, before) && !forms_other_word(&OTHER_WORDS_AFTER, after)
}

/// Returns a word in lowercase, without invisible characters, with ASCII apostrophes and hyphens.
pub(super) fn lowercase_plain(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let plain = word
        .chars()
        .filter(|c| !skills_manifest::is_invisible(*c))
        .map(|c| match c {
            '\u{2018}' | '\u{2019}' | '\u{2BC}' | '\u{B4}' | '\u{FF07}' => '\'',
            '\u{2010}'..='\u{2015}' => '-',
            c => c,
        });
    plain.flat_map(char::to_lowercase).collect()
}

/// Returns true for articles and possessives.
pub(super) fn is_article(word: &str) -> bool {
    contains_ignore_case(&ARTICLES, word)
}

/// Returns true if a word can precede a name without being a part of it.
pub(super) fn is_adjective(word: &str) -> bool {
    contains_ignore_case(&ADJECTIVES, word)
}

/// Returns true if a Chinese character negates, or begins another phrase.
pub(super) fn breaks_phrase(c: char) -> bool {
    CHINESE_BREAKS.iter().any(|list| list.contains(c))
}

/// Returns false if a line contains no request for a skill.
///
/// This check is fast and has no false negatives; most lines of a message end here.
pub(super) fn may_contain_verb(line: &str) -> bool {
    line.trim_start().starts_with(['/', '@'])
        // "skill" in any case of its first letter.
        || contains_bytes(line, b"kill")
        || contains_bytes(line, b"KILL")
        || has_verb(line)
}

fn contains_bytes(line: &str, part: &[u8]) -> bool {
    memchr::memmem::find(line.as_bytes(), part).is_some()
}

/// Returns true if a line may contain a verb that needs no word "skill".
fn has_verb(line: &str) -> bool {
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..]
            .iter()
            .position(|b| !ASCII_WORD_CHARACTERS[usize::from(*b)])
            .unwrap_or(bytes.len() - at);
        if length == 0 && bytes[at] >= 0x80 {
            return has_verb_after_other_script(&line[at..]);
        }
        if length > 0 && may_be_emphasized_verb(&line[at..at + length]) {
            return true;
        }
        at += length.max(1);
    }
    false
}

/// Returns true if a text may contain a verb. Its words may not be separated by spaces, so characters
/// are searched instead.
fn has_verb_after_other_script(text: &str) -> bool {
    text.chars().any(|c| may_begin_chinese_verb(c) || c == '技')
        || text
            .split(|c: char| !c.is_ascii_alphabetic())
            .any(may_be_verb)
}

/// Returns true for a verb, also with emphasis such as `_use_`, which is a part of the word here,
/// unlike in the tokenizer.
fn may_be_emphasized_verb(word: &str) -> bool {
    const MARKS: [char; 3] = ['\'', '-', '_'];
    let is_edged = word.starts_with(MARKS) || word.ends_with(MARKS);
    may_be_verb(word) || is_edged && may_be_verb(word.trim_matches(MARKS))
}

/// Returns true for a verb except for "with", which is frequent and needs the word "skill".
fn may_be_verb(word: &str) -> bool {
    english_verb(word).is_some() && !word.eq_ignore_ascii_case("with")
}

/// Returns true for the first characters of Chinese verbs.
#[inline]
fn may_begin_chinese_verb(c: char) -> bool {
    let c = c as usize;
    CHINESE_VERB_INITIALS
        .get(c / 64)
        .is_some_and(|bits| bits >> (c % 64) & 1 == 1)
}

#[inline]
fn english_verb(word: &str) -> Option<Verb> {
    let same_length = ENGLISH_VERBS.get(word.len())?;
    if same_length.initials & letter_bit(word) == 0 {
        return None;
    }
    let mut verbs = same_length.verbs.iter();
    let (_, kind) = verbs.find(|(verb, _)| verb.eq_ignore_ascii_case(word))?;
    Some(*kind)
}

/// Returns the bit of the first letter of a word, in any case; 0 if it is not a letter.
#[inline]
fn letter_bit(word: &str) -> u32 {
    match word.as_bytes().first() {
        Some(b) if b.is_ascii_alphabetic() => 1 << (b.to_ascii_lowercase() - b'a'),
        _ => 0,
    }
}

/// Words without meaning that are skipped.
pub(super) struct Filler {
    pub(super) tokens: usize,
    /// Whether they were the word "skill".
    pub(super) is_skill: bool,
}

/// Returns the words without meaning at a position.
pub(super) fn match_filler(paragraph: &Paragraph<'_>, at: usize) -> Option<Filler> {
    let skill_word = skill_word_length(paragraph, at);
    let tokens = match paragraph.kind(at)? {
        _ if skill_word.is_some() => skill_word?,
        TokenKind::Word => contains_ignore_case(&FILLERS, paragraph.word(at)).then_some(1)?,
        TokenKind::Cjk(_) => {
            let rest = &paragraph.text[paragraph.tokens[at].start..];
            longest_prefix(&CHINESE_FILLERS, rest)?.chars().count()
        }
        TokenKind::Punctuation(mark) => {
            (is_wrapper(mark) || matches!(mark, ':' | '：' | '@')).then_some(1)?
        }
    };
    Some(Filler {
        tokens,
        is_skill: skill_word.is_some(),
    })
}

/// Returns the number of tokens of the word "skill" at a position: 技能 is two; `None` if the token
/// is another word.
pub(super) fn skill_word_length(paragraph: &Paragraph<'_>, at: usize) -> Option<usize> {
    let token = paragraph.tokens.get(at)?;
    match token.kind {
        TokenKind::Word => {
            let may_match = matches!(paragraph.text.as_bytes()[token.start], b's' | b'S');
            let is_skill = may_match
                && contains_ignore_case(&["skill", "skills", "skill's"], paragraph.word(at));
            (is_skill && !is_file_stem(paragraph, at)).then_some(1)
        }
        TokenKind::Cjk('技') => paragraph.text_after(at).starts_with('能').then_some(2),
        TokenKind::Cjk(_) | TokenKind::Punctuation(_) => None,
    }
}

/// Returns true for the name of a file before its extension, as in `SKILL.md`.
fn is_file_stem(paragraph: &Paragraph<'_>, at: usize) -> bool {
    let extension = paragraph.text_after(at).strip_prefix('.');
    extension.is_some_and(|extension| extension.starts_with(char::is_alphanumeric))
}

/// Returns true for marks that can enclose a name.
pub(super) fn is_wrapper(mark: char) -> bool {
    "\"`*'_“”‘’「」『』《》【】".contains(mark)
}

/// Returns true if a token separates two names.
pub(super) fn is_name_separator(paragraph: &Paragraph<'_>, at: usize) -> bool {
    match paragraph.kind(at) {
        Some(TokenKind::Word) => contains_ignore_case(&["and", "or", "plus"], paragraph.word(at)),
        Some(TokenKind::Cjk(c)) => "和与與及或跟".contains(c),
        Some(TokenKind::Punctuation(mark)) => ",、，&/+".contains(mark),
        None => false,
    }
}

/// Returns the number of tokens at the end of a phrase that are not part of the name.
pub(super) fn trailing_fillers(paragraph: &Paragraph<'_>, phrase: &Range<usize>) -> usize {
    if phrase.is_empty() {
        return 0;
    }
    if let Some(TokenKind::Punctuation(_)) = paragraph.kind(phrase.end - 1) {
        return 1;
    }
    let text = paragraph.text_of(phrase);
    let trailer = CHINESE_TRAILERS
        .iter()
        .find(|trailer| text.ends_with(**trailer) && text.len() > trailer.len());
    trailer.map_or(0, |trailer| trailer.chars().count())
}

/// Returns true for words before "skill" that describe a skill instead of naming it: "the right
/// skill".
pub(super) fn is_vague(word: &str) -> bool {
    contains_ignore_case(&VAGUE_WORDS, word)
        || CHINESE_VAGUE_WORDS
            .iter()
            .any(|vague| word.ends_with(vague))
}
