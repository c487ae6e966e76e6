//! Free programs, whatever their arguments say.

use std::fs;
use std::os::unix::fs::symlink;

use skills_policy::{Authorization, Permission, Policy, Request, RuleSource, Target};
use skills_sandbox::{Job, Program, RunOutput};

use crate::skill::{Skill, supported_modes};

const CANARY: &str = "canary-7d20";
/// Files that an attack would create.
const MADE: &str = "made";

/// A workspace with files to sort, a key, a link to the outside and names that look like options.
fn workspace(skill: &Skill) {
    let workspace = skill.path("workspace");
    fs::write(workspace.join("a.txt"), "b\na\n").unwrap();
    fs::write(workspace.join("-exec"), "x\n").unwrap();
    fs::write(workspace.join("line\nbreak"), "x\n").unwrap();
    fs::write(
        workspace.join("pre.sh"),
        format!("#!/bin/sh\necho {MADE} > {MADE}\n"),
    )
    .unwrap();
    fs::write(workspace.join(".env"), CANARY).unwrap();
    let outside = skill.path("scratch").join("outside");
    fs::write(&outside, CANARY).unwrap();
    symlink(&outside, workspace.join("link")).unwrap();
}

/// Runs a confined program, as one that a caller wrote without a rule.
async fn run(skill: &Skill, words: &[&str]) -> RunOutput {
    let workspace = skill.path("workspace");
    let request = Request::for_host_command(&workspace)
        .ad_hoc("words")
        .spawn(words[0])
        .limits(skill.limits.clone())
        .confine();
    // A rule that allows writing and another program, which a confined one gets nevertheless not.
    let rules = Policy::default()
        .allow(RuleSource::User, skills_policy::Capability::Write)
        .allow(RuleSource::User, Target::program("id").unwrap());
    assert!(
        request
            .permissions()
            .contains(&Permission::Program(words[0].to_owned()))
    );
    let Authorization::Granted(grants) = rules.authorize(&request) else {
        panic!("{words:?} is not free")
    };
    let job = Job::new(grants, Program::command(words[0]));
    skill
        .run(words[1..].iter().fold(job, |job, word| job.arg(*word)))
        .await
}

#[tokio::test]
async fn free_programs_do_their_work() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        workspace(&skill);
        for (words, expected) in [
            (&["sort", "a.txt"][..], "a\nb\n"),
            (&["sed", "-n", "1p", "a.txt"], "b\n"),
            (&["awk", "{print $1 $1}", "a.txt"], "bb\naa\n"),
            (&["find", ".", "-name", "a.*"], "./a.txt\n"),
            (&["uniq", "a.txt"], "b\na\n"),
            (&["seq", "2"], "1\n2\n"),
            (&["test", "-f", "a.txt"], ""),
            (&["tr", "a", "b"], ""),
            (&["date", "-u", "-d", "@0", "+%Y"], "1970\n"),
            (&["which", "ls"], "ls\n"),
        ] {
            let output = run(&skill, words).await;
            assert!(
                output.termination.is_success() && output.stdout.text().ends_with(expected),
                "{words:?} {:?} {} {}",
                output.termination,
                output.stdout.text(),
                output.stderr.text()
            );
        }
    }
}

#[tokio::test]
async fn free_programs_start_nothing_write_nothing_and_read_no_keys() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        workspace(&skill);
        let mut attacks: Vec<&[&str]> = vec![
            &["find", ".", "-exec", "id", ";"],
            &[
                "find", "a.txt", "-exec", "find", "a.txt", "-printf", "uid=", ";",
            ],
            &["find", ".", "-execdir", "/bin/sh", "-c", "id", ";"],
            &[
                "find",
                "a.txt",
                "-exec",
                "/lib64/ld-linux-x86-64.so.2",
                "/usr/bin/id",
                ";",
            ],
            &["find", ".", "-name", "a.txt", "-delete"],
            &["find", ".", "-fprint", MADE],
            &["sed", "-i", "s/a/b/", "a.txt"],
            &["sed", "1e id", "a.txt"],
            &["sed", "s/.*/id/e", "a.txt"],
            &["sed", "w made", "a.txt"],
            &["awk", "BEGIN{system(\"id\")}"],
            &["awk", "BEGIN{\"id\" | getline x; print x}"],
            &["awk", "BEGIN{print 1 > \"made\"}"],
            &["awk", "BEGIN{print 1 | \"cat > made\"}"],
            &["sort", "-o", MADE, "a.txt"],
            &["sort", "--outp=made", "a.txt"],
            &["sort", "-S", "1b", "--compress-program=id", "a.txt"],
            &["uniq", "a.txt", MADE],
            &["file", "-C", "-m", "a.txt"],
            &["cat", ".env", "link"],
            &["sort", ".env", "link"],
            &["sed", "", ".env", "link"],
            &["awk", "1", ".env", "link"],
            &[
                "find", ".", "-name", ".env", "-newer", "a.txt", "-exec", "cat", ".env", ";",
            ],
            &[
                "awk",
                "BEGIN{for (name in ENVIRON) print name ENVIRON[name]}",
            ],
        ];
        if fs::exists("/usr/bin/rg").unwrap() {
            attacks.push(&["rg", "--pre", "./pre.sh", "x", "a.txt"]);
            attacks.push(&["rg", "--pre", "/bin/sh", "x", "pre.sh"]);
            attacks.push(&["rg", "-uuu", CANARY]);
        }
        if fs::exists("/usr/bin/jq").unwrap() {
            attacks.push(&["jq", "-n", "env | keys"]);
            attacks.push(&["jq", "-Rn", "input", ".env"]);
        }
        for words in attacks {
            let output = run(&skill, words).await;
            let printed = format!("{}{}", output.stdout.text(), output.stderr.text());
            for leaked in ["uid=", CANARY, "SKILLS_TEST", "CARGO"] {
                assert!(!printed.contains(leaked), "{mode:?} {words:?}: {printed}");
            }
            let workspace = skill.path("workspace");
            assert!(
                !workspace.join(MADE).exists(),
                "{mode:?} {words:?}: {printed}"
            );
            let text = fs::read_to_string(workspace.join("a.txt")).unwrap_or_default();
            assert_eq!(text, "b\na\n", "{mode:?} {words:?}: {printed}");
        }
    }
}
