//! A line as its reader understands it: without invisible characters, letters that look like
//! others, entities, and quotes within the name of a program.

use std::borrow::Cow;

/// Programs whose names are written in pieces only to hide them.
const PROGRAMS: [&str; 22] = [
    "curl",
    "wget",
    "bash",
    "sh",
    "zsh",
    "dash",
    "ksh",
    "eval",
    "base64",
    "base32",
    "xxd",
    "openssl",
    "sudo",
    "python",
    "python3",
    "perl",
    "node",
    "nc",
    "ncat",
    "socat",
    "powershell",
    "source",
];

/// What a rendered page shows for an entity.
const ENTITIES: [(&str, &str); 12] = [
    ("&#124;", "|"),
    ("&#x7c;", "|"),
    ("&#x7C;", "|"),
    ("&vert;", "|"),
    ("&VerticalLine;", "|"),
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&nbsp;", " "),
    ("&#36;", "$"),
    ("&amp;", "&"),
];

/// Tags without attributes that a rendered page shows as their content.
const TAGS: [&str; 12] = [
    "b", "i", "em", "strong", "code", "kbd", "tt", "u", "span", "small", "wbr", "samp",
];

/// Returns a line for rules. Text of Markdown outside of blocks of code is rendered.
pub(crate) fn plain(raw: &str, is_rendered: bool) -> Cow<'_, str> {
    let mut line = Cow::Borrowed(raw);
    if !raw.is_ascii() {
        line = Cow::Owned(folded(raw));
    }
    if line.contains("**") {
        line = Cow::Owned(line.replace("**", ""));
    }
    if is_rendered {
        if line.contains('&') {
            line = Cow::Owned(without_entities(&line));
        }
        if line.contains('<') {
            line = Cow::Owned(without_tags(&line));
        }
    }
    if line.contains("$IFS") || line.contains("${IFS") {
        let spaced = line.replace("${IFS}", " ").replace("$IFS$9", " ");
        line = Cow::Owned(spaced.replace("$IFS", " "));
    }
    if has_split_word(&line) {
        line = with_whole_programs(line);
    }
    line
}

fn without_entities(line: &str) -> String {
    let mut text = line.to_owned();
    for (entity, shown) in ENTITIES {
        text = text.replace(entity, shown);
    }
    text
}

fn without_tags(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find('<') {
        text.push_str(&rest[..start]);
        let inner = &rest[start + 1..];
        let length = inner.bytes().take(10).position(|byte| byte == b'>');
        let name = length.map_or("", |length| inner[..length].trim_matches(['/', ' ']));
        if TAGS.iter().any(|tag| tag.eq_ignore_ascii_case(name)) {
            rest = &inner[length.unwrap_or(0) + 1..];
        } else {
            text.push('<');
            rest = inner;
        }
    }
    text.push_str(rest);
    text
}

/// Removes invisible characters, and replaces letters by the ASCII ones that they look like, in
/// words that have ASCII letters too, so that words of other scripts stay what they are.
fn folded(raw: &str) -> String {
    let is_hidden = |c: char| c != '\t' && skills_manifest::is_invisible(c);
    let visible: String = raw.chars().filter(|c| !is_hidden(*c)).collect();
    let mut text = String::with_capacity(visible.len());
    for word in visible.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let is_mixed = word.bytes().any(|byte| byte.is_ascii_alphanumeric());
        text.extend(word.chars().map(|c| match ascii_like(c) {
            Some((like, is_letter_of_words)) if is_mixed || !is_letter_of_words => like,
            _ => c,
        }));
    }
    text
}

/// Returns the ASCII character that one looks like, and whether languages write words with it.
fn ascii_like(c: char) -> Option<(char, bool)> {
    // Fullwidth forms.
    if let code @ 0xFF01..=0xFF5E = u32::from(c) {
        // Chinese and Japanese punctuation stays: rules name it.
        let like = char::from_u32(code - 0xFEE0)?;
        return (like.is_ascii_alphanumeric() || like == '|').then_some((like, false));
    }
    let like = match c {
        'а' => 'a',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' => 'e',
        'һ' => 'h',
        'і' | 'ι' => 'i',
        'ј' => 'j',
        'ӏ' | 'ⅼ' => 'l',
        'ո' => 'n',
        'о' | 'ο' | 'օ' => 'o',
        'р' | 'ρ' => 'p',
        'ѕ' => 's',
        'ս' | 'υ' => 'u',
        'ν' => 'v',
        'ԝ' | 'ѡ' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        'ƅ' | 'Ь' => 'b',
        '∣' | '｜' | '│' | 'ǀ' | '❘' => return Some(('|', false)),
        _ => return None,
    };
    Some((like, true))
}

/// Returns true if a quote or a backslash is before a letter and after one, or doubled.
fn has_split_word(line: &str) -> bool {
    let is_mark = |byte: u8| matches!(byte, b'\'' | b'"' | b'\\');
    let bytes = line.as_bytes();
    bytes.windows(2).enumerate().any(|(index, pair)| {
        let before = index.checked_sub(1).map(|before| bytes[before]);
        is_mark(pair[0])
            && (pair[1] == pair[0]
                || (pair[1].is_ascii_alphanumeric()
                    && (pair[0] == b'\\' || before.is_some_and(|c| c.is_ascii_alphanumeric()))))
    })
}

/// Joins the names of programs that are written in pieces: `c''url`, `b\ash`, `"ba"sh`.
fn with_whole_programs(line: Cow<'_, str>) -> Cow<'_, str> {
    let mut text = String::new();
    let mut is_changed = false;
    for word in line.split_inclusive([' ', '\t', '|', ';', '(', '`', '&']) {
        let end = word
            .trim_end_matches([' ', '\t', '|', ';', '(', '`', '&'])
            .len();
        let (name, separator) = word.split_at(end);
        let joined = name.replace(['\'', '"', '\\'], "");
        let base = joined.rsplit('/').next().unwrap_or(&joined);
        let is_in_pieces = name.len() > joined.len() && is_split(name);
        if is_in_pieces && PROGRAMS.contains(&base) {
            is_changed = true;
            text.push_str(&joined);
        } else {
            text.push_str(name);
        }
        text.push_str(separator);
    }
    if is_changed { Cow::Owned(text) } else { line }
}

/// Returns true if quotes or backslashes are within a word, not only around it.
fn is_split(word: &str) -> bool {
    word.trim_matches(['\'', '"', '\\'])
        .contains(['\'', '"', '\\'])
        || (word.starts_with('\\') && !word.ends_with('\\'))
}
