//! Guarantees between processes: this test binary starts itself again for one test, with a word and
//! a directory as additional arguments.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::super::{CacheKey, CodeCache};
use super::{Fixture, NOW, PATIENCE, PAYLOAD, key, payload};

const RELEASED: &str = "released";
/// More than the small file system can hold.
const LARGE_BYTES: usize = 8 << 20;

/// This binary, asked to run only the test `name`; the additional argument is a filter that matches
/// no test.
fn again(program: &mut Command, name: &str, word: &str, fixture: &Fixture) -> Child {
    let directory = fixture.cache.directory();
    program.args([
        "--exact",
        "--nocapture",
        "--test-threads=1",
        &format!("code_cache::tests::processes::{name}"),
        word,
    ]);
    program
        .arg(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn this_binary() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

/// The directory, if this process was started with the word.
fn started_with(word: &str) -> Option<PathBuf> {
    let mut arguments = std::env::args().skip_while(|argument| argument != word);
    arguments.nth(1).map(PathBuf::from)
}

/// Waits until the process prints the line, among the output of the harness; returns the rest of
/// its output.
#[must_use]
fn wait_for(line: &str, child: &mut Child) -> BufReader<ChildStdout> {
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let said = output
        .by_ref()
        .lines()
        .map_while(Result::ok)
        .any(|said| said.ends_with(line));
    assert!(said, "the process ended without saying {line}");
    output
}

/// Lets the process end, which must succeed.
fn finish(mut child: Child, mut output: BufReader<ChildStdout>) {
    drop(child.stdin.take());
    output.read_to_end(&mut Vec::new()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Holds the lock until its input ends.
#[test]
fn child_that_holds_the_lock() {
    let Some(directory) = started_with("hold-the-lock") else {
        return eprintln!("nothing to do: this test runs only in a child process");
    };
    let lock = CodeCache::open(&directory)
        .unwrap()
        .lock(&key("one"), NOW, &|| false)
        .unwrap()
        .expect("the lock is free");
    println!("\nheld");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    fs::write(directory.join(RELEASED), "").unwrap();
    drop(lock);
}

fn held(fixture: &Fixture) -> (Child, BufReader<ChildStdout>) {
    let mut child = again(
        &mut this_binary(),
        "child_that_holds_the_lock",
        "hold-the-lock",
        fixture,
    );
    let output = wait_for("held", &mut child);
    (child, output)
}

#[test]
fn another_process_waits_for_the_lock() {
    let fixture = Fixture::new();
    let (child, output) = held(&fixture);
    assert!(
        fixture
            .cache
            .lock(&key("one"), NOW, &|| false)
            .unwrap()
            .is_none()
    );
    assert!(
        fixture
            .cache
            .lock(&key("two"), NOW, &|| false)
            .unwrap()
            .is_some()
    );
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let lock = fixture
                .cache
                .lock(&key("one"), PATIENCE, &|| false)
                .unwrap()
                .expect("the lock is released");
            let released = fixture.cache.directory().join(RELEASED).exists();
            drop(lock);
            released
        });
        finish(child, output);
        assert!(
            waiting.join().unwrap(),
            "the lock came before it was released"
        );
    });
}

#[test]
fn the_lock_of_a_killed_process_is_free() {
    let fixture = Fixture::new();
    let (mut child, _output) = held(&fixture);
    assert!(
        fixture
            .cache
            .lock(&key("one"), NOW, &|| false)
            .unwrap()
            .is_none()
    );
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        fixture
            .cache
            .lock(&key("one"), NOW, &|| false)
            .unwrap()
            .is_some()
    );
    assert_eq!(fixture.names(), [""; 0]);
}

/// Waits for the end of its input, so that all start at once, then stores.
#[test]
fn child_that_stores_concurrently() {
    let Some(directory) = started_with("race-to-store") else {
        return eprintln!("nothing to do: this test runs only in a child process");
    };
    println!("\nready");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    CodeCache::open(directory)
        .unwrap()
        .store(&racer_key(std::process::id()), PAYLOAD)
        .unwrap();
}

fn racer_key(process: u32) -> CacheKey {
    key(&format!("child_that_stores_concurrently {process}"))
}

#[test]
fn concurrent_processes_create_one_key() {
    let fixture = Fixture::new();
    let mut children: Vec<_> = (0..4)
        .map(|_| {
            again(
                &mut this_binary(),
                "child_that_stores_concurrently",
                "race-to-store",
                &fixture,
            )
        })
        .collect();
    let outputs: Vec<_> = children
        .iter_mut()
        .map(|child| wait_for("ready", child))
        .collect();
    children
        .iter_mut()
        .for_each(|child| drop(child.stdin.take()));
    for (child, output) in children.into_iter().zip(outputs) {
        let key = racer_key(child.id());
        finish(child, output);
        assert_eq!(payload(fixture.another().load(&key)), PAYLOAD);
    }
    assert_eq!(fixture.names().len(), 5);
}

/// Stores more than fits.
#[test]
fn child_that_fills_the_disk() {
    let Some(directory) = started_with("fill-the-disk") else {
        return eprintln!("nothing to do: this test runs only in a child process");
    };
    let cache = CodeCache::open(&directory).unwrap();
    cache.store(&key("small"), PAYLOAD).unwrap();
    let error = cache
        .store(&key("large"), &vec![1; LARGE_BYTES])
        .unwrap_err();
    let source = std::error::Error::source(&error)
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .map(std::io::Error::kind);
    assert_eq!(source, Some(std::io::ErrorKind::StorageFull), "{error}");
    assert_eq!(payload(cache.load(&key("small"))), PAYLOAD);
    assert_eq!(
        fs::read_dir(directory).unwrap().count(),
        2,
        "no half file stays"
    );
    println!("\nfilled");
}

#[test]
fn a_full_disk_is_an_error() {
    let fixture = Fixture::new();
    // A file system for that process only, which needs no privileges if users may create
    // namespaces.
    let mount = "mkdir -p \"$0\" && mount -t tmpfs -o size=256k,mode=700 none \"$0\"";
    let small = |script: &str| {
        let mut program = Command::new("unshare");
        program
            .args(["-rm", "sh", "-c", script])
            .arg(fixture.cache.directory());
        program
    };
    if !small(mount)
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return skills_test_support::skip("no small file system can be mounted");
    }
    let mut program = small(&format!("{mount} && exec \"$@\""));
    let mut child = again(
        program.arg(std::env::current_exe().unwrap()),
        "child_that_fills_the_disk",
        "fill-the-disk",
        &fixture,
    );
    let output = wait_for("filled", &mut child);
    finish(child, output);
}
