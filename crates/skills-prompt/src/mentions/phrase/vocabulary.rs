//! The words of requests in both languages: verbs, fillers, separators and the word "skill".

use super::tokens::{ASCII_WORD_CHARACTERS, TextToken, TokenKind};

/// The kind of a verb or preposition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// Requests something: "use".
    Imperative,
    /// Modifies a task, and needs the word "skill": "with".
    Preposition,
}

/// Chinese verbs. A verb precedes those that it begins with.
const CHINESE_VERBS: [(&str, Verb); 33] = [
    ("使用", Verb::Imperative),
    ("启用", Verb::Imperative),
    ("啟用", Verb::Imperative),
    ("调用", Verb::Imperative),
    ("調用", Verb::Imperative),
    ("采用", Verb::Imperative),
    ("運用", Verb::Imperative),
    ("运用", Verb::Imperative),
    ("利用", Verb::Imperative),
    ("应用", Verb::Imperative),
    ("應用", Verb::Imperative),
    ("运行", Verb::Imperative),
    ("運行", Verb::Imperative),
    ("执行", Verb::Imperative),
    ("執行", Verb::Imperative),
    ("加载", Verb::Imperative),
    ("加載", Verb::Imperative),
    ("载入", Verb::Imperative),
    ("載入", Verb::Imperative),
    ("激活", Verb::Imperative),
    ("启动", Verb::Imperative),
    ("啟動", Verb::Imperative),
    ("打开", Verb::Imperative),
    ("開啟", Verb::Imperative),
    ("试试", Verb::Imperative),
    ("通过", Verb::Imperative),
    ("借助", Verb::Imperative),
    ("按照", Verb::Imperative),
    ("依照", Verb::Imperative),
    ("根据", Verb::Imperative),
    ("用", Verb::Imperative),
    ("以", Verb::Preposition),
    ("按", Verb::Imperative),
];
/// Characters before 用 that form another word with it: 禁用, 常用, 费用.
const BEFORE_YONG: &str =
    "禁停弃棄慎滥濫误誤少复複引常有没沒可专專信费費作公通适適实實占借套引沿雇聘备備享饮飲";
/// Characters after 用 that form another word with it: 用户, 用于.
const AFTER_YONG: &str = "户戶于於到过過例途法量完处處意心功力料品具餐";

/// Words without meaning between a verb and a name.
const FILLERS: [&str; 21] = [
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
    "available",
    "its",
    "these",
    "following",
];
const CHINESE_FILLERS: [&str; 28] = [
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
    "我们的",
    "上面的",
    "我們的",
    "以下",
    "下面的",
    "下列",
    "这些",
    "這些",
    "最新的",
    "新的",
    "的",
    "下",
];
/// Adjectives that can precede a name.
const ADJECTIVES: [&str; 14] = [
    "new",
    "excellent",
    "great",
    "nice",
    "good",
    "awesome",
    "existing",
    "special",
    "dedicated",
    "official",
    "local",
    "internal",
    "bundled",
    "amazing",
];
/// Words that can occur between a name and 技能.
const CHINESE_TRAILERS: [&str; 8] = ["这个", "這個", "那个", "那個", "这项", "這項", "该", "的"];

/// Returns the verb at a token, and the position after it.
pub(super) fn match_verb(text: &str, tokens: &[TextToken], at: usize) -> Option<(Verb, usize)> {
    let token = tokens.get(at)?;
    match token.kind {
        TokenKind::Word => {
            let word = &text[token.start..token.end];
            let verb = if word.is_ascii() {
                english_verb(word)
            } else {
                // An invisible character inside of a verb must not hide the phrase from the rules.
                english_verb(&lowercase_plain(word))
            };
            Some((verb?, at + 1))
        }
        TokenKind::Cjk(c) => {
            let rest = if may_begin_chinese_verb(c) {
                &text[token.start..]
            } else {
                return None;
            };
            let (verb, kind) = CHINESE_VERBS
                .iter()
                .find(|(verb, _)| rest.starts_with(verb))?;
            let next = at + verb.chars().count();
            is_whole_verb(text, token.start, verb).then_some((*kind, next))
        }
        TokenKind::Punctuation(_) => None,
    }
}

/// Returns true if a verb is not a part of another word.
fn is_whole_verb(text: &str, start: usize, verb: &str) -> bool {
    let before = text[..start].chars().next_back();
    let after = text[start + verb.len()..].chars().next();
    let is_any_of = |c: Option<char>, list: &str| c.is_some_and(|c| list.contains(c));
    match verb {
        "用" => {
            !is_any_of(before, BEFORE_YONG)
                && !is_any_of(after, AFTER_YONG)
                && !text[start..].starts_with("用了")
                && !text[start..].starts_with("用来")
        }
        "按" => !is_any_of(after, "钮鈕键鍵下"),
        "以" => !is_any_of(after, "及后前便免为為上下外内来") && !is_any_of(before, "可所难足"),
        // 通过了 and 通过测试 mean "passed".
        "通过" => !is_any_of(after, "了测"),
        // 应用程序 is an application, not the verb.
        "应用" | "應用" => !is_any_of(after, "程里的商"),
        "启用" | "啟用" | "使用" | "运行" | "加载" => !is_any_of(after, "者了过"),
        _ => true,
    }
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
    ["the", "a", "an", "my", "our", "your", "both"]
        .iter()
        .any(|article| word.eq_ignore_ascii_case(article))
}

/// Returns true if a word can precede a name without being a part of it.
pub(super) fn is_adjective(word: &str) -> bool {
    ADJECTIVES
        .iter()
        .any(|adjective| word.eq_ignore_ascii_case(adjective))
}

/// Returns true if a Chinese character negates, or begins another phrase.
pub(super) fn breaks_phrase(c: char) -> bool {
    matches!(
        c,
        '不' | '没' | '沒' | '别' | '別' | '勿' | '未' | '禁' | '而' | '但'
    )
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
        if length == 0 {
            if bytes[at] >= 0x80 {
                // From here on words are not separated by spaces; search for characters instead.
                return line[at..]
                    .chars()
                    .any(|c| may_begin_chinese_verb(c) || c == '技')
                    || has_verb_after(line, at);
            }
            at += 1;
            continue;
        }
        let word = &line[at..at + length];
        let is_edged = [bytes[at], bytes[at + length - 1]]
            .iter()
            .any(|b| matches!(b, b'\'' | b'-' | b'_'));
        // Emphasis such as `_use_` is a part of the word here, unlike in the tokenizer.
        if may_be_verb(word) || is_edged && has_trailing_mark(word) {
            return true;
        }
        at += length;
    }
    false
}

/// Checks the rest of a line from its first character that is not ASCII.
fn has_verb_after(line: &str, at: usize) -> bool {
    line[at..]
        .split(|c: char| !c.is_ascii_alphabetic())
        .any(may_be_verb)
}

/// Returns true for a verb except for "with", which is frequent and needs the word "skill".
fn may_be_verb(word: &str) -> bool {
    english_verb(word).is_some() && !word.eq_ignore_ascii_case("with")
}

/// Returns true if a word is a verb without the marks around it.
fn has_trailing_mark(word: &str) -> bool {
    let trimmed = word.trim_matches(['\'', '-', '_']);
    trimmed.len() < word.len() && may_be_verb(trimmed)
}

/// Returns true for the first characters of Chinese verbs, which rules out nearly all others.
fn may_begin_chinese_verb(c: char) -> bool {
    matches!(
        c,
        '用' | '使'
            | '调'
            | '調'
            | '运'
            | '運'
            | '执'
            | '執'
            | '启'
            | '啟'
            | '应'
            | '應'
            | '采'
            | '利'
            | '加'
            | '载'
            | '載'
            | '激'
            | '打'
            | '開'
            | '试'
            | '通'
            | '借'
            | '按'
            | '依'
            | '根'
            | '以'
    )
}

/// The first letters of the English verbs of each length, one bit per letter. Two operations rule
/// out nearly all words of a text.
const VERB_INITIALS: [u32; 10] = {
    let letters: [&[u8]; 10] = [
        b"", b"", b"", b"urtva", b"lcw", b"uas", b"ile", b"eut", b"a", b"",
    ];
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
fn english_verb(word: &str) -> Option<Verb> {
    let first = word
        .as_bytes()
        .first()?
        .to_ascii_lowercase()
        .wrapping_sub(b'a');
    let mask = VERB_INITIALS.get(word.len())?;
    if first < 26 && mask & (1 << first) != 0 {
        lookup_verb(word)
    } else {
        None
    }
}

fn lookup_verb(word: &str) -> Option<Verb> {
    // On the stack, as this runs for many words of a message; no verb is longer.
    let mut lower = [0; 9];
    let lower = lower.get_mut(..word.len())?;
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    match &*lower {
        b"use" | b"run" | b"apply" | b"invoke" | b"activate" | b"load" | b"call" | b"try"
        | b"execute" | b"start" | b"launch" | b"employ" | b"utilize" | b"utilise" | b"trigger"
        | b"ask" => Some(Verb::Imperative),
        b"with" | b"via" | b"using" => Some(Verb::Preposition),
        _ => None,
    }
}

/// Words without meaning that are skipped.
pub(super) struct Filler {
    pub(super) tokens: usize,
    /// Whether they were the word "skill".
    pub(super) is_skill: bool,
}

/// Returns the words without meaning at a position.
pub(super) fn match_filler(text: &str, tokens: &[TextToken], at: usize) -> Option<Filler> {
    let token = tokens.get(at)?;
    let plain = |tokens| {
        Some(Filler {
            tokens,
            is_skill: false,
        })
    };
    if is_skill_word(text, tokens, at) {
        let length = if matches!(token.kind, TokenKind::Cjk(_)) {
            2
        } else {
            1
        };
        return Some(Filler {
            tokens: length,
            is_skill: true,
        });
    }
    match token.kind {
        TokenKind::Word => {
            let word = &text[token.start..token.end];
            FILLERS
                .iter()
                .any(|filler| word.eq_ignore_ascii_case(filler))
                .then_some(())?;
            plain(1)
        }
        TokenKind::Cjk(_) => {
            let rest = &text[token.start..];
            let filler = CHINESE_FILLERS
                .iter()
                .find(|filler| rest.starts_with(**filler))?;
            plain(filler.chars().count())
        }
        TokenKind::Punctuation(mark) if is_wrapper(mark) || matches!(mark, ':' | '：' | '@') => {
            plain(1)
        }
        TokenKind::Punctuation(_) => None,
    }
}

/// Returns true if a token is the word "skill", or the first character of 技能.
pub(super) fn is_skill_word(text: &str, tokens: &[TextToken], at: usize) -> bool {
    let Some(token) = tokens.get(at) else {
        return false;
    };
    match token.kind {
        TokenKind::Word => {
            let may_match =
                matches!(text.as_bytes()[token.start], b's' | b'S') && token.end - token.start <= 7;
            let is_word = may_match
                && ["skill", "skills", "skill's"]
                    .iter()
                    .any(|word| text[token.start..token.end].eq_ignore_ascii_case(word));
            // `SKILL.md` is a file.
            let mut rest = text[token.end..].chars();
            is_word && !(rest.next() == Some('.') && rest.next().is_some_and(char::is_alphanumeric))
        }
        TokenKind::Cjk(c) => c == '技' && text[token.start..].starts_with("技能"),
        TokenKind::Punctuation(_) => false,
    }
}

/// Returns true for "skills", which can also mean abilities.
pub(super) fn is_plural_skill_word(text: &str, token: &TextToken) -> bool {
    text[token.start..token.end].eq_ignore_ascii_case("skills")
}

/// Returns true for marks that can enclose a name.
pub(super) fn is_wrapper(mark: char) -> bool {
    matches!(
        mark,
        '"' | '`'
            | '*'
            | '\''
            | '“'
            | '”'
            | '‘'
            | '’'
            | '「'
            | '」'
            | '『'
            | '』'
            | '《'
            | '》'
            | '【'
            | '】'
            | '_'
    )
}

/// Returns true if a token separates two names.
pub(super) fn is_name_separator(text: &str, token: &TextToken) -> bool {
    let part = &text[token.start..token.end];
    match token.kind {
        TokenKind::Word => ["and", "or", "plus"]
            .iter()
            .any(|word| part.eq_ignore_ascii_case(word)),
        TokenKind::Cjk(c) => matches!(c, '和' | '与' | '與' | '及' | '或' | '跟'),
        TokenKind::Punctuation(mark) => matches!(mark, ',' | '、' | '，' | '&' | '/' | '+'),
    }
}

/// Returns the number of tokens at the end of a phrase that are not part of the name.
pub(super) fn trailing_fillers(text: &str, tokens: &[TextToken]) -> usize {
    let Some(last) = tokens.last() else { return 0 };
    if let TokenKind::Punctuation(_) = last.kind {
        return 1;
    }
    let phrase = &text[tokens.first().map_or(last.start, |first| first.start)..last.end];
    let trailer = CHINESE_TRAILERS
        .iter()
        .find(|trailer| phrase.ends_with(**trailer) && phrase.len() > trailer.len());
    trailer.map_or(0, |trailer| trailer.chars().count())
}

/// Returns true for words before "skill" that describe a skill instead of naming it: "the right
/// skill".
pub(super) fn is_vague(word: &str) -> bool {
    const VAGUE_WORDS: [&str; 38] = [
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
    const CHINESE_VAGUE_WORDS: [&str; 14] = [
        "合适", "相关", "正确", "对应", "这些", "那些", "所有", "其他", "新", "相应", "适当",
        "任何", "哪个", "什么",
    ];
    VAGUE_WORDS
        .iter()
        .any(|vague| word.eq_ignore_ascii_case(vague))
        || CHINESE_VAGUE_WORDS
            .iter()
            .any(|vague| word.ends_with(vague))
}
