//! `skills policy`: shows what a skill would be granted, and the effective rules.

use std::path::Path;

use serde_json::{Value, json};
use skills_runtime::discovery::Trust;
use skills_runtime::policy::{
    Access, Effect, FileGrant, Grants, NetworkGrant, Rule, RuleSource, SpawnGrant,
};
use skills_runtime::{Authorization, Builder, Preview};

use crate::approver;
use crate::arguments::PolicyCommand;
use crate::directories;
use crate::exit::Exit;
use crate::input;
use crate::lookup;
use crate::output::{Output, line};
use crate::policy_config::{self, LoadedPolicy};
use crate::run_setup;

pub(crate) fn policy(
    builder: Builder,
    command: &PolicyCommand,
    project_trust: Trust,
    output: &Output,
) -> anyhow::Result<Exit> {
    match command {
        PolicyCommand::Check(check) => {
            let runtime =
                run_setup::configure_runtime(builder, &check.what, project_trust, output)?.build();
            let name = input::resolve_skill_name(&check.name);
            let options = run_setup::execution_options(&check.what)?;
            let preview = runtime
                .executor()
                .preview(&name, &options)
                .map_err(|error| lookup::explain_error(&runtime, &name, error))?;
            print_preview(&preview, output)
        }
        PolicyCommand::Show => print_rules(project_trust, output),
    }
}

/// Prints what a run would be granted, and why.
pub(crate) fn print_preview(preview: &Preview, output: &Output) -> anyhow::Result<Exit> {
    if output.is_json() {
        output.print_json(&to_json(preview))?;
    } else {
        output.text(&render_preview(preview))?;
    }
    Ok(match &preview.authorization {
        Authorization::Granted(_)
            if preview.missing_requirements.is_empty() && preview.backend.is_ok() =>
        {
            Exit::Success
        }
        // The exit codes of a run: a missing requirement is a failure, a missing sandbox counts as
        // denied.
        Authorization::Granted(_) if preview.backend.is_ok() => Exit::Failed,
        _ => Exit::Denied,
    })
}

/// The rows of a preview: a label of at most 8 characters, and a value.
#[derive(Default)]
struct Rows {
    text: String,
}

impl Rows {
    fn push(&mut self, label: &str, value: &str) {
        self.text.push_str(&format!("{label:<8} {}\n", line(value)));
    }
}

fn render_preview(preview: &Preview) -> String {
    let mut rows = Rows::default();
    rows.push("skill", &preview.skill);
    // Rows are escaped to one line each, so that no text of a skill looks like another row.
    rows.push("runs", preview.mode.program());
    match &preview.backend {
        Ok(name) => rows.push("backend", name),
        Err(error) => rows.push("backend", &format!("unavailable: {error}")),
    }
    for missing in &preview.missing_requirements {
        rows.push("missing", missing);
    }
    match &preview.authorization {
        Authorization::Granted(grants) => {
            let can_run = preview.missing_requirements.is_empty() && preview.backend.is_ok();
            let decision = if can_run {
                "granted"
            } else {
                "cannot run here; policy would grant:"
            };
            rows.push("decision", decision);
            push_grants(&mut rows, grants);
        }
        Authorization::Denied(denial) => {
            let decision = if preview.approval_request.is_some() {
                "needs approval"
            } else {
                "denied"
            };
            rows.push("decision", decision);
            if let Some(content) = denial.content_reason() {
                rows.push(
                    "",
                    &format!("this version has not been approved: {content}"),
                );
            }
            for decision in denial.decisions() {
                rows.push("", &decision.to_string());
            }
        }
    }
    for (tool, why) in &preview.unused_tools {
        rows.push("unused", &format!("{tool}: {why}"));
    }
    let mut text = rows.text;
    if let Some(request) = &preview.approval_request {
        text.push_str(&format!("requests\n{}\n", approver::text(request)));
    }
    text
}

fn push_grants(rows: &mut Rows, grants: &Grants) {
    for decision in grants.decisions() {
        rows.push("", &decision.to_string());
    }
    let limits = grants.limits();
    rows.push(
        "limits",
        &format!(
            "{} s, {} MiB memory",
            limits.wall_time.as_secs_f64(),
            limits.memory_bytes >> 20
        ),
    );
    rows.push(
        "grants",
        "read the skill directory, write a private scratch directory",
    );
    // The first file is the skill directory.
    for file in grants.files().iter().skip(1) {
        rows.push("", &file_text(file));
    }
    if let NetworkGrant::Hosts(hosts) = grants.network() {
        for host in hosts.allowed() {
            rows.push("", &format!("connect to {host}"));
        }
        // Denied hosts are subtracted from wider patterns, so the list above alone would be wrong.
        for host in hosts.denied() {
            rows.push("", &format!("do not connect to {host}"));
        }
    }
    match grants.spawn() {
        SpawnGrant::None => {}
        SpawnGrant::Programs(names) => {
            for name in names {
                rows.push("", &format!("spawn {name}"));
            }
        }
        SpawnGrant::Any => rows.push("", "spawn any program"),
    }
    for name in grants.variables() {
        rows.push("", &format!("variable {name}"));
    }
}

fn file_text(file: &FileGrant) -> String {
    let access = if file.access() == Access::ReadOnly {
        "read"
    } else {
        "read and write"
    };
    // A preview does not create the private workspace.
    if file.path() == Path::new("/workspace") {
        return format!("{access} a private workspace");
    }
    format!("{access} {}", file.path().display())
}

fn to_json(preview: &Preview) -> Value {
    let (granted, denial) = match &preview.authorization {
        Authorization::Granted(grants) => (Some(grants), None),
        Authorization::Denied(denial) => (None, Some(denial)),
    };
    let unused_tools: Vec<Value> = preview
        .unused_tools
        .iter()
        .map(|(tool, why)| json!({"tool": tool, "reason": why}))
        .collect();
    json!({
        "skill": preview.skill,
        "mode": preview.mode,
        "digest": preview.digest,
        "sandbox": preview.backend.as_ref().ok(),
        "sandbox_error": preview.backend.as_ref().err(),
        "missing": preview.missing_requirements,
        "can_run": granted.is_some() && preview.missing_requirements.is_empty() && preview.backend.is_ok(),
        "granted": granted,
        "denied": denial,
        "question": preview.approval_request,
        "unused_tools": unused_tools,
    })
}

/// Prints the effective rules and limits.
fn print_rules(project_trust: Trust, output: &Output) -> anyhow::Result<Exit> {
    let paths = directories::policy_paths();
    let loaded = policy_config::load_policy(&paths, project_trust)?;
    let rules: Vec<String> = loaded
        .rules
        .rules()
        .iter()
        .map(|rule| describe_rule(rule, project_trust))
        .collect();
    if output.is_json() {
        output.print_json(&rules_to_json(&loaded, &rules))?;
    } else {
        output.text(&render_rules(&loaded, &rules, paths.user.as_deref()))?;
    }
    Ok(Exit::Success)
}

/// Returns the text of a rule. An `allow` rule of an untrusted project is listed with a note, since
/// it has no effect.
fn describe_rule(rule: &Rule, project_trust: Trust) -> String {
    let is_idle = rule.source() == RuleSource::Project
        && rule.effect() == Effect::Allow
        && project_trust != Trust::Trusted;
    if is_idle {
        format!("{rule} has no effect: the project is not trusted")
    } else {
        rule.to_string()
    }
}

fn rules_to_json(loaded: &LoadedPolicy, rules: &[String]) -> Value {
    let files: Vec<Value> = loaded
        .files
        .iter()
        .map(|(source, path)| json!({"source": source, "path": path}))
        .collect();
    json!({
        "mode": loaded.rules.mode(),
        "new_content": loaded.rules.new_content(),
        "rules": rules,
        "files": files,
        "limits": loaded.rules.ceiling(),
    })
}

fn render_rules(loaded: &LoadedPolicy, rules: &[String], user_file: Option<&Path>) -> String {
    let limits = loaded.rules.ceiling();
    let mut text = format!(
        "mode {}\nnew content {}\nlimits {} s, {} MiB memory, {} KiB output, {} MiB per file, {} open files, {} processes, {} MiB scratch\n",
        serialized_name(&json!(loaded.rules.mode())),
        serialized_name(&json!(loaded.rules.new_content())),
        limits.wall_time.as_secs(),
        limits.memory_bytes >> 20,
        limits.captured_bytes >> 10,
        limits.file_bytes >> 20,
        limits.open_files,
        limits.processes,
        limits.scratch_bytes >> 20,
    );
    for rule in rules {
        text.push_str(&format!("{}\n", line(rule)));
    }
    if loaded.files.is_empty() {
        let user = user_file
            .map(|path| path.display().to_string())
            .unwrap_or_default();
        text.push_str(&format!(
            "no policy files; create {} to add rules\n",
            line(&user)
        ));
    }
    text
}

/// Returns the name of a setting as it is written in a policy file.
fn serialized_name(setting: &Value) -> &str {
    setting.as_str().unwrap_or_default()
}
