//! What surrounds a match: passages that explain or forbid attacks.

use std::sync::LazyLock;

use regex::Regex;

use crate::patterns::compile;
use crate::view::{Heading, Surroundings, Unit, View};

/// Words of headings above passages that describe attacks or forbid something.
static HEADING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile(
        r"(?i)threat|attack|malicious|malware|vulnerab|red flag|anti-?pattern|injection|exfiltrat|obfuscat|\bdo ?n[o']?t\b|\bnever\b|\bnot to\b|\bavoid|danger|detect|suspicious|forbidden|prohibited|blocked|deny|denied|bad example|warning sign|security (?:check|consideration|review|audit|rule|pattern|scan|model)|risk|severity|\bcritical\b|what (?:it|we|this) (?:checks?|scans?|looks?|catches|flags?)|false positive|checks? performed|test cases?|examples? of|恶意|攻击|风险|危险|禁止|检测|注入|威胁|漏洞",
    )
});

/// Words of sentences that describe attacks or forbid something.
static SENTENCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile(
        r"(?i)\b(?:malicious|malware|attack(?:er|ers|s)?|adversar\w+|danger(?:ous)?|suspicious|forbidden|prohibited|not allowed|reject(?:s|ed)?|refuse[sd]?|block(?:s|ed|list)?|den(?:y|ied|ylist)|detect(?:s|ed|ion)?|flag(?:s|ged)?|scan(?:s|ned|ner)?(?: for)?|looks? for|watch for|red flags?|unsafe|insecure|vulnerab\w+|injection|exfiltrat\w+|phishing|jailbreak\w*|anti-?pattern|bad|wrong|avoid|instead of|risky?|warn(?:s|ing)?|threats?|payloads?|payload)\b|\b(?:never|do not|don[’']t|must not|should not|cannot|can[’']t)\b|❌|🚫|⛔|🚩|⚠|恶意|攻击|危险|禁止|不要|避免|检测|拒绝|注入|风险",
    )
});

/// A prohibition right before what it forbids.
static PROHIBITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile(
        r"(?i)(?:\b(?:never|do not|don[’']t|must not|should not|avoid|refuse to|not to)\b(?:\s+(?:ever|blindly|simply|just|directly))?\s+(?:run(?:ning)?|execut(?:e|ing)|pip(?:e|ing)|us(?:e|ing)|do(?:ing)?|past(?:e|ing)|copy(?:ing)?|install(?:ing)?|curl(?:ing)?|follow(?:ing)?|obey(?:ing)?|add(?:ing)?|writ(?:e|ing)|pass(?:ing)?|recommend(?:ing)?|suggest(?:ing)?|set(?:ting)?|read(?:ing)?|access(?:ing)?|send(?:ing)?|upload(?:ing)?|includ(?:e|ing)|commit(?:ting)?|log(?:ging)?|expos(?:e|ing)|chmod|sudo)\b|(?:不要|禁止|切勿|避免|请勿)(?:直接)?(?:运行|执行|使用|安装|粘贴))[^.!?。！？]*$",
    )
});

/// Words after which a prohibition demands what follows.
static EXCEPTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile(
        r"(?i)\b(?:without|before|until|unless|except|other than|but|only after|first)\b|之前|除非|否则",
    )
});

/// Words of a prohibition that demand the opposite, so that they excuse nothing.
static INSISTENCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile(
        r"(?i)\b(?:never|do not|don[’']t|must not|should not|cannot|can[’']t)\s+(?:skip|forget|omit|worry|hesitate|miss|ask|stop|continue|proceed|work|start|delay|wait|tell|mention|inform|notify|warn|reveal|disclose|be)\b|不要(?:跳过|忘记|担心|告诉|询问)",
    )
});

/// Words of addresses that stand for an attacker, as no attacker writes them.
static FICTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile(r"(?i)\b(?:attacker|evil|malicious|hacker|victim|bad-?guys?|malware)\b")
});

/// Words of names and descriptions of skills about security.
static SECURITY_SKILL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile(
        r"(?i)\b(?:security|secure|audit\w*|vett\w*|scan(?:s|ner|ning)?|malicious|malware|injection|guard\w*|pentest\w*|penetration|red[- ]?team\w*|threat\w*|vulnerab\w*|firewall|sandbox\w*|safety|exploit\w*|forensic\w*|defen[sc]e|hardening|semgrep|yara|backdoors?|trojans?|suspicious|prompt.?guard|sanitiz\w*)|安全|审计|漏洞|渗透|防护",
    )
});

fn is_match(regex: &LazyLock<Option<Regex>>, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// Returns true if a skill says of itself that it is about security, by its name or description.
pub(crate) fn is_about_security(name: &str, description: &str) -> bool {
    is_match(&SECURITY_SKILL, &name.replace(['-', '_'], " "))
        || is_match(&SECURITY_SKILL, description)
}

/// How much lower the severity of a match is, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lowered {
    pub(crate) steps: usize,
    pub(crate) note: &'static str,
}

/// The file that views are of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) text: &'a str,
    pub(crate) headings: &'a [Heading],
}

impl Source<'_> {
    fn slice(&self, (start, end): (usize, usize)) -> &str {
        &self.text[start..end]
    }

    /// Returns true if a heading, or one of a section around it, is about attacks or prohibitions.
    fn is_documentary(&self, mut heading: Option<usize>) -> bool {
        while let Some(found) = heading.map(|index| self.headings[index]) {
            if is_match(&HEADING, self.slice(found.range)) {
                return true;
            }
            heading = found.outer;
        }
        false
    }
}

/// Returns how much lower the severity of a match is because of what surrounds it. Text that a
/// rendered page hides is never excused.
pub(crate) fn lowered(
    source: &Source<'_>,
    view: &View,
    unit: &Unit,
    range: &std::ops::Range<usize>,
    ignores_prohibitions: bool,
    is_security_skill: bool,
) -> Lowered {
    let Surroundings {
        heading,
        announcement,
        is_table,
        is_comment,
        is_code,
    } = unit.surroundings;
    if is_comment {
        return Lowered { steps: 0, note: "" };
    }
    let text = view.text_of(unit);
    let before = sentence_before(text, range.start);
    let after = sentence_after(text, range.end);
    if !ignores_prohibitions && is_prohibition(before) {
        let note = "lower, since the sentence forbids it";
        return Lowered { steps: 2, note };
    }
    let is_described = is_documentary_part(before)
        || is_documentary_part(after)
        || is_match(&FICTION, &text[range.clone()]);
    let is_quoted = is_quoted(text, range, is_code);
    let is_documentary = source.is_documentary(heading);
    let is_announced = is_documentary_part(source.slice(announcement));
    let signals = [
        (is_table, "lower, since it is in a table"),
        (
            is_documentary,
            "lower, since the section is about attacks or prohibitions",
        ),
        (is_announced, "lower, since the sentence before warns of it"),
        (is_described, "lower, since the sentence describes it"),
        (is_quoted, "lower, since it is quoted"),
        (
            is_security_skill,
            "lower, since the skill is about security",
        ),
    ];
    let mut present = signals.iter().filter(|(is_present, _)| *is_present);
    let Some((_, note)) = present.next() else {
        return Lowered { steps: 0, note: "" };
    };
    let steps = if is_security_skill && present.next().is_some() {
        2
    } else {
        1
    };
    Lowered { steps, note }
}

/// Maximum number of bytes between a prohibition and what it forbids, with the prohibition.
const MAX_PROHIBITION: usize = 90;

/// Returns true if a text ends with a prohibition that has no exception: "never continue without"
/// demands what follows.
fn is_prohibition(before: &str) -> bool {
    let mut start = before.len().saturating_sub(MAX_PROHIBITION);
    while !before.is_char_boundary(start) {
        start += 1;
    }
    let near = &before[start..];
    is_match(&PROHIBITION, near) && !is_match(&EXCEPTION, near)
}

fn is_documentary_part(text: &str) -> bool {
    is_match(&SENTENCE, text) && !is_match(&INSISTENCE, text)
}

/// Returns the part of the sentence before a position.
fn sentence_before(text: &str, position: usize) -> &str {
    let before = &text[..position];
    let end = |mark: &str| before.rfind(mark).map(|index| index + mark.len());
    let marks = [". ", "! ", "? ", "。", "！", "？"];
    let start = marks.iter().filter_map(|mark| end(mark)).max();
    &before[start.unwrap_or(0)..]
}

/// Returns the part of the sentence after a position.
fn sentence_after(text: &str, position: usize) -> &str {
    let after = &text[position..];
    let marks = [". ", "! ", "? ", "。", "！", "？"];
    let end = marks.iter().filter_map(|mark| after.find(mark)).min();
    &after[..end.unwrap_or(after.len())]
}

/// Returns true if a match is the start of a quotation.
fn is_quoted(text: &str, range: &std::ops::Range<usize>, is_code: bool) -> bool {
    if is_code {
        return false;
    }
    let before = text[..range.start].chars().next_back();
    let quotes = ['"', '\'', '“', '「', '‘', '«'];
    before.is_some_and(|c| quotes.contains(&c))
}
