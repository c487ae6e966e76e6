//! Command lines that run by their parts, each judged like a call of its own.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use serde_json::json;
use skills_runtime::Policy;
use skills_runtime::policy::{Answer, Effect, Question, Rule, RuleSource};
use skills_test_support::skip_without_sandbox;
use skills_tools::{CallContext, Mount, ToolOutput};

use super::{bash, kit, run, sees_virtual_paths};
use crate::fixture::{Host, ToolOutputExt, Tools};

pub(super) const CANARY: &str = "canary-91b3";

/// A writable workspace with files, keys, and names and links of an attacker.
pub(super) fn host() -> Host {
    let host = kit(&[
        (
            "show.py",
            "import sys; print(sys.argv[1:], sys.stdin.read())",
        ),
        ("fail.py", "print('part'); raise SystemExit(3)"),
    ]);
    host.file("workspace/a.txt", "b foo\na bar\n")
        .file("workspace/c.txt", "b foo\n")
        .file("workspace/d.json", "{\"k\":1}")
        .file("workspace/src/m.py", "print('foo')\n")
        .file("workspace/.env", format!("KEY={CANARY}\n"))
        .file("workspace/.git/config", "[core]\n")
        .file("outside/secret.txt", CANARY);
    symlink(host.path("outside"), host.path("workspace/outward")).unwrap();
    symlink(
        host.path("outside/secret.txt"),
        host.path("workspace/link.txt"),
    )
    .unwrap();
    symlink(
        host.path("outside/new.txt"),
        host.path("workspace/dangling.txt"),
    )
    .unwrap();
    host
}

/// The tools of a user who gave the workspace, without an approver.
pub(super) fn given(host: &Host) -> Tools {
    host.allowing(&[&host.write_rule()])
}

/// A client that counts its questions, and allows each.
pub(super) struct Asked {
    pub(super) context: CallContext,
    pub(super) questions: Arc<Mutex<Vec<String>>>,
}

pub(super) fn asked() -> Asked {
    let questions = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&questions);
    let approver = Arc::new(move |question: &Question| {
        seen.lock().unwrap().push(question.command.join(" "));
        Answer::AllowOnce
    });
    let context = CallContext::default().approver(approver);
    Asked { context, questions }
}

async fn check(tools: &Tools, line: &str, expected: &str) {
    let outcome = bash(tools, line, "").await;
    let printed = outcome.structured["stdout"].as_str().unwrap_or_default();
    assert_eq!(printed, expected, "{line}: {}", outcome.text());
}

#[tokio::test]
async fn everyday_lines_run_without_a_question() {
    if skip_without_sandbox() {
        return;
    }
    let lines = [
        ("ls *.json", "d.json\n"),
        ("cat a.txt | head -1", "b foo\n"),
        (
            "grep -rn foo src | sort | uniq -c | sed 's/^ *//'",
            "1 src/m.py:1:print('foo')\n",
        ),
        ("find . -name '*.py'", "./src/m.py\n"),
        ("sort a.txt", "a bar\nb foo\n"),
        ("sort a.txt > b.txt && cat b.txt", "a bar\nb foo\n"),
        ("sort a.txt | uniq -c | sort -rn | wc -l", "2\n"),
        ("wc -l a.txt src/*.py | tail -1", " 3 total\n"),
        ("cd src && ls", "m.py\n"),
        ("cat c.txt; wc -l c.txt", "b foo\n1 c.txt\n"),
        (
            "for f in c.txt d.json; do wc -c \"$f\"; done",
            "6 c.txt\n7 d.json\n",
        ),
        ("echo $(date -u -d @0 +%Y)", "1970\n"),
        ("echo \"lines: $(wc -l < a.txt)\"", "lines: 2\n"),
        ("sed -n '1,1p' a.txt", "b foo\n"),
        ("awk '{print $1}' a.txt", "b\na\n"),
        ("jq .k d.json", "1\n"),
        ("test -f a.txt && echo yes || echo no", "yes\n"),
        ("[ -d nowhere ] || echo missing", "missing\n"),
        ("tr a-z A-Z < c.txt", "B FOO\n"),
        ("cut -d' ' -f1 a.txt 2>/dev/null | tail -n 1", "a\n"),
        ("ls nowhere 2>&1 | wc -l", "1\n"),
        (
            "echo one > e.txt; echo two >> e.txt; cat e.txt",
            "one\ntwo\n",
        ),
        ("seq 3 | awk '{s+=$1} END {print s}'", "6\n"),
        ("head -n 1 a.txt | tr -d '\\n' | wc -c", "5\n"),
        ("which ls > /dev/null && pwd | wc -l", "1\n"),
    ];
    let host = host();
    let tools = given(&host);
    for (line, expected) in lines {
        let is_missing = |program: &str| {
            line.starts_with(program) && !fs::exists(format!("/usr/bin/{program}")).unwrap()
        };
        if !is_missing("jq") {
            check(&tools, line, expected).await;
        }
    }
}

#[tokio::test]
async fn a_line_is_what_a_shell_makes_of_it() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = given(&host);
    for (line, expected) in [
        ("echo a 'b  c' \"d\"e \\* '*'", "a b  c de * *\n"),
        ("echo *.none", "*.none\n"),
        ("echo ?.txt s*/m.p?", "a.txt c.txt src/m.py\n"),
        ("echo \"*\" \\?.txt", "* ?.txt\n"),
        ("for f in 'x y' z; do echo [$f]; done", ""),
        ("for f in 'x y' z; do printf '%s.' $f; done", "x.y.z."),
        ("for f in 'x y' z; do printf '%s.' \"$f\"; done", "x y.z."),
        ("printf '%s.' $(printf 'a b\\nc')", "a.b.c."),
        ("printf '%s.' \"$(printf 'a b\\nc\\n\\n')\"", "a b\nc."),
        ("false && echo a; true || echo b; echo c", "c\n"),
        ("false || false || echo d", "d\n"),
        ("cd src && pwd | sed 's,.*/,,'; ls", "src\nm.py\n"),
        ("echo err >&2 2>/dev/null; echo out", ""),
        ("echo hidden 2>/dev/null >&2; echo out", "out\n"),
        ("cat < a.txt | grep -c .", "2\n"),
        ("printf 'x' | cat - c.txt", "xb foo\n"),
        ("echo $(cd src; ls) $(ls d.json)", "m.py d.json\n"),
        (
            "echo a > /dev/null; cat nowhere < /dev/null 2> err.txt; wc -l < err.txt",
            "1\n",
        ),
    ] {
        // Lines that only a shell understands are asked for.
        let outcome = bash(&tools, line, "").await;
        if expected.is_empty() {
            assert_eq!(outcome.code(), Some("approval_required"), "{line}");
        } else {
            check(&tools, line, expected).await;
        }
    }
    let outcome = bash(&tools, "echo part; ls nowhere | cat; false", "").await;
    assert_eq!(outcome.structured["exit_code"], 1, "{}", outcome.text());
    assert!(outcome.answer().starts_with("part\n"), "{}", outcome.text());
    let outcome = bash(&tools, "ls nowhere; true", "").await;
    assert_eq!(outcome.structured["exit_code"], 0, "{}", outcome.text());
    assert!(!outcome.is_error && !outcome.structured["stderr"].as_str().unwrap().is_empty());
    let arguments = json!({"command": "tr a-z A-Z | tail -1", "stdin": "a\nb\n"});
    assert_eq!(tools.answer("skills_bash", arguments).await, "B");
}

#[tokio::test]
async fn a_redirection_writes_only_what_the_file_tools_write() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    fs::hard_link(host.path("workspace/c.txt"), host.path("outside/hard.txt")).unwrap();
    let tools = given(&host);
    for line in [
        "echo x > .git/config",
        "echo x >> .git/hooks/pre-commit",
        "echo x > .env",
        "echo x > .bashrc",
        "echo x > sub/../.git/config",
        "echo x > src/../.git/config",
        "cd src && echo x > ../.git/config",
        "echo x > outward/../outside/new.txt",
        "echo x > link.txt",
        "echo x > dangling.txt",
        "echo x > outward/new.txt",
        "echo x > c.txt",
        "echo x > ../outside/new.txt",
        "echo x > /etc/new.txt",
        "echo x > /skills/kit/SKILL.md",
        "echo x > src",
        "cd outward && echo x > new.txt",
        "cd /skills/kit && echo x > new.txt",
        "ls nowhere 2> .git/config",
        "sort -o .git/config a.txt",
    ] {
        let outcome = bash(&tools, line, "").await;
        assert!(outcome.is_error, "{line}: {}", outcome.text());
    }
    assert_eq!(
        fs::read_to_string(host.path("workspace/.git/config")).unwrap(),
        "[core]\n"
    );
    assert!(!host.path("workspace/.git/hooks").exists());
    assert!(
        fs::read_to_string(host.path("workspace/.env"))
            .unwrap()
            .contains(CANARY)
    );
    assert_eq!(
        fs::read_to_string(host.path("outside/secret.txt")).unwrap(),
        CANARY
    );
    assert_eq!(
        fs::read_to_string(host.path("outside/hard.txt")).unwrap(),
        "b foo\n"
    );
    assert!(!host.path("outside/new.txt").exists());
    // Neither without the permission to write, nor against a rule.
    let deny = |text: String| Rule::parse(Effect::Deny, RuleSource::User, &text).unwrap();
    let allow = Rule::parse(Effect::Allow, RuleSource::User, &host.write_rule()).unwrap();
    let src = host.path("workspace/src").display().to_string();
    let denying = Policy::default()
        .rule(allow)
        .rule(deny(format!("write:{src}")));
    for (tools, line) in [
        (host.tools(), "echo x > new.txt"),
        (host.tools_with(denying), "echo x > src/new.txt"),
    ] {
        let outcome = bash(&tools, line, "").await;
        assert_eq!(
            outcome.code(),
            Some("permission_denied"),
            "{line}: {}",
            outcome.text()
        );
    }
    assert!(
        !host.path("workspace/new.txt").exists() && !host.path("workspace/src/new.txt").exists()
    );
}

#[tokio::test]
async fn a_line_reads_no_keys_and_leaves_no_directory() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = given(&host);
    for line in [
        "cat < .env",
        "cat < link.txt",
        "cat < outward/secret.txt",
        "cat .env | cat",
        "cat .e* link.txt | sort",
        "echo $(cat .env) $(cat < /etc/shadow)",
        "for f in .e* l*; do cat \"$f\"; done",
        "cat outward/* | cat",
        "cd outward && cat secret.txt",
        "cd .. && ls",
        "cd src && cd ../.. && ls",
        "cat < ../outside/secret.txt",
        "cat < src/../../outside/secret.txt",
        "cat < outward/../outside/secret.txt",
        "cat < src/../.env",
        "cd src; cat < ../link.txt",
        "cat < /workspace/../outside/secret.txt",
        "cat < /workspace/../etc/passwd; echo $(</data/../../etc/passwd)",
        "cd /skills/kit/.. && cat */SKILL.md",
        "cd /etc; cat passwd",
        "awk 1 .env; sort .env; sed -n p .env; find . -name .env -exec cat {} \\;",
        "jq -R . .env; rg -uuu canary",
    ] {
        let outcome = bash(&tools, line, "").await;
        let text = outcome.text();
        assert!(
            !text.contains(CANARY) && !text.contains("root:"),
            "{line}: {text}"
        );
    }
    // A rule against reading is not evaded by opening the file here.
    let src = host.path("workspace/src").display().to_string();
    let deny = Rule::parse(Effect::Deny, RuleSource::User, &format!("read:{src}")).unwrap();
    let tools = host.tools_with(Policy::default().rule(deny));
    for line in ["cat < src/m.py", "echo src/*", "cat src/m.py | cat"] {
        let text = bash(&tools, line, "").await.text().into_owned();
        assert!(
            !text.contains("print") && !text.contains("m.py\n"),
            "{line}: {text}"
        );
    }
}

#[tokio::test]
async fn names_and_output_are_words_and_no_options_or_commands() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    for name in [
        "-exec",
        "-delete",
        "--help",
        "a;id",
        "$(id)",
        "`id`",
        "new\nline",
        "sp ace",
        "*",
        "'q",
    ] {
        host.file(&format!("workspace/odd/{name}"), "x\n");
    }
    let tools = given(&host);
    let outcome = bash(&tools, "cd odd && printf '<%s>' *", "").await;
    let printed = outcome.structured["stdout"].as_str().unwrap();
    assert_eq!(
        printed,
        "<$(id)><'q><*><./--help><./-delete><./-exec><`id`><a;id><new\nline><sp ace>"
    );
    for line in [
        "cd odd && cat *",
        "cd odd && find * -name x",
        "for f in odd/*; do wc -c \"$f\"; done",
        "echo $(ls odd)",
        "find $(ls odd) -name x",
        "sort $(echo -o stolen.txt) a.txt",
        "awk \"$(echo 'BEGIN{system(\"id\")}')\" a.txt",
    ] {
        let text = bash(&tools, line, "").await.text().into_owned();
        assert!(!text.contains("uid="), "{line}: {text}");
    }
    assert!(host.path("workspace/odd/-delete").exists());
    assert!(!host.path("workspace/stolen.txt").exists());
    assert!(host.path("workspace/a.txt").exists());
}

/// One part that is not free is one question, for that part. A line with two is one question, for a
/// shell.
#[tokio::test]
async fn a_line_has_at_most_one_question() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = given(&host);
    for (line, questions) in [
        ("cat a.txt | sort", &[][..]),
        (
            "python3 -c 'print(1)' > p.txt; cat p.txt",
            &["python3 -c print(1)"],
        ),
        ("mkdir -p out && echo hi > out/x.txt", &[]),
        (
            "mkdir -m 700 priv && echo hi > priv/x",
            &["mkdir -m 700 priv"],
        ),
        (
            "cat a.txt | tee -i t.txt | wc -l",
            &["tee -i t.txt <<< \"b foo\\na bar\\n\""],
        ),
        (
            "ln a.txt x && ln a.txt y",
            &["sh -c ln a.txt x && ln a.txt y"],
        ),
        (
            "for f in 1 2; do ln a.txt $f; done",
            &["sh -c for f in 1 2; do ln a.txt $f; done"],
        ),
        ("env $(echo id)", &["sh -c env $(echo id)"]),
        ("$(echo id)", &["sh -c $(echo id)"]),
    ] {
        let asked = asked();
        let arguments = json!({"command": line});
        let _ = tools
            .call_in("skills_bash", arguments, &asked.context)
            .await;
        assert_eq!(*asked.questions.lock().unwrap(), questions, "{line}");
    }
    assert_eq!(
        fs::read_to_string(host.path("workspace/p.txt")).unwrap(),
        "1\n"
    );
    assert_eq!(
        fs::read_to_string(host.path("workspace/out/x.txt")).unwrap(),
        "hi\n"
    );
    // Without an approver nothing after the refused part runs.
    let outcome = bash(
        &tools,
        "echo x > first.txt; ln a.txt y; echo z > last.txt",
        "",
    )
    .await;
    assert_eq!(
        outcome.code(),
        Some("approval_required"),
        "{}",
        outcome.text()
    );
    assert!(
        outcome.text().contains("commands of the line that ran: 1"),
        "{}",
        outcome.text()
    );
    assert!(!host.path("workspace/last.txt").exists());
    let deny = Rule::parse(Effect::Deny, RuleSource::User, "spawn:sort").unwrap();
    let tools = host.tools_with(Policy::default().rule(deny));
    let outcome = bash(&tools, "cat a.txt | sort", "").await;
    assert_eq!(
        outcome.code(),
        Some("denied_by_policy"),
        "{}",
        outcome.text()
    );
}

#[tokio::test]
async fn lines_have_limits() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = given(&host);
    let values = "x ".repeat(65);
    for (line, code) in [
        (format!("for f in {values}; do true; done"), "too_large"),
        ("seq 1000000 | tail -1".to_owned(), "too_large"),
        ("seq 1000000 > big.txt".to_owned(), "too_large"),
        ("echo $(seq 1000000)".to_owned(), "too_large"),
    ] {
        let outcome = bash(&tools, &line, "").await;
        assert_eq!(outcome.code(), Some(code), "{line}: {}", outcome.text());
    }
    assert!(!host.path("workspace/big.txt").exists());
    let arguments = json!({"command": "tail -f a.txt | head -1; echo after", "timeout": 1});
    let outcome = tools.call("skills_bash", arguments).await;
    assert_eq!(outcome.code(), Some("timed_out"), "{}", outcome.text());
    assert!(!outcome.text().contains("after\n"));
}

#[tokio::test]
async fn lines_of_a_skill_start_in_the_workspace_too() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = given(&host);
    let stdout = |outcome: ToolOutput| {
        outcome.structured["stdout"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(
        stdout(run(&tools, "cat a.txt | sort").await),
        "a bar\nb foo\n"
    );
    assert_eq!(stdout(run(&tools, "ls *.json").await), "d.json\n");
    let outcome = run(&tools, "scripts/show.py x < c.txt > out.txt && cat out.txt").await;
    assert_eq!(stdout(outcome), "['x'] b foo\n\n");
    let outcome = run(&tools, "python scripts/fail.py > out.txt; cat out.txt").await;
    assert_eq!(stdout(outcome), "part\n");
    let outcome = run(&tools, "scripts/fail.py && echo no").await;
    assert_eq!(outcome.structured["exit_code"], 3);
    if sees_virtual_paths() {
        assert_eq!(stdout(run(&tools, "pwd").await), "/workspace\n");
        assert_eq!(stdout(bash(&tools, "pwd", "").await), "/workspace\n");
        let line = "python3 /skills/kit/scripts/show.py y < c.txt | cat";
        assert_eq!(stdout(bash(&tools, line, "").await), "['y'] b foo\n\n");
        // What is a program of a skill is decided by what the model wrote, as hooks see it.
        let outcome = bash(
            &tools,
            "python3 /skills/kit/scripts/sho*.py < c.txt | cat",
            "",
        )
        .await;
        assert_eq!(
            outcome.code(),
            Some("approval_required"),
            "{}",
            outcome.text()
        );
    }
}

/// A relative path of a line is in the workspace, as it is for the programs of the line.
#[tokio::test]
async fn relative_paths_of_a_line_name_no_skill_and_no_mount() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    host.file("workspace/skills/kit/own.txt", "own\n")
        .file("workspace/data/old.csv", "old\n")
        .file("mounted/a.csv", "precious\n");
    let rules = [
        host.write_rule(),
        format!("write:{}", host.path("mounted").display()),
    ];
    let allow = |rules: Policy, text: &String| {
        rules.rule(Rule::parse(Effect::Allow, RuleSource::Invocation, text).unwrap())
    };
    let policy = rules.iter().fold(Policy::default(), allow);
    let builder = host.builder(host.runtime().policy(policy));
    let builder = builder.mount(Mount::writable("data", host.path("mounted")));
    let tools = host.wrap(builder.build().unwrap());
    for (line, expected) in [
        ("cd ./skills/kit && cat own.txt | cat", "own\n"),
        ("cd skills/kit && cat own.txt | cat", "own\n"),
        ("cat < skills/kit/own.txt", "own\n"),
        ("echo skills/kit/*", "skills/kit/own.txt\n"),
        ("sort c.txt > ./data/a.csv; cat data/a.csv", "b foo\n"),
        ("echo x > data/b.csv; cat < data/b.csv", "x\n"),
        ("echo data/*", "data/a.csv data/b.csv data/old.csv\n"),
        ("cd data && echo *", "a.csv b.csv old.csv\n"),
        ("cat < /data/a.csv", "precious\n"),
    ] {
        check(&tools, line, expected).await;
    }
    let mounted = fs::read_to_string(host.path("mounted/a.csv")).unwrap();
    assert_eq!(mounted, "precious\n");
    assert!(!host.path("mounted/b.csv").exists());
    let outcome = bash(&tools, "cd / && ls", "").await;
    assert_eq!(
        outcome.code(),
        Some("path_outside_mounts"),
        "{}",
        outcome.text()
    );
}

/// A command with a part of its words does not run.
#[tokio::test]
async fn a_stopped_command_in_a_word_ends_the_line() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = given(&host);
    for line in [
        "echo after $(tail -f a.txt)",
        "cd \"$(tail -f a.txt)\"; echo after",
        "for f in after $(tail -f a.txt); do echo $f; done",
    ] {
        let arguments = json!({"command": line, "timeout": 1});
        let outcome = tools.call("skills_bash", arguments).await;
        let text = outcome.text();
        assert_eq!(outcome.code(), Some("timed_out"), "{line}: {text}");
        assert!(!text.contains("after\n"), "{line}: {text}");
    }
}

/// What was printed before an error is kept.
#[tokio::test]
async fn a_failed_line_has_the_output_of_its_commands() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = given(&host);
    let outcome = bash(&tools, "cat c.txt; echo x > log; cd nowhere; ls", "").await;
    assert_eq!(outcome.code(), Some("not_found"), "{}", outcome.text());
    assert!(outcome.is_error && outcome.repeats_effects && outcome.started_program);
    assert_eq!(outcome.structured["stdout"], "b foo\n");
    assert_eq!(outcome.structured["exit_code"], json!(null));
    assert!(outcome.answer().contains("b foo"), "{}", outcome.text());
    assert_eq!(outcome.files, ["/workspace/log"]);
}

/// A line that starts no program, or few, uses little time and memory.
#[tokio::test]
async fn what_a_line_does_itself_has_limits() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    for name in 0..900 {
        host.file(&format!("workspace/many/{name}.d"), "");
    }
    let tools = given(&host);
    let values = "x ".repeat(1_500);
    let twice = "\"$f$f$f$f$f$f$f$f\"";
    let patterns = "many/* ".repeat(60);
    let missing = "many/*/x ".repeat(9);
    for line in [
        format!("for f in {values}; do cd .; done; ls"),
        format!("for a in {values}; do for b in {values}; do cd .; done; done; ls"),
        format!("for f in \"$(seq 90000)\"; do echo {twice} | wc -c; done"),
        "echo $(seq 60000) | wc -l".to_owned(),
        format!("echo {patterns} | wc -l"),
        format!("echo {missing} | wc -l"),
    ] {
        let outcome = bash(&tools, &line, "").await;
        let start: String = line.chars().take(30).collect();
        assert_eq!(
            outcome.code(),
            Some("too_large"),
            "{start}: {}",
            outcome.text()
        );
    }
}

/// A command does not run for a file that cannot be written.
#[tokio::test]
async fn a_target_is_checked_before_its_command_runs() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    fs::hard_link(host.path("workspace/c.txt"), host.path("outside/hard.txt")).unwrap();
    let tools = given(&host);
    for target in [
        "missing/log.txt",
        "src",
        "new/",
        "link.txt",
        "outward/x",
        "c.txt",
    ] {
        let asked = asked();
        let arguments = json!({"command": format!("tee ran.txt < d.json > {target}")});
        let outcome = tools
            .call_in("skills_bash", arguments, &asked.context)
            .await;
        assert!(outcome.is_error, "{target}: {}", outcome.text());
        assert!(asked.questions.lock().unwrap().is_empty(), "{target}");
    }
    assert!(!host.path("workspace/ran.txt").exists());
}

#[tokio::test]
async fn the_output_in_a_word_is_what_was_printed() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = given(&host);
    for line in ["echo $(printf '\\377')", "echo \"$(printf 'a\\000b')\""] {
        let outcome = bash(&tools, line, "").await;
        let text = outcome.text();
        assert_eq!(outcome.code(), Some("invalid_arguments"), "{line}: {text}");
    }
}

/// An option from an expansion is an error: a line asks only for what its text shows.
#[tokio::test]
async fn free_commands_ask_for_nothing_that_an_expansion_adds() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = given(&host);
    for (line, code) in [
        ("sort $(echo -o stolen.txt) a.txt", "permission_denied"),
        (
            "for f in -i; do sed $f s/b/c/ a.txt; done",
            "permission_denied",
        ),
        ("uniq $(echo a.txt stolen.txt)", "permission_denied"),
    ] {
        let asked = asked();
        let arguments = json!({"command": line});
        let outcome = tools
            .call_in("skills_bash", arguments, &asked.context)
            .await;
        assert_eq!(outcome.code(), Some(code), "{line}: {}", outcome.text());
        assert!(asked.questions.lock().unwrap().is_empty(), "{line}");
    }
    assert!(!host.path("workspace/stolen.txt").exists());
}

#[tokio::test]
async fn patterns_stand_for_what_they_can_name() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = given(&host);
    for (line, expected) in [
        ("echo */ | cat", "src/\n"),
        ("echo */*.py outward/*.none*", ""),
        ("echo */*.txt | cat", "*/*.txt\n"),
        ("echo nowhere/* a.txt/*", "nowhere/* a.txt/*\n"),
        ("cd src && echo ../[ac].txt", "../a.txt ../c.txt\n"),
        ("cd src && echo ../../*", ""),
        ("echo src/../../*/* ../*", ""),
        ("echo outward/../*", ""),
        ("echo src/../[ac].txt | cat", "src/../a.txt src/../c.txt\n"),
    ] {
        if expected.is_empty() {
            let outcome = bash(&tools, line, "").await;
            assert!(outcome.is_error, "{line}: {}", outcome.text());
        } else {
            check(&tools, line, expected).await;
        }
    }
}

/// What only a shell does as it is written is one question, for the shell.
#[tokio::test]
async fn a_shell_runs_what_a_line_would_change() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = given(&host);
    for line in [
        "echo a | echo $(cat)",
        "for f in 1; do echo a | echo \"$(cat)\"; done",
        "ls /etc/* | wc -l",
        "echo /* | cat",
    ] {
        let asked = asked();
        let arguments = json!({"command": line});
        let _ = tools
            .call_in("skills_bash", arguments, &asked.context)
            .await;
        let expected = format!("sh -c {line}");
        assert_eq!(*asked.questions.lock().unwrap(), [expected], "{line}");
    }
    let asked = asked();
    let arguments = json!({"command": "echo $(cat)", "stdin": "a"});
    let _ = tools
        .call_in("skills_bash", arguments, &asked.context)
        .await;
    assert_eq!(asked.questions.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_result_has_the_end_of_what_was_printed_and_each_file_once() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = given(&host);
    let outcome = bash(&tools, "seq 30000; seq 30000; echo last", "").await;
    let printed = outcome.structured["stdout"].as_str().unwrap();
    assert!(printed.starts_with("1\n2\n") && printed.ends_with("30000\nlast\n"));
    assert_eq!(outcome.structured["stdout_truncated"], true);
    let outcome = bash(&tools, "echo a > n.txt; echo b >> n.txt; cat n.txt", "").await;
    let files = outcome.structured["files_changed"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{files:?}");
}
