//! Runs an empty Python script in the sandbox, in `bwrap` with namespaces and mounts alone, and as
//! the floor with a plain spawn.
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
    use std::path::Path;
    use std::process::{Command, Stdio};

    use divan::Bencher;
    use skills_policy::{Authorization, Policy, Request};
    use skills_sandbox::{Job, Program, Sandbox, ScriptType};
    use skills_sandbox_linux::LinuxSandbox;
    use tempfile::TempDir;

    const PYTHON: &str = "/usr/bin/python3";
    const SCRIPT: &str = "main.py";
    /// What `bwrap` restricts: all namespaces, and a file system with the programs of the host.
    const BWRAP: &str = "--unshare-all --die-with-parent --ro-bind /usr /usr --symlink usr/lib /lib \
        --symlink usr/lib64 /lib64 --symlink usr/bin /bin --proc /proc --dev /dev --tmpfs /tmp";

    fn script() -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(SCRIPT), "pass\n").unwrap();
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
            Program::script(ScriptType::Python, directory.path().join(SCRIPT)),
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
    fn bubblewrap(bencher: Bencher<'_, '_>) {
        if !Path::new("/usr/bin/bwrap").exists() {
            eprintln!("skipped bubblewrap: bwrap is not installed (package bubblewrap)");
            return;
        }
        let directory = script();
        bencher.bench_local(|| {
            let mut command = Command::new("/usr/bin/bwrap");
            command.args(BWRAP.split_whitespace()).arg("--ro-bind");
            command
                .args([directory.path(), directory.path()])
                .arg(PYTHON);
            run(command.arg(directory.path().join(SCRIPT)));
        });
    }

    #[divan::bench(sample_count = 200)]
    fn floor(bencher: Bencher<'_, '_>) {
        let directory = script();
        let path = directory.path().join(SCRIPT);
        bencher.bench_local(|| run(Command::new(PYTHON).arg(&path)));
    }

    fn run(command: &mut Command) {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        assert!(command.output().unwrap().status.success());
    }
}
