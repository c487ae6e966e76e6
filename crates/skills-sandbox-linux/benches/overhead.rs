//! Measures the cost of a sandboxed run over a plain `posix_spawn`, alternately in the same
//! process: `/bin/true` and Python, at each isolation level, in a small process and in one with 1
//! GiB of memory. Prints medians in milliseconds.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a bench creates its own files and fails by panicking"
)]

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use skills_policy::{Authorization, Policy, Request};
    use skills_process::ProgramFinder;
    use skills_sandbox::{Job, Program, Sandbox, ScriptType};
    use skills_sandbox_linux::{IsolationMode, LinuxSandbox};
    use tokio::runtime::Runtime;

    const ROUNDS: usize = 300;
    /// The time between two measurements, in which the kernel removes the namespaces of the last run.
    const PAUSE: Duration = Duration::from_millis(5);

    pub(super) fn main() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().canonicalize().unwrap();
        // A "shell" that is `/bin/true`, so that only starting and ending a process is measured.
        std::fs::create_dir(directory.join("bin")).unwrap();
        std::os::unix::fs::symlink("/bin/true", directory.join("bin/sh")).unwrap();
        std::fs::write(directory.join("main.sh"), "").unwrap();
        std::fs::write(directory.join("main.py"), "pass\n").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        println!("case                                floor ms   sandbox ms   over ms   over %");
        compare(&runtime, &directory, "true", ScriptType::Shell, ROUNDS);
        compare(
            &runtime,
            &directory,
            "python",
            ScriptType::Python,
            ROUNDS / 5,
        );
        let memory = vec![1u8; 1 << 30];
        compare(
            &runtime,
            &directory,
            "true, 1 GiB",
            ScriptType::Shell,
            ROUNDS,
        );
        assert_eq!(std::hint::black_box(&memory)[4_096], 1);
    }

    fn compare(runtime: &Runtime, directory: &Path, name: &str, kind: ScriptType, rounds: usize) {
        for (level, mode) in [
            ("namespaces", IsolationMode::Namespaces),
            ("landlock", IsolationMode::LandlockOnly),
        ] {
            let program_finder = match kind {
                ScriptType::Shell => ProgramFinder::with_search_path([directory.join("bin")]),
                _ => ProgramFinder::default(),
            };
            let sandbox = LinuxSandbox::new(directory)
                .program_finder(program_finder)
                .isolation_mode(mode);
            let Authorization::Granted(grants) =
                Policy::default().authorize(&Request::new(directory))
            else {
                panic!("granted")
            };
            let script = directory.join(if kind == ScriptType::Shell {
                "main.sh"
            } else {
                "main.py"
            });
            let job = Job::new(grants, Program::script(kind, &script));
            let program = if kind == ScriptType::Shell {
                "/bin/true"
            } else {
                "/usr/bin/python3"
            };
            let mut floor = Vec::new();
            let mut sandboxed = Vec::new();
            for _ in 0..rounds {
                let started = Instant::now();
                let mut command = Command::new(program);
                command
                    .arg(&script)
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped());
                assert!(command.output().unwrap().status.success());
                floor.push(started.elapsed());
                let started = Instant::now();
                assert!(
                    runtime
                        .block_on(sandbox.run(job.clone()))
                        .unwrap()
                        .termination
                        .is_success()
                );
                sandboxed.push(started.elapsed());
                std::thread::sleep(PAUSE);
            }
            let floor = median(floor);
            let sandboxed = median(sandboxed);
            let over = sandboxed.saturating_sub(floor);
            let percent = over.as_secs_f64() / floor.as_secs_f64() * 100.0;
            let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
            println!(
                "{:34} {:9.2} {:12.2} {:9.2} {percent:8.0}",
                format!("{name}, {level}"),
                ms(floor),
                ms(sandboxed),
                ms(over)
            );
        }
    }

    fn median(mut times: Vec<Duration>) -> Duration {
        times.sort();
        times[times.len() / 2]
    }
}
