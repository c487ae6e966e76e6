//! Compiled code on disk that was modified.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use skills_policy::{Authorization, Grants, Policy, Request, ResourceLimits};
use skills_sandbox::{Job, Program, RunOutput, Sandbox, SandboxErrorKind, Termination};
use skills_sandbox_wasm::{CodeCache, WasmProfile, WasmSandbox};
use tempfile::TempDir;

use super::fixture::Generation;
use super::programs;

const CACHED: &str = "from the cache";

/// A cache with one program in it.
struct CacheFixture {
    directory: TempDir,
    program: Arc<[u8]>,
}

impl CacheFixture {
    async fn filled(generation: Generation) -> Self {
        Self::filled_with(programs::nothing(generation)).await
    }

    async fn filled_with(program: Vec<u8>) -> Self {
        let cached = Self {
            directory: tempfile::tempdir().unwrap(),
            program: program.into(),
        };
        assert!(
            cached
                .code(WasmProfile::Fast)
                .await
                .starts_with("compiled in ")
        );
        cached
    }

    fn cache(&self) -> PathBuf {
        self.directory.path().join("cache")
    }

    /// Creates the state of a new process: nothing in memory, the cache on disk.
    fn sandbox(&self, profile: WasmProfile) -> WasmSandbox {
        sandbox(&self.cache(), self.directory.path(), profile)
    }

    /// Runs the program in a new sandbox and returns where its code came from.
    async fn code(&self, profile: WasmProfile) -> String {
        origin(&self.run(profile).await)
    }

    async fn run(&self, profile: WasmProfile) -> RunOutput {
        let outcome = self
            .sandbox(profile)
            .run(Job::new(
                Grants::none(),
                Program::Wasm(Arc::clone(&self.program)),
            ))
            .await
            .unwrap();
        assert_eq!(outcome.termination, Termination::Exited { code: 0 });
        outcome
    }

    /// Returns the files with compiled code.
    fn artifacts(&self) -> Vec<PathBuf> {
        let paths = std::fs::read_dir(self.cache())
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let mut paths: Vec<PathBuf> = paths
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "artifact")
            })
            .collect();
        paths.sort();
        paths
    }

    fn artifact(&self) -> PathBuf {
        let [artifact] = self.artifacts().try_into().unwrap();
        artifact
    }

    /// Checks that the entry in the cache is not used, and that it was replaced afterwards.
    async fn recovers(&self, what: &str) {
        let outcome = self.run(WasmProfile::Fast).await;
        assert!(
            origin(&outcome).starts_with("compiled in "),
            "{what}: {outcome:?}"
        );
        let is_told = outcome
            .enforcement
            .restrictions()
            .iter()
            .any(|layer| layer.name() == "code-cache" && layer.detail().contains("deleted"));
        assert_eq!(is_told, what != "removed", "{what}: {outcome:?}");
        assert_eq!(
            self.code(WasmProfile::Fast).await,
            CACHED,
            "{what}: not put back"
        );
    }
}

fn sandbox(cache: &Path, scratch: &Path, profile: WasmProfile) -> WasmSandbox {
    WasmSandbox::new(scratch)
        .profile(profile)
        .code_cache(CodeCache::open(cache).unwrap())
}

fn origin(outcome: &RunOutput) -> String {
    outcome.enforcement.field_value("code").unwrap().to_owned()
}

/// A module is found by its own bytes, before it is converted to a component.
#[tokio::test]
async fn case_32_the_code_of_a_module_is_found_and_replaced() {
    let module = |start: &str| {
        let exports = format!(r#"(memory (export "memory") 1) (func (export "_start") {start})"#);
        programs::compile(&format!("(module {exports})"))
    };
    let cached = CacheFixture::filled_with(module("")).await;
    assert_eq!(cached.code(WasmProfile::Fast).await, CACHED);
    let mut damaged = std::fs::read(cached.artifact()).unwrap();
    damaged.pop();
    std::fs::write(cached.artifact(), damaged).unwrap();
    cached.recovers("one less").await;
    let other = CacheFixture {
        program: module("nop").into(),
        ..cached
    };
    let code = other.code(WasmProfile::Fast).await;
    assert!(code.starts_with("compiled in "), "{code}");
    assert_eq!(other.artifacts().len(), 2);
}

#[tokio::test]
async fn case_32_damaged_code_is_compiled_again() {
    for &generation in Generation::ALL {
        let cached = CacheFixture::filled(generation).await;
        assert_eq!(cached.code(WasmProfile::Fast).await, CACHED);
        let good = std::fs::read(cached.artifact()).unwrap();
        let noise: Vec<u8> = (0..good.len()).map(|at| (at * 31 % 251) as u8).collect();
        let longer = [good.as_slice(), b"more"].concat();
        for (what, bytes) in [
            ("empty", &[][..]),
            ("half", &good[..good.len() / 2]),
            ("one less", &good[..good.len() - 1]),
            ("noise", &noise),
            ("more", &longer),
        ] {
            std::fs::write(cached.artifact(), bytes).unwrap();
            cached.recovers(what).await;
        }
        std::fs::remove_file(cached.artifact()).unwrap();
        cached.recovers("removed").await;
    }
}

#[tokio::test]
async fn case_33_code_with_one_changed_bit_never_runs() {
    let cached = CacheFixture::filled(Generation::P2).await;
    let good = std::fs::read(cached.artifact()).unwrap();
    for at in (0..good.len())
        .step_by(good.len() / 60)
        .chain([good.len() - 1])
    {
        let mut changed = good.clone();
        changed[at] ^= 1 << (at % 8);
        std::fs::write(cached.artifact(), changed).unwrap();
        let code = cached.code(WasmProfile::Fast).await;
        assert!(code.starts_with("compiled in "), "byte {at}: {code}");
    }
}

/// Code with a valid MAC for another key.
#[tokio::test]
async fn case_34_code_for_another_engine_is_not_used() {
    let cached = CacheFixture::filled(Generation::P2).await;
    let counted = WasmProfile::Deterministic { seed: 1 };
    assert!(cached.code(counted).await.starts_with("compiled in "));
    let [one, two]: [PathBuf; 2] = cached.artifacts().try_into().unwrap();
    let (first, second) = (std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
    std::fs::write(&one, second).unwrap();
    std::fs::write(&two, first).unwrap();
    for profile in [WasmProfile::Fast, counted] {
        let code = cached.code(profile).await;
        assert!(code.starts_with("compiled in "), "{profile:?}: {code}");
        assert_eq!(cached.code(profile).await, CACHED, "{profile:?}");
    }
}

#[tokio::test]
async fn case_35_truncating_a_file_does_not_affect_running_code() {
    let mut cached = CacheFixture::filled(Generation::P2).await;
    cached.program = programs::endless(Generation::P2).into();
    let mut limits = ResourceLimits::default();
    limits.wall_time = Duration::from_secs(3);
    let job = || {
        Job::new(
            grants(&cached.directory.path().join("skill"), None, &limits),
            Program::Wasm(Arc::clone(&cached.program)),
        )
    };
    std::fs::create_dir(cached.directory.path().join("skill")).unwrap();
    // Stores it in the cache; a second sandbox loads it from there.
    assert_eq!(
        cached
            .sandbox(WasmProfile::Fast)
            .run(job())
            .await
            .unwrap()
            .termination,
        Termination::TimedOut { limit_ms: 3_000 }
    );
    let sandbox = cached.sandbox(WasmProfile::Fast);
    let nothing = || {
        Job::new(
            Grants::none(),
            Program::Wasm(programs::nothing(Generation::P2).into()),
        )
    };
    let cut = async {
        // The endless one is running since this one got a slot.
        assert!(
            sandbox
                .run(nothing())
                .await
                .unwrap()
                .termination
                .is_success()
        );
        for artifact in cached.artifacts() {
            std::fs::write(artifact, b"cut").unwrap();
        }
        assert!(
            sandbox
                .run(nothing())
                .await
                .unwrap()
                .termination
                .is_success()
        );
    };
    let (outcome, ()) = tokio::join!(sandbox.run(job()), cut);
    let outcome = outcome.unwrap();
    assert_eq!(
        (outcome.termination.clone(), origin(&outcome).as_str()),
        (Termination::TimedOut { limit_ms: 3_000 }, CACHED)
    );
}

fn grants(skill: &Path, workspace: Option<&Path>, limits: &ResourceLimits) -> Grants {
    let mut request = Request::new(skill)
        .limits(limits.clone())
        .allowed_tool("Read", None);
    if let Some(workspace) = workspace {
        request = request.workspace(workspace);
    }
    let Authorization::Granted(grants) = Policy::default().authorize(&request) else {
        panic!("granted")
    };
    grants
}

#[tokio::test]
async fn case_35_no_program_is_granted_the_cache() {
    let cached = CacheFixture::filled(Generation::P2).await;
    let skill = tempfile::tempdir().unwrap();
    for workspace in [cached.cache(), cached.directory.path().to_owned()] {
        let grants = grants(skill.path(), Some(&workspace), &ResourceLimits::default());
        let refused = cached
            .sandbox(WasmProfile::Fast)
            .run(Job::new(grants, Program::Wasm(Arc::clone(&cached.program))))
            .await;
        assert_eq!(
            refused.unwrap_err().kind(),
            SandboxErrorKind::Rejected,
            "{}",
            workspace.display()
        );
    }
}

/// How many processes need the same program at the same time.
const PROCESSES: usize = 3;

#[test]
fn case_43_several_processes_compile_a_program_once() {
    let directory = tempfile::tempdir().unwrap();
    let start = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "cases::artifacts::another_process",
                "--exact",
                "--nocapture",
            ])
            .arg(directory.path());
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let processes: Vec<_> = (0..PROCESSES).map(|_| start()).collect();
    let output: Vec<String> = processes
        .into_iter()
        .map(|process| String::from_utf8(process.wait_with_output().unwrap().stdout).unwrap())
        .collect();
    let having = |word: &str| output.iter().filter(|text| text.contains(word)).count();
    assert_eq!(
        (
            having("code: compiled in "),
            having(&format!("code: {CACHED}"))
        ),
        (1, PROCESSES - 1),
        "{output:#?}"
    );
}

/// Runs the guest with the cache in the directory that is the last argument.
#[tokio::test]
async fn another_process() {
    let directory = PathBuf::from(std::env::args_os().next_back().unwrap());
    if !directory.is_absolute() || !directory.is_dir() {
        eprintln!("nothing to do: this test runs only as a process of case 43");
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let job = Job::new(Grants::none(), Program::Wasm(Generation::P2.guest())).arg("input");
    let outcome = sandbox(&directory.join("cache"), scratch.path(), WasmProfile::Fast)
        .run(job)
        .await
        .unwrap();
    assert_eq!(outcome.stdout.text(), "ok: 0 bytes\n");
    println!("code: {}", origin(&outcome));
}
