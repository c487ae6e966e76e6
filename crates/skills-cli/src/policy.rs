//! `skills policy`: shows what a skill would be granted, and the effective rules.

use serde_json::{Value, json};
use std::path::Path;

use skills_runtime::policy::{
    Access, Effect, FileGrant, Grants, NetworkGrant, Rule, RuleSource, SpawnGrant,
};
use skills_runtime::{Authorization, Builder, Preview};

use crate::approver;
use crate::arguments::PolicyCommand;
use crate::directories;
use crate::exit::Exit;
use crate::input;
use crate::output::{Output, line};
use crate::policy_config;
use crate::run_setup;

pub(crate) fn policy(
    builder: Builder,
    command: &PolicyCommand,
    trust_project: bool,
    output: &Output,
) -> anyhow::Result<Exit> {
    match command {
        PolicyCommand::Check(check) => {
            let runtime =
                run_setup::configure_runtime(builder, &check.what, trust_project, output)?.build();
            let preview = runtime.preview_skill(
                &input::resolve_skill_name(&check.name),
                &run_setup::execution_options(&check.what)?,
            )?;
            print_preview(&preview, output)
        }
        PolicyCommand::Show => print_rules(trust_project, output),
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
    let idle: Vec<Value> = preview
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
        "idle": idle,
    })
}

/// Prints the effective rules and limits.
fn print_rules(trust_project: bool, output: &Output) -> anyhow::Result<Exit> {
    let paths = directories::policy_paths();
    let read = policy_config::load_policy(&paths, trust_project)?;
    let is_idle = |rule: &Rule| {
        rule.source() == RuleSource::Project && rule.effect() == Effect::Allow && !trust_project
    };
    let idle = |rule: &Rule| {
        if is_idle(rule) {
            " has no effect: the project is not trusted"
        } else {
            ""
        }
    };
    let rules: Vec<String> = read
        .rules
        .rules()
        .iter()
        .map(|rule| format!("{rule}{}", idle(rule)))
        .collect();
    if output.is_json() {
        let files: Vec<Value> = read
            .files
            .iter()
            .map(|(layer, path)| json!({"layer": layer, "path": path}))
            .collect();
        let (mode, new_content) = (read.rules.mode(), read.rules.new_content());
        output.print_json(&json!({"mode": mode, "new_content": new_content, "rules": rules, "files": files, "limits": read.rules.ceiling()}))?;
        return Ok(Exit::Success);
    }
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let (mode, content) = (
        word(json!(read.rules.mode())),
        word(json!(read.rules.new_content())),
    );
    let limits = read.rules.ceiling();
    let mut text = format!(
        "mode {mode}\nnew content {content}\nlimits {} s, {} MiB memory, {} KiB output, {} MiB per file, {} open files, {} processes, {} MiB scratch\n",
        limits.wall_time.as_secs(),
        limits.memory_bytes >> 20,
        limits.captured_bytes >> 10,
        limits.file_bytes >> 20,
        limits.open_files,
        limits.processes,
        limits.scratch_bytes >> 20,
    );
    rules
        .iter()
        .for_each(|rule| text.push_str(&format!("{}\n", line(rule))));
    if read.files.is_empty() {
        let user = paths
            .user
            .map(|path| path.display().to_string())
            .unwrap_or_default();
        text.push_str(&format!(
            "no policy files; create {} to add rules\n",
            line(&user)
        ));
    }
    output.text(&text)?;
    Ok(Exit::Success)
}
