//! The example skills, end to end.

use insta::assert_snapshot;
use serde_json::json;
use skills_runtime::{Root, Scope, SkillRuntime};
use skills_test_support::{skip_without_sandbox, source_tree};
use skills_tools::{ToolGroup, ToolSet};

use crate::fixture::Host;

fn examples(host: &Host) -> crate::fixture::Tools {
    let root = Root::new(source_tree().join("examples/skills"), Scope::Custom);
    let runtime = SkillRuntime::builder()
        .root(root)
        .scratch_directory(host.path("scratch"))
        .build();
    host.wrap(
        ToolSet::builder(runtime)
            .tool_groups(ToolGroup::ALL)
            .build()
            .unwrap(),
    )
}

#[tokio::test]
async fn the_weather_skill_has_three_tools() {
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    let tools = examples(&host);
    let names: Vec<String> = tools
        .set
        .definitions()
        .unwrap()
        .into_iter()
        .map(|definition| definition.name)
        .collect();
    assert!(
        names.contains(&"skill__weather__get_forecast".to_owned()),
        "{names:?}"
    );
    assert_snapshot!(tools.text("skill__weather__get_forecast", json!({"city": "Taipei", "days": 1})).await, @"
    Script exited with code 1
    Program output:
    unknown city 'Taipei'; known are Berlin, Nairobi, Shanghai
    ");
    assert_snapshot!(tools.text("skill__weather__get_current", json!({"city": "Nowhere"})).await, @"
    Script exited with code 1
    Program output:
    unknown city 'Nowhere'; known are Berlin, Nairobi, Shanghai
    ");
    assert_snapshot!(tools.text("skill__weather__get_current", json!({"town": "Taipei"})).await, @r#"
    Error: invalid arguments: Additional properties are not allowed ('town' was unexpected); "city" is a required property
    Hint: check the input schema of the tool, then retry
    "#);
    assert_snapshot!(tools.set.allowed_tools("weather").unwrap().join(" "), @"skill__weather__get_current skill__weather__get_forecast skill__weather__list_cities");
}

#[tokio::test]
async fn the_tax_calculator_returns_duty_and_vat() {
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    let tools = examples(&host);
    let call = |args| json!({"skill_name": "tax_calculator", "script_name": "calculate_duty.py", "args": args});
    let outcome = tools
        .call(
            "run_skill_script",
            call(json!({"cif_price": 10000, "hs_code": "85423100"})),
        )
        .await;
    let result = &outcome.structured["result"];
    assert_eq!(
        (result["duty"].as_f64(), result["vat"].as_f64()),
        (Some(0.0), Some(1300.0)),
        "{}",
        outcome.text()
    );
    let outcome = tools
        .call(
            "run_skill_script",
            json!({"skill_name": "tax_calculator", "script_name": "broken"}),
        )
        .await;
    assert!(
        outcome.is_error
            && outcome
                .text()
                .contains("ZeroDivisionError: division by zero"),
        "{}",
        outcome.text()
    );
}
