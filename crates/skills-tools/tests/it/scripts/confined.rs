//! Environment of script tools: deadline, variables, private directory and isolation.

use std::fs;

use serde_json::json;
use skills_runtime::policy::{Effect, Rule, RuleSource};
use skills_runtime::{Policy, Remedy, ResourceLimits, Secrets};
use skills_test_support::skip_without_sandbox;
use skills_tools::{CallContext, ToolErrorCode};

use super::{ECHO, block, data, host, names, run};
use crate::fixture::{Host, ToolOutputExt, Tools};

/// Prints its variables as JSON, with the path of its skill directory inside.
const VARIABLES: &str = "import json, os
seen = dict(os.environ)
directory = seen['SKILL_DIR']
is_assets = seen['SKILL_ASSETS_DIR'] == directory + '/assets'
seen['directory'] = [os.path.isabs(directory), os.path.isfile(directory + '/SKILL.md'), is_assets]
print(json.dumps(seen))
";

#[tokio::test]
async fn the_declared_timeout_stops_a_script() {
    if skip_without_sandbox() {
        return;
    }
    let outcome = run(
        &host(
            &block("timeout: 1"),
            "main.sh",
            "echo begun; while :; do :; done\n",
        )
        .tools(),
        json!({}),
    )
    .await;
    assert!(
        outcome.has_code(ToolErrorCode::TimedOut),
        "{}",
        outcome.text()
    );
    assert_eq!(
        outcome.text(),
        "Script execution timed out after 1 seconds\nProgram output:\nbegun"
    );
    assert_eq!(
        (
            &outcome.structured["timed_out"],
            &outcome.structured["stdout"]
        ),
        (&json!(true), &json!("begun\n"))
    );
}

#[tokio::test]
async fn remaining_children_do_not_delay_a_result() {
    if skip_without_sandbox() {
        return;
    }
    let source = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(600)\nprint('done')\n";
    let declares = format!("allowed-tools: Bash\n{}", block("timeout: 60"));
    let outcome = run(
        &host(&declares, "main.py", source).allowing(&["spawn"]),
        json!({}),
    )
    .await;
    assert_eq!(
        (outcome.is_error, outcome.answer().trim_end()),
        (false, "done")
    );
    let alone = run(
        &host(&block("timeout: 60"), "main.py", source).tools(),
        json!({}),
    )
    .await;
    assert!(
        alone.has_code(ToolErrorCode::Failed) && alone.text().contains("PermissionError"),
        "without a rule: {}",
        alone.text()
    );
}

#[tokio::test]
async fn endless_output_is_truncated_and_reported() {
    if skip_without_sandbox() {
        return;
    }
    let outcome = run(
        &host(
            "",
            "main.py",
            "print('first')\nprint('x' * 3_000_000)\nprint('last')\n",
        )
        .tools(),
        json!({}),
    )
    .await;
    assert_eq!(
        (outcome.is_error, &outcome.structured["stdout_truncated"]),
        (false, &json!(true))
    );
    assert!(
        outcome.answer().starts_with("first\n") && outcome.answer().trim_end().ends_with("last")
    );
    assert!(
        outcome.text().len() < 300 * 1024,
        "{}",
        outcome.text().len()
    );
}

#[tokio::test]
async fn a_script_sees_only_the_documented_variables() {
    if skip_without_sandbox() {
        return;
    }
    let seen = data(&run(&host("", "main.py", VARIABLES).tools(), json!({})).await);
    let seen = seen.as_object().unwrap();
    let mut names: Vec<&str> = seen
        .keys()
        .map(String::as_str)
        .filter(|name| *name != "directory" && !name.starts_with("__CF"))
        .collect();
    // macOS adds `__CF…` to every program.
    names.sort_unstable();
    let documented = [
        "CLAUDE_SKILL_DIR",
        "DEBIAN_FRONTEND",
        "GIT_PAGER",
        "GIT_TERMINAL_PROMPT",
        "HOME",
        "LANG",
        "LOGNAME",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "PAGER",
        "PATH",
        "PIP_DISABLE_PIP_VERSION_CHECK",
        "PIP_NO_INPUT",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONNOUSERSITE",
        "PYTHONUNBUFFERED",
        "SHELL",
        "SKILL_ASSETS_DIR",
        "SKILL_DIR",
        "SKILL_NAME",
        "SKILL_WORKSPACE",
        "TERM",
        "TMPDIR",
        "USER",
    ];
    assert_eq!(names, documented);
    assert_eq!(
        (&seen["SKILL_NAME"], &seen["directory"]),
        (&json!("demo"), &json!([true, true, true]))
    );
    assert_eq!(
        (&seen["SKILL_DIR"], &seen["SKILL_ASSETS_DIR"]),
        (&json!("/skills/demo"), &json!("/skills/demo/assets")),
        "as in the result"
    );
}

/// The tools of a host that has keys, some of them allowed.
fn with_keys(host: &Host, allowed: &[&str]) -> Tools {
    let allow = |rules: Policy, text: &&str| {
        rules.rule(Rule::parse(Effect::Allow, RuleSource::Invocation, text).unwrap())
    };
    let (secrets, problems) = Secrets::from_env_text(
        "API_TOKEN=token-0123456789\nOTHER_TOKEN=other-0123456789\nLD_PRELOAD=/tmp/x.so\nPATH=/tmp\n",
    );
    assert_eq!(problems, []);
    let runtime = host
        .runtime()
        .secrets(secrets)
        .policy(allowed.iter().fold(Policy::default(), allow));
    host.wrap(host.builder(runtime).build().unwrap())
}

#[tokio::test]
async fn declared_keys_are_passed_if_allowed_and_redacted() {
    if skip_without_sandbox() {
        return;
    }
    let declares = "metadata:\n  openclaw:\n    requires:\n      env: [API_TOKEN]\n";
    let source = "import json, os\nprint(json.dumps([os.environ.get('API_TOKEN', '')[:5], os.environ.get('API_TOKEN'), 'OTHER_TOKEN' in os.environ]))\n";
    let host = host(declares, "main.py", source);
    let allowed = run(
        &with_keys(&host, &["env:API_TOKEN", "env:OTHER_TOKEN"]),
        json!({}),
    )
    .await;
    let seen = data(&allowed);
    assert_eq!(
        (&seen[0], &seen[2]),
        (&json!("token"), &json!(false)),
        "{}",
        allowed.text()
    );
    assert!(
        !allowed.structured.to_string().contains("token-0123456789")
            && !allowed.text().contains("token-0123456789"),
        "{}",
        allowed.text()
    );
    let output = run(&with_keys(&host, &[]), json!({})).await;
    assert!(
        !output.text().contains("token"),
        "without a rule: {}",
        output.text()
    );
    assert!(
        output.has_code(ToolErrorCode::ApprovalRequired),
        "{}",
        output.text()
    );
}

#[tokio::test]
async fn variables_that_change_execution_are_never_passed() {
    if skip_without_sandbox() {
        return;
    }
    let declares = "metadata:\n  openclaw:\n    requires:\n      env: [LD_PRELOAD, PATH]\n";
    let host = host(declares, "main.py", VARIABLES);
    let tools = with_keys(&host, &["env:LD_PRELOAD", "env:PATH"]);
    let outcome = run(&tools, json!({})).await;
    assert!(
        outcome.has_code(ToolErrorCode::DeniedByPolicy),
        "whatever the rules say: {}",
        outcome.text()
    );
    assert!(
        outcome.text().contains("LD_PRELOAD") && outcome.text().contains("PATH"),
        "{}",
        outcome.text()
    );
    assert_eq!(
        outcome.structured.as_object().unwrap().len(),
        1,
        "{}",
        outcome.structured
    );
}

#[test]
fn a_missing_primary_variable_causes_a_warning() {
    let host = host(
        "metadata:\n  openclaw:\n    primaryEnv: BAIDU_API_KEY\n",
        "main.py",
        ECHO,
    );
    let note =
        "skill `demo`: environment variable `BAIDU_API_KEY` is not set; its script tools may fail";
    let tools = host.tools();
    assert_eq!(
        (tools.set.warnings().unwrap(), names(&tools)),
        (vec![note.to_owned()], vec!["skill__demo__main".to_owned()])
    );
    let secrets = Secrets::default().with("BAIDU_API_KEY", "key-0123456789");
    let having = host.wrap(
        host.builder(host.runtime().secrets(secrets))
            .build()
            .unwrap(),
    );
    assert_eq!(
        (having.set.warnings().unwrap(), names(&having).len()),
        (Vec::new(), 1)
    );
}

#[tokio::test]
async fn the_working_directory_is_private_to_a_session() {
    if skip_without_sandbox() {
        return;
    }
    let source = "import os\nprint(os.getcwd(), sorted(os.listdir('.')))\nopen('note.txt', 'a').write('x')\n";
    let host = host("", "main.py", source);
    let tools = host.in_sessions(Policy::default());
    let one = CallContext::default().session("one");
    let two = CallContext::default().session("../two");
    let say = async |context: &CallContext| {
        tools
            .call_in("skill__demo__main", json!({}), context)
            .await
            .answer()
            .trim_end()
            .to_owned()
    };
    assert_eq!(say(&one).await, "/session []");
    assert_eq!(say(&one).await, "/session ['note.txt']");
    assert_eq!(say(&two).await, "/session []");
    assert_eq!(fs::read_dir(host.path("scratch")).unwrap().count(), 2);
    tools.set.end_session("one");
    assert_eq!(
        fs::read_dir(host.path("scratch")).unwrap().count(),
        1,
        "the files are gone"
    );
    assert_eq!(say(&one).await, "/session []");
    assert_eq!(say(&two).await, "/session ['note.txt']");
    assert!(!host.path("skills/demo/note.txt").exists() && !host.path("two").exists());
}

/// A call that fills the directory of its session is stopped, like any later call in that session.
#[tokio::test]
async fn a_session_that_exceeds_its_quota_is_stopped() {
    if skip_without_sandbox() {
        return;
    }
    let source = "import sys\nif 'fill' in sys.stdin.read():\n    n = 0\n    while True:\n        open(str(n), 'wb').write(b'x' * 131_072)\n        n += 1\nprint('done')\n";
    let host = host("", "main.py", source);
    let mut ceiling = ResourceLimits::default_ceiling();
    ceiling.scratch_bytes = 8 << 20;
    let tools = host.in_sessions(Policy::default().with_ceiling(ceiling));
    let (one, two) = (
        CallContext::default().session("one"),
        CallContext::default().session("two"),
    );
    let say = async |context: &CallContext, what: &str| {
        tools
            .call_in("skill__demo__main", json!({"do": what}), context)
            .await
    };
    assert_eq!(say(&one, "nothing").await.answer().trim_end(), "done");
    let filled = say(&one, "fill").await;
    assert!(
        filled.has_code(ToolErrorCode::TooLarge),
        "{}",
        filled.text()
    );
    assert_eq!(
        filled.text(),
        "private workspace exceeds its quota of 8 MiB"
    );
    let directory = fs::read_dir(host.path("scratch"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let bytes: u64 = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    // The quota counts the blocks of files and of the directory, this sum only the bytes of files.
    assert!((7 << 20..1 << 30).contains(&bytes), "{bytes}");
    assert!(say(&one, "nothing").await.has_code(ToolErrorCode::TooLarge));
    assert_eq!(say(&two, "nothing").await.answer().trim_end(), "done");
}

#[tokio::test]
async fn other_skills_and_the_host_are_inaccessible() {
    if skip_without_sandbox() {
        return;
    }
    let source = "import sys
for path in sys.stdin.read().split('\"')[3].split(';'):
    try:
        open(path).read(1)
        print('read')
    except OSError:
        print('refused')
try:
    open(__file__, 'a')
    print('written')
except OSError:
    print('kept')
";
    let host = host("", "main.py", source);
    host.skill("other", "")
        .file("workspace/a.txt", "a")
        .file("secret.txt", "CANARY");
    let paths = [
        "skills/demo/SKILL.md",
        "skills/other/SKILL.md",
        "workspace/a.txt",
        "secret.txt",
    ];
    let mut paths: Vec<String> = paths
        .iter()
        .map(|path| host.path(path).to_string_lossy().into_owned())
        .collect();
    paths.push("/etc/shadow".to_owned());
    // A script in the directory of its session does not see the workspace either.
    for (tools, of_workspace) in [
        (host.in_sessions(Policy::default()), "refused"),
        (host.tools(), "read"),
    ] {
        let outcome = run(&tools, json!({"paths": paths.join(";")})).await;
        assert_eq!(
            outcome.answer().split_whitespace().collect::<Vec<_>>(),
            [
                "read",
                "refused",
                of_workspace,
                "refused",
                "refused",
                "kept"
            ]
        );
    }
}

/// Instructions of skills name files of the user relative to the project.
#[tokio::test]
async fn scripts_start_in_the_workspace_and_write_it_if_a_rule_allows_it() {
    if skip_without_sandbox() {
        return;
    }
    let source = "import os, sys\nprint(os.getcwd(), open('in.txt').read())\nopen('/workspace/out.txt', 'w').write('made')\n";
    let host = host("", "main.py", source);
    host.file("workspace/in.txt", "text");
    let refused = run(&host.tools(), json!({})).await;
    assert!(
        refused
            .text()
            .contains("the user can allow `write:/workspace`"),
        "{}",
        refused.text()
    );
    let allowed = host.allowing(&[&host.write_rule()]);
    let outcome = run(&allowed, json!({})).await;
    assert_eq!(outcome.answer(), "/workspace text\n");
    assert_eq!(outcome.files, ["/workspace/out.txt"]);
    assert_eq!(fs::read(host.path("workspace/out.txt")).unwrap(), b"made");

    fs::remove_file(host.path("workspace/out.txt")).unwrap();
    let engine = json!({"skill_name": "demo", "script_name": "main"});
    let outcome = allowed.call("run_skill_script", engine).await;
    assert_eq!(outcome.files, ["/workspace/out.txt"]);
}

/// A refusal that a script ignores is part of its result, since the result may be wrong.
#[tokio::test]
async fn what_was_refused_is_said_after_a_success_too() {
    if skip_without_sandbox() {
        return;
    }
    let source = "import subprocess\ntry:\n    subprocess.run(['ls'])\nexcept OSError:\n    pass\nprint('done')\n";
    let host = host("", "main.py", source);
    let describe = |remedy: &Remedy| match remedy {
        Remedy::Allow { rules } => Some(format!("pass --allow {}", rules.join(" "))),
        _ => None,
    };
    let builder = host.builder(host.runtime()).remedies(describe);
    let tools = host.wrap(builder.build().unwrap());
    let engine = json!({"skill_name": "demo", "script_name": "main"});
    for outcome in [
        run(&tools, json!({})).await,
        tools.call("run_skill_script", engine).await,
    ] {
        assert!(!outcome.is_error);
        assert_eq!(
            outcome.text().trim_end(),
            "refused: spawn another program\nProgram output:\ndone"
        );
        assert_eq!(outcome.structured["refused"][0]["allow"], "spawn");
    }
}
