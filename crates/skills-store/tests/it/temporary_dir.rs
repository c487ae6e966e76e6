//! Temporary directories of dead processes.

use std::fs::{self, DirBuilder};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use skills_store::PrivateDir;

const PARENT: &str = "SKILLS_TEST_SCRATCH_PARENT";
const PREFIX: &str = "skills-test-";

/// The process of the tests below: it creates a scratch directory, prints its path, and waits to be
/// killed. In any other run of the tests it does nothing.
#[test]
fn a_process_that_will_be_killed() {
    let Some(parent) = std::env::var_os(PARENT) else {
        return;
    };
    let scratch = PrivateDir::create(Path::new(&parent), PREFIX).unwrap();
    fs::create_dir_all(scratch.path().join("deep/er")).unwrap();
    fs::write(scratch.path().join("deep/er/file"), "content").unwrap();
    // Bypasses the output capture of tests.
    writeln!(std::io::stderr(), "scratch={}", scratch.path().display()).unwrap();
    std::thread::sleep(Duration::from_secs(600));
}

fn start(parent: &Path) -> (Child, PathBuf) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "temporary_dir::a_process_that_will_be_killed"])
        .env(PARENT, parent);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let path = lines
        .find_map(|line| line.unwrap().strip_prefix("scratch=").map(PathBuf::from))
        .unwrap();
    (child, path)
}

fn is_gone_soon(path: &Path) -> bool {
    let started = Instant::now();
    while path.exists() && started.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    !path.exists()
}

#[test]
fn only_directories_of_dead_processes_are_removed() {
    let parent = tempfile::tempdir().unwrap();
    let parent = parent.path();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("kept"), "").unwrap();
    let (mut killed, left) = start(parent);
    // Before the kill: the next process may remove the directory at any time after it.
    symlink(elsewhere.path(), left.join("deep/link")).unwrap();
    let (mut alive, used) = start(parent);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let planted = parent.join("skills-test-aaaaaaaaaaaa.tmp");
    symlink(elsewhere.path(), &planted).unwrap();
    // Names that are not created here, and a file with one that is.
    let others = [
        "skills-test-writer",
        "skills-test-aaaaaaaaaaaa",
        "skills-test-aaaaaaa-aaaa.tmp",
        "skills-test-bbbbbbbbbbbbb.tmp",
        "skill-presentation.tmp",
    ]
    .map(|name| parent.join(name));
    others
        .iter()
        .for_each(|other| DirBuilder::new().mode(0o700).create(other).unwrap());
    // A name that is created here, with a mode that is not.
    let open = parent.join("skills-test-dddddddddddd.tmp");
    DirBuilder::new().mode(0o755).create(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    let file = parent.join("skills-test-cccccccccccc.tmp");
    fs::write(&file, "").unwrap();

    let own = PrivateDir::create(parent, PREFIX).unwrap();
    assert!(is_gone_soon(&left));
    // Directories are removed one at a time, so what still exists now is kept.
    assert!(own.path().exists() && used.join("deep/er/file").exists());
    assert!(planted.is_symlink() && file.is_file() && elsewhere.path().join("kept").exists());
    assert!(open.is_dir() && others.iter().all(|other| other.is_dir()));
    alive.kill().unwrap();
    alive.wait().unwrap();
    drop(own);
}

#[test]
fn a_sweep_needs_no_directory_of_its_own() {
    let parent = tempfile::tempdir().unwrap();
    let (mut killed, left) = start(parent.path());
    let (mut alive, used) = start(parent.path());
    killed.kill().unwrap();
    killed.wait().unwrap();
    PrivateDir::sweep(parent.path(), PREFIX);
    assert!(is_gone_soon(&left));
    assert!(used.join("deep/er/file").exists());
    alive.kill().unwrap();
    alive.wait().unwrap();
}

/// Processes that start at the same time clean up the same directory and create their own in it.
#[test]
fn many_processes_clean_up_at_once() {
    let parent = tempfile::tempdir().unwrap();
    let mut left = Vec::new();
    for _ in 0..4 {
        let (mut child, path) = start(parent.path());
        child.kill().unwrap();
        child.wait().unwrap();
        left.push(path);
    }
    let started: Vec<(Child, PathBuf)> = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| start(parent.path())))
            .collect();
        starting
            .into_iter()
            .map(|starting| starting.join().unwrap())
            .collect()
    });
    assert!(left.iter().all(|path| is_gone_soon(path)));
    for (mut child, path) in started {
        assert!(path.join("deep/er/file").exists());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
