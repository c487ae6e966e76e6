//! The parts of a Markdown text that can contain commands, and their words.

/// Maximum number of bytes of a line, with those that continue it. Longer lines are not commands.
const MAX_LINE_BYTES: usize = 4_096;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fragment<'a> {
    /// A line of a code block, with the lines that continue it, or a code span.
    Code(String),
    /// Another line, or a comment in code, without the marks before it: it can be a sentence.
    Line(&'a str),
}

/// A word of a command, without quotes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    is_quoted: bool,
}

impl Word {
    /// Returns true for `>`, `2>` and the like, after which a file is named.
    pub(super) fn is_redirection(&self) -> bool {
        let rest = self.text.trim_start_matches(|c: char| c.is_ascii_digit());
        !self.is_quoted && rest.starts_with(['<', '>'])
    }
}

/// Returns the parts of a text, in its order.
pub(super) fn fragments(text: &str) -> Vec<Fragment<'_>> {
    let mut fragments = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    let mut continued: Option<String> = None;
    let lines = text.lines().filter(|line| line.len() < MAX_LINE_BYTES);
    for line in lines.map(str::trim) {
        match (fence, fence_of(line)) {
            (None, Some(opened)) => fence = Some(opened),
            (Some((mark, length)), Some((other, longer)))
                if mark == other && longer >= length && line.chars().all(|c| c == mark) =>
            {
                fragments.extend(continued.take().map(Fragment::Code));
                fence = None;
            }
            (Some(_), _) => {
                let (content, is_continued) = match line.strip_suffix('\\') {
                    Some(content) => (content, true),
                    None => (line, false),
                };
                let mut joined = continued.take().unwrap_or_default();
                joined.push_str(content);
                if is_continued && joined.len() < MAX_LINE_BYTES {
                    joined.push(' ');
                    continued = Some(joined);
                } else if let Some(comment) = comment_of(line) {
                    fragments.push(Fragment::Line(comment));
                } else {
                    fragments.push(Fragment::Code(joined));
                }
            }
            (None, None) => {
                let spans = code_spans(line);
                if spans.is_empty() {
                    fragments.push(Fragment::Line(without_marks(line)));
                }
                let spans = spans.into_iter();
                fragments.extend(spans.map(|span| Fragment::Code(span.to_owned())));
            }
        }
    }
    fragments.extend(continued.map(Fragment::Code));
    fragments
}

/// Returns the commands of a part, each as its words.
pub(super) fn commands(fragment: &Fragment<'_>) -> Vec<Vec<Word>> {
    let commands = match fragment {
        Fragment::Code(code) => split(code),
        Fragment::Line(line) => {
            let words = line.split_whitespace().map(|word| Word {
                text: word.to_owned(),
                is_quoted: false,
            });
            vec![words.collect()]
        }
    };
    commands.into_iter().map(without_prefix).collect()
}

/// Returns the mark and the length of a code fence.
fn fence_of(line: &str) -> Option<(char, usize)> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    let info = &line[length..];
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some((mark, length))
}

/// Returns the text of a line that is a comment, after the words that introduce a command:
/// `# Requires: pip install x`.
fn comment_of(line: &str) -> Option<&str> {
    let comment = line.strip_prefix('#').or_else(|| line.strip_prefix("//"))?;
    let comment = comment.trim_start_matches(['#', '/', '!']).trim();
    Some(
        comment
            .rsplit_once(": ")
            .map_or(comment, |(_, rest)| rest.trim()),
    )
}

/// Returns a line without the marks of a list, a quotation or a prompt before it.
fn without_marks(line: &str) -> &str {
    let line = line.trim_start_matches(['>', '-', '*', '+', '$', ' ', '\t']);
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")) {
        Some(item) if rest.len() < line.len() => item.trim_start(),
        _ => line,
    }
}

fn code_spans(line: &str) -> Vec<&str> {
    let mut spans = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let opened = &rest[start..];
        let length = opened.bytes().take_while(|byte| *byte == b'`').count();
        let content = &opened[length..];
        match end_of_span(content, length) {
            Some(end) => {
                spans.push(&content[..end]);
                rest = &content[end + length..];
            }
            None => rest = content,
        }
    }
    spans
}

/// Returns the position of the first run of exactly this number of backticks.
fn end_of_span(text: &str, length: usize) -> Option<usize> {
    let mut position = 0;
    while let Some(start) = text[position..].find('`') {
        let start = position + start;
        let run = text[start..]
            .bytes()
            .take_while(|byte| *byte == b'`')
            .count();
        if run == length {
            return Some(start);
        }
        position = start + run;
    }
    None
}

/// Splits a line of a shell into commands and words. Nothing is expanded: a variable or a
/// substitution stays in its word.
fn split(line: &str) -> Vec<Vec<Word>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<Word> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => word.get_or_insert_default().text.push(character),
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default().is_quoted = true;
            }
            (None, '#') if word.is_none() => break,
            (None, '\\') => word.get_or_insert_default().text.extend(characters.next()),
            (None, ';' | '&' | '|' | '(' | ')') => {
                add(&mut commands, &mut word);
                commands.push(Vec::new());
            }
            (None, _) if character.is_whitespace() => add(&mut commands, &mut word),
            (None, _) => word.get_or_insert_default().text.push(character),
        }
    }
    add(&mut commands, &mut word);
    commands
}

fn add(commands: &mut [Vec<Word>], word: &mut Option<Word>) {
    if let (Some(command), Some(word)) = (commands.last_mut(), word.take()) {
        command.push(word);
    }
}

/// Removes prompts, assignments of variables and `sudo` before a command.
fn without_prefix(mut words: Vec<Word>) -> Vec<Word> {
    let is_prefix = |word: &Word| {
        let text = word.text.as_str();
        let is_assignment = text
            .split_once('=')
            .is_some_and(|(name, _)| is_variable(name));
        matches!(text, "$" | "%" | ">" | "!" | "sudo") || is_assignment
    };
    let count = words.iter().take_while(|word| is_prefix(word)).count();
    words.drain(..count);
    if let Some(first) = words.first_mut() {
        // `!pip` and `%pip` of notebooks.
        first.text = first.text.trim_start_matches(['!', '%']).to_owned();
    }
    words
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
