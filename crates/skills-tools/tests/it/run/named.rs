//! Skills that a command names by their paths.

use serde_json::json;
use skills_runtime::Policy;
use skills_runtime::discovery::SkillFiles;
use skills_runtime::policy::{Effect, Rule, RuleSource};
use skills_test_support::skip_without_sandbox;
use skills_tools::Mount;

use super::{SHOW, bash, kit, printed, run, sees_virtual_paths};
use crate::fixture::{Host, ToolOutputExt};

/// A host with the skills `kit` and `form`, whose files have a canary.
fn host() -> Host {
    let host = kit(&[("show.py", SHOW)]);
    host.skill("form", "")
        .file("skills/form/assets/form.txt", "form canary")
        .file("skills/form/scripts/__pycache__/x.pyc", "x")
        .script("form", "where.py", "import os\nprint(os.getcwd())\n")
        .file("workspace/in.pdf", "x");
    host
}

/// Returns a path of a skill as the host spells it.
fn host_path(host: &Host, below: &str) -> String {
    host.path(&format!("skills/{below}")).display().to_string()
}

/// Without a question: such a command is a run of the skill.
#[tokio::test]
async fn a_command_that_starts_a_script_of_a_skill_runs_it_in_the_workspace() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    host.file("workspace/sub/x", "");
    let tools = host.tools();
    let by_host_path = format!(
        "python3 '{}' in.pdf",
        host_path(&host, "kit/scripts/show.py")
    );
    for command in [
        "python /skills/kit/scripts/show.py in.pdf",
        "python3 '/skills/kit/scripts/show.py' in.pdf",
        "/skills/kit/scripts/show.py in.pdf",
        "python skills/kit/scripts/show.py in.pdf",
        &by_host_path,
    ] {
        let outcome = bash(&tools, command, "").await;
        assert_eq!(printed(&outcome), json!(["in.pdf"]), "{command}");
    }
    let outcome = bash(&tools, "python3 /skills/form/scripts/where.py", "sub").await;
    assert_eq!(outcome.answer(), "/workspace/sub");
    let words = bash(
        &tools,
        "python /skills/kit/scripts/show.py skills/kit workspace/x",
        "",
    )
    .await;
    assert_eq!(printed(&words), json!(["skills/kit", "workspace/x"]));
    let outcome = bash(&tools, "python3 /skills/form/scripts/none.py", "").await;
    assert_eq!(
        outcome.code(),
        Some("approval_required"),
        "{}",
        outcome.text()
    );
}

#[tokio::test]
async fn a_command_in_the_workspace_reads_the_skills_that_it_names() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = host.tools();
    let form = host_path(&host, "form/assets/form.txt");
    for path in ["/skills/form/assets/form.txt", &form] {
        let outcome = bash(&tools, &format!("cat {path} in.pdf"), "").await;
        assert_eq!(outcome.answer(), "form canaryx", "{path}");
    }
    // A copy, without what no author wrote.
    let listed = bash(&tools, "ls /skills/form/scripts /skills/kit", "").await;
    assert!(listed.text().contains("where.py") && listed.text().contains("SKILL.md"));
    assert!(!listed.text().contains("__pycache__"), "{}", listed.text());
    let outcome = run(&tools, "cat /skills/form/assets/form.txt").await;
    assert_eq!(outcome.answer(), "form canary", "also for another skill");
    let outcome = run(&tools, "python scripts/show.py /skills/form").await;
    assert!(!outcome.is_error, "{}", outcome.text());
}

#[tokio::test]
async fn a_shell_command_reads_the_skills_that_it_names() {
    if skip_without_sandbox() || !sees_virtual_paths() {
        return;
    }
    let host = host();
    let tools = host.allowing(&["spawn", &host.write_rule()]);
    let form = host_path(&host, "form");
    for command in [
        "cd /skills/form && cat assets/form.txt > /workspace/out.txt; cat /workspace/out.txt",
        "cp /skills/form/assets/form.txt out.txt && cat out.txt",
        "F=\"/skills/form\"; cat \"$F/assets/form.txt\" | head -n 1",
        &format!("cat <{form}/assets/form.txt"),
    ] {
        let outcome = bash(&tools, command, "").await;
        assert_eq!(outcome.answer(), "form canary", "{command}");
    }
    for command in [
        "echo x > /skills/form/assets/form.txt",
        "touch /skills/form/new",
        "rm -r /skills/form/assets",
        &format!("mv {form} out"),
    ] {
        let outcome = bash(&tools, command, "").await;
        assert!(outcome.is_error, "{command}: {}", outcome.text());
    }
    assert_eq!(
        std::fs::read_to_string(host.path("skills/form/assets/form.txt")).unwrap(),
        "form canary"
    );
    assert!(!host.path("skills/form/new").exists());
}

/// Asserts that a command on `secret.txt` of a skill does not print it, and returns the hint.
async fn invisible(tools: &crate::fixture::Tools, path: &str) -> String {
    let command = format!("cat {path}/secret.txt");
    let outcome = bash(tools, &command, "").await;
    assert!(
        outcome.is_error && !outcome.text().contains("canary"),
        "{command}: {}",
        outcome.text()
    );
    let hint = outcome
        .own_text()
        .lines()
        .find(|line| line.starts_with("Hint: "));
    hint.unwrap_or_else(|| panic!("{command}: {}", outcome.text()))
        .to_owned()
}

#[tokio::test]
async fn a_skill_that_cannot_run_stays_invisible_and_the_result_says_why() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    host.skill("changed", "")
        .skill("broken", "allowed-tools: {a: 1}\n")
        .skill("denied", "")
        .file(
            "drafts/draft/SKILL.md",
            "---\nname: draft\ndescription: x\n---\n",
        )
        .file("drafts/draft/secret.txt", "canary");
    for name in ["changed", "broken", "denied"] {
        host.file(&format!("skills/{name}/secret.txt"), "canary");
    }
    let files = SkillFiles::open_directory(&host.path("skills/form")).unwrap();
    let other = files.digest(&mut Default::default()).unwrap();
    host.file(
        "skills/skills.lock",
        format!("version = 1\n\n[[skill]]\nname = \"changed\"\ncontent = \"{other}\"\nsource = \"./x\"\nfiles = 1\nbytes = 1\nsigner = \"unsigned\"\n"),
    );
    let denied = format!("read:{}", host_path(&host, "denied"));
    let denied = Rule::parse(Effect::Deny, RuleSource::User, &denied).unwrap();
    let tools = host.tools_with(Policy::default().rule(denied));
    let check = async |name: &str, expected: &str| {
        let hint = invisible(&tools, &format!("/skills/{name}")).await;
        assert_eq!(
            hint,
            format!("Hint: the command does not see `/skills/{name}`: {expected}")
        );
    };
    let list = "list the available skills: call skills_ls with path `/skills`";
    check(
        "changed",
        &format!("skill `changed` is inactive: changed; {list}"),
    )
    .await;
    check(
        "broken",
        "/skills/broken/SKILL.md:4: cannot run skill `broken`: invalid `allowed-tools`",
    )
    .await;
    check("denied", "the policy does not let the program read it").await;
    check(
        "draft",
        "skill `draft` is a draft and cannot run; ask your user to accept it",
    )
    .await;
    check("from", "skill `from` not found; did you mean `form`?").await;
    // The caller knows this host path.
    let command = format!("cat {}/secret.txt", host_path(&host, "changed"));
    let arguments = json!({"command": command});
    let context = skills_tools::CallContext::default();
    let outcome = tools.set.call("skills_bash", arguments, &context).await;
    let outcome = outcome.unwrap();
    let text = outcome.text();
    assert!(
        outcome
            .own_text()
            .ends_with("`/skills/changed`: skill `changed` is inactive: changed"),
        "{text}"
    );
    assert!(!text.contains("canary"), "{text}");
}

/// The file tools accept relative spellings; an argument of a program can be any text.
#[tokio::test]
async fn a_failed_command_is_told_how_to_spell_a_path() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = host.tools();
    for (command, path) in [
        ("cat workspace/in.pdf", "workspace/in.pdf"),
        (
            "cat skills/form/assets/form.txt",
            "skills/form/assets/form.txt",
        ),
    ] {
        let outcome = bash(&tools, command, "").await;
        let hint = format!("Hint: the command does not see `{path}`: use `/{path}`");
        assert!(outcome.own_text().ends_with(&hint), "{}", outcome.text());
    }
    host.file("workspace/skills/x", "");
    for command in ["echo workspace/in.pdf", "cat skills/none"] {
        let outcome = bash(&tools, command, "").await;
        assert!(!outcome.text().contains("Hint"), "{}", outcome.text());
    }
}

/// A text that a command only prints needs no explanation.
#[tokio::test]
async fn a_command_that_succeeds_is_not_told_about_unknown_skills() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = host.tools();
    let outcome = bash(&tools, "echo see /skills/NAME and /skills", "").await;
    assert_eq!(outcome.answer(), "see /skills/NAME and /skills");
    let outcome = bash(&tools, "ls /skills", "").await;
    assert!(
        outcome
            .own_text()
            .ends_with("Hint: the command does not see `/skills`: list the skills with skills_ls"),
        "{}",
        outcome.text()
    );
}

/// A skill in the workspace is a part of it, whatever its state; `/skills/NAME` is the checked copy.
#[tokio::test]
async fn a_skill_in_the_workspace_is_visible_as_before() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let runtime = host.runtime();
    let builder = skills_tools::ToolSet::builder(runtime.build())
        .workspace(Mount::read_only("workspace", host.path("skills")));
    let tools = host.wrap(builder.build().unwrap());
    host.file("skills/form/scripts/__pycache__/x.pyc", "x");
    let path = host_path(&host, "form/assets/form.txt");
    for path in [
        "form/assets/form.txt",
        &path,
        "/skills/form/assets/form.txt",
    ] {
        let outcome = bash(&tools, &format!("cat {path}"), "").await;
        assert_eq!(outcome.answer(), "form canary", "{path}");
    }
}

#[tokio::test]
async fn the_number_of_named_skills_is_limited() {
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    let skills: Vec<String> = (0..20).map(|number| format!("s{number}")).collect();
    for skill in &skills {
        host.skill(skill, "");
    }
    let tools = host.tools();
    let paths = skills
        .iter()
        .map(|skill| format!("/skills/{skill}/SKILL.md"));
    let command = format!("head -qn 2 {}", paths.collect::<Vec<_>>().join(" "));
    let outcome = bash(&tools, &command, "").await;
    let text = &outcome.text();
    assert!(
        text.contains("name: s15") && !text.contains("name: s16"),
        "{text}"
    );
    let hint =
        "Hint: the command does not see `/skills/s16`: the command names more than 16 skills";
    assert!(text.contains(hint), "{text}");
    let unknown: Vec<String> = (0..2_000)
        .map(|number| format!("/skills/u{number}"))
        .collect();
    let outcome = bash(&tools, &format!("cat {}", unknown.join(" ")), "").await;
    assert_eq!(outcome.text().matches("Hint: ").count(), 8);
}

/// A missing file is not a file that a rule would make visible.
#[tokio::test]
async fn a_missing_file_at_a_virtual_path_is_not_refused() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = host.tools();
    for path in [
        "/workspace/none.txt",
        "/skills/form/none.txt",
        "/skills/none/SKILL.md",
    ] {
        let outcome = bash(&tools, &format!("cat {path}"), "").await;
        assert!(outcome.is_error, "{}", outcome.text());
        assert!(!outcome.text().contains("refused:"), "{}", outcome.text());
        assert_eq!(outcome.structured["refused"], json!([]));
    }
    let outcome = bash(&tools, "cat /elsewhere/none.txt", "").await;
    assert!(outcome.text().contains("refused:"), "{}", outcome.text());
}
