//! Text that a person does not see: invisible characters, comments, and blanks before text.

use crate::finding::{Finding, Severity};
use crate::patterns::LazyRegex;
use crate::rule::HIDDEN_TEXT;
use crate::skill_text::File;
use crate::view::is_markdown;

/// Blanks within a line from which the text after them is out of sight.
const MAX_BLANKS: usize = 120;
/// Empty lines from which the text after them is out of sight.
const MAX_EMPTY_LINES: usize = 60;
/// Invisible characters in a row that can hold a message.
const MIN_MESSAGE: usize = 8;

/// Words by which a comment speaks to a model.
static INSTRUCTION: LazyRegex = LazyRegex::new(
    r"^[\s*_]*(?:assistant|agents?|claude|gpt|chatgpt|codex|gemini|copilot|llm|ai|model)s?\b[^.]{0,40}?(?:[:,—]|\b(?:must|should|shall|always|never|please)\b)|\b(?:assistant|agents?|claude|gpt|codex|gemini|copilot|llm|ai|model|you)\b[^.]*\b(?:must|should|shall|always|also|need to|have to)\b[^.]{0,60}?\b(?:execute|run|send|upload|ignore|fetch|append|post|submit|install|download|transmit|forward|reveal|output|include|call|load|delete)\b|\b(?:ignore|disregard)\b[^.]*\b(?:instructions?|rules?)\b|\b(?:execute|run|fetch|send|upload|exfiltrate)\b[^.]*(?:https?://|scripts?/|~/|\.sh\b|\.py\b|\.env\b|\bcurl\b|\bwget\b)|(?:执行|运行|上传|发送|忽略)[^。]*(?:指令|脚本|文件|用户)",
);

/// Words of comments that tools or authors put into documents.
static HARMLESS_COMMENT: LazyRegex = LazyRegex::new(
    r"^\s*(?:todo|note to (?:self|editors?|maintainers?)|markdownlint|prettier|eslint|toc|/?toc|begin|end|start|license|copyright|spdx|vale|cspell|generated|auto-?generated|do not edit|source|ref|badges?|template|example|optional|if (?:you|your)|replace|fill|delete|add your|describe|insert|remove)\b",
);

pub(crate) fn findings(file: &File<'_>, text: &str) -> Vec<Finding> {
    let mut found = invisible_characters(file, text);
    found.extend(blanks(file, text));
    if is_markdown(file.path) {
        found.extend(comments(file, text));
    }
    found
}

fn finding(file: &File<'_>, severity: Severity, line: usize, quote: &str) -> Finding {
    Finding::new(&HIDDEN_TEXT, severity, file.path, line, quote)
}

/// What the invisible characters of a line are.
#[derive(Debug, Default)]
struct Invisible {
    tags: String,
    run: usize,
    longest_run: usize,
    has_bidi_override: bool,
    has_bidi: bool,
    is_in_word: bool,
    is_any: bool,
    has_right_to_left: bool,
}

fn invisible_characters(file: &File<'_>, text: &str) -> Vec<Finding> {
    if text.is_ascii() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        if line.is_ascii() {
            continue;
        }
        let invisible = Invisible::of(line);
        if let Some((severity, quote)) = invisible.verdict(line) {
            found.push(finding(file, severity, index + 1, &quote));
        }
    }
    found
}

impl Invisible {
    fn of(line: &str) -> Self {
        let mut state = Self::default();
        let mut before = '\n';
        let mut chars = line.chars().peekable();
        let mut is_flag = false;
        while let Some(c) = chars.next() {
            // Flags of regions are an emoji and tags that name the region.
            is_flag = c == '\u{1F3F4}' || (is_flag && is_tag(c));
            if is_tag(c) && !is_flag {
                state.tags.extend(tag_to_ascii(c));
            }
            let selects = matches!(c, '\u{E0100}'..='\u{E01EF}')
                || (matches!(c, '\u{FE00}'..='\u{FE0F}') && state.run > 0);
            let is_hidden = !is_flag && (selects || is_zero_width(c) || (is_tag(c)));
            if is_hidden {
                state.run += 1;
                state.longest_run = state.longest_run.max(state.run);
                state.is_any = true;
                let after = chars.peek().copied().unwrap_or('\n');
                state.is_in_word |=
                    is_zero_width(c) && before.is_ascii_alphabetic() && after.is_ascii_alphabetic();
            } else {
                state.run = usize::from(matches!(c, '\u{FE00}'..='\u{FE0F}'));
            }
            state.has_bidi |= matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
            state.has_bidi_override |= matches!(c, '\u{202D}' | '\u{202E}');
            state.has_right_to_left |= matches!(c, '\u{0590}'..='\u{08FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}');
            before = c;
        }
        state
    }

    /// Returns the severity, and a text with what is hidden.
    fn verdict(&self, line: &str) -> Option<(Severity, String)> {
        if !self.tags.is_empty() {
            let quote = format!("hidden as tag characters: {}", self.tags);
            return Some((Severity::High, quote));
        }
        if self.has_bidi_override && !self.has_right_to_left {
            return Some((Severity::High, line.to_owned()));
        }
        if self.is_in_word || self.longest_run >= MIN_MESSAGE {
            return Some((Severity::High, line.to_owned()));
        }
        if self.has_bidi && !self.has_right_to_left {
            return Some((Severity::Medium, line.to_owned()));
        }
        // A stray zero-width space is what editors leave behind.
        (self.is_any && !self.has_right_to_left && line.chars().any(|c| c == '\u{200B}'))
            .then(|| (Severity::Low, line.to_owned()))
    }
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{E0000}'..='\u{E007F}')
}

fn tag_to_ascii(c: char) -> Option<char> {
    let ascii = char::from_u32(u32::from(c).checked_sub(0xE0000)?)?;
    (' '..='~').contains(&ascii).then_some(ascii)
}

fn is_zero_width(c: char) -> bool {
    matches!(
        c,
        '\u{200B}' | '\u{200C}' | '\u{200D}' | '\u{2060}'
            ..='\u{2064}' | '\u{FEFF}' | '\u{180E}' | '\u{AD}'
    )
}

/// Finds text after so many blanks or empty lines that a reader does not scroll there.
fn blanks(file: &File<'_>, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut empty_lines = 0;
    for (index, line) in text.split('\n').enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            empty_lines += 1;
            continue;
        }
        if empty_lines >= MAX_EMPTY_LINES && index > empty_lines {
            let quote = format!("{empty_lines} empty lines before: {trimmed}");
            found.push(finding(file, Severity::Medium, index + 1, &quote));
        }
        empty_lines = 0;
        if let Some((blanks, after)) = text_after_blanks(line) {
            let quote = format!("{blanks} blanks before: {after}");
            found.push(finding(file, Severity::Medium, index + 1, &quote));
        }
    }
    found
}

/// Returns the number of blanks within a line that are too many, and the text after them.
fn text_after_blanks(line: &str) -> Option<(usize, &str)> {
    if line.len() < MAX_BLANKS {
        return None;
    }
    let mut start = None;
    for (index, c) in line.char_indices() {
        if c.is_whitespace() || matches!(c, '\u{2800}' | '\u{3164}') {
            start.get_or_insert(index);
            continue;
        }
        let blanks = start.map_or(0, |start: usize| line[start..index].chars().count());
        // Columns of tables are padded, and art is indented.
        if blanks >= MAX_BLANKS
            && c != '|'
            && line[index..]
                .chars()
                .filter(|c| c.is_alphabetic())
                .take(8)
                .count()
                >= 8
        {
            return Some((blanks, &line[index..]));
        }
        start = None;
    }
    None
}

/// Finds comments that speak to a model.
fn comments(file: &File<'_>, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(start) = next_comment(rest) {
        line += count_lines(&rest[..start]);
        let comment = &rest[start..];
        let is_html = comment.starts_with("<!--");
        let end = if is_html {
            comment.find("-->").unwrap_or(comment.len())
        } else {
            comment.find('\n').unwrap_or(comment.len())
        };
        let content =
            comment[..end].trim_start_matches(['<', '!', '-', '[', ']', '/', ':', '#', ' ', '(']);
        if INSTRUCTION.is_match(content) && !HARMLESS_COMMENT.is_match(content) {
            found.push(finding(file, Severity::Medium, line, content));
        }
        line += count_lines(&comment[..end]);
        rest = &comment[end..];
    }
    found
}

/// Returns where the next comment starts: of HTML, or a link definition that nothing refers to.
fn next_comment(text: &str) -> Option<usize> {
    let html = text.find("<!--");
    let before = &text[..html.unwrap_or(text.len())];
    let definition = ["[//]: #", "[comment]: #", "[//]: <>"];
    let definition = definition.iter().filter_map(|mark| before.find(mark)).min();
    definition.or(html)
}

fn count_lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}
