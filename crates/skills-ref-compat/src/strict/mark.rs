//! Positions in the frontmatter, and errors that show them.

/// Maximum number of characters of a line that an error shows on each side of a position.
const SNIPPET_CHARACTERS: usize = 37;

/// A position in the text: index in characters, line and column, all counted from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) index: usize,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// What was parsed when a problem occurred, and where that started.
pub(super) type Context = (&'static str, Mark);

/// An error in the YAML, in the two parts of PyYAML's messages: context and problem.
#[derive(Debug)]
pub(super) struct MarkedError {
    pub(super) context: Option<Context>,
    pub(super) problem: String,
    pub(super) mark: Mark,
    /// A line after the problem.
    pub(super) note: Option<&'static str>,
}

impl MarkedError {
    pub(super) fn new(problem: impl Into<String>, mark: Mark) -> Box<Self> {
        Box::new(Self {
            context: None,
            problem: problem.into(),
            mark,
            note: None,
        })
    }

    pub(super) fn within(context: Context, problem: impl Into<String>, mark: Mark) -> Box<Self> {
        Box::new(Self {
            context: Some(context),
            ..*Self::new(problem, mark)
        })
    }

    /// Returns the message: the context with its position if that differs from the problem's, then
    /// the problem with its position; each position with a snippet of the line and a caret.
    pub(super) fn render(&self, text: &[char]) -> String {
        let mut lines = Vec::new();
        if let Some((context, start)) = self.context {
            lines.push(context.to_owned());
            // As in PyYAML, equal positions are shown once.
            if (start.line, start.column) != (self.mark.line, self.mark.column) {
                lines.push(render_mark(start, text));
            }
        }
        lines.push(self.problem.clone());
        lines.push(render_mark(self.mark, text));
        lines.extend(self.note.map(str::to_owned));
        lines.join("\n")
    }
}

fn render_mark(mark: Mark, text: &[char]) -> String {
    let (mut start, mut head) = (mark.index, "");
    while start > 0 && !is_line_end(text[start - 1]) {
        start -= 1;
        if mark.index - start >= SNIPPET_CHARACTERS {
            // The marker replaces as many characters as it has.
            head = " ... ";
            start += 5;
            break;
        }
    }
    let (mut end, mut tail) = (mark.index, "");
    while end < text.len() && !is_line_end(text[end]) {
        end += 1;
        if end - mark.index >= SNIPPET_CHARACTERS {
            tail = " ... ";
            end -= 5;
            break;
        }
    }
    let snippet: String = text[start..end].iter().collect();
    let (line, column) = (mark.line + 1, mark.column + 1);
    let caret = " ".repeat(4 + mark.index - start + head.len());
    format!(
        "  in \"<unicode string>\", line {line}, column {column}:\n    {head}{snippet}{tail}\n{caret}^ (line: {line})"
    )
}

/// Returns true if a character ends a line or the text.
pub(super) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\0' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
