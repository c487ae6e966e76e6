//! Runs `exit 0` in the sandbox, and as the floor the same shell and script with a plain spawn.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a bench creates its own files and fails by panicking"
)]

fn main() {
    divan::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::process::{Command, Stdio};

    use divan::Bencher;
    use skills_policy::{Authorization, Policy, Request};
    use skills_sandbox::{Job, Program, Sandbox, ScriptType};
    use skills_sandbox_linux::LinuxSandbox;
    use tempfile::TempDir;

    fn script() -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("main.sh"), "exit 0\n").unwrap();
        directory
    }

    #[divan::bench(sample_count = 200)]
    fn sandboxed(bencher: Bencher<'_, '_>) {
        let directory = script();
        let Authorization::Granted(grants) =
            Policy::default().authorize(&Request::new(directory.path()))
        else {
            panic!("granted")
        };
        let job = Job::new(
            grants,
            Program::script(ScriptType::Shell, directory.path().join("main.sh")),
        );
        let sandbox = LinuxSandbox::new(directory.path());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        bencher.bench_local(|| {
            assert!(
                runtime
                    .block_on(sandbox.run(job.clone()))
                    .unwrap()
                    .termination
                    .is_success()
            )
        });
    }

    #[divan::bench(sample_count = 200)]
    fn floor(bencher: Bencher<'_, '_>) {
        let directory = script();
        let path = directory.path().join("main.sh");
        bencher.bench_local(|| {
            let mut command = Command::new("/bin/sh");
            command
                .arg(&path)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            assert!(command.output().unwrap().status.success());
        });
    }
}
