//! The approved content runs, even when the skill directory changes in between.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use skills_runtime::policy::{AnswerFuture, Question};
use skills_runtime::{Answer, Approver, ExecutionOptions, SandboxChoice};
use skills_sandbox::{Job, Program};

use crate::fixture::Fixture;

/// Approves for the session and counts its requests.
#[derive(Default)]
struct CountingApprover(AtomicUsize);

impl Approver for CountingApprover {
    fn ask<'a>(&'a self, _: &'a Question) -> AnswerFuture<'a> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Ok(Some(Answer::AllowSession))))
    }
}

/// Reads the script of a job at the path that the backend uses.
fn script(job: &Job) -> String {
    let Program::Script { path, .. } = job.program() else {
        unreachable!("the skill has a script")
    };
    fs::read_to_string(job.grants().locate(path)).unwrap()
}

/// A skill that requests to spawn programs, and the script of each run.
fn deploying() -> (Fixture, Arc<Mutex<Vec<String>>>) {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "allowed-tools: Bash\n")
        .file("deploy/scripts/run.sh", "echo good");
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let (noted, live) = (Arc::clone(&seen), fixture.path("deploy/scripts/run.sh"));
    *fixture.sandbox.act.lock().unwrap() = Some(Box::new(move |job| {
        // Another user changes the skill just before the program starts.
        if noted.lock().unwrap().is_empty() {
            fs::write(&live, "echo evil").unwrap();
        }
        noted.lock().unwrap().push(script(job));
    }));
    (fixture, seen)
}

#[tokio::test]
async fn content_that_changes_at_program_start_does_not_run() {
    let (fixture, seen) = deploying();
    let approver = Arc::new(CountingApprover::default());
    let runtime = fixture.recording().approver(approver.clone()).build();
    assert!(
        runtime
            .execute_skill("deploy", ExecutionOptions::default())
            .await
            .unwrap()
            .exit_status
            .is_success()
    );
    assert_eq!(*seen.lock().unwrap(), ["echo good"]);
    // The other content needs its own approval.
    assert!(
        runtime
            .execute_skill("deploy", ExecutionOptions::default())
            .await
            .unwrap()
            .exit_status
            .is_success()
    );
    assert_eq!(
        (
            seen.lock().unwrap()[1].as_str(),
            approver.0.load(Ordering::SeqCst)
        ),
        ("echo evil", 2)
    );
}

/// Large skills are copied to the disk, and so are all skills without a directory in memory.
#[tokio::test]
async fn small_copies_are_in_the_directory_in_memory() {
    let fixture = Fixture::new();
    let large = "#".repeat((1 << 20) + 1);
    fixture
        .skill("small", "allowed-tools: Bash\n")
        .file("small/scripts/run.sh", "echo small")
        .skill("large", "allowed-tools: Bash\n")
        .file("large/scripts/run.sh", &large);
    for directory in ["scratch", "memory"] {
        std::fs::create_dir(fixture.path(directory)).unwrap();
    }
    for memory in ["memory", "missing"] {
        let runtime = fixture
            .recording()
            .scratch_directory(fixture.path("scratch"))
            .memory_directory(fixture.path(memory))
            .container_sandbox(fixture.sandbox.clone())
            .approver(Arc::new(CountingApprover::default()))
            .build();
        let mut copies = Vec::new();
        for skill in ["small", "large"] {
            let options = ExecutionOptions::default();
            let _ = runtime.execute_skill(skill, options).await.unwrap();
            let job = fixture.sandbox.jobs().pop().unwrap();
            copies.push(job.grants().files()[0].location().to_owned());
        }
        // Containers do not see the directory, also if the copy exists.
        let options = ExecutionOptions {
            sandbox: SandboxChoice::Container,
            ..ExecutionOptions::default()
        };
        let _ = runtime.execute_skill("small", options).await.unwrap();
        let job = fixture.sandbox.jobs().pop().unwrap();
        let location = job.grants().files()[0].location().to_owned();
        assert!(
            location.starts_with(fixture.path("scratch")),
            "{location:?}"
        );
        let small = if memory == "memory" {
            memory
        } else {
            "scratch"
        };
        assert!(copies[0].starts_with(fixture.path(small)), "{copies:?}");
        assert!(copies[1].starts_with(fixture.path("scratch")), "{copies:?}");
        drop(runtime);
        // Incomplete copies are removed too.
        for directory in ["scratch", "memory"] {
            let left = std::fs::read_dir(fixture.path(directory)).unwrap().count();
            assert_eq!(left, 0, "{directory}");
        }
    }
}

/// There is one copy per digest. It is private to the user and removed with the runtime.
#[tokio::test]
async fn one_private_copy_is_shared_by_all_runs_of_a_content() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "allowed-tools: Bash\n")
        .file("deploy/scripts/run.sh", "echo good")
        .file("deploy/empty/.keep", "");
    std::os::unix::fs::symlink("../SKILL.md", fixture.path("deploy/scripts/link")).unwrap();
    std::fs::create_dir(fixture.path("scratch")).unwrap();
    let runtime = fixture
        .recording()
        .scratch_directory(fixture.path("scratch"))
        .approver(Arc::new(CountingApprover::default()))
        .build();
    for _ in 0..3 {
        let _ = runtime
            .execute_skill("deploy", ExecutionOptions::default())
            .await
            .unwrap();
    }
    let jobs = fixture.sandbox.jobs();
    let copies: Vec<_> = jobs
        .iter()
        .map(|job| job.grants().files()[0].location().to_owned())
        .collect();
    assert!(
        copies
            .iter()
            .all(|copy| *copy == copies[0] && copy.starts_with(fixture.path("scratch"))),
        "{copies:?}"
    );
    assert_eq!(jobs[0].grants().files()[0].path(), fixture.path("deploy"));
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&copies[0].metadata().unwrap().permissions())
            & 0o777,
        0o700
    );
    assert_eq!(
        fs::read_link(copies[0].join("scripts/link"))
            .unwrap()
            .to_str(),
        Some("../SKILL.md")
    );
    let modified = |path: std::path::PathBuf| path.metadata().unwrap().modified().unwrap();
    assert_eq!(
        modified(copies[0].join("SKILL.md")),
        modified(fixture.path("deploy/SKILL.md"))
    );
    // A backend that cannot mount the copy at the path of the skill runs it at its own path.
    let Program::Script { path, .. } = jobs[0].clone().with_real_paths().program().clone() else {
        unreachable!("the skill has a script")
    };
    assert_eq!(path, copies[0].join("scripts/run.sh"));
    drop(runtime);
    assert_eq!(fs::read_dir(fixture.path("scratch")).unwrap().count(), 0);
}

/// A dirty page of a shared mapping can be changed without updating the file's timestamps.
#[tokio::test]
#[expect(unsafe_code, reason = "the test needs a shared mapping")]
async fn content_changed_through_a_mapping_does_not_run_without_approval() {
    let fixture = Fixture::new();
    fixture
        .skill("deploy", "allowed-tools: Bash\n")
        .file("deploy/scripts/run.sh", "echo good");
    let path = fixture.path("deploy/scripts/run.sh");
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&seen);
    *fixture.sandbox.act.lock().unwrap() =
        Some(Box::new(move |job| noted.lock().unwrap().push(script(job))));
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    // SAFETY: a new mapping of a file of nine bytes, of which five are written below, and which is
    // never used after the file is gone.
    let mapped = unsafe {
        let (length, protection) = (9, libc::PROT_READ | libc::PROT_WRITE);
        libc::mmap(
            std::ptr::null_mut(),
            length,
            protection,
            libc::MAP_SHARED,
            std::os::fd::AsRawFd::as_raw_fd(&file),
            0,
        )
    };
    assert_ne!(mapped, libc::MAP_FAILED);
    // SAFETY: the mapping is nine bytes long.
    let write = |text: &[u8; 4]| unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), mapped.cast::<u8>().add(5), 4)
    };
    write(b"good");
    // Long enough for the digest of the file to be cached.
    std::thread::sleep(std::time::Duration::from_millis(120));
    let approver = Arc::new(CountingApprover::default());
    let runtime = fixture.recording().approver(approver.clone()).build();
    for _ in 0..3 {
        let _ = runtime
            .execute_skill("deploy", ExecutionOptions::default())
            .await
            .unwrap();
        write(b"evil");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "echo evil");
    // The kernel updates the timestamps if it writes the page to the disk meanwhile. Then the change
    // is noticed, and takes an approval of its own.
    let seen = seen.lock().unwrap();
    let contents: BTreeSet<&String> = seen.iter().collect();
    assert_eq!((seen.len(), seen[0].as_str()), (3, "echo good"));
    assert_eq!(contents.len(), approver.0.load(Ordering::SeqCst));
}

/// A skill without requests and without an audit log, which would run without a copy otherwise.
#[tokio::test]
async fn a_locked_skill_that_changed_since_the_scan_does_not_run() {
    let fixture = Fixture::new();
    fixture
        .skill("greet", "")
        .file("greet/scripts/run.sh", "echo good");
    let files = skills_discovery::SkillFiles::open_directory(&fixture.path("greet")).unwrap();
    let digest = files.digest(&mut Default::default()).unwrap();
    fixture.file(
        "skills.lock",
        format!("version = 1\n[[skill]]\nname = \"greet\"\ncontent = \"{digest}\"\nsource = \"./x\"\nfiles = 1\nbytes = 1\nsigner = \"unsigned\"\n"),
    );
    let runtime = fixture.recording().build();
    let run = || runtime.execute_skill("greet", ExecutionOptions::default());
    assert!(run().await.unwrap().exit_status.is_success());
    assert_eq!(fixture.sandbox.jobs().len(), 1);

    fixture.file("greet/scripts/run.sh", "echo evil");
    let error = run().await.unwrap_err();
    assert_eq!(error.kind().code(), "changed", "{error}");
    assert!(error.to_string().ends_with("nothing ran"), "{error}");
    assert_eq!(fixture.sandbox.jobs().len(), 1);
}
