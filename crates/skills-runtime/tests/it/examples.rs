//! Tests that discover, load and run the example skills in the real sandboxes.

#[cfg(target_os = "linux")]
use crate::fixture::OptionsExt as _;
use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::{Value, json};
use skills_runtime::{ExecutionArtifacts, ExecutionOptions, Root, Scope, SkillRuntime};
use skills_test_support::source_tree;

fn runtime() -> (SkillRuntime, tempfile::TempDir) {
    let scratch = tempfile::tempdir().unwrap();
    let root = Root::new(source_tree().join("examples/skills"), Scope::Custom);
    (
        SkillRuntime::builder()
            .root(root)
            .scratch_directory(scratch.path())
            .build(),
        scratch,
    )
}

async fn run(skill: &str, options: ExecutionOptions) -> ExecutionArtifacts {
    let (runtime, _scratch) = runtime();
    runtime.execute_skill(skill, options).await.unwrap()
}

async fn script(skill: &str, script: &str, input: Value) -> Value {
    let artifacts = run(
        skill,
        ExecutionOptions::default().script(script).input(input),
    )
    .await;
    assert!(
        artifacts.exit_status.is_success(),
        "{:?} {}",
        artifacts.exit_status,
        artifacts.stderr.text()
    );
    artifacts.output
}

async fn review(code: &str, file: &str) -> String {
    let artifacts = run(
        "code-review",
        ExecutionOptions::default().input(json!({"code": code, "file": file})),
    )
    .await;
    assert!(
        artifacts.exit_status.is_success(),
        "{:?} {}",
        artifacts.exit_status,
        artifacts.stderr.text()
    );
    let issues = artifacts.output["issues"].as_array().unwrap().iter();
    issues
        .map(|issue| format!("{} {} {}", issue["line"], issue["severity"], issue["rule"]))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn all_examples_are_found_and_one_has_an_invalid_name_on_purpose() {
    let (runtime, _scratch) = runtime();
    let names: Vec<String> = runtime
        .discover_skills()
        .into_iter()
        .map(|skill| skill.id)
        .collect();
    let expected = [
        "code-review",
        "csv-check",
        "gcd-calculator",
        "incident-handbook",
        "release-notes",
        "sandbox-probe",
        "tax_calculator",
        "text-stats",
        "weather",
    ];
    assert_eq!(names, expected);
    let catalog = runtime.library().catalog();
    let warned: Vec<&str> = catalog
        .entries()
        .iter()
        .filter(|e| !e.warnings().is_empty())
        .map(|e| e.name().as_str())
        .collect();
    assert_eq!(warned, ["tax_calculator"]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn tax_calculator_uses_the_exact_formulas() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let chips = json!({"cif_price": 10_000, "hs_code": "85423100"});
    assert_eq!(
        script("tax_calculator", "calculate_duty.py", chips.clone()).await,
        json!({"duty": 0, "vat": 1_300, "total": 1_300})
    );
    let other = script(
        "tax_calculator",
        "calculate_duty.py",
        json!({"cif_price": 2_000, "hs_code": "9401"}),
    )
    .await;
    assert_eq!(other, json!({"duty": 100, "vat": 273, "total": 373}));
    let mut by_argument = ExecutionOptions::default().script("calculate_duty.py");
    by_argument.args = vec![chips.to_string()];
    assert_eq!(
        run("tax_calculator", by_argument).await.output["vat"],
        1_300
    );
    let broken = run(
        "tax_calculator",
        ExecutionOptions::default().script("broken.py"),
    )
    .await;
    assert_snapshot!(serde_json::to_string(&broken.exit_status).unwrap(), @r#"{"kind":"failed","termination":{"kind":"exited","code":1}}"#);
    assert!(broken.stderr.text().contains("ZeroDivisionError"));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn weather_reads_its_assets() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let forecast = script(
        "weather",
        "get_forecast.py",
        json!({"city": "Berlin", "days": 1}),
    )
    .await;
    assert_eq!(forecast["forecast"][0]["high"], 13.0);
    assert_eq!(
        script("weather", "get_current.py", json!({"city": "Shanghai"})).await["condition"],
        "rain"
    );
    assert_eq!(
        script("weather", "list_cities.py", json!({})).await,
        json!({"cities": ["Berlin", "Nairobi", "Shanghai"]})
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn text_stats_needs_no_second_process() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let text = "one two\nthree \"four\" \\ *\t\u{e9}";
    let stats = run(
        "text-stats",
        ExecutionOptions::default().input(json!({"text": text})),
    )
    .await;
    assert_eq!(
        stats.output,
        json!({"lines": 2, "words": 7, "bytes": text.len()}),
        "{}",
        stats.stderr.text()
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn every_attempt_of_the_sandbox_probe_is_denied() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    assert_json_snapshot!(script("sandbox-probe", "probe.py", json!({})).await);
}

#[tokio::test]
async fn csv_check_reports_invalid_lines() {
    let check = async |input: Value| {
        let artifacts = run("csv-check", ExecutionOptions::default().input(input)).await;
        assert!(
            artifacts.exit_status.is_success(),
            "{:?} {}",
            artifacts.exit_status,
            artifacts.stderr.text()
        );
        artifacts.output
    };
    let problems = json!([{"line": 2, "problem": "3 fields instead of 2"}]);
    let expected = json!({"rows": 2, "columns": 2, "separator": ",", "problems": problems});
    assert_eq!(check(json!({"csv": "a,b\n1,2,3\n"})).await, expected);
}

#[tokio::test]
async fn a_skill_with_only_references_has_nothing_to_run() {
    let (runtime, _scratch) = runtime();
    let error = runtime
        .execute_skill("incident-handbook", ExecutionOptions::default())
        .await
        .unwrap_err();
    assert_snapshot!(error, @r#"cannot run skill `incident-handbook`: no `.wasm` in its directory or `wasm/`, and no script in its directory or `scripts/`"#);
    let skill = runtime.get_skill("incident-handbook").unwrap();
    let links: Vec<&str> = skill
        .outline
        .links()
        .iter()
        .map(|link| link.target.as_str())
        .collect();
    assert!(
        links.iter().all(|link| skill
            .resources
            .resources
            .iter()
            .any(|file| file.path == *link)),
        "{links:?}"
    );
}

#[tokio::test]
async fn code_review_checks_code_and_not_text() {
    let rust = "fn main() {\n    let a = b.unwrap();\n    let s = \"x.unwrap() // TO\";\n    // calls .unwrap()\n    unsafe { go() }\n    \
                // SAFETY: checked above\n    unsafe { go() }\n    dbg!(a);\n}\n#[cfg(test)]\nmod tests {\n    fn t() { a.unwrap() }\n}\n";
    assert_snapshot!(review(rust, "src/main.rs").await, @r#"
    2 "warning" "unwrap"
    5 "warning" "unsafe-without-reason"
    8 "warning" "debug-output"
    "#);
    let python = "def f(a, b=[]):\n    try:\n        eval(a)\n    except:\n        pass\n    if a == None: pass\n    subprocess.run(a, shell=True)\n\
                  password = \"hunter2hunter2\"\n'''\neval(x)\nexcept:\n'''\n";
    assert_snapshot!(review(python, "a.py").await, @r#"
    1 "error" "mutable-default"
    3 "error" "eval"
    4 "warning" "bare-except"
    6 "info" "none-comparison"
    7 "error" "shell-true"
    8 "error" "hardcoded-secret"
    "#);
    let script = "var a = 1;\nif (a == '1' && b === 2) { console.log(a) }\ne.innerHTML = a;\nconst url = `var x == ${a}`;\n";
    assert_snapshot!(review(script, "web/a.ts").await, @r#"
    1 "info" "var"
    2 "warning" "debug-output"
    2 "warning" "loose-equality"
    3 "error" "inner-html"
    "#);
    assert_snapshot!(review("func f() {\n\tx, _ := g()\n\tfmt.Println(x)\n}\n", "a.go").await, @r#"
    2 "warning" "ignored-error"
    3 "warning" "debug-output"
    "#);
    assert_snapshot!(review("#!/bin/sh\ncurl https://x.example/i | sh\nrm -r $DIR\nrm -r \"$DIR\"\n", "i.sh").await, @r#"
    1 "info" "no-strict-mode"
    2 "error" "pipe-to-shell"
    3 "warning" "unquoted-variable"
    "#);
    assert_snapshot!(review("just text, nothing wrong\n", "notes.txt").await, @"");
}

#[tokio::test]
async fn code_review_reports_invalid_input() {
    let artifacts = run(
        "code-review",
        ExecutionOptions::default().input(json!({"file": "a.rs"})),
    )
    .await;
    assert_snapshot!(artifacts.stderr.text(), @r#"the input must be {"code", "file"}: missing field `code` at line 1 column 15"#);
    assert!(!artifacts.exit_status.is_success());
    let long = "let a = b.unwrap();\n".repeat(7_000);
    let artifacts = run(
        "code-review",
        ExecutionOptions::default().input(json!({"code": long, "file": "a.rs"})),
    )
    .await;
    assert_eq!(
        artifacts.output["issues"].as_array().map(Vec::len),
        Some(7_000),
        "longer than a variable can be"
    );
}
