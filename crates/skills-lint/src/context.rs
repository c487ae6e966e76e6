//! What surrounds a match: passages that explain or forbid attacks.

use crate::patterns::LazyRegex;
use crate::view::{Heading, Unit, View};

/// Words of headings above passages that describe attacks or forbid something.
static HEADING: LazyRegex = LazyRegex::new(
    r"threat|attack|malicious|malware|vulnerab|red flag|anti-?pattern|injection|exfiltrat|obfuscat|\bdo ?n[o']?t\b|\bnever\b|\bnot to\b|\bavoid|danger|detect|suspicious|forbidden|prohibited|blocked|deny|denied|bad example|warning sign|security (?:check|consideration|review|audit|rule|pattern|scan|model)|risk|severity|\bcritical\b|what (?:it|we|this) (?:checks?|scans?|looks?|catches|flags?)|false positive|checks? performed|test cases?|examples? of|恶意|攻击|风险|危险|禁止|检测|注入|威胁|漏洞",
);

/// Words of sentences that describe attacks or forbid something.
static SENTENCE: LazyRegex = LazyRegex::new(
    r"\b(?:malicious|malware|attack(?:er|ers|s)?|adversar\w+|danger(?:ous)?|suspicious|forbidden|prohibited|not allowed|reject(?:s|ed)?|refuse[sd]?|block(?:s|ed|list)?|den(?:y|ied|ylist)|detect(?:s|ed|ion)?|flag(?:s|ged)?|scan(?:s|ned|ner)?(?: for)?|looks? for|watch for|red flags?|unsafe|insecure|vulnerab\w+|injection|exfiltrat\w+|phishing|jailbreak\w*|anti-?pattern|bad|wrong|avoid|instead of|risky?|warn(?:s|ing)?|threats?|payloads?|payload)\b|\b(?:never|do not|don[’']t|must not|should not|cannot|can[’']t)\b|❌|🚫|⛔|🚩|⚠|恶意|攻击|危险|禁止|不要|避免|检测|拒绝|注入|风险",
);

/// A prohibition right before what it forbids.
static PROHIBITION: LazyRegex = LazyRegex::new(
    r"(?:\b(?:never|do not|don[’']t|must not|should not|avoid|refuse to|not to)\b(?:\s+(?:ever|blindly|simply|just|directly))?\s+(?:run(?:ning)?|execut(?:e|ing)|pip(?:e|ing)|us(?:e|ing)|do(?:ing)?|past(?:e|ing)|copy(?:ing)?|install(?:ing)?|curl(?:ing)?|follow(?:ing)?|obey(?:ing)?|add(?:ing)?|writ(?:e|ing)|pass(?:ing)?|recommend(?:ing)?|suggest(?:ing)?|set(?:ting)?|read(?:ing)?|access(?:ing)?|send(?:ing)?|upload(?:ing)?|includ(?:e|ing)|commit(?:ting)?|log(?:ging)?|expos(?:e|ing)|chmod|sudo)\b|(?:不要|禁止|切勿|避免|请勿)(?:直接)?(?:运行|执行|使用|安装|粘贴)|\bavoid)[^.!?;:,。！？；：，]*$",
);

/// A negation right before the verb that a rule found.
static NEGATION: LazyRegex = LazyRegex::new(
    r"(?:\b(?:never|do not|don[’']t|must not|should not|shall not|cannot)\s+(?:ever\s+)?|(?:不要|禁止|切勿|请勿)\s*)$",
);

/// Words after which a prohibition is a demand.
static EXCEPTION: LazyRegex = LazyRegex::new(
    r"\b(?:without|before|until|unless|except|other|another|else|than|but|only|after|first|twice|again|as|if|when|while|on|in|with|and|then|yet|manually|instead)\b|之前|除非|否则",
);

/// Words of a prohibition that demand the opposite, so that they excuse nothing.
static INSISTENCE: LazyRegex = LazyRegex::new(
    r"\b(?:never|do not|don[’']t|must not|should not|cannot|can[’']t)\s+(?:skip|forget|omit|worry|hesitate|miss|ask|stop|continue|proceed|work|start|delay|wait|tell|mention|inform|notify|warn|reveal|disclose|be)\b|不要(?:跳过|忘记|担心|告诉|询问)",
);

/// Words that deny an attack, such as "this is not malicious", so that they describe none.
static DENIAL: LazyRegex = LazyRegex::new(
    r"\b(?:not|no|non|never|isn['’]t|aren['’]t|without|zero|nothing)[\s-]+(?:\w+\s+){0,2}?(?:malicious|malware|attack\w*|dangerous|danger|suspicious|unsafe|insecure|risky?|risks|threats?|injection|exfiltrat\w+|vulnerab\w+|payloads?|jailbreak\w*|bad|wrong)\b|\b\w+-free\b|(?:不是|没有|无)(?:恶意|攻击|危险|风险)",
);

/// Words before a quotation that only mentions what it quotes.
static MENTION: LazyRegex = LazyRegex::new(
    r"\b(?:language|phrases?|patterns?|strings?|attempts?|attacks?|inputs?|payloads?|messages?)\b[^.!?]{0,80}\b(?:like|such as|e\.g\.|including)\b[^.!?]{0,80}$|\b(?:language|phrases?|patterns?|attempts?)\s*\([^.!?]{0,160}$",
);

/// Words by which a sentence demands what it quotes.
static DEMAND: LazyRegex = LazyRegex::new(
    r"\b(?:follow|obey|honou?r|accept|apply|use|respect|trust|answer|heed|execute|perform|do)\b",
);

/// Marks of comments in scripts.
const COMMENT_MARKS: [&str; 7] = ["#", "//", "--", "/*", "*", "<!--", "rem "];

/// Words of names and descriptions of skills about security.
static SECURITY_SKILL: LazyRegex = LazyRegex::new(
    r"\b(?:security|secure|audit\w*|vett\w*|scan(?:s|ner|ning)?|malicious|malware|injection|guard\w*|pentest\w*|penetration|red[- ]?team\w*|threat\w*|vulnerab\w*|firewall|sandbox\w*|safety|exploit\w*|forensic\w*|defen[sc]e|hardening|semgrep|yara|backdoors?|trojans?|suspicious|prompt.?guard|sanitiz\w*)|安全|审计|漏洞|渗透|防护",
);

/// Returns true if a skill says of itself that it is about security, by its name or description.
pub(crate) fn is_about_security(name: &str, description: &str) -> bool {
    SECURITY_SKILL.is_match(&name.replace(['-', '_'], " ")) || SECURITY_SKILL.is_match(description)
}

/// How much lower the severity of a match is, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lowered {
    pub(crate) steps: usize,
    pub(crate) note: &'static str,
}

impl Lowered {
    const NONE: Self = Self { steps: 0, note: "" };
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
            if HEADING.is_match(self.slice(found.range)) {
                return true;
            }
            heading = found.outer;
        }
        false
    }
}

/// What may lower the severity of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excuse {
    /// A command, which runs whatever is written around it: only a prohibition of exactly this one.
    Prohibition,
    /// A command that gives control of the machine: a prohibition, by one step.
    WeakProhibition,
    /// Prose: what surrounds it.
    Words,
    /// Prose that texts quote as the example of an attack.
    Mention,
    /// Prose that is a prohibition itself.
    WordsOnly,
}

/// Returns how much lower the severity of a match is because of what surrounds it. Text that a
/// rendered page hides is never excused, and the words around a command excuse it as little: they
/// cost an attacker nothing.
pub(crate) fn lowered(
    source: &Source<'_>,
    view: &View,
    unit: &Unit,
    range: &std::ops::Range<usize>,
    excuse: Excuse,
    is_security_skill: bool,
) -> Lowered {
    let surroundings = &unit.surroundings;
    if surroundings.is_comment {
        return Lowered::NONE;
    }
    let text = view.text_of(unit);
    let before = sentence_before(text, range.start);
    let after = sentence_after(text, range.end);
    if excuse != Excuse::WordsOnly && is_forbidden(before, after, surroundings.is_code) {
        let steps = if excuse == Excuse::WeakProhibition {
            1
        } else {
            2
        };
        let note = "lower, since the sentence forbids it";
        return Lowered { steps, note };
    }
    if matches!(excuse, Excuse::Prohibition | Excuse::WeakProhibition) {
        return Lowered::NONE;
    }
    if matches!(excuse, Excuse::Words | Excuse::Mention) && NEGATION.is_match(before) {
        let note = "lower, since the sentence forbids it";
        return Lowered { steps: 2, note };
    }
    let is_described = is_documentary_part(before) || is_documentary_part(after);
    let is_quoted = is_quoted(text, range, surroundings.is_code);
    let is_mentioned = MENTION.is_match(before) && !DEMAND.is_match(before);
    if excuse == Excuse::Mention && is_quoted && is_mentioned {
        let note = "lower, since the sentence quotes it as an example of an attack";
        return Lowered { steps: 2, note };
    }
    let signals = [
        (surroundings.is_table, "lower, since it is in a table"),
        (
            source.is_documentary(surroundings.heading),
            "lower, since the section is about attacks or prohibitions",
        ),
        (
            is_documentary_part(source.slice(surroundings.announcement)),
            "lower, since the sentence before warns of it",
        ),
        (is_described, "lower, since the sentence describes it"),
        (is_quoted, "lower, since it is quoted"),
        (
            is_security_skill,
            "lower, since the skill is about security",
        ),
    ];
    let mut present = signals.iter().filter(|(is_present, _)| *is_present);
    present
        .next()
        .map_or(Lowered::NONE, |(_, note)| Lowered { steps: 1, note })
}

/// Maximum number of bytes between a prohibition and what it forbids, with the prohibition.
const MAX_PROHIBITION: usize = 90;

/// Returns true if a sentence forbids what is between its parts, in all cases: "never continue
/// without" is a demand, and "do not run it as root" is a demand to run it as another user.
/// In code only comments forbid.
fn is_forbidden(before: &str, after: &str, is_code: bool) -> bool {
    let trimmed = before.trim_start().to_ascii_lowercase();
    if is_code && !COMMENT_MARKS.iter().any(|mark| trimmed.starts_with(mark)) {
        return false;
    }
    let mut start = before.len().saturating_sub(MAX_PROHIBITION);
    while !before.is_char_boundary(start) {
        start += 1;
    }
    let near = &before[start..];
    let Some(found) = PROHIBITION.get().and_then(|regex| regex.find(near)) else {
        return false;
    };
    !EXCEPTION.is_match(found.as_str()) && !EXCEPTION.is_match(after)
}

fn is_documentary_part(text: &str) -> bool {
    let Some(denial) = DENIAL.get() else {
        return false;
    };
    SENTENCE.is_match(&denial.replace_all(text, "")) && !INSISTENCE.is_match(text)
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
