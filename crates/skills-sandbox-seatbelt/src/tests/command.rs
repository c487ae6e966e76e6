//! The input of `sandbox-exec`.

use insta::assert_snapshot;
use skills_process::ProgramFinder;
use skills_sandbox::{Sandbox, ScriptType, Termination};

use super::{EXECUTE, Fixture};

#[tokio::test]
async fn the_command_line() {
    let fixture = Fixture::new("", EXECUTE);
    let job = fixture
        .job(std::time::Duration::from_secs(60))
        .arg("a b")
        .arg("$(id)")
        .arg("--")
        .arg("-D");
    assert_eq!(
        fixture.sandbox().run(job).await.unwrap().termination,
        Termination::Exited { code: 0 }
    );
    let shell = ProgramFinder::default()
        .find_interpreter(ScriptType::Shell)
        .unwrap();
    let arguments = fixture.record("arguments").replace("\n-D\n", "\n-D ");
    let arguments = arguments
        .replace(&shell.executable.display().to_string(), "[bash]")
        .replace(&shell.argv0.display().to_string(), "[bash]");
    let profile = arguments.lines().nth(1).unwrap().to_owned();
    let arguments = arguments
        .replace(profile.rsplit('-').next().unwrap(), "[random].sb")
        .replace(&fixture.path("").display().to_string(), "[top]/");
    // The number of parent directories depends on the location of temporary files.
    let is_fixed = |line: &&str| !line.starts_with("-D ANCESTOR_");
    let lines: Vec<&str> = arguments
        .lines()
        .filter(is_fixed)
        .map(|line| line.split("/skills-run-").next().unwrap())
        .collect();
    assert_snapshot!(lines.join("\n"));
    assert_eq!(
        fixture.record("directory").trim_end(),
        fixture.path("skill").display().to_string()
    );
    fixture.assert_clean(1);
}

#[tokio::test]
async fn the_profile_is_complete_and_private_to_its_owner() {
    let fixture = Fixture::new("", EXECUTE);
    let _ = fixture.run().await.unwrap();
    let profile = fixture.record("profile");
    assert!(
        profile.starts_with("(version 1)\n(deny default)\n(allow sysctl-read)\n")
            && profile.ends_with(")\n"),
        "{profile}"
    );
    assert!(
        !profile.contains(&fixture.path("").display().to_string()),
        "a path is in the text"
    );
    assert!(
        fixture.record("mode").starts_with("-rw------- "),
        "{}",
        fixture.record("mode")
    );
}

/// The test's own environment has `CARGO_MANIFEST_DIR` and much more; none of it arrives.
#[tokio::test]
async fn the_environment_holds_only_what_is_documented() {
    let fixture = Fixture::new("", EXECUTE);
    let job = fixture.job(std::time::Duration::from_secs(60));
    let job = job
        .env("SKILL_ID", "pdf")
        .env("PATH", "/evil")
        .env("PYTHONPATH", "/evil");
    let _ = fixture.sandbox().run(job).await.unwrap();
    let environment = fixture.record("environment");
    // Those of the shell that runs the stub.
    let is_shells = |line: &&str| {
        ["PWD=", "OLDPWD=", "SHLVL=", "_="]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let environment = environment.replace(&fixture.path("").display().to_string(), "[top]/");
    let processors = std::thread::available_parallelism().unwrap();
    let value = format!("_NUM_THREADS={processors}\n");
    let environment = environment.replace(&value, "_NUM_THREADS=PROCESSORS\n");
    let lines = environment
        .lines()
        .filter(|line| !is_shells(line))
        .map(|line| line.split("/skills-run-").next().unwrap());
    let mut lines: Vec<&str> = lines.collect();
    lines.sort_unstable();
    assert_snapshot!(lines.join("\n"));
}

#[tokio::test]
async fn the_script_reads_its_input_and_writes_to_its_scratch_directory() {
    let fixture = Fixture::new(
        "cat; echo kept > \"$TMPDIR/file\"; cat \"$HOME/file\" >&2; exit 3",
        EXECUTE,
    );
    let job = fixture
        .job(std::time::Duration::from_secs(60))
        .stdin(br#"{"action":"extract_text"}"#.to_vec());
    let outcome = fixture.sandbox().run(job).await.unwrap();
    assert_eq!(
        (outcome.termination, outcome.stdout.text().as_str()),
        (
            Termination::Exited { code: 3 },
            r#"{"action":"extract_text"}"#
        )
    );
    assert_eq!(outcome.stderr.text(), "kept\n");
    // The number of paths depends on the location of temporary files.
    let layers = outcome
        .enforcement
        .restrictions()
        .iter()
        .filter(|layer| layer.name() != "profile")
        .map(ToString::to_string);
    assert_snapshot!(layers.collect::<Vec<_>>().join("\n"));
    fixture.assert_clean(1);
}

#[tokio::test]
async fn unread_input_does_not_block() {
    let fixture = Fixture::new("exit 0", EXECUTE);
    let job = fixture
        .job(std::time::Duration::from_secs(60))
        .stdin(vec![b'x'; 4 << 20]);
    assert_eq!(
        fixture.sandbox().run(job).await.unwrap().termination,
        Termination::Exited { code: 0 }
    );
}
