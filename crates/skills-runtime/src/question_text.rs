//! Questions as text, for approvers.

use skills_manifest::is_invisible;
use skills_policy::{ContentStatus, Permission, PermissionDecision, Question, Subject};
use unicode_normalization::{IsNormalized, is_nfkc_quick};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_security::skeleton;

use crate::escape_line;

/// Maximum length of one item of a line, in characters; longer items are truncated.
const MAX_ITEM_CHARS: usize = 300;
/// Maximum length of the command, in characters.
const MAX_COMMAND_CHARS: usize = 2_000;
/// Maximum length of a line of informational items, in characters.
const MAX_INFO_CHARS: usize = 600;
/// Maximum number of informational items in a line.
const MAX_INFO_ITEMS: usize = 15;

/// A question that cannot be shown in full, so it cannot be allowed.
///
/// Returned by [`format_question_in_full`] if the command, the name, a directory, a subject or the origin
/// of an undeclared package exceeds the limits of a question. Treat it as a denial.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot show the question: too long: {field}")]
pub struct QuestionTooLong {
    field: String,
}

/// Formats a question as at most four lines: what runs, what is allowed already, notes, and what is asked.
///
/// All subjects are in the last line. Text of a skill cannot forge a line or an item: names are in
/// backquotes, and one in them is escaped. Risks are the first notes. A line has at most 15 notes, or
/// allowed permissions, and 600 characters; what the content is asked about for is shown in full.
///
/// Arguments are quoted as in Bash, so that word boundaries are visible and different arguments look
/// different, except for homoglyphs among letters; invisible characters are escaped. Commands are
/// truncated to 2,000 characters, other items to 300.
#[must_use]
pub fn format_question(question: &Question) -> String {
    // A project is the subject of the first line.
    let subjects = question.subjects.iter();
    let subjects = subjects.filter(|_| !question.is_about_project());
    let granted = granted_texts(question);
    // It is what the content would get by a yes.
    let granted = if question.is_about_content() {
        item_line(granted.into_iter())
    } else {
        info_line(granted)
    };
    let lines = [
        ("allowed", granted),
        ("note", info_line(notes(question))),
        // Last, next to the answer.
        (
            "wants to",
            item_line(subjects.map(|subject| subject_text(question, subject))),
        ),
    ];
    let lines = lines.into_iter().filter(|(_, line)| !line.is_empty());
    let lines = lines.map(|(label, line)| format!("  {label:<8} {line}"));
    std::iter::once(headline(question))
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Formats a question like [`format_question`], to ask an approver.
///
/// # Errors
/// Fails if a subject, the command, the name, a directory or the origin of an undeclared package would be
/// truncated or omitted: the approver could not see what they allow, so they must not be asked.
pub fn format_question_in_full(question: &Question) -> Result<String, QuestionTooLong> {
    let directories = std::iter::once(&question.directory).chain(&question.covers.directories);
    let directories = directories.map(|directory| directory.display().to_string());
    // Who requested it may be cut.
    let subjects = question.subjects.iter().map(|subject| match subject {
        Subject::Permission(decision) => decision.permission().to_string(),
        other => other.to_string(),
    });
    let others = subjects.chain([question.name.clone()]).chain(directories);
    let others = others.map(|text| (format_value(&text), MAX_ITEM_CHARS));
    // Measured as displayed: escaped characters are longer.
    let is_long = |(text, max): &(String, usize)| text.chars().nth(*max).is_some();
    match std::iter::once((shell_command(question), MAX_COMMAND_CHARS))
        .chain(others)
        .find(is_long)
    {
        Some((text, _)) => Err(QuestionTooLong {
            field: truncate(text, MAX_ITEM_CHARS),
        }),
        None => {
            let text = format_question(question);
            let mut whole = covered_texts(question).chain(origin_notes(question));
            match whole.find(|note| !text.contains(&format_value(note))) {
                Some(field) => Err(QuestionTooLong { field }),
                None => Ok(text),
            }
        }
    }
}

/// Returns a subject with its requesters. After a refusal the first line says where all come from.
fn subject_text(question: &Question, subject: &Subject) -> String {
    match subject {
        Subject::Permission(decision) if question.is_after_refusal() => {
            decision.permission().to_string()
        }
        other => other.to_string(),
    }
}

/// Returns the notes about further directories: an answer covers the content of all of them.
fn covered_texts(question: &Question) -> impl Iterator<Item = String> {
    let directories = question.covers.directories.iter();
    directories.map(|directory| format!("an answer covers the content of {}", directory.display()))
}

/// Returns the notes on the origins of the undeclared packages that are asked about.
fn origin_notes(question: &Question) -> impl Iterator<Item = String> {
    let undeclared = question
        .permissions()
        .filter(|decision| decision.is_undeclared_package());
    undeclared.flat_map(|decision| {
        let start = match decision.permission() {
            Permission::Package { name, .. } => {
                format!("`{}` is on ", name.strip_prefix("pypi:").unwrap_or(name))
            }
            other => other.to_string(),
        };
        let notes = question.notes.iter();
        notes.filter(move |note| note.starts_with(&start)).cloned()
    })
}

/// Returns the first line: what is asked about, and first what has happened already.
fn headline(question: &Question) -> String {
    let directory = format_item(&question.directory.display().to_string());
    if let [subject @ Subject::Project { .. }] = &question.subjects[..] {
        let subject = format_item(&subject.to_string());
        return format!("Trust {subject} of project {directory}?");
    }
    // Not formatted like an item: the command is quoted already, and collapsing its white space would
    // make different arguments look equal.
    let command = truncate(shell_command(question), MAX_COMMAND_CHARS);
    let name = format_item(&question.name);
    let subject = if question.covers.is_command_alone {
        format!("this command in {directory}")
    } else {
        format!("skill `{name}`")
    };
    let mut permissions = question.permissions();
    let is_about_packages = question.subjects.len() == question.permissions().count()
        && permissions.all(PermissionDecision::is_undeclared_package);
    if question.is_after_refusal() && question.done.is_none() && is_about_packages {
        return format!("Run {subject} again, with what it imports? {command}");
    }
    if question.is_after_refusal() && question.done.is_none() {
        return format!("Run {subject} again, and allow what it was refused? {command}");
    }
    if question.is_after_refusal() {
        let done = format_item(&question.done.to_string());
        return format!("It {done}. Allow {subject} what it was refused, from now on? {command}");
    }
    if question.covers.is_command_alone {
        format!("Allow {subject}? {command}")
    } else {
        format!("Allow {subject} to run {command}?")
    }
}

/// Returns what else an approver should know.
fn notes(question: &Question) -> Vec<String> {
    let covers = &question.covers;
    // First, since a skill controls the length of the others.
    let mut notes = at_most(question.notes.clone());
    notes.extend(covered_texts(question));
    // Two skills can have the same name.
    let is_skill = !covers.is_command_alone && !question.name.is_empty();
    notes.extend(is_skill.then(|| format!("in {}", question.directory.display())));
    // Without the note, an answer would seem to cover the files that the command names.
    if covers.is_command_alone {
        notes.push("an answer stays valid if other files change".to_owned());
    }
    notes.extend(content_text(&question.content));
    if let ContentStatus::Changed { added, removed } = &question.content {
        let added = added
            .iter()
            .map(|privilege| format!("adds {}", quoted(privilege)));
        let removed = removed
            .iter()
            .map(|privilege| format!("removes {}", quoted(privilege)));
        notes.extend(at_most(added.chain(removed).collect()));
    }
    notes
}

fn item_line(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.map(|item| format_item(&item)).collect();
    items.join("; ")
}

/// Returns the line of informational items. A skill controls their number and length, and a long line would
/// move the subjects away from the answer.
fn info_line(items: Vec<String>) -> String {
    truncate(item_line(at_most(items).into_iter()), MAX_INFO_CHARS)
}

/// Limits informational items. A skill controls their number.
fn at_most(mut items: Vec<String>) -> Vec<String> {
    let omitted = items.len().saturating_sub(MAX_INFO_ITEMS);
    items.truncate(MAX_INFO_ITEMS);
    items.extend((omitted > 0).then(|| format!("and {omitted} more")));
    items
}

/// Describes what is granted without an answer: dangerous permissions first, then other privileges, since
/// later ones can be omitted.
fn granted_texts(question: &Question) -> Vec<String> {
    let mut granted: Vec<_> = question
        .granted
        .iter()
        .map(PermissionDecision::permission)
        .collect();
    let rank = |permission: &Permission| {
        let is_privileged = permission.capability().is_privileged();
        (permission.caution().is_none(), !is_privileged)
    };
    granted.sort_by_key(|permission| rank(permission));
    granted.into_iter().map(ToString::to_string).collect()
}

/// Quotes the command so that Bash would split it into the same words.
fn shell_command(question: &Question) -> String {
    question
        .command
        .iter()
        .map(|word| shell_quote(word))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Quotes a word of a command for Bash so that different words look different, except for homoglyphs
/// among letters. A word with invisible characters, with characters that affect their neighbors, or with characters
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

/// Escapes and truncates an item of a line.
fn format_item(text: &str) -> String {
    truncate(format_value(text), MAX_ITEM_CHARS)
}

/// Returns a text of a skill in backquotes.
fn quoted(text: &str) -> String {
    format!("`{}`", text.replace('`', "\\`"))
}

/// Collapses white space and escapes invisible characters.
fn format_value(text: &str) -> String {
    // A line end becomes a space, so an item cannot start a line of its own.
    escape_line(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Truncates a text to `max` characters, with an ellipsis.
fn truncate(text: String, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

fn content_text(content: &ContentStatus) -> Option<String> {
    let text = match content {
        ContentStatus::New => return None,
        ContentStatus::Approved => "approved before, with other permissions",
        _ => "changed since it was approved",
    };
    Some(text.to_owned())
}
