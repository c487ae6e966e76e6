//! Demonstrates the main features with the example skills, through the `skills` command.

use std::fs;
use std::io::Write;
use std::process::{Output, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::command::workspace_dir;
use crate::guests::{GuestMode, guests};
use crate::skills_command::SkillsCommand;

/// A source file of this project with findings for a review.
const REVIEW_INPUT: &str = "crates/skills-sandbox-wasm/tests/guest/src/main.rs";

/// The arguments that name the example skills as the only root.
const EXAMPLE_ARGUMENTS: [&str; 2] = ["--root", "examples/skills"];

pub(crate) fn demo() -> Result<()> {
    // Some of the example modules are not committed, so they are built first.
    guests(GuestMode::Update)?;
    let skills = SkillsCommand::build()?;

    print_heading("1. Find: the skills in examples/skills");
    skills.show(&["list"])?;
    print_heading("2. Show: the skills section for a model, within a budget");
    skills.show(&["prompt", "--context-window", "200000"])?;
    print_heading(
        "3. Load: the instructions of a skill that a user mentions, in tags that they cannot close",
    );
    skills.show(&["prompt", "load", "incident-handbook", "--fenced"])?;
    skills.show(&[
        "prompt",
        "mentions",
        "Use the incident handbook skill, not $wether.",
    ])?;

    print_heading(&format!(
        "4. Run in WebAssembly: code-review reviews {REVIEW_INPUT}"
    ));
    let input = json!({"code": fs::read_to_string(workspace_dir().join(REVIEW_INPUT))?, "file": REVIEW_INPUT});
    let review = skills.run(&["run", "code-review", "--input", "-"], &input.to_string())?;
    print_review(&review["output"])?;
    print_restrictions(&review)?;

    calculate_tax(&skills)?;
    attempt_to_read_shadow(&skills)?;
    println!("\nDemo passed. Next: `cargo xtask test`, and the tour in README.md.");
    Ok(())
}

fn calculate_tax(skills: &SkillsCommand) -> Result<()> {
    print_heading("5. Run natively: tax_calculator in the sandbox of the operating system");
    let input = json!({"cif_price": 10_000, "hs_code": "85423100"});
    let tax = skills.run(
        &[
            "run",
            "tax_calculator",
            "--script",
            "calculate_duty.py",
            "--input",
            "-",
        ],
        &input.to_string(),
    )?;
    println!("{input} -> {}", tax["output"]);
    ensure!(
        // CI runs the demo, so wrong results must fail it.
        tax["output"]["duty"] == 0 && tax["output"]["vat"] == 1_300,
        "the calculation is wrong: {tax:#}"
    );
    print_restrictions(&tax)
}

fn attempt_to_read_shadow(skills: &SkillsCommand) -> Result<()> {
    print_heading("6. Denied: a script that reads /etc/shadow");
    let denied = skills.run(&["run", "sandbox-probe", "--script", "read_shadow.py"], "")?;
    let reason = denied["stderr"]["text"]
        .as_str()
        .and_then(|text| text.trim().lines().last())
        .unwrap_or_default();
    println!("{} -> {reason}", denied["status"]);
    // With a separate root file system the file does not exist.
    let is_denied = ["Permission denied", "No such file or directory"]
        .iter()
        .any(|text| reason.contains(text));
    ensure!(is_denied, "the attempt was not denied: {denied:#}");
    Ok(())
}

fn print_heading(text: &str) {
    println!("\n== {text}\n");
}

fn print_review(review: &Value) -> Result<()> {
    println!(
        "{}",
        review["review"]
            .as_str()
            .context("the output has no review")?
    );
    let issues = review["issues"]
        .as_array()
        .context("the output has no issues")?;
    ensure!(!issues.is_empty(), "the review found nothing");
    for issue in issues.iter().take(5) {
        println!(
            "  line {}: {} {}: {}",
            issue["line"],
            string_or_empty(&issue["severity"]),
            string_or_empty(&issue["rule"]),
            string_or_empty(&issue["message"])
        );
    }
    if issues.len() > 5 {
        println!("  … and {} more", issues.len() - 5);
    }
    Ok(())
}

fn print_restrictions(run: &Value) -> Result<()> {
    println!("sandbox {}:", string_or_empty(&run["sandbox"]["backend"]));
    let restrictions = run["sandbox"]["restrictions"].as_array();
    for restriction in restrictions.context("the output has no restrictions")? {
        println!(
            "  {:<13} {:<9} {}",
            string_or_empty(&restriction["name"]),
            string_or_empty(&restriction["status"]),
            string_or_empty(&restriction["detail"])
        );
    }
    Ok(())
}

fn string_or_empty(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

impl SkillsCommand {
    /// Runs a subcommand and shows its output.
    fn show(&self, arguments: &[&str]) -> Result<()> {
        println!("$ skills {} --root examples/skills", arguments.join(" "));
        let status = self.command(arguments).args(EXAMPLE_ARGUMENTS).status()?;
        ensure!(
            status.success(),
            "`skills {}` ended with {status}",
            arguments.join(" ")
        );
        Ok(())
    }

    /// Runs a skill and returns the JSON document. A failing skill is not an error of the demo.
    fn run(&self, arguments: &[&str], input: &str) -> Result<Value> {
        println!(
            "$ skills {} --root examples/skills --json",
            arguments.join(" ")
        );
        let mut child = self
            .command(arguments)
            .args(EXAMPLE_ARGUMENTS)
            .arg("--json")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        child
            .stdin
            // Taken out of the child, so that its standard input ends here.
            .take()
            .context("the command has no standard input")?
            .write_all(input.as_bytes())?;
        let Output { stdout, status, .. } = child.wait_with_output()?;
        serde_json::from_slice(&stdout).with_context(|| {
            format!(
                "the command ended with {status}: {}",
                String::from_utf8_lossy(&stdout)
            )
        })
    }
}
