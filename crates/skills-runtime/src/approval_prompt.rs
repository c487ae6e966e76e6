//! Approval requests as text, for approvers.

use skills_manifest::is_invisible;
use skills_policy::{ContentStatus, PermissionDecision, Question};
use unicode_normalization::{IsNormalized, is_nfkc_quick};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_security::skeleton;

use crate::escape_line;

/// Maximum length of the value of a row, in characters; longer values are truncated.
const MAX_ROW_CHARS: usize = 300;
/// Maximum length of the command, in characters.
const MAX_COMMAND_CHARS: usize = 2_000;
/// Maximum number of informational rows with the same label.
const MAX_INFO_ROWS: usize = 15;

/// Label and value of a row.
type Row = (&'static str, String);

/// An approval request that cannot be shown in full, so it cannot be approved.
///
/// Returned by [`format_question_in_full`] if the command, the name, the directory or a
/// requested permission exceeds the limits of a prompt. Treat it as a denial.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot show the approval request: too long: {field}")]
pub struct PromptTooLong {
    field: String,
}

/// Formats an approval request as text, one row per item, with the open permissions last.
///
/// Text of a skill cannot forge a row. There are at most 15 informational rows per label. Arguments
/// are quoted as in Bash, so that word boundaries are visible and different arguments look
/// different, except for homoglyphs among letters; invisible characters are escaped. Commands are
/// truncated to 2,000 characters, other values to 300.
#[must_use]
pub fn format_question(request: &Question) -> String {
    let rows = rows(request)
        .into_iter()
        .map(|(label, value)| format!("  {label:<8} {}", format_row(&value)));
    // Not formatted like a row: the command is quoted already, and collapsing its white space would
    // make different arguments look equal.
    let command = truncate(shell_command(request), MAX_COMMAND_CHARS);
    let first = if request.is_ad_hoc_digest {
        let directory = format_row(&request.directory.display().to_string());
        format!("Allow this command in {directory}? {command}")
    } else {
        format!(
            "Allow skill `{}` to run {command}?",
            format_row(&request.name)
        )
    };
    std::iter::once(first)
        .chain(rows)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Formats an approval request like [`format_question`], for a prompt to an approver.
///
/// # Errors
/// Fails if a requested permission, the command, the name or the directory would be truncated: the
/// approver could not see what they allow, so they must not be asked.
pub fn format_question_in_full(request: &Question) -> Result<String, PromptTooLong> {
    let open = request
        .pending
        .iter()
        .map(|decision| format_value(&decision.permission().to_string()));
    let others = open
        .chain([
            format_value(&request.name),
            format_value(&request.directory.display().to_string()),
        ])
        .map(|text| (text, MAX_ROW_CHARS));
    // Measured as displayed: escaped characters are longer.
    let is_long = |(text, max): &(String, usize)| text.chars().nth(*max).is_some();
    match std::iter::once((shell_command(request), MAX_COMMAND_CHARS))
        .chain(others)
        .find(is_long)
    {
        Some((text, _)) => Err(PromptTooLong {
            field: truncate(text, MAX_ROW_CHARS),
        }),
        None => Ok(format_question(request)),
    }
}

/// Returns the rows: informational ones first, with a limit, then the open permissions, all of
/// them. The last rows are what the approver decides, next to the prompt for the answer.
fn rows(request: &Question) -> Vec<Row> {
    let mut rows = Vec::new();
    if !request.is_ad_hoc_digest {
        rows.push(("skill", request.directory.display().to_string()));
    }
    // Without the note, the digest would seem to cover the files that the command names.
    let scope_note = match (
        request.is_ad_hoc_digest,
        request.covered_directories.as_slice(),
    ) {
        (false, _) => "",
        (true, []) => " of the command only; an approval stays valid if its files change",
        (true, _) => {
            " of the command and of the skills that it names; an approval stays valid if other files change"
        }
    };
    // All of them: the approval covers their content.
    let named = request.covered_directories.iter();
    rows.extend(named.map(|directory| ("names", directory.display().to_string())));
    rows.extend(
        request
            .digest
            .iter()
            .map(|digest| ("content", format!("{digest}{scope_note}"))),
    );
    let limits = &request.limits;
    rows.push((
        "limits",
        format!(
            "{} s, {} MiB memory",
            limits.wall_time.as_secs_f64(),
            limits.memory_bytes >> 20
        ),
    ));
    push_info(&mut rows, "granted", granted_texts(request));
    push_info(&mut rows, "notes", request.notes.clone());
    if let ContentStatus::Changed { added, removed } = &request.content {
        push_info(&mut rows, "removed", removed.clone());
        push_info(&mut rows, "added", added.clone());
    }
    rows.push(("status", content_text(&request.content).to_owned()));
    if request.requires_content_approval {
        rows.push((
            "requests",
            "to run with the permissions above; this content has not been approved".to_owned(),
        ));
    }
    // Without a limit: what is not shown must not be granted.
    rows.extend(
        request
            .pending
            .iter()
            .map(|decision| ("requests", describe_decision(decision))),
    );
    rows
}

/// Adds informational rows. A skill controls their number, and many of them would scroll the open
/// permissions out of the terminal.
fn push_info(rows: &mut Vec<Row>, label: &'static str, values: Vec<String>) {
    let omitted = values.len().saturating_sub(MAX_INFO_ROWS);
    rows.extend(
        values
            .into_iter()
            .take(MAX_INFO_ROWS)
            .map(|value| (label, value)),
    );
    if omitted > 0 {
        rows.push((label, format!("and {omitted} more")));
    }
}

/// Describes the granted permissions, dangerous ones first, since later ones can be omitted.
fn granted_texts(request: &Question) -> Vec<String> {
    let (dangerous, rest): (Vec<&PermissionDecision>, Vec<&PermissionDecision>) = request
        .granted
        .iter()
        .partition(|decision| decision.permission().capability().is_privileged());
    dangerous
        .into_iter()
        .chain(rest)
        .map(describe_decision)
        .collect()
}

fn describe_decision(decision: &PermissionDecision) -> String {
    format!(
        "{} (requested by {})",
        decision.permission(),
        decision.requesters()
    )
}

/// Quotes the command so that Bash would split it into the same words.
fn shell_command(request: &Question) -> String {
    request
        .command
        .iter()
        .map(|word| shell_quote(word))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Quotes a word of a command for Bash so that different words look different, except for homoglyphs among letters. A
/// word with invisible characters, with characters that affect their neighbors, or with characters
/// that could be mistaken for an escape is written as `$'…'`.
#[must_use]
pub fn shell_quote(word: &str) -> String {
    // An empty word would vanish, so it is quoted.
    if !word.is_empty() && word.chars().all(is_plain_in_shell) {
        return word.to_owned();
    }
    // A backslash is literal in this form, but looks like an escape of the form below.
    if word.chars().all(|c| c != '\\' && is_displayable(c)) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let shown = word.chars().map(|c| match c {
        '\\' | '\'' => format!("\\{c}"),
        '\n' => r"\n".to_owned(),
        '\r' => r"\r".to_owned(),
        '\t' => r"\t".to_owned(),
        c if is_displayable(c) => c.to_string(),
        // Always four or eight digits, so that a digit that follows is not read as part of the
        // escape.
        c if u32::from(c) <= 0xFFFF => format!(r"\u{:04x}", u32::from(c)),
        c => format!(r"\U{:08x}", u32::from(c)),
    });
    format!("$'{}'", shown.collect::<String>())
}

fn is_plain_in_shell(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c)
}

fn is_displayable(c: char) -> bool {
    c == ' ' || c.is_ascii_graphic() || is_distinct_alone(c)
}

/// Returns true if a non-ASCII character is visible and unambiguous: a letter or digit in
/// normalized form that does not resemble a shell metacharacter, and is not written from right to
/// left, which would reorder adjacent digits and signs.
fn is_distinct_alone(c: char) -> bool {
    use GeneralCategory::{
        DecimalNumber, LowercaseLetter, OtherLetter, TitlecaseLetter, UppercaseLetter,
    };
    let is_from_right = matches!(c, '\u{590}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFF}' | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}');
    // Symbols and marks are excluded: marks combine with the character before them.
    let is_letter = matches!(
        c.general_category(),
        UppercaseLetter | LowercaseLetter | TitlecaseLetter | OtherLetter | DecimalNumber
    );
    // Egyptian hieroglyph format controls, which are blank.
    let is_blank = matches!(c, '\u{13430}'..='\u{1345F}');
    let resembles_metacharacter =
        || skeleton(&c.to_string()).any(|c| c.is_ascii() && !c.is_ascii_alphanumeric());
    is_letter
        && !(is_from_right || is_blank || is_invisible(c))
        // Full-width and other compatibility forms resemble ASCII characters.
        && is_nfkc_quick(std::iter::once(c)) == IsNormalized::Yes
        && !resembles_metacharacter()
}

/// Escapes and truncates the value of a row.
fn format_row(text: &str) -> String {
    truncate(format_value(text), MAX_ROW_CHARS)
}

/// Collapses white space and escapes invisible characters.
fn format_value(text: &str) -> String {
    // A line end becomes a space, so a value cannot start a row of its own.
    escape_line(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Truncates a text to `max` characters, with an ellipsis.
fn truncate(text: String, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

fn content_text(content: &ContentStatus) -> &'static str {
    match content {
        ContentStatus::New => "never approved before",
        ContentStatus::Approved => "approved before, with other permissions",
        _ => "changed since it was approved",
    }
}
