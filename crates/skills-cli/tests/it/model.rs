//! Tests of prompts, injections, mentions and implicit invocation.

use insta::assert_snapshot;
use serde_json::{Value, json};
use skills_test_support::source_tree;

use crate::skills::{examples, skills, skills_with};

#[test]
fn prompt() {
    assert_snapshot!(examples(&["prompt"]).page());
    let tight = examples(&["prompt", "--budget", "600", "--json"]).json();
    let names = |key: &str| {
        tight[key]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert!(tight["cost"].as_u64().is_some_and(|cost| cost <= 600));
    assert_eq!(tight["unit"], "characters");
    assert!(!names("shortened").is_empty() || !names("omitted").is_empty());
    assert_eq!(
        examples(&["prompt", "--budget", "150t", "--json"]).json()["unit"],
        "tokens"
    );
    let window = examples(&["prompt", "--context-window", "200000", "--json"]).json();
    assert_eq!(
        (window["budget"].as_u64(), window["included"].as_u64()),
        (Some(4_000), Some(9))
    );
}

#[test]
fn prompt_for_a_request() {
    let list =
        |query: &str| examples(&["prompt", "--query", query, "--budget", "500", "--json"]).json();
    let found = list("how much customs duty do I pay");
    let text = found["text"].as_str().unwrap();
    let first = text.lines().find(|line| line.starts_with("- ")).unwrap();
    assert!(first.starts_with("- tax_calculator:"), "{text}");
    let named = found["named"].as_array().unwrap();
    let named: Vec<&str> = named.iter().map(|name| name.as_str().unwrap()).collect();
    let more = format!(
        "Further skills by name: {}. Find more with `search_skills` or `skills search QUERY`.",
        named.join(", ")
    );
    assert!(
        named.len() > 1 && text.lines().any(|line| line == more),
        "{text}"
    );
    assert_eq!(found["omitted"], json!([]));
    assert!(found["cost"].as_u64().is_some_and(|cost| cost <= 500));
    let recent = examples(&[
        "prompt", "--query", "hello", "--recent", "weather", "--json",
    ])
    .json();
    let text = recent["text"].as_str().unwrap();
    assert!(text.find("- weather:") < text.find("- code-review:"));
}

#[test]
fn prompt_in_other_formats() {
    let first = |format: &str| {
        examples(&["prompt", "--format", format])
            .stdout
            .lines()
            .take(9)
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_snapshot!(first("xml-compact").replace(&source_tree().canonicalize().unwrap().display().to_string(), "TREE"), @"
    <available_skills>
    <skill>
    <name>code-review</name>
    <description>Reviews source code for bugs, security problems and maintainability, and names line, severity and rule of each finding. Knows Rust, Python, JavaScript, TypeScript, Go and shell. Use before a merge or when the user asks for a review.</description>
    <location>TREE/examples/skills/code-review/SKILL.md</location>
    </skill>
    <skill>
    <name>csv-check</name>
    <description>Checks a CSV text for rows that are too short or too long and for quotes that never close, and says where. Use before importing a table or when an import fails.</description>
    ");
    assert!(first("markdown").starts_with("## Skills\n\n- **code-review**: Reviews"));
    // The output equals that of the compatibility command.
    let (ours, theirs) = (
        skills(&[
            "prompt",
            "--format",
            "xml",
            "--root",
            "examples/skills/text-stats",
        ])
        .stdout,
        skills(&["compat", "to-prompt", "examples/skills/text-stats"]).stdout,
    );
    assert_eq!(ours, theirs);
}

#[test]
fn prompt_explained() {
    let modes = [
        "--mode",
        "weather=pinned",
        "--mode",
        "text-stats=manual",
        "--mode",
        "tax*=name-only",
        "--mode",
        "absent=off",
    ];
    let explain = |budget: &str| {
        let all: Vec<&str> = ["prompt", "--explain", "--sentences", "--budget", budget]
            .into_iter()
            .chain(modes)
            .collect();
        let done = examples(&all);
        // The cost of an entry depends on the path of the tree.
        let is_digits = |word: &&str| word.bytes().all(|b| b.is_ascii_digit());
        let rows = done.stdout.lines().map(|row| {
            row.split_whitespace()
                .filter(|word| !is_digits(word))
                .collect::<Vec<_>>()
                .join(" ")
        });
        format!("{}\n{}", rows.collect::<Vec<_>>().join("\n"), done.stderr)
    };
    assert_snapshot!(explain("8000"), @"
    weather whole
    code-review whole
    csv-check whole
    gcd-calculator whole
    incident-handbook whole
    release-notes whole
    sandbox-probe whole
    tax_calculator name and path only
    text-stats not listed, manual
    of characters
    warning: `--mode absent=off` matches no skill
    ");
    let document = examples(&["prompt", "--explain", "--json"]).json();
    assert_eq!(document["skills"][0]["inclusion"], "whole");
    let whole = document["cost"].as_u64().unwrap();
    let tight = explain(&(whole / 2).to_string());
    assert!(
        tight.contains("weather whole\n")
            && tight.contains("code-review shortened to of characters\n"),
        "{tight}"
    );
    assert!(explain(&(whole / 8).to_string()).contains("omitted"));
}

#[test]
fn prompt_with_a_tool_for_scripts() {
    let page = examples(&["prompt", "--script-tool", "run_skill_script"]).stdout;
    let strategy = page.split("</skills_instructions>\n").nth(1).unwrap();
    assert!(
        strategy.starts_with("## Scripts of skills\n")
            && strategy.contains("- tax_calculator: broken.py, calculate_duty.py\n")
    );
    let none = skills(&[
        "prompt",
        "--script-tool",
        "x",
        "--root",
        "examples/skills/incident-handbook",
    ])
    .stdout;
    assert!(
        !none.contains("Scripts of skills"),
        "without scripts the tool is not described"
    );
}

#[test]
fn load() {
    assert_snapshot!(examples(&["prompt", "load", "text-stats"]).page());
    let page = examples(&["prompt", "load", "incident-handbook", "--fenced"]);
    let (first, last) = (
        page.stdout.lines().next().unwrap(),
        page.stdout.lines().last().unwrap(),
    );
    assert_eq!(last, first.replace('<', "</"));
    assert!(first.starts_with("<skill-") && first.len() == "<skill-".len() + 33);
    let short = examples(&[
        "prompt",
        "load",
        "incident-handbook",
        "--max-bytes",
        "300",
        "--json",
    ])
    .json();
    assert_eq!(short["role"], "user");
    assert!(
        short["omitted"]["bytes"]
            .as_u64()
            .is_some_and(|bytes| bytes > 100),
        "{short}"
    );
    assert!(
        short["text"]
            .as_str()
            .unwrap()
            .contains("[Skill text truncated: lines ")
    );
    assert_eq!(examples(&["prompt", "load", "absent"]).code, 1);
}

fn mentioned(arguments: &[&str]) -> String {
    let all: Vec<&str> = ["prompt", "mentions"]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    examples(&all).page()
}

#[test]
fn mentions() {
    assert_snapshot!(mentioned(&["Use the code review skill, not $wether. Don't use the weather skill."]), @r#"
    exit 0
    -- stdout
    code-review  TREE/examples/skills/code-review/SKILL.md
    -- stderr
    "code review" (words, high): selected
    "wether" (sigil, high): unknown skill; did you mean weather?
    "weather" (words, low): suggested: inside a negation (skill `weather`)
    "#);
    assert_snapshot!(mentioned(&["Hello there. Use the right skill."]), @"
    exit 0
    -- stderr
    no skill mentioned
    ");
    assert_snapshot!(mentioned(&["用 weather 技能", "--no-words"]), @"
    exit 0
    -- stderr
    no skill mentioned
    ");
    assert_snapshot!(mentioned(&["$weather", "--connector", "Weather"]), @r#"
    exit 0
    -- stderr
    "weather" (sigil, high): conflict: a connector has this name; use the path of the skill
    "#);
    let chosen = examples(&[
        "prompt",
        "mentions",
        "hello",
        "--skill",
        "weather=examples/skills/weather/SKILL.md",
        "--json",
    ])
    .json();
    assert_eq!(chosen["selected"][0]["name"], "weather");
    assert_eq!(
        skills_with(
            &["prompt", "mentions", "-", "--root", "examples/skills"],
            "用 weather 技能"
        )
        .stdout
        .lines()
        .count(),
        1
    );
    assert_eq!(
        examples(&["prompt", "mentions", "x", "--skill", "weather"]).code,
        2
    );
    assert_eq!(
        examples(&["prompt", "mentions", "@/nowhere/text.txt"]).code,
        2
    );
}

/// A directory with a skill that requires two servers and a variable.
fn skill_with_servers() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "ask/SKILL.md",
        "---\nname: ask\ndescription: d\n---\nRead the docs.\n",
    );
    write(
        "ask/agents/openai.yaml",
        "dependencies:\n  tools:\n    - {type: mcp, value: docs, url: 'https://docs.example/mcp'}\n    - {type: mcp, value: local, transport: stdio, command: local-mcp}\n    - {type: env_var, value: NO_SUCH_TOKEN}\n",
    );
    directory
}

#[test]
fn a_turn_is_planned_without_asking() {
    let directory = skill_with_servers();
    let root = directory.path().canonicalize().unwrap();
    let root = root.to_str().unwrap();
    let turn = |arguments: &[&str]| {
        skills(
            &[
                &["prompt", "turn", "Use $ask and $nothing", "--root", root],
                arguments,
            ]
            .concat(),
        )
    };
    assert_snapshot!(turn(&[]).page().replace(root, "ROOT"), @r#"
    exit 0
    -- stdout
    <skill>
    <name>ask</name>
    <path>ROOT/ask/SKILL.md</path>
    ---
    name: ask
    description: d
    ---
    Read the docs.

    </skill>
    -- stderr
    "ask": selected
    "nothing": unknown skill
    missing requirement: variable `NO_SUCH_TOKEN`
    question: The skill "ask" requires "NO_SUCH_TOKEN" to be set. This is an experimental internal feature. The value is stored in memory for this session only.
    question: The following MCP servers are required by the selected skills but are not installed yet: docs, local. Install them now?
      docs: streamable_http https://docs.example/mcp
      local: stdio local-mcp, a program that the client starts outside of any sandbox
    "#);
    let first = turn(&["--json", "--turn", "7"]).json();
    assert_eq!(first["injections"][0]["role"], "user");
    assert_eq!(
        (
            &first["mentions"][1]["decision"],
            &first["mentions"][1]["resolution"]
        ),
        (&"ignored".into(), &"unknown".into())
    );
    assert_eq!(first["missing"]["questions"][1]["call_id"], "mcp-deps-7");
    assert_eq!(
        first["asked"],
        serde_json::json!([
            "env_var__NO_SUCH_TOKEN",
            "mcp__stdio__local-mcp",
            "mcp__streamable_http__https://docs.example/mcp"
        ])
    );
    let asked = first["asked"].as_array().unwrap();
    let mut arguments = vec!["--json"];
    for key in asked {
        arguments.extend(["--asked", key.as_str().unwrap()]);
    }
    let second = turn(&arguments).json();
    assert_eq!(second["missing"]["questions"], serde_json::json!([]));
    assert_eq!(second["missing"]["servers"].as_array().unwrap().len(), 2);
    let rest = turn(&[
        "--json",
        "--variable",
        "NO_SUCH_TOKEN",
        "--installed",
        "mcp__stdio__local-mcp",
    ])
    .json();
    assert_eq!(
        rest["asked"],
        serde_json::json!(["mcp__streamable_http__https://docs.example/mcp"])
    );
}

#[test]
fn servers_in_the_configuration_of_a_client_are_installed() {
    let directory = skill_with_servers();
    let home = directory.path().join("home");
    std::fs::create_dir_all(home.join(".codex")).unwrap();
    std::fs::write(
        home.join(".codex/config.toml"),
        "[mcp_servers.alias]\nurl = \"https://docs.example/mcp\"\n[mcp_servers.x]\ncommand = \"local-mcp\"\nargs = [\"-v\"]\n",
    )
    .unwrap();
    let root = directory.path().to_str().unwrap();
    let servers = |client: &[&str]| {
        let arguments = [
            &["prompt", "turn", "$ask", "--json", "--root", root],
            client,
        ]
        .concat();
        let output = crate::skills::command(&arguments, &home).output().unwrap();
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        document["missing"]["servers"].as_array().unwrap().len()
    };
    assert_eq!(servers(&[]), 2);
    assert_eq!(servers(&["--client", "codex"]), 0);
    assert_eq!(servers(&["--client", "claude"]), 2);
}

#[test]
fn show_names_the_servers_of_a_skill() {
    let directory = skill_with_servers();
    let root = directory.path().canonicalize().unwrap();
    let root = root.to_str().unwrap();
    let shown = skills(&["show", "ask", "--root", root]);
    assert_snapshot!(shown.page().replace(root, "ROOT"), @"
    exit 0
    -- stdout
    ask
      d

    directory       ROOT/ask
    scope           custom
    MCP server      docs (streamable_http https://docs.example/mcp)
    MCP server      local (stdio local-mcp)
    file            agents/openai.yaml (201 bytes)

    Read the docs.
    -- stderr
    help: `skills mcp add-servers` adds the MCP servers of a skill to a client
    ");
    let json = skills(&["show", "ask", "--root", root, "--json"]).json();
    assert_eq!(json["mcp_servers"][1]["key"], "mcp__stdio__local-mcp");
}

#[test]
fn mentions_report_missing_requirements() {
    let directory = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "docs/SKILL.md",
        "---\nname: docs\ndescription: d\nmetadata:\n  openclaw:\n    requires: {bins: [no-such-program], env: [NO_SUCH_TOKEN]}\n---\n",
    );
    write(
        "docs/agents/openai.yaml",
        "dependencies:\n  tools:\n    - {type: mcp, value: docs, url: 'https://docs.example/mcp'}\n",
    );
    let root = directory.path().to_str().unwrap();
    let done = skills(&["prompt", "mentions", "$docs", "--root", root]);
    assert_snapshot!(done.stderr, @r#"
    "docs" (sigil, high): selected
    missing requirement: program `no-such-program`
    missing requirement: variable `NO_SUCH_TOKEN`
    missing requirement: MCP server `docs` (streamable_http https://docs.example/mcp), required by docs
    "#);
    let needs =
        skills(&["prompt", "mentions", "$docs", "--root", root, "--json"]).json()["missing"]
            .clone();
    assert_eq!(
        needs["servers"][0]["key"],
        "mcp__streamable_http__https://docs.example/mcp"
    );
    let texts: Vec<&Value> = needs["questions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|question| &question["text"])
        .collect();
    assert_eq!(texts.len(), 2);
    assert_eq!(
        texts[1],
        "The following MCP servers are required by the selected skills but are not installed yet: docs. Install them now?"
    );
}

#[test]
fn detect() {
    let detect = |arguments: &[&str]| {
        let all: Vec<&str> = ["--root", "examples/skills", "prompt", "detect"]
            .into_iter()
            .chain(arguments.iter().copied())
            .collect();
        skills(&all)
    };
    assert_snapshot!(detect(&["--", "cd examples/skills/weather && cat SKILL.md | head"]).page(), @"
    exit 0
    -- stdout
    reads weather  TREE/examples/skills/weather/SKILL.md
    ");
    let uses = detect(&[
        "--cwd",
        "examples/skills/tax_calculator",
        "--json",
        "--",
        "python3",
        "scripts/calculate_duty.py",
        "{}",
    ])
    .json();
    assert_eq!(
        (&uses["uses"][0]["skill"], &uses["uses"][0]["kind"]),
        (&Value::from("tax_calculator"), &Value::from("runs"))
    );
    assert_snapshot!(detect(&["--", "ls"]).page(), @"
    exit 0
    -- stderr
    the command uses no skill
    ");
    assert_eq!(detect(&[]).code, 2);
}

#[cfg(unix)]
#[test]
fn a_skill_is_found_by_the_path_of_its_root_as_given() {
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(
        source_tree()
            .join("examples/skills")
            .canonicalize()
            .unwrap(),
        directory.path().join("link"),
    )
    .unwrap();
    let root = directory.path().join("link");
    let root = root.to_str().unwrap();
    let text = format!("[$weather]({root}/weather/SKILL.md)");
    assert_eq!(
        skills(&["prompt", "mentions", &text, "--root", root, "--json"]).json()["selected"][0]["name"],
        "weather"
    );
    let command = format!("cat {root}/weather/SKILL.md");
    assert_eq!(
        skills(&["--root", root, "prompt", "detect", "--json", "--", &command]).json()["uses"][0]["skill"],
        "weather"
    );
}
