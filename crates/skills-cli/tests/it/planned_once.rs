//! A run is planned once, whatever its options: counted by how often its `SKILL.md` is opened.

use std::path::Path;

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use serde_json::Value;
use skills_test_support::{skip_without_file_events, skip_without_sandbox, source_tree};

use crate::fixture::Fixture;
use crate::program_options::on_terminal;

/// Returns how often the `SKILL.md` of a skill is opened while `run` runs.
fn opens(directory: &Path, run: impl FnOnce()) -> usize {
    let watch = Inotify::init(InitFlags::IN_NONBLOCK).unwrap();
    // The kernel merges equal events that follow one another, so the end of each access is an event
    // as well.
    let flags = AddWatchFlags::IN_OPEN | AddWatchFlags::IN_CLOSE;
    watch.add_watch(&directory.join("SKILL.md"), flags).unwrap();
    run();
    let mut opens = 0;
    while let Ok(events) = watch.read_events() {
        let is_open = |mask: AddWatchFlags| mask.contains(AddWatchFlags::IN_OPEN);
        opens += events.iter().filter(|event| is_open(event.mask)).count();
    }
    opens
}

/// Returns how often `SKILL.md` is opened by a successful `skills run` of a skill with these options.
fn opens_of_run(fixture: &Fixture, skill: &str, options: &[&str]) -> usize {
    opens(&fixture.path().join("skills").join(skill), || {
        let run = ["run", skill, "--root", "skills"];
        let done = fixture.run("", &[&run[..], options].concat());
        assert_eq!(done.code, 0, "{options:?} {}", done.page());
    })
}

#[test]
fn no_option_opens_the_skill_of_a_script_again() {
    if skip_without_sandbox() || skip_without_file_events() {
        return;
    }
    let fixture = Fixture::new();
    fixture
        .skill("skills/one", "one")
        .file("skills/one/scripts/main.sh", "echo done\n")
        .skill("skills/other", "other");
    let plain = opens_of_run(&fixture, "one", &[]);
    assert!(plain > 0);
    let counts = [
        &["--hooks"][..],
        &["--disable", "other"],
        &["--disable", "none", "--hooks", "--verbose"],
    ]
    .map(|options| opens_of_run(&fixture, "one", options));
    assert_eq!(counts, [plain; 3]);
    let previewed = opens_of_run(&fixture, "one", &["--dry-run"]);
    assert!(previewed <= plain, "{previewed}");
}

#[test]
fn a_deterministic_run_opens_its_skill_as_often_as_another() {
    if skip_without_file_events() {
        return;
    }
    let fixture = Fixture::new();
    let example = source_tree().join("examples/skills/code-review");
    let directory = fixture.path().join("skills/code-review");
    for file in ["SKILL.md", "wasm/skill.wasm", "references/rules.json"] {
        let copy = directory.join(file);
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(example.join(file), copy).unwrap();
    }
    let input = ["--input", r#"{"code": "fn main() {}", "file": "a.rs"}"#];
    let plain = opens_of_run(&fixture, "code-review", &input);
    let deterministic = [&input[..], &["--deterministic", "7"]].concat();
    assert_eq!(opens_of_run(&fixture, "code-review", &deterministic), plain);
}

#[test]
fn a_question_about_a_virtual_environment_opens_no_skill() {
    if skip_without_sandbox() || skip_without_file_events() {
        return;
    }
    let fixture = crate::program_options::project("import sys\nprint('prefix', sys.prefix)\n");
    let plain = opens_of_run(&fixture, "one", &["--workspace", "work"]);
    for (answer, prefix) in [("", "/usr"), ("y", "work/.venv")] {
        let asked = opens(&fixture.path().join("skills/one"), || {
            let shown = on_terminal(&fixture, answer);
            assert!(
                shown.contains("Run Python scripts") && shown.contains(prefix),
                "{shown}"
            );
        });
        assert_eq!(asked, plain, "{answer}");
    }
}

/// Returns a skill with a script and a hook before it.
fn skill_with_hook(main: &str, hook: &str) -> Fixture {
    let fixture = Fixture::new();
    let document =
        "---\nname: one\ndescription: d\nhooks:\n  PreToolUse: [{command: scripts/hook.sh}]\n---\n";
    fixture
        .file("skills/one/SKILL.md", document)
        .file("skills/one/scripts/main.sh", main)
        .file("skills/one/scripts/hook.sh", hook);
    fixture
}

/// Returns the skill, the program and the decision of each record of a state directory.
fn records(state: &Path) -> Vec<String> {
    let log = std::fs::read_to_string(state.join("skills/audit.jsonl")).unwrap_or_default();
    let events = log.lines().map(|line| {
        let event: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| event[key].as_str().unwrap_or("-").to_owned();
        [text("skill"), text("program"), text("disposition")].join(" ")
    });
    events.collect()
}

#[test]
fn a_run_that_does_not_start_leaves_no_record_and_a_failed_plan_leaves_one() {
    if skip_without_sandbox() {
        return;
    }
    let fixture = skill_with_hook("echo done\n", "exit 2\n");
    let run = |skill: &str, options: &[&str]| {
        let state = tempfile::tempdir().unwrap();
        let run = ["run", skill, "--script", "main.sh", "--root", "skills"];
        let done = fixture.run_with_state("", &[&run[..], options].concat(), state.path());
        (done.code, records(state.path()))
    };
    let hook = "one PreToolUse scripts/hook.sh denied".to_owned();
    assert_eq!(run("one", &["--hooks"]), (125, vec![hook]));
    assert_eq!(run("one", &["--deterministic", "1"]), (125, Vec::new()));
    assert_eq!(run("one", &["--dry-run"]), (0, Vec::new()));
    for options in [&[][..], &["--hooks"], &["--deterministic", "1"]] {
        let (code, records) = run("two", options);
        assert_eq!((code, records), (127, vec!["two - failed".to_owned()]));
    }
    let (code, records) = run("one", &[]);
    let granted = ["one scripts/main.sh started", "one scripts/main.sh granted"];
    assert_eq!((code, records), (0, granted.map(str::to_owned).to_vec()));
}

/// A hook can change the workspace after the run was planned.
#[test]
fn a_file_with_keys_that_a_hook_creates_is_withheld_from_the_run() {
    if skip_without_sandbox() {
        return;
    }
    let fixture = skill_with_hook(
        "cd \"$SKILL_WORKSPACE\"\nread -r early < late.txt && echo \"$early\"\nread -r key < id_rsa && echo \"$key\"\n",
        "echo early > \"$SKILL_WORKSPACE/late.txt\"\necho token > \"$SKILL_WORKSPACE/id_rsa\"\n",
    );
    fixture.file("work/a.txt", "");
    let state = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let common = ["--root", "skills", "--workspace", "work"];
        let arguments = [arguments, &common].concat();
        fixture.run_with_state("", &arguments, state.path())
    };
    let _ = run(&["trust", "one", "--hooks", "--yes"]);
    let done = run(&["run", "one", "--script", "main.sh", "--hooks"]);
    let created = fixture.path().join("work/id_rsa");
    assert!(created.exists(), "{}", done.page());
    assert_eq!(done.stdout, "early\n", "{}", done.page());
    assert_ne!(done.code, 0);
}
