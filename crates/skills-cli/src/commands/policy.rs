//! `skills policy`: shows what a skill would be granted, and the effective rules.

use std::path::Path;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use skills_runtime::discovery::Trust;
use skills_runtime::policy::{
    Access, Effect, FileGrant, Grants, NetworkGrant, ResourceLimits, Rule, RuleSource, SpawnGrant,
};
use skills_runtime::{Authorization, Builder, Preview, default_memory_bytes, format_question};

use crate::context::Context;
use crate::execution::ExecutionArgs;
use crate::exit::Exit;
use crate::lookup;
use crate::output::{Output, line};
use crate::policy_files::{self, LoadedPolicy};
use crate::state::PolicyPaths;

/// Show what skills may do, and why
#[derive(Debug, Args)]
pub(crate) struct Policy {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show what a skill would be granted, and why
    Check(Box<Check>),
    /// Show the effective rules and limits
    Show,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Skill name or directory
    name: String,

    #[command(flatten)]
    what: ExecutionArgs,
}

impl Policy {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        match &self.command {
            PolicyCommand::Check(check) => {
                let interpreters = &check.what.programs.interpreter;
                let name = context.name_skill(&check.name);
                check.run(&name, context.builder(interpreters)?, context)
            }
            PolicyCommand::Show => print_rules(context),
        }
    }
}

impl Check {
    fn run(&self, name: &str, builder: Builder, context: &Context) -> anyhow::Result<Exit> {
        let runtime = context.build(self.what.configure(builder, context)?);
        let preview = lookup::preview(&runtime, name, &self.what.options(context)?)?;
        print_preview(&preview, context.output)
    }
}

/// Prints what a run would be granted, and why.
pub(crate) fn print_preview(preview: &Preview, output: Output) -> anyhow::Result<Exit> {
    if output.is_json() {
        output.print_json(&to_json(preview))?;
    } else {
        output.text(&render_preview(preview))?;
    }
    Ok(match &preview.authorization {
        Authorization::Granted(_) if can_run(preview) => Exit::Success,
        // The exit codes of a run: a missing requirement is a failure, a missing sandbox counts as
        // denied.
        Authorization::Granted(_) if preview.backend.is_ok() => Exit::Failed,
        _ => Exit::Denied,
    })
}

/// Returns true if nothing but the policy can prevent a run.
fn can_run(preview: &Preview) -> bool {
    preview.blocking_requirements.is_empty() && preview.backend.is_ok()
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
    rows.push("decision", decision(preview));
    match &preview.authorization {
        Authorization::Granted(grants) => push_grants(&mut rows, grants),
        Authorization::Denied(denial) => {
            if let Some(content) = denial.content_reason() {
                let reason = format!("this content has not been approved: {content}");
                rows.push("", &reason);
            }
            for decision in denial.decisions() {
                rows.push("", &decision.to_string());
            }
        }
    }
    for permission in &preview.omitted {
        let text = format!("{permission}: a run goes on without it where no approver can answer");
        rows.push("omitted", &text);
    }
    for permission in &preview.withheld {
        let text = format!("{permission}: only for approved content (`skills trust`)");
        rows.push("withheld", &text);
    }
    for (tool, why) in &preview.unused_tools {
        rows.push("unused", &format!("{tool}: {why}"));
    }
    let mut text = rows.text;
    if let Some(question) = &preview.question {
        text.push_str(&format!("question\n{}\n", format_question(question)));
    }
    text
}

fn decision(preview: &Preview) -> &'static str {
    match &preview.authorization {
        Authorization::Granted(_) if can_run(preview) => "granted",
        Authorization::Granted(_) if preview.backend.is_err() => {
            "granted, but cannot run: see backend"
        }
        Authorization::Granted(_) => "granted, but cannot run: see missing",
        Authorization::Denied(_) if preview.question.is_some() => "needs approval",
        Authorization::Denied(_) => "denied",
    }
}

fn push_grants(rows: &mut Rows, grants: &Grants) {
    for decision in grants.decisions() {
        rows.push("", &decision.to_string());
    }
    let limits = grants.limits();
    let (seconds, mib) = (limits.wall_time.as_secs_f64(), limits.memory_bytes >> 20);
    rows.push("limits", &format!("{seconds} s, {mib} MiB memory"));
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
    let access = match file.access() {
        Access::ReadOnly => "read",
        _ => "read and write",
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
    let unused = preview.unused_tools.iter();
    let unused: Vec<Value> = unused
        .map(|(tool, why)| json!({"tool": tool, "reason": why}))
        .collect();
    json!({
        "skill": preview.skill,
        "mode": preview.mode,
        "digest": preview.digest,
        "sandbox": preview.backend.as_ref().ok(),
        "sandbox_error": preview.backend.as_ref().err(),
        "missing": preview.missing_requirements,
        "can_run": granted.is_some() && can_run(preview),
        "granted": granted,
        "denied": denial,
        "question": preview.question,
        "omitted": preview.omitted,
        "withheld": preview.withheld,
        "unused_tools": unused,
    })
}

/// Prints the effective rules and limits.
fn print_rules(context: &Context) -> anyhow::Result<Exit> {
    let paths = PolicyPaths::new(&context.environment);
    let (trust, output) = (context.project_trust()?, context.output);
    let loaded = policy_files::load(&paths, trust)?;
    let rules = loaded.rules.rules().iter();
    let rules: Vec<String> = rules.map(|rule| describe_rule(rule, trust)).collect();
    if output.is_json() {
        return output.json(&rules_to_json(&loaded, &rules));
    }
    output.text(&render_rules(&loaded, &rules, paths.user.as_deref()))?;
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
    let install = loaded.rules.install();
    let files = loaded.files.iter();
    let files: Vec<Value> = files
        .map(|(source, path)| json!({"source": source, "path": path}))
        .collect();
    json!({
        "mode": loaded.rules.mode(),
        "new_content": loaded.rules.new_content(),
        "rules": rules,
        "files": files,
        "limits": limits_to_json(&limits_of_runs(loaded)),
        "ceiling": limits_to_json(loaded.rules.ceiling()),
        "install": {
            "sources": install.sources,
            "require_signature": install.requires_signature,
            "signature_keys": install.signature_keys,
            "signature_identities": install.signature_identities,
        },
    })
}

/// Returns the limits of runs without options and settings.
fn limits_of_runs(LoadedPolicy { rules, .. }: &LoadedPolicy) -> ResourceLimits {
    let mut defaults = ResourceLimits::default();
    defaults.memory_bytes = default_memory_bytes();
    rules.limits_of_runs(&defaults).min(rules.ceiling())
}

/// Returns the limits as JSON, with `null` for one that is not set.
fn limits_to_json(limits: &ResourceLimits) -> Value {
    let mut document = json!(limits);
    for (_, value) in document.as_object_mut().into_iter().flatten() {
        let number = value.get("secs").unwrap_or(value).as_u64();
        if number == Some(u64::MAX) {
            *value = Value::Null;
        }
    }
    document
}

/// Returns the limits in one line.
fn describe_limits(limits: &ResourceLimits) -> String {
    let captured_bytes = u64::try_from(limits.captured_bytes).unwrap_or(u64::MAX);
    let described = [
        ("time", limits.wall_time.as_secs(), 0, " s"),
        ("memory", limits.memory_bytes, 20, " MiB"),
        ("output", captured_bytes, 10, " KiB"),
        ("file", limits.file_bytes, 20, " MiB"),
        ("open files", limits.open_files, 0, ""),
        ("processes", limits.processes, 0, ""),
        ("scratch", limits.scratch_bytes, 20, " MiB"),
    ];
    let described = described.map(|(name, value, shift, unit)| match value {
        u64::MAX => format!("{name} no limit"),
        value => format!("{name} {}{unit}", value >> shift),
    });
    described.join(", ")
}

fn render_rules(loaded: &LoadedPolicy, rules: &[String], user_file: Option<&Path>) -> String {
    let mut text = format!(
        "mode {}\nnew content {}\nlimits {}\nceiling {}\n",
        // The names in a policy file.
        json!(loaded.rules.mode()).as_str().unwrap_or_default(),
        json!(loaded.rules.new_content())
            .as_str()
            .unwrap_or_default(),
        describe_limits(&limits_of_runs(loaded)),
        describe_limits(loaded.rules.ceiling()),
    );
    for rule in rules {
        text.push_str(&format!("{}\n", line(rule)));
    }
    let install = loaded.rules.install();
    for list in &install.sources {
        text.push_str(&format!("install from {}\n", line(&list.join(", "))));
    }
    if install.requires_signature {
        text.push_str("install signed skills only\n");
    }
    for key in install.signature_keys.iter().flatten() {
        text.push_str(&format!("signature key {}\n", line(key)));
    }
    for trusted in install.signature_identities.iter().flatten() {
        let root = match &trusted.trusted_root {
            Some(root) => format!("by {}", line(&root.to_string_lossy())),
            None => "without a trusted root".to_owned(),
        };
        text.push_str(&format!(
            "signature identity {} {root}\n",
            line(&trusted.identity)
        ));
    }
    if loaded.files.is_empty() {
        let user = user_file
            .map(|path| line(&path.to_string_lossy()))
            .unwrap_or_default();
        text.push_str(&format!("no policy files; create {user} to add rules\n"));
    }
    text
}
