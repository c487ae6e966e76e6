//! The input of `sandbox-exec`.

use insta::assert_snapshot;
use skills_process::ProgramFinder;
use skills_sandbox::{Sandbox, ScriptType, Termination};

use super::{Bench, EXECUTE};

#[tokio::test]
async fn the_command_line() {
    let bench = Bench::new("", EXECUTE);
    let job = bench
        .job(std::time::Duration::from_secs(60))
        .arg("a b")
        .arg("$(id)")
        .arg("--")
        .arg("-D");
    assert_eq!(
        bench.sandbox().run(job).await.unwrap().termination,
        Termination::Exited { code: 0 }
    );
    let shell = ProgramFinder::default()
        .find_interpreter(ScriptType::Shell)
        .unwrap();
    let arguments = bench.record("arguments").replace("\n-D\n", "\n-D ");
    let arguments = arguments
        .replace(&shell.executable.display().to_string(), "[bash]")
        .replace(&shell.argv0.display().to_string(), "[bash]");
    let arguments = arguments
        .replace(&std::process::id().to_string(), "[pid]")
        .replace(&bench.path("").display().to_string(), "[top]/");
    // The number of parent directories depends on the location of temporary files.
    let is_fixed = |line: &&str| !line.starts_with("-D ANCESTOR_");
    let lines: Vec<&str> = arguments
        .lines()
        .filter(is_fixed)
        .map(|line| line.split("/skills-run-").next().unwrap())
        .collect();
    assert_snapshot!(lines.join("\n"));
    assert_eq!(
        bench.record("directory").trim_end(),
        bench.path("skill").display().to_string()
    );
    bench.assert_clean(1);
}

#[tokio::test]
async fn the_profile_is_complete_and_private_to_its_owner() {
    let bench = Bench::new("", EXECUTE);
    let _ = bench.run().await.unwrap();
    let profile = bench.record("profile");
    assert!(
        profile.starts_with("(version 1)\n(deny default)\n(allow sysctl-read)\n")
            && profile.ends_with(")\n"),
        "{profile}"
    );
    assert!(
        !profile.contains(&bench.path("").display().to_string()),
        "a path is in the text"
    );
    assert!(
        bench.record("mode").starts_with("-rw------- "),
        "{}",
        bench.record("mode")
    );
}

/// The test's own environment has `CARGO_MANIFEST_DIR` and much more; none of it arrives.
#[tokio::test]
async fn the_environment_holds_only_what_is_documented() {
    let bench = Bench::new("", EXECUTE);
    let job = bench.job(std::time::Duration::from_secs(60));
    let job = job
        .env("SKILL_ID", "pdf")
        .env("PATH", "/evil")
        .env("PYTHONPATH", "/evil");
    let _ = bench.sandbox().run(job).await.unwrap();
    let environment = bench.record("environment");
    // Those of the shell that runs the stub.
    let is_shells = |line: &&str| {
        ["PWD=", "OLDPWD=", "SHLVL=", "_="]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let environment = environment.replace(&bench.path("").display().to_string(), "[top]/");
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
    let bench = Bench::new(
        "cat; echo kept > \"$TMPDIR/file\"; cat \"$HOME/file\" >&2; exit 3",
        EXECUTE,
    );
    let job = bench
        .job(std::time::Duration::from_secs(60))
        .stdin(br#"{"action":"extract_text"}"#.to_vec());
    let outcome = bench.sandbox().run(job).await.unwrap();
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
    bench.assert_clean(1);
}

#[tokio::test]
async fn unread_input_does_not_block() {
    let bench = Bench::new("exit 0", EXECUTE);
    let job = bench
        .job(std::time::Duration::from_secs(60))
        .stdin(vec![b'x'; 4 << 20]);
    assert_eq!(
        bench.sandbox().run(job).await.unwrap().termination,
        Termination::Exited { code: 0 }
    );
}
