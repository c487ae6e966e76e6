//! Options and commands that a shell script compares its words with, in `case "$1" in`.

use super::AssignedWord;
use super::lines::{ShellLines, has_command, split_word};
use crate::argument::{Argument, ArgumentStyle, CommandSet, JsonType, is_argument_name};
use crate::infer::argument_list::{MAX_COMMANDS, preferred_spelling, push_new};

/// Options that print a text and exit.
const INFORMATIVE: [&str; 3] = ["h", "help", "version"];

/// Maximum number of variables that are followed.
const MAX_VARIABLES: usize = 20;

/// The arguments that the `case` statements of a script accept.
pub(super) struct CaseArguments {
    pub(super) options: Vec<Argument>,
    pub(super) commands: Option<CommandSet>,
    /// The line of the first statement.
    pub(super) line: usize,
}

/// Infers options and commands. Returns `None` if there are none.
pub(super) fn read(lines: &ShellLines<'_>) -> Option<CaseArguments> {
    let code: Vec<(usize, &str)> = lines.top_level().collect();
    let mut reader = Reader::default();
    let mut index = 0;
    while let Some((number, line)) = code.get(index) {
        reader.follow_variables(line);
        if let Some(subject) = case_subject(line).filter(|subject| reader.is_word(subject)) {
            let (branches, end) = branches(&code[index..]);
            reader.add_case(subject, &branches);
            reader.line.get_or_insert(*number);
            index += end;
        }
        index += 1;
    }
    reader.finish()
}

#[derive(Default)]
struct Reader<'a> {
    options: Vec<Argument>,
    commands: Option<CommandSet>,
    line: Option<usize>,
    /// Variables that hold the first word.
    first_word: Vec<&'a str>,
    /// Variables that hold each word in turn.
    each_word: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    /// Records the variables that get a word in a line.
    fn follow_variables(&mut self, line: &'a str) {
        let assigned = AssignedWord::parse(line).filter(|word| word.position == 1);
        if self.first_word.len() < MAX_VARIABLES {
            self.first_word.extend(assigned.map(|word| word.variable));
        }
        if self.each_word.len() < MAX_VARIABLES {
            self.each_word.extend(loop_variable(line));
        }
    }

    fn is_first_word(&self, subject: &str) -> bool {
        subject == "1" || self.first_word.contains(&subject)
    }

    fn is_word(&self, subject: &str) -> bool {
        self.is_first_word(subject) || self.each_word.contains(&subject)
    }

    fn add_case(&mut self, subject: &str, branches: &[Branch<'_>]) {
        for option in branches.iter().filter_map(Branch::option) {
            push_new(&mut self.options, option);
        }
        if self.is_first_word(subject) && self.commands.is_none() {
            self.commands = commands(branches);
        }
    }

    fn finish(self) -> Option<CaseArguments> {
        if self.options.is_empty() && self.commands.is_none() {
            return None;
        }
        Some(CaseArguments {
            options: self.options,
            commands: self.commands,
            line: self.line?,
        })
    }
}

/// Returns the commands that are branches, if there are several.
fn commands(branches: &[Branch<'_>]) -> Option<CommandSet> {
    let patterns = branches.iter().flat_map(|branch| &branch.patterns);
    let names = patterns.filter(|pattern| is_command(pattern));
    let names: Vec<String> = names
        .map(|name| (*name).to_owned())
        .take(MAX_COMMANDS)
        .collect();
    (names.len() > 1).then(|| CommandSet::of_names(names))
}

struct Branch<'a> {
    patterns: Vec<&'a str>,
    body: String,
}

impl Branch<'_> {
    /// Returns the option of `-o|--out)`.
    fn option(&self) -> Option<Argument> {
        let options = self.patterns.iter().copied();
        let options = options.filter(|pattern| pattern.starts_with('-'));
        let is_plain = |pattern: &&str| !pattern.contains(['=', '*', '?', '[']);
        let separate = preferred_spelling(options.clone().filter(is_plain));
        let joined = || {
            options
                .clone()
                .find_map(|pattern| pattern.strip_suffix("=*"))
        };
        let spelling = separate.or_else(joined)?;
        let name = spelling.trim_start_matches('-');
        if !is_argument_name(name) || INFORMATIVE.contains(&name) {
            return None;
        }
        let (name, option) = (name.to_owned(), spelling.to_owned());
        Some(match separate {
            None => Argument::new(name, JsonType::String, ArgumentStyle::JoinedOption(option)),
            Some(_) if self.takes_value() => {
                Argument::new(name, JsonType::String, ArgumentStyle::Option(option))
            }
            Some(_) => Argument::flag(name, option),
        })
    }

    /// Returns true if the body reads the next word.
    fn takes_value(&self) -> bool {
        let body = &self.body;
        if body.contains("$2") || body.contains("${2") || body.contains("shift 2") {
            return true;
        }
        let after_shift = body.split_once("shift").map_or("", |(_, rest)| rest);
        after_shift.contains("$1") || after_shift.contains("${1")
    }
}

/// Returns the variable of `for word in "$@"`, whose value is each word in turn.
fn loop_variable(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("for ")?;
    let (variable, rest) = rest.trim_start().split_once([' ', ';'])?;
    let is_all = rest.contains("\"$@\"") || rest.contains("$*") || rest.trim() == "do";
    is_all.then_some(variable)
}

/// Returns the variable of `case "$x" in`; `1` for the first word.
fn case_subject(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("case ")?;
    let subject = rest.trim_start().split([' ', '\t']).next()?;
    let subject = subject.trim_matches('"').strip_prefix('$')?;
    let (name, rest) = split_word(subject.trim_start_matches('{'), &['_']);
    let is_plain = rest.is_empty() || rest.starts_with(['}', ':', '-']);
    (!name.is_empty() && is_plain && has_command(line, "case")).then_some(name)
}

/// Returns the branches of the `case` in the first line, and the number of lines after it.
fn branches<'a>(code: &[(usize, &'a str)]) -> (Vec<Branch<'a>>, usize) {
    let mut reader = BranchReader {
        found: Vec::new(),
        depth: 1,
        expects_pattern: true,
    };
    for (index, (_, line)) in code.iter().enumerate().skip(1) {
        reader.read(line.trim());
        if reader.depth == 0 {
            return (reader.found, index);
        }
    }
    (reader.found, code.len() - 1)
}

struct BranchReader<'a> {
    found: Vec<Branch<'a>>,
    /// Number of `case` statements around the line.
    depth: usize,
    expects_pattern: bool,
}

impl<'a> BranchReader<'a> {
    fn read(&mut self, line: &'a str) {
        if has_command(line, "case") && !self.expects_pattern {
            self.depth += 1;
        }
        if line.starts_with("esac") {
            self.depth -= 1;
            return;
        }
        let body = self.start_branch(line).unwrap_or(line);
        if let Some(branch) = self.found.last_mut() {
            branch.body.extend([body, "\n"]);
        }
        if self.depth == 1 && (body.contains(";;") || body.contains(";&")) {
            self.expects_pattern = true;
        }
    }

    /// Starts a branch if the line is expected to, and returns the rest of the line.
    fn start_branch(&mut self, line: &'a str) -> Option<&'a str> {
        if self.depth > 1 || !self.expects_pattern {
            return None;
        }
        let (patterns, body) = split_pattern(line)?;
        self.found.push(Branch {
            patterns,
            body: String::new(),
        });
        self.expects_pattern = false;
        Some(body)
    }
}

/// Splits `-o|--out) body`.
fn split_pattern(line: &str) -> Option<(Vec<&str>, &str)> {
    let (pattern, body) = line.strip_prefix('(').unwrap_or(line).split_once(')')?;
    let patterns: Vec<&str> = pattern
        .split('|')
        .map(|part| part.trim().trim_matches(['"', '\'']))
        .collect();
    patterns
        .iter()
        .all(|part| !part.is_empty() && !part.contains([' ', '$', '(']))
        .then_some((patterns, body))
}

/// Returns true if a pattern is the name of a command, and not an answer or a class of characters.
fn is_command(pattern: &str) -> bool {
    is_argument_name(pattern)
        && pattern.len() > 1
        && pattern.starts_with(|c: char| c.is_ascii_lowercase())
        && !matches!(pattern, "help" | "yes" | "no" | "true" | "false")
}
