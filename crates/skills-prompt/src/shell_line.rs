//! Parses command lines with parts that can run without a shell.
//!
//! The lexer of scripts finds uses, so it drops what does not name a program. A line that is run must be
//! understood as a whole: each character that this parser does not know makes it a line for a shell.

mod parser;

use self::parser::Parser;

/// A command line as a list of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellLine {
    /// The commands in order, each with the condition under which it starts.
    pub steps: Vec<(RunIf, LineStep)>,
}

/// When a step starts, by the exit code before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunIf {
    /// Always: the first step, and one after `;` or a line end.
    Always,
    /// After `&&`: if the exit code is 0.
    Success,
    /// After `||`: if it is another one.
    Failure,
}

/// One step of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineStep {
    /// `cd DIRECTORY`, for the steps after it.
    ChangeDirectory(LineWord),
    /// Commands that are joined by `|`; at least one.
    Pipeline(Vec<LineCommand>),
    /// `for NAME in WORDS; do …; done`.
    For {
        /// The name of the variable.
        name: String,
        /// Its values, before expansion.
        values: Vec<LineWord>,
        /// The steps for each value.
        body: ShellLine,
    },
}

/// A program with its arguments and redirections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineCommand {
    /// The program and its arguments; at least one. The first has no expansion.
    pub words: Vec<LineWord>,
    /// The file of `<`.
    pub input: Option<String>,
    /// Where standard output goes.
    pub stdout: LineOutput,
    /// Where standard error goes.
    pub stderr: LineOutput,
}

/// Where an output stream of a command goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LineOutput {
    /// To the next command, or to the result.
    #[default]
    Inherited,
    /// With the other stream: `2>&1` or `>&2`.
    Other,
    /// To no file: `/dev/null`.
    Null,
    /// To a file.
    File {
        /// Its path, without expansion.
        path: String,
        /// Whether `>>` appends to it.
        append: bool,
    },
}

/// A word, as parts that follow each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineWord {
    /// The parts; none for an empty word.
    pub parts: Vec<WordPart>,
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordPart {
    /// Text without a meaning.
    Text(String),
    /// An unquoted `*` or `?`, with which the word stands for names of files.
    Pattern(char),
    /// The variable of a `for` around it.
    Variable {
        /// Its name.
        name: String,
        /// Whether its value stays one word.
        is_quoted: bool,
    },
    /// `$(…)`: what a line prints.
    Output {
        /// The line.
        line: ShellLine,
        /// Whether the text stays one word.
        is_quoted: bool,
    },
}

impl LineWord {
    /// Returns the text of a word without expansions.
    #[must_use]
    pub fn literal(&self) -> Option<String> {
        let parts = self.parts.iter().map(|part| match part {
            WordPart::Text(text) => Some(text.as_str()),
            _ => None,
        });
        parts.collect()
    }
}

impl ShellLine {
    /// Parses a command line. Returns `None` if only a shell can run it: it has an assignment, another
    /// variable than that of a `for`, a comment, a here-document, a group, a background command, a
    /// bracket pattern, or anything else that is not in the types of a line.
    ///
    /// ```
    /// use skills_prompt::ShellLine;
    ///
    /// assert_eq!(ShellLine::parse("sort a | uniq -c > b").unwrap().steps.len(), 1);
    /// assert!(ShellLine::parse("echo $HOME").is_none());
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Parser::new(text).parse()
    }

    /// Returns the line of one command without expansions and redirections.
    #[must_use]
    pub fn of_words(words: &[String]) -> Self {
        let word = |text: &String| LineWord {
            parts: vec![WordPart::Text(text.clone())],
        };
        let command = LineCommand {
            words: words.iter().map(word).collect(),
            ..LineCommand::default()
        };
        let step = LineStep::Pipeline(vec![command]);
        Self {
            steps: vec![(RunIf::Always, step)],
        }
    }

    /// Returns all commands, also those in `for` and `$(…)`.
    #[must_use]
    pub fn commands(&self) -> Vec<&LineCommand> {
        let mut all = Vec::new();
        self.add_commands(&mut all);
        all
    }

    fn add_commands<'a>(&'a self, all: &mut Vec<&'a LineCommand>) {
        for (_, step) in &self.steps {
            let words: Vec<&LineWord> = match step {
                LineStep::ChangeDirectory(_) => Vec::new(),
                LineStep::Pipeline(commands) => {
                    all.extend(commands);
                    commands.iter().flat_map(|one| &one.words).collect()
                }
                LineStep::For { values, body, .. } => {
                    body.add_commands(all);
                    values.iter().collect()
                }
            };
            for part in words.into_iter().flat_map(|word| &word.parts) {
                if let WordPart::Output { line, .. } = part {
                    line.add_commands(all);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::split_command::{SplitCommand, split_command};

    fn describe_word(word: &LineWord) -> String {
        let parts = word.parts.iter().map(|part| match part {
            WordPart::Text(text) => text.replace('\n', "\\n"),
            WordPart::Pattern(c) => format!("<{c}>"),
            WordPart::Variable { name, is_quoted } => {
                format!("<{name}{}>", if *is_quoted { " quoted" } else { "" })
            }
            WordPart::Output { line, is_quoted } => {
                let quoted = if *is_quoted { " quoted" } else { "" };
                format!("<{{{}}}{quoted}>", describe(line))
            }
        });
        format!("[{}]", parts.collect::<String>())
    }

    fn describe_words(words: &[LineWord]) -> String {
        words.iter().map(describe_word).collect()
    }

    fn describe_command(command: &LineCommand) -> String {
        let output = |stream: &LineOutput, name: &str| match stream {
            LineOutput::Inherited => String::new(),
            LineOutput::Other => format!(" {name}&"),
            LineOutput::Null => format!(" {name}null"),
            LineOutput::File { path, append } => {
                format!(" {name}{}{path}", if *append { ">" } else { "" })
            }
        };
        let input = command.input.as_ref();
        let input = input.map(|path| format!(" <{path}")).unwrap_or_default();
        let (stdout, stderr) = (output(&command.stdout, ">"), output(&command.stderr, "2>"));
        format!("{}{input}{stdout}{stderr}", describe_words(&command.words))
    }

    fn describe(line: &ShellLine) -> String {
        let steps = line.steps.iter().map(|(run_if, step)| {
            let run_if = match run_if {
                RunIf::Always => "",
                RunIf::Success => "&& ",
                RunIf::Failure => "|| ",
            };
            let step = match step {
                LineStep::ChangeDirectory(word) => format!("cd {}", describe_word(word)),
                LineStep::Pipeline(commands) => {
                    let commands: Vec<String> = commands.iter().map(describe_command).collect();
                    commands.join(" | ")
                }
                LineStep::For { name, values, body } => {
                    format!(
                        "for {name} {} do {} done",
                        describe_words(values),
                        describe(body)
                    )
                }
            };
            format!("{run_if}{step}")
        });
        steps.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn lines_of_parts_are_parsed() {
        for (text, expected) in [
            ("ls -la | head -5", "[ls][-la] | [head][-5]"),
            ("sort a.txt>b.txt", "[sort][a.txt] >b.txt"),
            ("a 2>&1 | b", "[a] 2>& | [b]"),
            ("a >> 'x y' 2>/dev/null", "[a] >>x y 2>null"),
            ("a > x 2>&1", "[a] >x 2>&"),
            ("echo no >&2", "[echo][no] >&"),
            ("tr a b < in", "[tr][a][b] <in"),
            (
                "cd sub && ls || echo no; pwd",
                "cd [sub]; && [ls]; || [echo][no]; [pwd]",
            ),
            ("cat a\nwc b;", "[cat][a]; [wc][b]"),
            (
                "find . -name '*.py' ! -name x -exec a {} \\;",
                "[find][.][-name][*.py][!][-name][x][-exec][a][{}][;]",
            ),
            ("ls *.t?t a\\*", "[ls][<*>.t<?>t][a*]"),
            ("for f in *.txt b; do wc -l \"$f\" ${f}x; done | head", ""),
            (
                "for f in *.txt b; do wc -l \"$f\" ${f}x; done",
                "for f [<*>.txt][b] do [wc][-l][<f quoted>][<f>x] done",
            ),
            (
                "echo $(date) \"a $(cat x | wc -l)\"",
                "[echo][<{[date]}>][a <{[cat][x] | [wc][-l]} quoted>]",
            ),
            (
                "[ -f a ] && echo \"\\\"\\$x\\y\"",
                "[test][-f][a]; && [echo][\"$x\\y]",
            ),
            ("echo '' \"\" a''b", "[echo][][][ab]"),
            ("echo a#b x~ -v=1 2", "[echo][a#b][x~][-v=1][2]"),
            ("a \\\n b", "[a][b]"),
        ] {
            let line = ShellLine::parse(text);
            assert_eq!(
                line.as_ref().map(describe).unwrap_or_default(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn what_only_a_shell_understands_is_no_line() {
        for text in [
            "",
            ";",
            "a &",
            "a & b",
            "a |& b",
            "a &> b",
            "a >& b",
            "a >| b",
            "a <> b",
            "a << E\nE",
            "a <<< b",
            "a <(b)",
            "(a)",
            "{ a; }",
            "a $HOME",
            "a \"$HOME\"",
            "a `b`",
            "a \"`b`\"",
            "a $((1))",
            "a ${x:-y}",
            "a $'b'",
            "a $?",
            "A=1 b",
            "A=1",
            "a # b",
            "# a",
            "~/a",
            "a ~",
            "a x=~/b",
            "a [ab]",
            "a {1,2}",
            "a > $(b)",
            "a > *",
            "a > b > c",
            "a 2>&1 > b",
            "a 3> b",
            "a 12> b",
            "a >&1",
            "a 2>&1x",
            "! a",
            "if a; then b; fi",
            "while a; do b; done",
            "eval a",
            "exec a",
            "export A=1",
            "set -e; a",
            "cd",
            "cd -",
            "cd *",
            "cd a b",
            "cd a > b",
            "cd a | b",
            "'cd' a",
            "$(a) b",
            "a ;; b",
            "a &&",
            "| a",
            "a |",
            "a || ",
            "a 'b",
            "a \"b",
            "a \\",
            "a $(b",
            "a )",
            "done",
            "for f in a; do b",
            "for f in a; do done",
            "for f; do a; done",
            "for 1 in a; do b; done",
            "for f in a; do b $g; done",
            "for f in a; do for f in b; do c $f; done; echo $f; done",
            "for PATH in a; do ls; done",
            "for IFS in a; do ls; done",
            "for LC_ALL in a; do ls; done",
            "for f in a; do b; done > c",
            "for f in a; do b; done; c $f",
            "[ -f a",
            "a\rb",
            "time a",
            "read x",
            "a $(b $(c $(d $(e $(f)))))",
            "\"a\"$x",
            "f() { a; }",
            "a\u{7}",
            "source x",
            ". x",
            "a '' > ''",
        ] {
            assert_eq!(ShellLine::parse(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn words_are_those_of_the_splitter(text in "[a-c '\"\\\\#~=:\t]{0,24}") {
            let words = match split_command(&text) {
                SplitCommand::Words(words) => words,
                _ => Vec::new(),
            };
            if let (Some(line), false) = (ShellLine::parse(&text), words.is_empty()) {
                let commands = line.commands();
                prop_assert_eq!(commands.len(), 1);
                let parsed: Option<Vec<String>> = commands[0].words.iter().map(LineWord::literal).collect();
                prop_assert_eq!(parsed, Some(words));
            }
        }

        #[test]
        fn no_text_is_a_panic(text in "[a-c for;do done in$(){}<>&|*?'\"\\\\\n2\u{e9}]{0,40}") {
            let _ = ShellLine::parse(&text);
        }
    }
}
