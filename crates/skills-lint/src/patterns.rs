//! Regular expressions of rules, and the words by which they are chosen.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::Regex;

use crate::context::Excuse;
use crate::finding::Severity;
use crate::rule::Rule;
use crate::view::View;
use crate::words::{self, alternatives};

/// What a pattern searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Logical lines.
    Lines,
    /// Paragraphs.
    Prose,
}

/// What a match of a pattern is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Effect {
    Finding(&'static Rule, Severity),
    /// Half of a finding, which needs the other half nearby.
    Signal(Signal),
}

/// Half of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Secret,
    EnvironmentFile,
    Send,
    Download,
    Start,
    Archive,
    Password,
    Fetch,
    Evaluate,
    /// A variable that holds the name of a shell.
    ShellName,
    /// A variable to which a download is piped.
    PipeToVariable,
    /// A variable that holds a download.
    Captured,
    /// A variable that holds decoded text.
    Decoded,
    /// A variable that is executed.
    RunVariable,
    /// A file of decoded text.
    DecodedFile,
    /// A file that is executed.
    RunFile,
}

/// A pattern as rules state it. Lists replace names in braces.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) scope: Scope,
    pub(crate) effect: Effect,
    /// Words of which a match contains at least one, in lower case, separated by `|`, which `{BAR}`
    /// stands for.
    pub(crate) triggers: &'static str,
    pub(crate) regex: &'static str,
    /// What lowers the severity of a match.
    pub(crate) excuse: Excuse,
}

/// A pattern that can be searched for.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) scope: Scope,
    pub(crate) effect: Effect,
    pub(crate) excuse: Excuse,
    /// Compiled when a trigger is found, since most texts have few of them.
    pub(crate) regex: LazyRegex,
}

/// A regular expression, with names of lists and without regard to case, that is compiled when it is
/// first used.
#[derive(Debug)]
pub(crate) struct LazyRegex {
    source: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl LazyRegex {
    pub(crate) const fn new(source: &'static str) -> Self {
        let compiled = OnceLock::new();
        Self { source, compiled }
    }

    pub(crate) fn get(&self) -> Option<&Regex> {
        let compiled = self.compiled.get_or_init(|| compile(&expand(self.source)));
        compiled.as_ref()
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.get().is_some_and(|regex| regex.is_match(text))
    }
}

/// The patterns of one scope.
#[derive(Debug)]
pub(crate) struct PatternSet {
    pub(crate) patterns: Vec<Pattern>,
    triggers: Option<AhoCorasick>,
    /// The patterns of each trigger.
    of_trigger: Vec<Vec<usize>>,
}

impl PatternSet {
    pub(crate) fn new(sources: impl Iterator<Item = &'static Source>) -> Self {
        let mut patterns = Vec::new();
        let mut words: Vec<String> = Vec::new();
        let mut of_trigger: Vec<Vec<usize>> = Vec::new();
        for source in sources {
            for word in expand_triggers(source.triggers) {
                match words.iter().position(|known| *known == word) {
                    Some(index) => of_trigger[index].push(patterns.len()),
                    None => {
                        words.push(word);
                        of_trigger.push(vec![patterns.len()]);
                    }
                }
            }
            patterns.push(Pattern {
                scope: source.scope,
                effect: source.effect,
                excuse: source.excuse,
                regex: LazyRegex::new(source.regex),
            });
        }
        let triggers = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&words);
        Self {
            patterns,
            triggers: triggers.ok(),
            of_trigger,
        }
    }

    /// Calls `found` with each pattern of which a unit contains a trigger, once for each unit.
    pub(crate) fn candidates(&self, view: &View, mut found: impl FnMut(usize, usize)) {
        let Some(triggers) = &self.triggers else {
            return;
        };
        let mut last_unit = vec![usize::MAX; self.patterns.len()];
        let mut unit = 0;
        for trigger in triggers.find_overlapping_iter(&view.text) {
            // Overlapping matches are ordered by their end.
            while view
                .units
                .get(unit)
                .is_some_and(|unit| unit.end < trigger.end())
            {
                unit += 1;
            }
            if unit >= view.units.len() {
                return;
            }
            for pattern in &self.of_trigger[trigger.pattern().as_usize()] {
                if last_unit[*pattern] != unit {
                    last_unit[*pattern] = unit;
                    found(*pattern, unit);
                }
            }
        }
    }
}

/// Compiles an expression. Tests compile all of them, so that none is missing at run time.
pub(crate) fn compile(expression: &str) -> Option<Regex> {
    // The boundaries of ASCII words: faster, and a boundary between Chinese and English.
    Regex::new(&expression.replace(r"\b", r"(?-u:\b)")).ok()
}

/// Lists of words by the names that stand for them, as alternatives in an expression.
const LISTS: [(&str, &str); 7] = [
    ("{DROP}", words::DROP_HOSTS),
    ("{CAPTURE}", words::CAPTURE_HOSTS),
    ("{TUNNEL}", words::TUNNELS),
    ("{SHORT}", words::SHORTENERS),
    ("{SECRET}", words::SECRETS),
    ("{WORD}", words::SECRET_WORDS),
    ("{MEMORY}", words::MEMORY_FILES),
];

/// Replaces the names of lists and common parts.
pub(crate) fn expand(expression: &str) -> String {
    let mut text = format!("(?i){expression}");
    for (name, list) in LISTS {
        if text.contains(name) {
            text = text.replace(name, &alternatives(list));
        }
    }
    let parts = [
        ("{S}", r"(?:[^.!?。！？]|[.!?]\S)*?"),
        ("{USER}", USER),
        ("{IP}", r"(?P<ip>\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})"),
        (
            "{GET}",
            r"(?:curl|wget|aria2c|lwp-request|lynx|fetch|https?ie|xh)\b",
        ),
        (
            "{SH}",
            r"(?:(?:/usr)?(?:/local)?/bin/)?(?:(?:ba|z|da|k|fi|c|tc|a)?sh\b|\$\{?SHELL\b\}?|\$0\b|\$?[(`](?:which|command -v|type -p)\s+\w*sh\b|(?:source|\.)\s+/dev/(?:stdin|fd/0)|eval\b|(?:python[\d.]*|perl|ruby|node|php|deno run|bun|osascript)(?:\s+-)?\s*(?:$|[`;&)<'\x22]))",
        ),
        (
            "{WRAP}",
            r"[\s`'\x22({!]*(?:(?:/\S*/)?(?:sudo|doas|env|command|exec|builtin|nohup|timeout|busybox|toybox|xargs|nice|ionice|time|setsid|stdbuf|su|chroot)\b(?:\s+[^\s|;&]+){0,6}?\s+)?(?:[A-Za-z_]\w*=\S*\s+)*",
        ),
        (
            "{DECODE}",
            r"(?:\bbase(?:64|32)\s+(?:-[^\s|]*d|--decode|-D)|\bxxd\s+(?:-\w+\s+)*-\w*r|\bopenssl\s+(?:enc|base64|aes\S*|zlib)\b[^|\n]*-d|\buudecode\b)",
        ),
    ];
    for (name, part) in parts {
        text = text.replace(name, part);
    }
    text
}

const USER: &str = r"(?:(?:the|your|an?y?|this|our)\s+)?(?:end[ -])?(?:users?|human|operator|owner|customer|person|people|anyone|anybody|client|developer|them)\b";

/// Returns the words of triggers; a name in braces stands for the words of a list.
fn expand_triggers(triggers: &'static str) -> Vec<String> {
    let words =
        triggers
            .split('|')
            .flat_map(|word| match LISTS.iter().find(|(name, _)| *name == word) {
                Some((_, list)) => words::entries(list).map(str::to_ascii_lowercase).collect(),
                None => vec![word.replace("{BAR}", "|")],
            });
    words.collect()
}
