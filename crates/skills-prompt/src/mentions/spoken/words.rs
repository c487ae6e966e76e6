//! The words by which people call for a skill.

use super::tokens::{IN_WORD, Kind, Token};

/// What a verb can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// It asks for something to be done: "use".
    Acts,
    /// It says how something is to be done, and so needs the word "skill": "with".
    Leads,
}

/// Chinese verbs; of two that begin alike the longer stands first.
const CHINESE_VERBS: [(&str, Verb); 25] = [
    ("使用", Verb::Acts),
    ("启用", Verb::Acts),
    ("啟用", Verb::Acts),
    ("调用", Verb::Acts),
    ("調用", Verb::Acts),
    ("采用", Verb::Acts),
    ("運用", Verb::Acts),
    ("运用", Verb::Acts),
    ("利用", Verb::Acts),
    ("应用", Verb::Acts),
    ("應用", Verb::Acts),
    ("运行", Verb::Acts),
    ("運行", Verb::Acts),
    ("执行", Verb::Acts),
    ("執行", Verb::Acts),
    ("加载", Verb::Acts),
    ("載入", Verb::Acts),
    ("激活", Verb::Acts),
    ("启动", Verb::Acts),
    ("啟動", Verb::Acts),
    ("通过", Verb::Leads),
    ("借助", Verb::Leads),
    ("按照", Verb::Leads),
    ("用", Verb::Acts),
    ("按", Verb::Leads),
];

/// Words between a verb and a name that say nothing.
const FILLERS: [&str; 22] = [
    "the",
    "my",
    "our",
    "your",
    "this",
    "that",
    "a",
    "an",
    "installed",
    "please",
    "also",
    "again",
    "only",
    "just",
    "both",
    "called",
    "named",
    "one",
    "of",
    "available",
    "relevant",
    "its",
];
const CHINESE_FILLERS: [&str; 20] = [
    "一下",
    "这个",
    "這個",
    "那个",
    "那個",
    "我的",
    "你的",
    "名为",
    "名為",
    "名叫",
    "叫做",
    "叫",
    "已安装的",
    "已安裝的",
    "一个",
    "一個",
    "下",
    "我们的",
    "上面的",
    "我們的",
];
/// Words between a name and 技能.
const CHINESE_TRAILERS: [&str; 8] = ["这个", "這個", "那个", "那個", "这项", "這項", "该", "的"];

/// Says which verb stands at a token, and which token comes behind it.
pub(super) fn verb_at(text: &str, tokens: &[Token], at: usize) -> Option<(Verb, usize)> {
    let token = tokens.get(at)?;
    match token.kind {
        Kind::Word => Some((english(&text[token.start..token.end])?, at + 1)),
        Kind::Character(c) => {
            let rest = if begins_verb(c) { &text[token.start..] } else { return None };
            let (verb, kind) = CHINESE_VERBS.iter().find(|(verb, _)| rest.starts_with(verb))?;
            Some((*kind, at + verb.chars().count()))
        }
        Kind::Mark(_) => None,
    }
}

/// Whether a line may call for a skill at all: a quick look that is never wrong about a no.
pub(super) fn may_call(line: &str) -> bool {
    let bytes = line.as_bytes();
    line.starts_with('/') || memchr::memchr(b'@', bytes).is_some() || memmem(line, b"kill") || memmem(line, b"KILL") || has_verb(line)
}

fn memmem(line: &str, part: &[u8]) -> bool {
    memchr::memmem::find(line.as_bytes(), part).is_some()
}

/// Whether a verb stands in a line that calls for something by itself; "with" only does with the word "skill".
fn has_verb(line: &str) -> bool {
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..].iter().position(|b| !IN_WORD[usize::from(*b)]).unwrap_or(bytes.len() - at);
        if length == 0 {
            if bytes[at] >= 0x80 {
                return line[at..].chars().any(|c| begins_verb(c) || c == '技') || has_verb_behind(line, at);
            }
            at += 1;
            continue;
        }
        let word = &line[at..at + length];
        let is_edged = [bytes[at], bytes[at + length - 1]].iter().any(|b| matches!(b, b'\'' | b'-' | b'_'));
        if english(word) == Some(Verb::Acts) || is_edged && has_edge(word) {
            return true;
        }
        at += length;
    }
    false
}

/// The rest of a line behind its first character that is not ASCII.
fn has_verb_behind(line: &str, at: usize) -> bool {
    line[at..].split(|c: char| !c.is_ascii_alphabetic()).any(|word| english(word) == Some(Verb::Acts))
}

/// A word with marks at its end is shorter than it looks.
fn has_edge(word: &str) -> bool {
    let trimmed = word.trim_matches(['\'', '-', '_']);
    trimmed.len() < word.len() && english(trimmed) == Some(Verb::Acts)
}

/// What Chinese verbs begin with; nearly no other character has to be looked at twice.
fn begins_verb(c: char) -> bool {
    matches!(
        c,
        '使' | '启'
            | '啟'
            | '调'
            | '調'
            | '采'
            | '運'
            | '运'
            | '利'
            | '应'
            | '應'
            | '执'
            | '執'
            | '加'
            | '載'
            | '激'
            | '通'
            | '借'
            | '按'
            | '用'
    )
}

/// The letters that verbs of each length begin with, a bit each; nearly no other word has to be looked at twice.
const BEGINNINGS: [u32; 10] = {
    let letters: [&[u8]; 10] = [b"", b"", b"", b"urtvp", b"lcw", b"uas", b"iletf", b"rlceut", b"ai", b"ef"];
    let mut masks = [0; 10];
    let mut length = 0;
    while length < masks.len() {
        let mut index = 0;
        while index < letters[length].len() {
            masks[length] |= 1 << (letters[length][index] - b'a');
            index += 1;
        }
        length += 1;
    }
    masks
};

#[inline]
fn english(word: &str) -> Option<Verb> {
    let first = word.as_bytes().first()?.to_ascii_lowercase().wrapping_sub(b'a');
    let mask = BEGINNINGS.get(word.len())?;
    if first < 26 && mask & (1 << first) != 0 { verb(word) } else { None }
}

fn verb(word: &str) -> Option<Verb> {
    let mut lower = [0; 9];
    let lower = lower.get_mut(..word.len())?;
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    match &*lower {
        b"use" | b"using" | b"run" | b"running" | b"apply" | b"applying" | b"invoke" | b"invoking" | b"activate" | b"load" | b"loading"
        | b"call" | b"calling" | b"try" | b"trying" | b"execute" | b"executing" | b"start" | b"launch" | b"employ" | b"utilize"
        | b"utilise" | b"trigger" => Some(Verb::Acts),
        b"with" | b"via" | b"through" | b"per" | b"follow" | b"following" => Some(Verb::Leads),
        _ => None,
    }
}

/// A step over words that say nothing.
pub(super) struct Filler {
    pub(super) tokens: usize,
    /// It was the word "skill".
    pub(super) is_skill: bool,
}

/// Says how far the words reach that say nothing.
pub(super) fn is_filler(text: &str, tokens: &[Token], at: usize) -> Option<Filler> {
    let token = tokens.get(at)?;
    let plain = |tokens| Some(Filler { tokens, is_skill: false });
    if is_skill(text, tokens, at) {
        let length = if matches!(token.kind, Kind::Character(_)) { 2 } else { 1 };
        return Some(Filler { tokens: length, is_skill: true });
    }
    match token.kind {
        Kind::Word => {
            let word = &text[token.start..token.end];
            FILLERS.iter().any(|filler| word.eq_ignore_ascii_case(filler)).then_some(())?;
            plain(1)
        }
        Kind::Character(_) => {
            let rest = &text[token.start..];
            let filler = CHINESE_FILLERS.iter().find(|filler| rest.starts_with(**filler))?;
            plain(filler.chars().count())
        }
        Kind::Mark(mark) if is_wrapper(mark) || matches!(mark, ':' | '：') => plain(1),
        Kind::Mark(_) => None,
    }
}

/// Whether the word "skill" stands at a token.
pub(super) fn is_skill(text: &str, tokens: &[Token], at: usize) -> bool {
    let Some(token) = tokens.get(at) else { return false };
    match token.kind {
        Kind::Word => {
            let begins = matches!(text.as_bytes()[token.start], b's' | b'S') && token.end - token.start <= 7;
            let is_word =
                begins && ["skill", "skills", "skill's"].iter().any(|word| text[token.start..token.end].eq_ignore_ascii_case(word));
            // `SKILL.md` is a file.
            let mut rest = text[token.end..].chars();
            is_word && !(rest.next() == Some('.') && rest.next().is_some_and(char::is_alphanumeric))
        }
        Kind::Character(c) => c == '技' && text[token.start..].starts_with("技能"),
        Kind::Mark(_) => false,
    }
}

/// Marks that people put around a name.
pub(super) fn is_wrapper(mark: char) -> bool {
    matches!(mark, '"' | '`' | '*' | '\'' | '“' | '”' | '‘' | '’' | '「' | '」' | '『' | '』' | '《' | '》' | '【' | '】' | '_')
}

/// Whether a token divides one name from the next.
pub(super) fn is_joining(text: &str, token: &Token) -> bool {
    let part = &text[token.start..token.end];
    match token.kind {
        Kind::Word => ["and", "or", "plus"].iter().any(|word| part.eq_ignore_ascii_case(word)),
        Kind::Character(c) => matches!(c, '和' | '与' | '與' | '及' | '或'),
        Kind::Mark(mark) => matches!(mark, ',' | '、' | '，' | '&'),
    }
}

/// How many tokens at the end of a phrase lead to the word "skill" and are no part of the name.
pub(super) fn trailing(text: &str, tokens: &[Token]) -> usize {
    let Some(last) = tokens.last() else { return 0 };
    if let Kind::Mark(_) = last.kind {
        return 1;
    }
    let phrase = &text[tokens.first().map_or(last.start, |first| first.start)..last.end];
    let trailer = CHINESE_TRAILERS.iter().find(|trailer| phrase.ends_with(**trailer) && phrase.len() > trailer.len());
    trailer.map_or(0, |trailer| trailer.chars().count())
}

/// Words before "skill" that are no attempt at a name: "the right skill".
pub(super) fn is_vague(word: &str) -> bool {
    const VAGUE: [&str; 38] = [
        "right",
        "best",
        "correct",
        "appropriate",
        "relevant",
        "same",
        "new",
        "other",
        "another",
        "following",
        "any",
        "each",
        "every",
        "available",
        "existing",
        "necessary",
        "needed",
        "suitable",
        "proper",
        "first",
        "second",
        "third",
        "last",
        "next",
        "own",
        "good",
        "different",
        "matching",
        "all",
        "some",
        "these",
        "those",
        "required",
        "special",
        "specific",
        "custom",
        "agent",
        "language",
    ];
    const VAGUE_CHINESE: [&str; 14] =
        ["合适", "相关", "正确", "对应", "这些", "那些", "所有", "其他", "新", "相应", "适当", "任何", "哪个", "什么"];
    VAGUE.iter().any(|vague| word.eq_ignore_ascii_case(vague)) || VAGUE_CHINESE.iter().any(|vague| word.ends_with(vague))
}
