//! Parses command lines with parts that can run without a shell.
//!
//! The lexer of scripts finds uses, so it drops what does not name a program. A line that is run must be
//! understood as a whole: each character that this parser does not know makes it a line for a shell.

mod parser;
mod word_builder;

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
    /// `NAME=VALUE …` without a command, for the steps after it. The values stay one word each.
    Assign(Vec<(String, LineWord)>),
    /// `exit CODE`, which ends the line, or the `$(…)` or pipe that it is in. Without a code it is that of
    /// the last step.
    Exit(Option<u8>),
    /// `! …`: commands that are joined by `|`, with the opposite exit code.
    Not(Vec<LineCommand>),
    /// `{ …; }`
    Group(ShellLine),
    /// `if …; then …; elif …; then …; else …; fi`.
    If {
        /// The conditions with the steps that run after the first success.
        branches: Vec<(ShellLine, ShellLine)>,
        /// The steps after `else`.
        otherwise: Option<ShellLine>,
    },
    /// `… | while read NAMES; do …; done`, or `while read NAMES; do …; done < FILE`.
    ForLines {
        /// The commands that print the lines; none if they are those of `input`.
        source: Vec<LineCommand>,
        /// The input after `done`.
        input: Option<LineInput>,
        /// The variables, of which the last gets the rest of a line; at least one.
        names: Vec<String>,
        /// Whether `IFS=` keeps the white space of a line.
        keeps_space: bool,
        /// Whether a backslash is a character, as with `-r`.
        is_raw: bool,
        /// The steps for each line.
        body: ShellLine,
    },
    /// `{ …; } | …`, also with `if`, `for` or `while` before the pipe.
    Piped {
        /// The step that prints.
        line: ShellLine,
        /// The commands that get what it prints; at least one.
        commands: Vec<LineCommand>,
    },
}

/// A program with its arguments and redirections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineCommand {
    /// The program and its arguments; at least one. The first has no expansion.
    pub words: Vec<LineWord>,
    /// Standard input, if it is redirected.
    pub input: Option<LineInput>,
    /// Where standard output goes.
    pub stdout: LineOutput,
    /// Where standard error goes.
    pub stderr: LineOutput,
}

/// A redirected standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineInput {
    /// `<`: a file, without expansion.
    File(String),
    /// `<<`: the text of a here-document, which stays one word.
    Text(LineWord),
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
    /// `[…]` in a pattern: one of some characters.
    CharSet(CharSet),
    /// `{A,B}` or `{1..3}`: the word stands for one with each of these texts.
    Alternatives(Vec<String>),
    /// `${#NAME}`: the number of characters of a variable.
    Length(String),
    /// `$?`: the exit code of the last step.
    ExitCode,
    /// A variable that the line sets.
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

/// One of some characters, in a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharSet {
    /// As it is written, with the brackets.
    pub text: String,
    /// Whether it stands for all others, as with `[!…]`.
    pub is_negated: bool,
    /// The first and the last character of each range.
    pub ranges: Vec<(char, char)>,
}

impl CharSet {
    /// Returns true if it stands for a character.
    #[must_use]
    pub fn contains(&self, c: char) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|(first, last)| (*first..=*last).contains(&c)) != self.is_negated
    }
}

impl LineCommand {
    /// Returns its words, and the text of its here-document.
    #[must_use]
    pub fn all_words(&self) -> Vec<&LineWord> {
        let text = self.input.as_ref().and_then(LineInput::text);
        self.words.iter().chain(text).collect()
    }
}

impl LineInput {
    fn text(&self) -> Option<&LineWord> {
        match self {
            Self::File(_) => None,
            Self::Text(text) => Some(text),
        }
    }
}

impl LineStep {
    /// Returns its commands, without those of the lines in it.
    #[must_use]
    pub fn commands(&self) -> &[LineCommand] {
        match self {
            Self::Pipeline(commands) | Self::Not(commands) => commands,
            Self::ForLines { source, .. } => source,
            Self::Piped { commands, .. } => commands,
            _ => &[],
        }
    }

    /// Returns its words, without those of commands.
    #[must_use]
    pub fn words(&self) -> Vec<&LineWord> {
        match self {
            Self::ChangeDirectory(word) => vec![word],
            Self::For { values, .. } => values.iter().collect(),
            Self::Assign(variables) => variables.iter().map(|(_, value)| value).collect(),
            Self::ForLines { input, .. } => input
                .as_ref()
                .and_then(LineInput::text)
                .into_iter()
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the lines in it that can run more than once.
    #[must_use]
    pub fn repeated_line(&self) -> Option<&ShellLine> {
        match self {
            Self::For { body, .. } | Self::ForLines { body, .. } => Some(body),
            _ => None,
        }
    }

    /// Returns the lines in it that run at most once.
    #[must_use]
    pub fn lines(&self) -> Vec<&ShellLine> {
        match self {
            Self::Group(line) | Self::Piped { line, .. } => vec![line],
            Self::If {
                branches,
                otherwise,
            } => {
                let branches = branches
                    .iter()
                    .flat_map(|(condition, line)| [condition, line]);
                branches.chain(otherwise).collect()
            }
            _ => Vec::new(),
        }
    }
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
    /// Parses a command line. Returns `None` if only a shell can run it: it has a variable that it does not
    /// set, a function, a subshell, a background command, arithmetic, or anything else that is not in the
    /// types of a line.
    ///
    /// ```
    /// use skills_prompt::ShellLine;
    ///
    /// assert_eq!(ShellLine::parse("sort a | uniq -c > b").unwrap().steps.len(), 1);
    /// assert!(ShellLine::parse("echo $HOME").is_none());
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Parser::new(text, None).parse()
    }

    /// Parses a command line of a skill, in which the words by which skills name their directory, such as
    /// `{baseDir}` and `$SKILL_DIR`, stand for `directory`, unless they are in single quotes or variables of
    /// the line. It is text of its word: it is not parsed, split or expanded.
    ///
    /// ```
    /// use skills_prompt::ShellLine;
    ///
    /// let line = ShellLine::parse_in_skill("cat {baseDir}/a", "/skills/b c").unwrap();
    /// assert_eq!(line.plain_words().unwrap(), ["cat", "/skills/b c/a"]);
    /// ```
    #[must_use]
    pub fn parse_in_skill(text: &str, directory: &str) -> Option<Self> {
        Parser::new(text, Some(directory)).parse()
    }

    /// Returns the words of a line that is one command without expansions and redirections.
    #[must_use]
    pub fn plain_words(&self) -> Option<Vec<String>> {
        let [(_, LineStep::Pipeline(commands))] = self.steps.as_slice() else {
            return None;
        };
        let [command] = commands.as_slice() else {
            return None;
        };
        let words = command.words.iter().map(LineWord::literal);
        words
            .collect::<Option<_>>()
            .filter(|_| command.has_no_redirection())
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

    /// Returns all commands, also those in other steps and in `$(…)`.
    #[must_use]
    pub fn commands(&self) -> Vec<&LineCommand> {
        let mut all = Vec::new();
        self.add_commands(&mut all);
        all
    }

    fn add_commands<'a>(&'a self, all: &mut Vec<&'a LineCommand>) {
        for (_, step) in &self.steps {
            all.extend(step.commands());
            for line in step.lines().into_iter().chain(step.repeated_line()) {
                line.add_commands(all);
            }
            let words = step.commands().iter().flat_map(LineCommand::all_words);
            let words = words.chain(step.words());
            for part in words.flat_map(|word| &word.parts) {
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
            WordPart::CharSet(set) => format!("<{}>", set.text),
            WordPart::Alternatives(texts) => format!("<{}>", texts.join(",")),
            WordPart::Length(name) => format!("<#{name}>"),
            WordPart::ExitCode => "<?>".to_owned(),
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

    fn describe_input(input: Option<&LineInput>) -> String {
        match input {
            None => String::new(),
            Some(LineInput::File(path)) => format!(" <{path}"),
            Some(LineInput::Text(text)) => format!(" <<{}", describe_word(text)),
        }
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
        let input = describe_input(command.input.as_ref());
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
                LineStep::Assign(variables) => {
                    let one = |(name, value): &(String, LineWord)| {
                        format!("{name}={}", describe_word(value))
                    };
                    variables.iter().map(one).collect::<Vec<_>>().join(" ")
                }
                LineStep::Exit(code) => format!("exit {code:?}"),
                LineStep::Not(commands) => {
                    let commands: Vec<String> = commands.iter().map(describe_command).collect();
                    format!("! {}", commands.join(" | "))
                }
                LineStep::Group(line) => format!("{{ {} }}", describe(line)),
                LineStep::If {
                    branches,
                    otherwise,
                } => {
                    let one = |(condition, line): &(ShellLine, ShellLine)| {
                        format!("if {} then {} ", describe(condition), describe(line))
                    };
                    let branches: String = branches.iter().map(one).collect();
                    let otherwise = otherwise.as_ref().map(describe).unwrap_or_default();
                    format!("{branches}else {otherwise} fi")
                }
                LineStep::ForLines {
                    source,
                    input,
                    names,
                    keeps_space,
                    is_raw,
                    body,
                } => {
                    let source: Vec<String> = source.iter().map(describe_command).collect();
                    format!(
                        "{}{} while read {names:?} {keeps_space} {is_raw} do {} done",
                        source.join(" | "),
                        describe_input(input.as_ref()),
                        describe(body)
                    )
                }
                LineStep::Piped { line, commands } => {
                    let commands: Vec<String> = commands.iter().map(describe_command).collect();
                    format!("{} | {}", describe(line), commands.join(" | "))
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
            (
                "for f in *.txt b; do wc -l \"$f\" ${f}x; done | head",
                "for f [<*>.txt][b] do [wc][-l][<f quoted>][<f>x] done | [head]",
            ),
            (
                "N=$(wc -l <a) M='b c' && echo $N ${#M} $?",
                "N=[<{[wc][-l] <a} quoted>] M=[b c]; && [echo][<N>][<#M>][<?>]",
            ),
            ("X=; echo \"$X\"", "X=[]; [echo][<X quoted>]"),
            ("echo $(<a.txt)", "[echo][<{[cat] <a.txt}>]"),
            (
                "ls [ab]*.[!x-z] {a,b}.txt",
                "[ls][<[ab]><*>.<[!x-z]>][<a,b>.txt]",
            ),
            ("echo {1..3} f{,.bak}", "[echo][<1,2,3>][f<,.bak>]"),
            ("ls # 'a\n# b\npwd", "[ls]; [pwd]"),
            (
                "cat <<E >b\nx 'y $(date)\nE\nls",
                "[cat] <<[x 'y <{[date]} quoted>\\n] >b; [ls]",
            ),
            ("cat <<'E'\n$x `y`\nE", "[cat] <<[$x `y`\\n]"),
            ("cat <<-E && ls\n\ta\n\tE\n", "[cat] <<[a\\n]; && [ls]"),
            ("cat <<E\nE", "[cat] <<[]"),
            (
                "if [ -f a ]; then b; elif c\nthen d; else e; fi; f",
                "if [test][-f][a] then [b] if [c] then [d] else [e] fi; [f]",
            ),
            (
                "if ! a | b; then exit 3; fi",
                "if ! [a] | [b] then exit Some(3) else  fi",
            ),
            ("a || { b; exit; }", "[a]; || { [b]; exit None }"),
            (
                "a | while IFS= read -r l; do echo \"$l\"; done",
                "[a] while read [\"l\"] true true do [echo][<l quoted>] done",
            ),
            (
                "while read a b; do c $b; done < in",
                " <in while read [\"a\", \"b\"] false false do [c][<b>] done",
            ),
            ("{ a; b; } | c | d", "{ [a]; [b] } | [c] | [d]"),
            (": x > b", "[true] >b"),
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
            "a <<< b",
            "a <(b)",
            "(a)",
            "a $HOME",
            "a \"$HOME\"",
            "a `b`",
            "a \"`b`\"",
            "a $((1))",
            "a ${x:-y}",
            "a $'b'",
            "A=1 b",
            "# a",
            "~/a",
            "a ~",
            "a x=~/b",
            "a > $(b)",
            "a > *",
            "a > b > c",
            "a 2>&1 > b",
            "a 3> b",
            "a 12> b",
            "a >&1",
            "a 2>&1x",
            "while a; do b; done",
            "until a; do b; done",
            "if a; then b",
            "if a; b; fi",
            "if a; then fi",
            "if a; then b; fi > c",
            "{ a }",
            "{ a; } > b",
            "a | { b; }",
            "a | while read; do b; done",
            "a | while read -p x y; do b; done",
            "while read x; do b; done",
            "while IFS=, read x; do b; done < c",
            "while read PATH; do b; done < c",
            "a | while read x; do y=1; done; echo $y",
            "echo $(x=1) $x",
            "PATH=a; ls",
            "IFS=,; ls",
            "X=*; ls",
            "X={a,b}; ls",
            "X=~; ls",
            "X=(a b); ls",
            "X=1 | ls",
            "echo $X; X=1",
            "exit a",
            "exit 256",
            "exit 1 2",
            "exit 1 > a",
            "exit | a",
            "! exit",
            "a [b",
            "a []",
            "a [!]",
            "a [[:alpha:]]",
            "a [z-a]",
            "a [a-Z]",
            "a ['b']",
            "a [$b]",
            "a {b}",
            "a {b,{c,d}}",
            "a {'b',c}",
            "a {1..b}",
            "a {1..1000}",
            "a <<E",
            "a <<E\nb",
            "a <<E 'b'\nE",
            "a <<E; b <<F\nE\nF",
            "a <<$E\n",
            "a <<E\n`b`\nE",
            "a <<E\n$HOME\nE",
            "a <<<b",
            "a $(<b c)",
            "a $(<b >c)",
            "a ${#b}",
            "a ${#}",
            ": $(b)",
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

    #[test]
    fn words_for_the_directory_of_a_skill_stay_in_their_word() {
        // No name of a skill is like this.
        let directory = "/skills/a b'\"\\;$(id)`id`*[x]{1,2}{baseDir}$SKILL_DIR~\n|&>";
        for (text, expected) in [
            ("a {baseDir}", Some(&["a", "@"][..])),
            ("{baseDir}/a.sh x", Some(&["@/a.sh", "x"])),
            (
                "a ${CLAUDE_SKILL_DIR}/b$CLAUDE_SKILL_DIR/c",
                Some(&["a", "@/b@/c"]),
            ),
            (
                "a \"${SKILL_DIR}/b c\" $SKILL_DIR",
                Some(&["a", "@/b c", "@"]),
            ),
            ("a \"x {baseDir}/b\"", Some(&["a", "x @/b"])),
            (
                "a '{baseDir}' '$SKILL_DIR' \\$SKILL_DIR \\{baseDir\\}",
                Some(&["a", "{baseDir}", "$SKILL_DIR", "$SKILL_DIR", "{baseDir}"]),
            ),
            ("a $SKILL_DIRS", None),
            ("a ${SKILL_DIR:-x}", None),
            ("a ${#SKILL_DIR}", None),
            ("a {basedir}", None),
            ("a $HOME", None),
            ("a <<{baseDir}\n{baseDir}\n", None),
            ("a {baseDir} > b", None),
        ] {
            let line = ShellLine::parse_in_skill(text, directory);
            let words = line.and_then(|line| line.plain_words());
            let expected = expected.map(|words| {
                let words = words.iter().map(|word| word.replace('@', directory));
                words.collect::<Vec<_>>()
            });
            assert_eq!(words, expected, "{text}");
        }
        let set = ShellLine::parse_in_skill("SKILL_DIR=x; a $SKILL_DIR", "/skills/b").unwrap();
        assert_eq!(describe(&set), "SKILL_DIR=[x]; [a][<SKILL_DIR>]");
        let text = ShellLine::parse_in_skill("a <<E\n{baseDir} $SKILL_DIR\nE", "/s").unwrap();
        assert_eq!(describe(&text), "[a] <<[{baseDir} /s\\n]");
    }

    #[test]
    fn patterns_and_variables_have_limits() {
        let pattern = |count: usize| format!("ls *[{}]", "z".repeat(count));
        let variables =
            |count: usize| -> String { (0..count).map(|n| format!("A{n}= ")).collect() };
        for (text, is_parsed) in [
            (pattern(64), true),
            (pattern(65), false),
            (variables(100), true),
            (variables(101), false),
        ] {
            assert_eq!(ShellLine::parse(&text).is_some(), is_parsed, "{text}");
        }
    }

    proptest! {
        #[test]
        fn words_are_those_of_the_splitter(text in "[a-c '\"\\\\#~=:\t]{0,24}") {
            let words = match split_command(&text) {
                SplitCommand::Words(words) => words,
                _ => Vec::new(),
            };
            // A shell executes `:` itself, and a line has it as `true`.
            let is_compared = words.first().is_some_and(|name| name != ":");
            if let (Some(line), true) = (ShellLine::parse(&text), is_compared) {
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
