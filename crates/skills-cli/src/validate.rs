//! `skills validate PATH…`: checks skills against the specification or a client.

use anyhow::anyhow;
use serde_json::{Value, json};
use skills_ref_compat::{Client, Severity};
use skills_runtime::SkillRuntime;
use skills_runtime::discovery::{DiscoveryError, SkillFiles};
use skills_runtime::manifest::{Document, Requirements};
use skills_runtime::prompt::MissingRequirements;

use crate::arguments::Validate;
use crate::compat::{self, SkillPath};
use crate::exit::Exit;
use crate::input::InputError;
use crate::output::{Output, line};

/// An error or warning about a skill.
struct Finding {
    severity: Severity,
    code: &'static str,
    line: Option<usize>,
    column: Option<usize>,
    message: String,
}

impl Finding {
    fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            line: None,
            column: None,
            message: message.into(),
        }
    }

    fn warning(code: &'static str, line: Option<usize>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            code,
            line,
            column: None,
            message: message.into(),
        }
    }
}

pub(crate) fn validate(
    arguments: &Validate,
    profile: Option<&str>,
    output: &Output,
) -> anyhow::Result<Exit> {
    let client = profile.map(find_client).transpose()?;
    let mut results = Vec::new();
    let mut failed = false;
    let mut missing = false;
    for path in &arguments.paths {
        // A missing path does not end the check of the others.
        let target = match SkillPath::from_path(path) {
            Ok(target) => target,
            Err(error) => {
                missing = true;
                let message = format!("{error:#}");
                if output.is_json() {
                    let error =
                        json!({"code": "path", "line": null, "column": null, "message": message});
                    results.push(json!({"path": path.to_string_lossy(), "valid": false, "errors": [error], "warnings": []}));
                } else {
                    output.status(&format!("error: {message}"));
                }
                continue;
            }
        };
        let findings = if arguments.strict {
            reference_findings(&target)
        } else {
            lenient_findings(&target, client)
        };
        failed |= findings
            .iter()
            .any(|finding| finding.severity == Severity::Error);
        if output.is_json() {
            results.push(to_json(&target, &findings));
        } else {
            let form = if arguments.strict {
                ValidateFormat::Reference
            } else {
                ValidateFormat::Detailed
            };
            print_findings(&target, &findings, form, output)?;
        }
    }
    if output.is_json() {
        output.print_json(&json!({"valid": !failed && !missing, "results": results}))?;
    }
    if missing {
        return Ok(Exit::Usage);
    }
    Ok(if failed { Exit::Failed } else { Exit::Success })
}

/// Finds the client profile by its name.
fn find_client(name: &str) -> anyhow::Result<Client> {
    Client::ALL
        .into_iter()
        .find(|client| client.as_str() == name)
        .ok_or_else(|| {
            let names = Client::ALL.map(Client::as_str).join(", ");
            anyhow!(
                InputError::new(format!("unknown client profile `{name}`"))
                    .with_help(format!("available: {names}"))
            )
        })
}

/// Returns the errors that the reference tool reports.
fn reference_findings(target: &SkillPath) -> Vec<Finding> {
    match target.validate() {
        Ok(errors) => (errors.into_iter())
            .map(|error| Finding {
                severity: Severity::Error,
                code: error.code(),
                line: error.line(),
                column: None,
                message: error.message().to_owned(),
            })
            .collect(),
        Err(message) => vec![Finding::error("path", message)],
    }
}

/// Returns the findings of the lenient parser, and of the rules of one client.
fn lenient_findings(target: &SkillPath, client: Option<Client>) -> Vec<Finding> {
    if let Err(message) = target.check_directory() {
        return vec![Finding::error("path", message)];
    }
    let files = match SkillFiles::open_directory(target.directory()) {
        Ok(files) => files,
        Err(error) => {
            // The same words as those of the reference tool.
            return vec![unreadable_finding(
                &error,
                "Missing required file: SKILL.md",
            )];
        }
    };
    let document = match files.document() {
        Ok(document) => document,
        Err(error) => return invalid_document_findings(&error),
    };
    let mut findings = manifest_findings(&document, &files);
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
    let warnings = error
        .manifest()
        .map(skills_runtime::manifest::ManifestError::warnings)
        .unwrap_or_default();
    let warnings = warnings.iter().map(|warning| {
        Finding::warning(
            warning.kind().code(),
            warning.line(),
            warning.kind().to_string(),
        )
    });
    std::iter::once(unreadable_finding(error, &error.to_string()))
        .chain(warnings)
        .collect()
}

/// Returns the findings of one client's rules.
fn client_findings(client: Client, document: &Document, directory: &str) -> Vec<Finding> {
    let findings = client.lint(document, directory).into_iter();
    findings
        .map(|finding| Finding {
            severity: finding.severity,
            code: finding.code,
            line: finding.line,
            column: None,
            message: finding.message,
        })
        .collect()
}

/// Returns a warning if the name is missing or is not the name of the directory. Clients have rules
/// of their own for names, so this is only for a check without a client.
fn name_finding(document: &Document, directory: &str) -> Option<Finding> {
    let line = document.field_line("name");
    let Some(name) = document.manifest().name() else {
        return Some(Finding::warning(
            "name-missing",
            line,
            "no valid `name`; the directory name is used",
        ));
    };
    (name.as_str() != directory).then(|| {
        let message = format!("the name differs from the directory name `{directory}`");
        Finding::warning("name-differs", line, message)
    })
}

/// Returns the findings that do not depend on a client: the file, its links and its host metadata.
fn manifest_findings(document: &Document, files: &SkillFiles) -> Vec<Finding> {
    let mut findings: Vec<Finding> = (document.warnings().iter())
        .map(|warning| Finding {
            severity: Severity::Warning,
            code: warning.kind().code(),
            line: warning.line(),
            column: warning.position().map(|position| position.column),
            message: warning.kind().to_string(),
        })
        .collect();
    if files.file_name() != "SKILL.md" {
        let message = format!(
            "the file is named `{}`; other clients read only `SKILL.md`",
            files.file_name()
        );
        findings.push(Finding::warning("file-name", None, message));
    }
    for link in files.broken_links(&document.outline()) {
        let message = format!("`{}` is not a file of the skill", link.target);
        findings.push(Finding::warning("broken-link", Some(link.line), message));
    }
    let (metadata, notes) = files.openai_metadata();
    findings.extend(requirement_findings(&Requirements::new(
        document.manifest(),
        Some(&metadata),
    )));
    for note in notes {
        let field = if note.field.is_empty() {
            String::new()
        } else {
            format!(": `{}`", note.field)
        };
        findings.push(Finding::warning(
            "host-metadata",
            None,
            format!("agents/openai.yaml{field}: {}", note.reason),
        ));
    }
    findings
}

/// Returns invalid declarations, and what a run on this host would miss.
fn requirement_findings(declared: &Requirements) -> Vec<Finding> {
    let mut missing = MissingRequirements::default();
    // Without roots: only the host is checked, and not which other skills exist.
    let runtime = SkillRuntime::builder().build();
    runtime
        .library()
        .check_requirements("", declared, &mut missing);
    let lines = missing.to_lines();
    let invalid = missing.invalid.into_iter();
    let mut findings: Vec<Finding> = invalid
        .map(|invalid| Finding::warning("requirement", None, invalid.reason))
        .collect();
    if !lines.is_empty() {
        let message = format!("missing on this host: {}", lines.join("; "));
        findings.push(Finding::warning("missing-requirement", None, message));
    }
    findings
}

fn unreadable_finding(error: &DiscoveryError, message: &str) -> Finding {
    let manifest = error.manifest();
    Finding {
        severity: Severity::Error,
        code: manifest.map_or(error.kind().code(), |error| error.kind().code()),
        line: manifest.and_then(skills_runtime::manifest::ManifestError::line),
        column: manifest.and_then(skills_runtime::manifest::ManifestError::column),
        message: message.to_owned(),
    }
}

/// How findings are printed.
#[derive(PartialEq)]
enum ValidateFormat {
    /// Byte for byte like the reference tool.
    Reference,
    /// In the same form, with lines and warnings. Text of a skill or path is escaped to one line.
    Detailed,
}

fn print_findings(
    target: &SkillPath,
    findings: &[Finding],
    form: ValidateFormat,
    output: &Output,
) -> anyhow::Result<()> {
    let errors: Vec<&Finding> = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .collect();
    if form == ValidateFormat::Reference {
        if errors.is_empty() {
            // Unescaped on a pipe, since the output must equal that of the reference tool byte for
            // byte.
            return compat::print_plain(&format!("Valid skill: {target}\n"), output);
        }
        let lines = errors
            .iter()
            .map(|finding| format!("  - {}\n", finding.message));
        compat::print_error(&format!(
            "Validation failed for {target}:\n{}",
            lines.collect::<String>()
        ));
        return Ok(());
    }
    if errors.is_empty() {
        output.text(&format!("Valid skill: {}\n", line(&target.to_string())))?;
    } else {
        output.status(&format!("Validation failed for {target}:"));
    }
    for finding in errors {
        let position = finding
            .line
            .map(|line| format!("line {line}: "))
            .unwrap_or_default();
        output.status(&format!("  - {position}{}", finding.message));
    }
    for finding in findings
        .iter()
        .filter(|finding| finding.severity == Severity::Warning)
    {
        let file = target.directory().join(target.file_name());
        let position = [finding.line, finding.column]
            .into_iter()
            .flatten()
            .map(|number| format!(":{number}"))
            .collect::<String>();
        output.status(&format!(
            "{}{position}: warning: {}",
            file.display(),
            finding.message
        ));
    }
    Ok(())
}

fn to_json(target: &SkillPath, findings: &[Finding]) -> Value {
    let of = |severity: Severity| -> Vec<Value> {
        let chosen = findings
            .iter()
            .filter(|finding| finding.severity == severity);
        chosen
            .map(|finding| json!({"code": finding.code, "line": finding.line, "column": finding.column, "message": finding.message}))
            .collect()
    };
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    json!({"path": target.to_string(), "valid": errors.is_empty(), "errors": errors, "warnings": warnings})
}
