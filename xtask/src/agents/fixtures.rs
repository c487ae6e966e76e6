//! Generates skills.

use std::fs;
use std::path::Path;

use anyhow::Result;

/// The skill that all generated directories contain.
pub(crate) const PROBE_SKILL: &str = "tax_calculator";

const VERBS: [&str; 20] = [
    "archive",
    "audit",
    "clean",
    "compare",
    "convert",
    "draft",
    "export",
    "format",
    "import",
    "index",
    "merge",
    "plan",
    "publish",
    "render",
    "review",
    "sort",
    "split",
    "summarize",
    "tag",
    "validate",
];
const NOUNS: [&str; 50] = [
    "accounts",
    "addresses",
    "agendas",
    "alerts",
    "backups",
    "badges",
    "budgets",
    "calendars",
    "charts",
    "contracts",
    "dashboards",
    "deliveries",
    "designs",
    "diagrams",
    "emails",
    "estimates",
    "events",
    "forms",
    "graphs",
    "images",
    "invoices",
    "issues",
    "labels",
    "ledgers",
    "licenses",
    "logs",
    "manuals",
    "maps",
    "menus",
    "minutes",
    "notes",
    "orders",
    "payrolls",
    "photos",
    "podcasts",
    "policies",
    "posters",
    "quizzes",
    "receipts",
    "recipes",
    "reports",
    "resumes",
    "schedules",
    "slides",
    "surveys",
    "tables",
    "tickets",
    "timelines",
    "videos",
    "vouchers",
];

/// Fills `directory` with `count` skills: [`PROBE_SKILL`] and generated ones with one script each.
///
/// At most 1,001 skills.
pub(crate) fn write_skills(directory: &Path, probe: &Path, count: usize) -> Result<()> {
    copy_tree(probe, &directory.join(PROBE_SKILL))?;
    let pairs = NOUNS
        .iter()
        .flat_map(|noun| VERBS.iter().map(move |verb| (*verb, *noun)));
    for (verb, noun) in pairs.take(count.saturating_sub(1)) {
        let skill = directory.join(format!("{verb}-{noun}"));
        fs::create_dir_all(skill.join("scripts"))?;
        fs::write(skill.join("SKILL.md"), manifest(verb, noun))?;
        fs::write(
            skill.join("scripts").join(format!("{verb}.py")),
            script(verb, noun),
        )?;
    }
    Ok(())
}

fn manifest(verb: &str, noun: &str) -> String {
    format!(
        "---\n\
         name: {verb}-{noun}\n\
         description: Helps to {verb} {noun} in the formats of the office. Use when the user asks to {verb} {noun} or mentions a file with {noun}.\n\
         ---\n\
         # {verb} {noun}\n\n\
         Run `python scripts/{verb}.py --input FILE`, then read what it prints.\n"
    )
}

fn script(verb: &str, noun: &str) -> String {
    format!(
        "\"\"\"{verb} {noun}\"\"\"\n\
         import argparse\n\n\
         parser = argparse.ArgumentParser(description=\"{verb} {noun}\")\n\
         parser.add_argument(\"--input\", required=True, help=\"File with {noun}\")\n\
         parser.add_argument(\"--limit\", type=int, default=10, help=\"Number of {noun}\")\n\
         print(parser.parse_args())\n"
    )
}

/// Copies a directory with its files and their modes.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requested_number_of_skills_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let probe = directory.path().join("probe");
        fs::create_dir(&probe).unwrap();
        let skills = directory.path().join("skills");
        write_skills(&skills, &probe, 1_000).unwrap();
        assert_eq!(fs::read_dir(&skills).unwrap().count(), 1_000);
        assert!(skills.join("audit-invoices/scripts/audit.py").is_file());
    }
}
