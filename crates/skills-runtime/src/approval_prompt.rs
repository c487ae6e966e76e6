//! A question as text, for whoever answers.

use skills_manifest::is_invisible;
use skills_policy::{ApprovalRequest, ContentStatus, PermissionDecision};
use unicode_normalization::{IsNormalized, is_nfkc_quick};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_security::skeleton;

use crate::escape_line;

/// The longest value of a row, in characters; a longer one is cut.
const MAX_ROW_CHARS: usize = 300;
/// The longest command, in characters.
const MAX_COMMAND_CHARS: usize = 2_000;
/// The most rows of one kind that only tell something.
const MAX_INFO_ROWS: usize = 15;

/// A question that nobody could read, since what is wanted would be cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is longer than a question may be: {field}")]
pub struct PromptTooLong {
    field: String,
}

/// Describes a question entirely, a row a thing, so that no text of a skill can be taken for
/// another row; what is wanted stands last. Of each kind of thing that is only told there are 15.
/// Words of the command are quoted as for Bash, so that their ends are seen and no two look the
/// same but for letters of several scripts that do; what hides becomes visible. A command of more
/// than 2,000 characters and other values of more than 300 are cut.
#[must_use]
pub fn format_approval_request(question: &ApprovalRequest) -> String {
    let rows = rows(question)
        .into_iter()
        .map(|(label, value)| format!("  {label:<8} {}", format_row(&value)));
    let first = format!(
        "{} wants to run: {}",
        format_row(&question.name),
        truncate(shell_command(question), MAX_COMMAND_CHARS)
    );
    std::iter::once(first)
        .chain(rows)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Describes a question as [`describe_question`] does, for somebody who is asked.
///
/// # Errors
/// When something of what is wanted, the command, the name or the directory would be cut: nobody
/// knows what they would allow, so nobody is asked.
pub fn format_approval_request_in_full(
    question: &ApprovalRequest,
) -> Result<String, PromptTooLong> {
    let open = question
        .pending
        .iter()
        .map(|verdict| escape_invisible(&verdict.permission().to_string()));
    let others = open
        .chain([
            escape_invisible(&question.name),
            escape_invisible(&question.directory.display().to_string()),
        ])
        .map(|text| (text, MAX_ROW_CHARS));
    // As it is shown: what hides takes more room when it is seen.
    let is_long = |(text, most): &(String, usize)| text.chars().nth(*most).is_some();
    match std::iter::once((shell_command(question), MAX_COMMAND_CHARS))
        .chain(others)
        .find(is_long)
    {
        Some((text, _)) => Err(PromptTooLong {
            field: truncate(text, MAX_ROW_CHARS),
        }),
        None => Ok(format_approval_request(question)),
    }
}

/// What is wanted stands last, where it is read; of what is only told there is an end.
fn rows(question: &ApprovalRequest) -> Vec<(&'static str, String)> {
    let mut rows = vec![("skill", question.directory.display().to_string())];
    let covers = if question.is_ad_hoc_digest {
        " of the command alone; an answer holds for it whatever its files become"
    } else {
        ""
    };
    rows.extend(
        question
            .digest
            .iter()
            .map(|digest| ("digest", format!("{digest}{covers}"))),
    );
    let limits = &question.limits;
    rows.push((
        "limits",
        format!(
            "{} s, {} MiB of memory",
            limits.wall_time.as_secs_f64(),
            limits.memory_bytes >> 20
        ),
    ));
    let mut told = |label: &'static str, values: Vec<String>| {
        let more = values.len().saturating_sub(MAX_INFO_ROWS);
        rows.extend(
            values
                .into_iter()
                .take(MAX_INFO_ROWS)
                .map(|value| (label, value)),
        );
        rows.extend((more > 0).then(|| (label, format!("and {more} more"))));
    };
    let what = |verdict: &PermissionDecision| {
        format!(
            "{} (asked by {})",
            verdict.permission(),
            verdict.requesters()
        )
    };
    // Power first.
    let (power, rest): (Vec<&PermissionDecision>, Vec<&PermissionDecision>) = question
        .granted
        .iter()
        .partition(|verdict| verdict.permission().capability().is_privileged());
    told("has", power.into_iter().chain(rest).map(what).collect());
    told("note", question.notes.clone());
    if let ContentStatus::Changed {
        added: grown,
        removed: shrunk,
    } = &question.content
    {
        told("gone", shrunk.clone());
        told("new", grown.clone());
    }
    rows.push(("content", content_text(&question.content).to_owned()));
    if question.requires_content_approval {
        rows.push((
            "wants",
            "to run with what rules give it, for which nobody approved this content".to_owned(),
        ));
    }
    rows.extend(
        question
            .pending
            .iter()
            .map(|verdict| ("wants", what(verdict))),
    );
    rows
}

/// The words as Bash would take them apart again.
fn shell_command(question: &ApprovalRequest) -> String {
    question
        .command
        .iter()
        .map(|word| shell_quote(word))
        .collect::<Vec<_>>()
        .join(" ")
}

/// No two words look the same, but for letters of several scripts that do: where something cannot
/// be seen, changes how what stands around it looks, or could be taken for how such things are
/// shown, the word stands in `$'…'`.
fn shell_quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    let is_seen = |c: char| c == ' ' || c.is_ascii_graphic() || is_distinct_alone(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if word.chars().all(|c| c != '\\' && is_seen(c)) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let shown = word.chars().map(|c| match c {
        '\\' | '\'' => format!("\\{c}"),
        '\n' => r"\n".to_owned(),
        '\r' => r"\r".to_owned(),
        '\t' => r"\t".to_owned(),
        c if is_seen(c) => c.to_string(),
        c if u32::from(c) <= 0xFFFF => format!(r"\u{:04x}", u32::from(c)),
        c => format!(r"\U{:08x}", u32::from(c)),
    });
    format!("$'{}'", shown.collect::<String>())
}

/// Says whether a character that is not ASCII is seen where it stands, and as what it is: a letter
/// or a digit that is no other spelling of another, does not look like a sign of the shell, and is
/// not written from right to left, which takes digits and signs along.
fn is_distinct_alone(c: char) -> bool {
    use GeneralCategory::{
        DecimalNumber, LowercaseLetter, OtherLetter, TitlecaseLetter, UppercaseLetter,
    };
    let is_from_right = matches!(c, '\u{590}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFF}' | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}');
    let is_letter = matches!(
        c.general_category(),
        UppercaseLetter | LowercaseLetter | TitlecaseLetter | OtherLetter | DecimalNumber
    );
    // Hieroglyphs that only hold a place.
    let is_blank = matches!(c, '\u{13430}'..='\u{1345F}');
    let looks_like_a_sign =
        || skeleton(&c.to_string()).any(|c| c.is_ascii() && !c.is_ascii_alphanumeric());
    is_letter
        && !(is_from_right || is_blank || is_invisible(c))
        && is_nfkc_quick(std::iter::once(c)) == IsNormalized::Yes
        && !looks_like_a_sign()
}

/// One line of a row.
fn format_row(text: &str) -> String {
    truncate(escape_invisible(text), MAX_ROW_CHARS)
}

/// White space is one space, and what hides is seen.
fn escape_invisible(text: &str) -> String {
    escape_line(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// An end is an end.
fn truncate(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

fn content_text(content: &ContentStatus) -> &'static str {
    match content {
        ContentStatus::New => "never approved before",
        ContentStatus::Approved => "approved before, for other things",
        _ => "changed since it was approved",
    }
}
