//! Plans as text and as JSON.

use indicatif::HumanBytes;
use serde_json::{Value, json};
use skills_install::{Action, LockedSkill, Plan, SkillChange};

use super::findings::PlanFindings;
use crate::counted::counted;
use crate::lint::SkillFindings;
use crate::output::line;

/// Maximum number of files that are listed of each kind for a new skill. Changes of an installed
/// skill are listed in full.
const MAX_NEW_FILES: usize = 20;
/// The same if a plan adds many skills.
const MAX_NEW_FILES_OF_MANY: usize = 3;
/// The number of changes from which a plan is one of many skills.
const MANY_SKILLS: usize = 4;
/// Number of characters of a digest or commit in a text.
const SHORT_DIGITS: usize = 12;

/// Returns what a plan changes and what was found in the new files, as lines. Skills that stay as
/// they are have none.
pub(crate) fn plan_lines(plan: &Plan, findings: &PlanFindings) -> Vec<String> {
    let max_files = if plan.changes().len() < MANY_SKILLS {
        MAX_NEW_FILES
    } else {
        MAX_NEW_FILES_OF_MANY
    };
    let mut lines = Vec::new();
    for (index, change) in plan.changes().iter().enumerate() {
        lines.extend(change_lines(change, max_files));
        let found = findings.of_change(index).map(SkillFindings::to_lines);
        let found = found.unwrap_or_default().into_iter();
        lines.extend(found.map(|text| format!("  ? {text}")));
    }
    lines
}

fn change_lines(change: &SkillChange, max_files: usize) -> Vec<String> {
    let name = line(change.name());
    let locked = change.locked();
    let mut lines = Vec::new();
    match change.action() {
        Action::Keep if !change.trust_changes().is_empty() || change.moved_from().is_some() => {
            lines.push(format!("keep `{name}`, now from {}", source_of(locked)));
            if let Some(from) = change.moved_from() {
                lines.push(format!("  ~ source {}", line(&from.to_string())));
            }
        }
        Action::Keep => return lines,
        Action::KeepEdited => {
            lines.push(format!("keep `{name}`, which was edited"));
            return lines;
        }
        Action::Restore => {
            lines.push(format!("restore `{name}` from {}", source_of(locked)));
        }
        Action::Add => {
            lines.push(format!("add `{name}` from {}", source_of(locked)));
            lines.push(format!("  {}", line(&facts_of(locked))));
            lines.extend(addition_lines(change, max_files));
        }
        _ => {
            lines.push(format!("update `{name}` to {}", source_of(locked)));
            let text = change.difference().to_string();
            lines.extend(text.lines().map(|text| format!("  {}", line(text))));
        }
    }
    let trust = change.trust_changes().iter();
    lines.extend(trust.map(|trust| format!("  ! {}", line(&trust.to_string()))));
    lines
}

/// Returns what a new skill asks for and contains.
fn addition_lines(change: &SkillChange, max_files: usize) -> Vec<String> {
    let difference = change.difference();
    let asks = difference
        .added
        .iter()
        .map(|ask| format!("  + {}", line(ask)));
    let mut lines: Vec<String> = asks.collect();
    for (files, what) in [
        (&difference.added_code, "more files that may be code"),
        (&difference.added_files, "more files"),
    ] {
        let shown = files.iter().take(max_files);
        lines.extend(shown.map(|path| format!("  + {}", line(path))));
        if files.len() > max_files {
            lines.push(format!("  + {} {what}", files.len() - max_files));
        }
    }
    lines
}

/// Returns size, license and signer.
fn facts_of(locked: &LockedSkill) -> String {
    let license = locked.license().unwrap_or("none stated");
    format!(
        "{}, {}, license: {license}, {}",
        counted(locked.files(), "file"),
        HumanBytes(locked.bytes()),
        match locked.signer() {
            signer if locked.is_signed() => format!("signed by {}", line(signer)),
            signer => line(signer),
        }
    )
}

/// Returns the source with the version, escaped.
pub(crate) fn source_of(locked: &LockedSkill) -> String {
    let source = line(&locked.source().to_string());
    match locked.revision() {
        Some(revision) => format!("{source} ({})", short_revision(revision)),
        None => source,
    }
}

/// Returns the start of a commit or digest.
pub(crate) fn short_revision(revision: &str) -> String {
    let (kind, digits) = revision.rsplit_once(':').unwrap_or(("", revision));
    let digits: String = digits.chars().take(SHORT_DIGITS).collect();
    match kind {
        "git" | "" => line(&digits),
        kind => line(&format!("{kind}:{digits}")),
    }
}

pub(crate) fn change_json(change: &SkillChange, found: Option<&SkillFindings>) -> Value {
    let locked = change.locked();
    let difference = change.difference();
    let trust = change.trust_changes().iter().map(ToString::to_string);
    json!({
        "skill": change.name(),
        "action": match change.action() {
            Action::Add => "add",
            Action::Update => "update",
            Action::Restore => "restore",
            Action::KeepEdited => "keep-edited",
            _ => "keep",
        },
        "source": locked.source().to_string(),
        "moved_from": change.moved_from().map(ToString::to_string),
        "revision": locked.revision(),
        "content": locked.content().to_string(),
        "files": locked.files(),
        "bytes": locked.bytes(),
        "license": locked.license(),
        "signer": locked.signer(),
        "asks": locked.asks(),
        "needs_review": change.needs_person() || needs_review(change, found),
        "findings": found.map(SkillFindings::to_json).unwrap_or_default(),
        "files_not_searched": found.map_or(0, |found| found.unsearched),
        "trust_changes": trust.collect::<Vec<_>>(),
        "difference": {
            "added": difference.added,
            "removed": difference.removed,
            "removed_restrictions": difference.removed_restrictions,
            "added_packages": difference.added_packages,
            "changed_packages": difference.changed_packages,
            "added_code": difference.added_code,
            "added_files": difference.added_files,
            "changed_files": difference.changed_files,
            "removed_files": difference.removed_files,
            "description_changed": difference.is_description_changed,
            "body_lines_added": difference.body_lines.0,
            "body_lines_removed": difference.body_lines.1,
        },
    })
}

/// Returns true if a person must agree because of what was found.
fn needs_review(change: &SkillChange, found: Option<&SkillFindings>) -> bool {
    matches!(change.action(), Action::Add | Action::Update)
        && found.is_some_and(SkillFindings::has_high)
}
