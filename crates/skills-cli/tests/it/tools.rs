//! Tests of `tools`, `call` and `accept`.

use std::fs;

#[cfg(target_os = "linux")]
use crate::skills::{examples, skills_in};
use insta::assert_snapshot;
use skills_runtime::SkillRuntime;
use skills_tools::{ToolGroup, ToolSet};

#[test]
fn tools_are_listed_as_text_and_for_each_api() {
    let listed = examples(&["tools", "--tools", "all"]);
    assert_eq!(listed.code, 0, "{}", listed.page());
    let names: Vec<&str> = listed
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let without_skills = ToolSet::builder(SkillRuntime::builder().build());
    let without_skills = without_skills.tool_groups(ToolGroup::ALL).build().unwrap();
    let builtin = without_skills.definitions().unwrap();
    let (first, of_scripts) = names.split_at(builtin.len());
    let builtin: Vec<&str> = builtin.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(first, builtin);
    assert_snapshot!(of_scripts.join("\n"), @"
    skill__gcd-calculator__gcd
    skill__sandbox-probe__probe
    skill__sandbox-probe__read_shadow
    skill__tax_calculator__broken
    skill__tax_calculator__calculate_duty
    skill__text-stats__stats
    skill__weather__get_current
    skill__weather__get_forecast
    skill__weather__list_cities
    ");
    let openai: serde_json::Value = examples(&["tools", "--for", "openai"]).json();
    assert_eq!(openai[0]["function"]["name"], "search_skills");
    assert_eq!(
        examples(&["tools", "--for", "anthropic"]).json()[0]["input_schema"]["properties"]["limit"]
            ["default"],
        10
    );
    let mcp = examples(&["tools", "--for", "mcp"]).json();
    assert_eq!(mcp.as_array().map(Vec::len), Some(7));
    assert_eq!(
        (&mcp[0]["annotations"]["readOnlyHint"], &mcp[0]["title"]),
        (&true.into(), &"Search skills".into())
    );
    let chosen = examples(&["tools", "--tools", "runner,catalog", "--json"]).json();
    assert_eq!(chosen["tools"][0]["name"], "run_skill_script");
    assert_eq!(chosen["tools"].as_array().map(Vec::len), Some(5));
    assert_eq!(examples(&["tools", "--json"]).json()["tools"], mcp);
}

#[cfg(target_os = "linux")]
#[test]
fn a_tool_is_called_as_a_model_would() {
    if skills_test_support::skip_without_sandbox() {
        return;
    }
    let run = [
        "call",
        "skills_run",
        r#"{"name": "gcd-calculator", "command": "python scripts/gcd.py 12 18"}"#,
    ];
    assert_snapshot!(examples(&run).page(), @"
    exit 0
    -- stdout
    gcd 6
    lcm 36
    ");
    let tax = r#"{"skill_name": "tax_calculator", "script_name": "calculate_duty", "args": {"cif_price": 10000, "hs_code": "85423100"}}"#;
    let called = examples(&["call", "run_skill_script", tax, "--json"]).json();
    assert_eq!(
        (&called["structured"]["result"]["vat"], &called["is_error"]),
        (&1300.into(), &false.into())
    );
    assert_snapshot!(examples(&["call", "skill__weather__get_current", r#"{"city": "Berlin"}"#]).page(), @r#"
    exit 0
    -- stdout
    {"celsius": 11.5, "condition": "overcast", "wind_kmh": 14, "city": "Berlin"}
    "#);
}

#[test]
fn errors_have_an_exit_code_and_a_hint() {
    assert_snapshot!(examples(&["call", "skill_ls"]).page(), @"
    exit 1
    -- stderr
    error: tool `skill_ls` not found; did you mean `skills_ls`?
    ");
    assert_snapshot!(examples(&["call", "skills_ls", r#"{"path": [1], "x": 2}"#]).page(), @r#"
    exit 2
    -- stderr
    Error: invalid arguments: /path: [1] is not of type "string"
    Hint: check the input schema of the tool, then retry
    "#);
    assert_snapshot!(examples(&["call", "skills_run", r#"{"name": "gcd", "command": "tee"}"#]).page(), @"
    exit 1
    -- stderr
    Error: skill `gcd` not found
    Hint: did you mean `gcd-calculator`?
    ");
    assert_snapshot!(examples(&["call", "skills_read", r#"{"path": "/skills/gcd-calculator/../../x"}"#]).page(), @"
    exit 1
    -- stderr
    Error: invalid path '/skills/gcd-calculator/../../x': `..` is not allowed
    Hint: use a path such as `src/main.py`, `/workspace/src/main.py` or `/skills/NAME/SKILL.md`
    ");
    assert_snapshot!(examples(&["call", "skills_run", r#"{"name": "gcd-calculator", "command": "tee -r"}"#]).page(), @"
    exit 3
    -- stderr
    Error: not run: permission denied: spawn `tee` (requested by the caller): no rule allows it and the user could not be asked
    Hint: ask your user to allow it with `--allow spawn:tee`, then retry
    ");
    assert_snapshot!(examples(&["call", "skills_ls", "{nope"]).page(), @"
    exit 2
    -- stderr
    error: cannot parse the tool arguments as JSON: key must be a string at line 1 column 2
    ");
    assert_snapshot!(examples(&["tools", "--mount", "skills=."]).page(), @"
    exit 2
    -- stderr
    error: invalid mount name `skills`: the name is reserved
    ");
}

#[test]
fn a_tool_can_be_disabled_permanently() {
    let state = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        skills_in(
            &[arguments, &crate::skills::EXAMPLES].concat(),
            "",
            state.path(),
        )
    };
    assert_snapshot!(run(&["tools", "change", "skill__weather__list_cities", "--off"]).page(), @"
    exit 0
    -- stderr
    skill__weather__list_cities is disabled, also after changes of the skill
    ");
    assert!(
        !run(&["tools", "--tools", "all"])
            .stdout
            .contains("skill__weather__list_cities")
    );
    assert!(
        run(&["tools", "--tools", "all"])
            .stdout
            .contains("skill__weather__get_current")
    );
    assert_eq!(run(&["call", "skill__weather__list_cities"]).code, 1);
    assert_eq!(
        run(&[
            "tools",
            "change",
            "skill__weather__list_cities",
            "--on",
            "--json"
        ])
        .json()["enabled"],
        true
    );
    assert!(
        run(&["tools", "--tools", "all"])
            .stdout
            .contains("skill__weather__list_cities")
    );
    assert_snapshot!(run(&["tools", "change", "skill__weather__list_cities"]).page(), @"
    exit 2
    -- stderr
    error: nothing to change
    help: pass `--off`, `--on`, `--description` or `--timeout`, or run `skills tools reset --root examples/skills`
    ");
    assert_snapshot!(run(&["tools", "change", "skill__weather__nothing", "--off"]).page(), @"
    exit 1
    -- stderr
    error: script tool `skill__weather__nothing` not found
    ");
}

#[test]
fn drafts_have_a_default_directory() {
    let (home, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run = |arguments: &[&str]| {
        let all = [arguments, &crate::skills::EXAMPLES].concat();
        let done = crate::skills::command_with_state(&all, home.path(), state.path())
            .output()
            .unwrap();
        (
            done.status.code().unwrap(),
            String::from_utf8(done.stdout).unwrap() + &String::from_utf8(done.stderr).unwrap(),
        )
    };
    let made = r##"{"name": "hello", "description": "Says hello.", "instructions": "# Hello"}"##;
    assert_eq!(run(&["call", "skills_create", made]).0, 0);
    let written = run(&[
        "call",
        "skills_write",
        r#"{"path": "/skills/hello/scripts/hi.py", "content": "print(1)"}"#,
    ]);
    assert_eq!(
        written,
        (
            0,
            "Successfully wrote 8 bytes to '/skills/hello/scripts/hi.py'\n".to_owned()
        )
    );
    assert!(
        home.path()
            .join(".local/share/skills/drafts/hello/scripts/hi.py")
            .is_file()
    );
    assert!(run(&["accept"]).1.starts_with("hello  "));
    assert!(
        run(&[
            "accept",
            "hello",
            "--yes",
            "--to",
            &home.path().join("mine").to_string_lossy()
        ])
        .1
        .contains("accepted `hello`")
    );
    assert!(home.path().join("mine/hello/SKILL.md").is_file());
}

#[test]
fn a_drafted_skill_is_used_after_a_user_accepts_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = |below: &str| {
        directory
            .path()
            .canonicalize()
            .unwrap()
            .join(below)
            .display()
            .to_string()
    };
    fs::create_dir(path("skills")).unwrap();
    let (root, drafts) = (path("skills"), path("drafts"));
    let state = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut done = skills_in(
            &[arguments, &["--root", &root, "--drafts", &drafts]].concat(),
            "",
            state.path(),
        );
        done.stdout = done.stdout.replace(&path(""), "HERE/");
        done.stderr = done.stderr.replace(&path(""), "HERE/");
        done
    };
    let made = r##"{"name": "hello", "description": "Says hello: to all.", "instructions": "# Hello", "scripts": {"hi": "print('hi')"}}"##;
    assert_snapshot!(run(&["call", "skills_create", made]).page(), @r#"
    exit 0
    -- stdout
    {"status":"created","name":"hello","path":"/skills/hello","uri":"skill://hello/SKILL.md"}
    "#);
    assert_snapshot!(run(&["call", "skills_ls", r#"{"path": "/skills"}"#]).page(), @"
    exit 0
    -- stdout
    Skills (1):
      hello/  - Says hello: to all.  [draft, not accepted]
    ");
    assert_snapshot!(run(&["call", "skills_run", r#"{"name": "hello", "command": "python scripts/hi.py"}"#]).page(), @"
    exit 3
    -- stderr
    Error: skill `hello` is a draft and cannot run
    Hint: ask your user to accept it with `skills accept hello --root HERE/skills`
    ");
    assert!(
        !run(&["tools", "--tools", "all"])
            .stdout
            .contains("skill__hello__hi")
    );
    let shown = r#"{"path": "/skills/hello/.hidden/run.sh", "content": "echo hidden"}"#;
    assert_eq!(run(&["call", "skills_write", shown]).code, 0);
    // Not covered by the digest.
    let generated = path("drafts/hello/scripts/__pycache__");
    fs::create_dir(&generated).unwrap();
    fs::write(format!("{generated}/hi.cpython-312.pyc"), "x").unwrap();
    assert_snapshot!(run(&["accept", "nothing"]).page(), @r#"
    exit 1
    -- stderr
    error: draft `nothing` not found
    help: available: hello
    "#);
    assert_snapshot!(run(&["accept", "hello"]).page(), @"
    exit 3
    -- stderr
    hello: Says hello: to all.
      .hidden/run.sh (11 bytes)
      SKILL.md (64 bytes)
      scripts/__pycache__ (generated, will be removed)
      scripts/hi.py (11 bytes)
    review it in HERE/drafts/hello; accepting moves it to HERE/skills/hello
    error: cannot ask for confirmation: no terminal is available
    help: pass `--yes`
    ");
    assert!(fs::exists(&generated).unwrap(), "nothing was accepted");
    let accepted = run(&["accept", "hello", "--yes"]);
    assert!(!fs::exists(path("skills/hello/scripts/__pycache__")).unwrap());
    let page: String = accepted
        .page()
        .lines()
        .map(|line| line.to_owned() + "\n")
        .collect();
    assert_snapshot!(page, @"
    exit 0
    -- stderr
    hello: Says hello: to all.
      .hidden/run.sh (11 bytes)
      SKILL.md (64 bytes)
      scripts/__pycache__ (generated, will be removed)
      scripts/hi.py (11 bytes)
    accepted `hello`: moved to HERE/skills/hello, content digest sha256:7144816ea71be6db0c4047e0fb5301243aaad2b596822412112f81c8414fe5c9
    ");
    assert!(
        run(&["tools", "--tools", "scripts"])
            .stdout
            .contains("skill__hello__hi")
    );
    assert_snapshot!(run(&["accept"]).page(), @"
    exit 0
    -- stderr
    no drafts
    ");
}
