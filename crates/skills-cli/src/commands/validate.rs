//! `skills validate PATH…`: checks skills and collections against the specification or a client.

mod collection;
mod finding;
mod report;
mod sarif;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use skills_ref_compat::{Client, Severity, StrictError};
use skills_runtime::discovery::{
    ClientProfile, DiscoveryError, DiscoveryErrorKind, ReadingRules, SkillFiles,
};
use skills_runtime::manifest::{Document, ManifestError, Requirements, WarningKind};
use skills_runtime::prompt::MissingRequirements;
use skills_runtime::{SkillRuntime, check_scripts};

use super::reference_output::{print_error, print_plain};
use crate::context::{Context, unknown_profile};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::lint::{DenyArgs, SkillFindings};
use crate::output::Output;
use crate::skill_path::SkillPath;
use finding::Finding;
use report::ReportFormat;

/// Check skills against the specification or a client
///
/// A directory without a SKILL.md is a collection: all skills below it are checked. `skills compat
/// validate` reports exactly like skills-ref. What in the text of a skill looks like an attack is a
/// warning, or an error with `--deny`.
#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// Skill directories, SKILL.md files or collections
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Format of the report
    #[arg(long, value_name = "FORMAT", value_enum, conflicts_with = "json")]
    format: Option<ReportFormat>,

    #[command(flatten)]
    deny: DenyArgs,
}

/// What is reported of findings of low severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Advice {
    Listed,
    Counted,
}

impl Validate {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let profile = context.options.profile.as_deref();
        let client = profile.map(find_client).transpose()?;
        let format = match self.format {
            Some(format) => format,
            None if context.output.is_json() => ReportFormat::Json,
            None => ReportFormat::Text,
        };
        let host = context.runtime_without_skills()?;
        let targets = collection::expand(&self.paths, context);
        let advice = match format {
            ReportFormat::Text | ReportFormat::Github => Advice::Counted,
            ReportFormat::Json | ReportFormat::Sarif => Advice::Listed,
        };
        let checks =
            collection::check_parallel(&targets, |skill| self.check(skill, client, &host, advice));
        let exit = report::print(&targets, &checks, format)?;
        Ok(exit)
    }
}

impl Validate {
    /// Returns the findings about one skill, first the errors.
    fn check(
        &self,
        target: &SkillPath,
        client: Option<Client>,
        host: &SkillRuntime,
        advice: Advice,
    ) -> Vec<Finding> {
        let mut findings = lenient_findings(target, client, host);
        let name = target.directory_name();
        if let Ok(found) = SkillFindings::of_directory(target.directory(), &name) {
            let is_denied = |finding: &skills_lint::Finding| self.deny.denies(finding);
            let is_omitted = |finding: &skills_lint::Finding| {
                advice == Advice::Counted
                    && finding.severity() == skills_lint::Severity::Low
                    && !is_denied(finding)
            };
            let texts = found.report.findings().iter();
            let texts = texts.filter(|text| !is_omitted(text));
            findings.extend(texts.map(|text| Finding::of_text(text, is_denied(text))));
            let omitted = found.advice(is_omitted).into_iter();
            findings.extend(omitted.map(|note| Finding::warning("low-severity", note)));
            let notes = found.notes().into_iter();
            findings.extend(notes.map(|note| Finding::warning("not-searched", note)));
        }
        // Stable: what the manifest says comes before what its text and other files contain.
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        findings
    }
}

/// Checks skills byte for byte like the reference tool.
pub(crate) fn check_like_reference(paths: &[PathBuf], context: &Context) -> anyhow::Result<Exit> {
    let output = context.output;
    let mut results = Vec::new();
    let mut exit = Exit::Success;
    for path in paths {
        // A missing path does not end the check of the others.
        let target = match SkillPath::from_path(path) {
            Ok(target) => target,
            Err(error) => {
                exit = Exit::Usage;
                let message = format!("{error:#}");
                if !output.is_json() {
                    output.status(&format!("error: {message}"));
                }
                results.push(report::missing_path_to_json(path, message));
                continue;
            }
        };
        let findings = reference_findings(&target);
        if findings.iter().any(Finding::is_error) && exit == Exit::Success {
            exit = Exit::Failed;
        }
        if output.is_json() {
            results.push(report::to_json(&target, &findings));
        } else {
            print_like_reference(&target, &findings, output)?;
        }
    }
    if output.is_json() {
        output.print_json(&json!({"valid": exit == Exit::Success, "results": results}))?;
    }
    Ok(exit)
}

/// Finds the client profile by its name.
fn find_client(name: &str) -> Result<Client, CommandError> {
    let client = Client::ALL
        .into_iter()
        .find(|client| client.as_str() == name);
    client.ok_or_else(|| unknown_profile(name, &Client::ALL.map(Client::as_str)))
}

/// Returns the errors that the reference tool reports.
fn reference_findings(target: &SkillPath) -> Vec<Finding> {
    let finding =
        |error: StrictError| Finding::error(error.code(), error.message()).at(error.line());
    match target.validate() {
        Ok(errors) => errors.into_iter().map(finding).collect(),
        Err(message) => vec![Finding::error("path", message)],
    }
}

/// Returns the findings of the lenient parser, and of the rules of one client.
fn lenient_findings(
    target: &SkillPath,
    client: Option<Client>,
    host: &SkillRuntime,
) -> Vec<Finding> {
    if let Err(message) = target.check_directory() {
        return vec![Finding::error("path", message)];
    }
    let files = match SkillFiles::open_directory(target.directory()) {
        Ok(files) => files,
        Err(error) => {
            let message = match error.kind() {
                DiscoveryErrorKind::Io => error.to_string(),
                // The same words as those of the reference tool.
                _ => "Missing required file: SKILL.md".to_owned(),
            };
            return vec![unreadable_finding(&error, &message)];
        }
    };
    // Only the description: what the client rejects is a finding with its own words.
    let profile = client.and_then(|client| ClientProfile::from_name(client.as_str()));
    let mut rules = ReadingRules::default();
    if let Some(profile) = profile {
        rules.missing_description = profile.reading_rules().missing_description;
    }
    let files = files.reading(rules);
    let document = match files.document() {
        Ok(document) => document,
        Err(error) => return invalid_document_findings(&error),
    };
    let mut findings = manifest_findings(&document, &files, host);
    let directory = target.directory_name();
    match client {
        Some(client) => findings.extend(client_findings(client, &document, &directory)),
        None => findings.extend(name_finding(&document, &directory)),
    }
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.line));
    findings
}

/// Returns the error of a document that cannot be parsed, and the warnings until there.
fn invalid_document_findings(error: &DiscoveryError) -> Vec<Finding> {
    let mut findings = vec![unreadable_finding(error, &error.to_string())];
    let manifest = error.manifest();
    for warning in manifest.map(ManifestError::warnings).unwrap_or_default() {
        let kind = warning.kind();
        findings.push(Finding::warning(kind.code(), kind.to_string()).at(warning.line()));
    }
    findings
}

/// Returns the findings of one client's rules.
fn client_findings(client: Client, document: &Document, directory: &str) -> Vec<Finding> {
    let found = client.lint(document, directory).into_iter();
    found.map(Finding::of_client).collect()
}

/// Returns a warning if the name is missing or is not the name of the directory. Clients have rules
/// of their own for names, so this is only for a check without a client.
fn name_finding(document: &Document, directory: &str) -> Option<Finding> {
    let line = document.field_line("name");
    let Some(name) = document.manifest().name() else {
        let message = "no valid `name`; the directory name is used";
        return Some(Finding::warning("name-missing", message).at(line));
    };
    (name.as_str() != directory).then(|| {
        let message = format!("the name differs from the directory name `{directory}`");
        Finding::warning("name-differs", message).at(line)
    })
}

/// Returns the findings that do not depend on a client: the file, its links and its host metadata.
fn manifest_findings(document: &Document, files: &SkillFiles, host: &SkillRuntime) -> Vec<Finding> {
    let mut findings = Vec::new();
    for warning in document.warnings() {
        let kind = warning.kind();
        let mut severity = Severity::Warning;
        // The skill loads, but neither a model nor a run can use it.
        if matches!(kind, WarningKind::UnparsedRestriction(_)) {
            severity = Severity::Error;
        }
        findings.push(Finding {
            severity,
            column: warning.position().map(|position| position.column),
            ..Finding::warning(kind.code(), kind.to_string()).at(warning.line())
        });
    }
    let name = files.file_name();
    if name != "SKILL.md" {
        let message = format!("the file is named `{name}`; other clients read only `SKILL.md`");
        findings.push(Finding::warning("file-name", message));
    }
    for link in files.broken_links(&document.outline()) {
        let message = format!("`{}` is not a file of the skill", link.target);
        findings.push(Finding::warning("broken-link", message).at(Some(link.line)));
    }
    // A skill whose files cannot be listed is reported by what reads them.
    for omitted in files.list("").unwrap_or_default().omitted {
        findings.push(Finding::warning("omitted-file", omitted.to_string()));
    }
    // The name by which a run selects the interpreters of the skill.
    let name = document.manifest().name().map_or("", |name| name.as_str());
    let finder = host.library().finder(name);
    let scripts = check_scripts(files, Some(finder)).into_iter();
    findings.extend(scripts.map(Finding::of_script));
    let (metadata, notes) = files.openai_metadata();
    let requirements = Requirements::new(document.manifest(), Some(&metadata));
    findings.extend(requirement_findings(name, &requirements, host));
    for note in notes {
        let mut file = "agents/openai.yaml".to_owned();
        if !note.field.is_empty() {
            file.push_str(&format!(": `{}`", note.field));
        }
        let message = format!("{file}: {}", note.reason);
        findings.push(Finding::warning("host-metadata", message));
    }
    findings
}

/// Returns invalid declarations, and what a run on this host would miss.
fn requirement_findings(skill: &str, declared: &Requirements, host: &SkillRuntime) -> Vec<Finding> {
    let mut missing = MissingRequirements::default();
    host.library()
        .check_requirements(skill, declared, &mut missing);
    let lines = missing.to_lines();
    let invalid = missing.invalid.into_iter();
    let mut findings: Vec<Finding> = invalid
        .map(|invalid| Finding::warning("requirement", invalid.reason))
        .collect();
    if !lines.is_empty() {
        let message = format!("missing on this host: {}", lines.join("; "));
        findings.push(Finding::warning("missing-requirement", message));
    }
    findings
}

fn unreadable_finding(error: &DiscoveryError, message: &str) -> Finding {
    let manifest = error.manifest();
    let code = manifest.map_or(error.kind().code(), |error| error.kind().code());
    Finding {
        column: manifest.and_then(ManifestError::column),
        ..Finding::error(code, message).at(manifest.and_then(ManifestError::line))
    }
}

/// Prints findings byte for byte like the reference tool.
fn print_like_reference(
    target: &SkillPath,
    findings: &[Finding],
    output: Output,
) -> anyhow::Result<()> {
    if findings.is_empty() {
        // Unescaped on a pipe, since the output must equal that of the reference tool.
        return print_plain(&format!("Valid skill: {target}\n"), output);
    }
    let lines = findings
        .iter()
        .map(|Finding { message, .. }| format!("  - {message}\n"));
    let lines: String = lines.collect();
    print_error(&format!("Validation failed for {target}:\n{lines}"));
    Ok(())
}
