use insta::assert_snapshot;
use skills_policy::{Authorization, Capability, Effect, Policy, Request, Rule, RuleSource};
use skills_sandbox::{
    EnforcementStatus, Job, Program, RefusedOperation, Sandbox, ScriptType, Termination,
};
use skills_sandbox_linux::{IsolationMode, LinuxSandbox};
use skills_test_support::{host, skip};

use crate::control_groups::control_groups;
use crate::skill::{Skill, check_host, skip_without, supported_modes};

#[tokio::test]
async fn input_arguments_and_environment_reach_the_program_unchanged() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let job = skill.job("main.py", "import os, sys\nprint(sys.stdin.read(), sys.argv[1:], os.environ['SKILL_NAME'], os.getcwd())");
        let special = "a 'b' \"c\" $(id) `id` ; \\ \n{}";
        let output = skill
            .run(
                job.arg(special)
                    .env("SKILL_NAME", "pdf")
                    .stdin(b"{\"x\": 1}".to_vec()),
            )
            .await;
        let directory = skill.path("skill").display().to_string();
        assert_eq!(output.stderr.text(), "");
        let text = output.stdout.text().replace(&directory, "SKILL");
        insta::allow_duplicates! { assert_snapshot!(text, @r#"{"x": 1} ['a \'b\' "c" $(id) `id` ; \\ \n{}'] pdf SKILL"#) };
        assert_eq!(output.termination, Termination::Exited { code: 0 });
    }
}

#[tokio::test]
async fn the_environment_is_exactly_the_documented_one() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let script =
            "import os\nfor name in sorted(os.environ): print(name + '=' + os.environ[name])";
        let job = skill
            .job("main.py", script)
            .env("SKILL_ID", "pdf")
            .env("PATH", "/evil")
            .env("HOME", "/evil");
        let text = skill.run(job).await.stdout.text();
        let scratch = skill.path("scratch").display().to_string();
        let processors = std::thread::available_parallelism().unwrap().to_string();
        let text = text.replace(
            &format!("_NUM_THREADS={processors}\n"),
            "_NUM_THREADS=PROCESSORS\n",
        );
        let lines = text.lines().map(|line| {
            line.split_once(&scratch)
                .map_or(line.to_owned(), |(name, _)| format!("{name}SCRATCH"))
        });
        assert_snapshot!(
            format!("environment_{mode:?}"),
            lines.collect::<Vec<_>>().join("\n")
        );
    }
}

/// Runtimes and libraries start as many threads as there are processors.
#[tokio::test]
async fn a_run_sees_the_processors_that_it_may_use() {
    let script = "import os\nprint(len(os.sched_getaffinity(0)), os.environ['OMP_NUM_THREADS'], os.environ['OPENBLAS_NUM_THREADS'])";
    let available = std::thread::available_parallelism().unwrap().get();
    for mode in supported_modes() {
        for (processes, granted) in [(1_024, available.min(512)), (2, 1)] {
            let mut skill = Skill::new(mode);
            skill.limits.processes = processes;
            let output = skill.python(script).await;
            let expected = format!("{granted} {granted} {granted}\n");
            assert_eq!(
                output.stdout.text(),
                expected,
                "{mode:?} {}",
                output.stderr.text()
            );
        }
    }
}

/// Without namespaces the settings of the system are denied instead of absent, which ends git.
#[tokio::test]
async fn git_works_at_both_levels() {
    for mode in supported_modes() {
        let skill = Skill::new(mode).allow("spawn");
        let script = "git init --quiet \"$TMPDIR/r\" && git -C \"$TMPDIR/r\" status --short && echo done $GIT_CONFIG_NOSYSTEM";
        let job = skill.job("main.sh", script);
        let output = skill.run(job).await;
        let expected = if mode == IsolationMode::LandlockOnly {
            "done 1\n"
        } else {
            "done\n"
        };
        assert_eq!(
            output.stdout.text(),
            expected,
            "{mode:?}: {}",
            output.stderr.text()
        );
    }
}

#[tokio::test]
async fn shell_scripts_run_with_shell_builtins() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let script = "read -r line\nwhile [ ${#line} -gt 0 ]; do printf '%s.' \"${line%\"${line#?}\"}\"; line=${line#?}; done\nexit 3\n";
        let output = skill
            .run(skill.job("main.sh", script).stdin(b"abc\n".to_vec()))
            .await;
        assert_eq!(
            (output.stdout.text().as_str(), &output.termination),
            ("a.b.c.", &Termination::Exited { code: 3 })
        );
    }
}

#[tokio::test]
async fn a_crash_is_a_result_with_its_message() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let output = skill.python("print('before')\n1/0").await;
        assert_eq!(output.termination, Termination::Exited { code: 1 });
        assert_eq!(output.stdout.text(), "before\n");
        assert!(
            output
                .stderr
                .text()
                .contains("ZeroDivisionError: division by zero")
        );
        let output = skill.python("import os\nos.abort()").await;
        assert_eq!(output.termination, Termination::Signaled { signal: 6 });
    }
}

#[tokio::test]
async fn scratch_is_private_writable_and_removed_afterwards() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let script = "import os, stat, tempfile\nopen(os.path.join(os.environ['HOME'], 'a'), 'w').write('x')\n\
                  print(oct(stat.S_IMODE(os.stat(os.environ['TMPDIR']).st_mode)), tempfile.mkdtemp().startswith(os.environ['TMPDIR']))";
        let output = skill.python(script).await;
        assert_eq!(output.stderr.text(), "");
        assert_eq!(output.stdout.text(), "0o700 True\n");
        assert_eq!(skill.leftovers(), 0);
    }
}

#[tokio::test]
async fn unusual_scratch_directories_are_removed() {
    for mode in supported_modes() {
        let script = "import os\nos.umask(0)\nhome = os.environ['HOME']\nos.mkdir(home + '/closed', 0)\nos.symlink('/', home + '/root')\n\
                  os.mkdir(home + '/half')\nopen(home + '/half/file', 'w')\nos.mkdir(home + '/half/closed', 0)\nos.chdir(home)\n\
                  for _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\nprint('made')";
        let skill = Skill::new(mode);
        let output = skill.python(script).await;
        // A directory on a disk has a limit of levels, so the script does not finish.
        let is_over_quota = mode == IsolationMode::LandlockOnly
            && matches!(output.termination, Termination::DiskLimit(_));
        assert!(
            is_over_quota || output.stdout.text() == "made\n",
            "{:?} {}",
            output.termination,
            output.stderr.text()
        );
        assert_eq!(skill.leftovers(), 0);
    }
}

#[tokio::test]
async fn a_realtime_signal_is_reported() {
    for mode in supported_modes() {
        let output = Skill::new(mode)
            .python("import os\nprint('before', flush=True)\nos.kill(os.getpid(), 40)")
            .await;
        assert_eq!(
            (output.stdout.text().as_str(), &output.termination),
            ("before\n", &Termination::Signaled { signal: 40 })
        );
    }
}

#[tokio::test]
async fn a_workspace_is_written_only_with_the_grant() {
    for mode in supported_modes() {
        let script = "import os\nopen('../workspace/out.txt', 'w').write('result')\nos.rename('../workspace/out.txt', '../workspace/final.txt')";
        let skill = Skill::new(mode).tool("Read");
        assert!(
            skill
                .python(script)
                .await
                .stderr
                .text()
                .contains("main.py\", line 2")
        );
        let skill = Skill::new(mode).tool("Write");
        assert_eq!(skill.python(script).await.stderr.text(), "");
        assert_eq!(
            std::fs::read_to_string(skill.path("workspace/final.txt")).unwrap(),
            "result"
        );
    }
}

/// Programs nevertheless have their own `/dev/shm`.
#[tokio::test]
async fn a_skill_and_its_workspace_can_be_in_shared_memory() {
    let shared = std::path::Path::new("/dev/shm");
    if tempfile::tempdir_in(shared).is_err() {
        return skip("/dev/shm cannot be written");
    }
    for mode in supported_modes() {
        let skill = Skill::below(shared, mode).tool("Write");
        let script = "import os\nopen('../workspace/out.txt', 'w').write('result')\n\
                  try: open('main.py', 'a')\nexcept OSError: print('read-only')\n\
                  if 'shm' not in os.environ['TMPDIR']:\n    import multiprocessing\n    multiprocessing.Lock()\n\
                  \x20   open('/dev/shm/own', 'w').write('own')\n    print(open('/tmp/own').read())\n    print(len(os.listdir('/dev/shm')))";
        let output = skill.python(script).await;
        assert_eq!(output.stderr.text(), "");
        assert_eq!(
            output.stdout.text(),
            if mode == IsolationMode::Namespaces {
                "read-only\nown\n3\n"
            } else {
                "read-only\n"
            }
        );
        assert_eq!(
            std::fs::read_to_string(skill.path("workspace/out.txt")).unwrap(),
            "result"
        );
        assert!(!shared.join("own").exists());
        // A workspace that is the `/dev/shm` of the host.
        let mut skill = Skill::new(mode).tool("Read");
        let file = tempfile::NamedTempFile::new_in(shared).unwrap();
        std::fs::write(file.path(), "shared").unwrap();
        skill.workspace = Some(shared.to_owned());
        let output = skill
            .python(&format!("print(open({:?}).read())", file.path()))
            .await;
        assert_eq!(
            (output.stdout.text().as_str(), output.stderr.text().as_str()),
            ("shared\n", "")
        );
    }
}

#[tokio::test]
async fn a_single_file_is_written_with_the_grant() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let file = skill.path("workspace").join("out.txt");
        std::fs::write(&file, "").unwrap();
        let request = Request::new(skill.path("skill")).write(&file);
        let decision = Policy::default()
            .allow(RuleSource::Invocation, Capability::Write)
            .authorize(&request);
        let Authorization::Granted(grants) = decision else {
            panic!("{decision:?}")
        };
        let script = skill.path("skill").join("main.py");
        std::fs::write(&script, "open('../workspace/out.txt', 'w').write('result')").unwrap();
        let output = skill
            .run(Job::new(
                grants,
                Program::script(ScriptType::Python, script),
            ))
            .await;
        assert_eq!(output.stderr.text(), "");
        assert_eq!(std::fs::read_to_string(file).unwrap(), "result");
    }
}

#[tokio::test]
async fn ten_megabytes_of_unread_input_do_not_block() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let output = skill
            .run(
                skill
                    .job("main.py", "print('done')")
                    .stdin(vec![b'x'; 10 << 20]),
            )
            .await;
        assert_eq!(
            (
                output.stdout.text().as_str(),
                output.termination.is_success()
            ),
            ("done\n", true)
        );
    }
}

#[tokio::test]
async fn output_is_kept_up_to_its_limit_and_unlimited_output_ends_the_run() {
    for mode in supported_modes() {
        let mut skill = Skill::new(mode);
        skill.limits.captured_bytes = 1_000;
        let output = skill
            .python("import sys\nsys.stdout.write('o' * 5000)\nsys.stderr.write('e' * 10)")
            .await;
        assert_eq!(
            (
                output.stdout.head().len(),
                output.stdout.tail().len(),
                output.stdout.dropped_bytes(),
                output.stderr.text().len()
            ),
            (750, 250, 4_000, 10)
        );
        assert!(output.termination.is_success());
        skill.limits.output_limit_bytes = 1 << 20;
        let output = skill.python("while True: print('x' * 1000)").await;
        assert_eq!(
            output.termination,
            Termination::OutputLimit {
                limit_bytes: 1 << 20
            }
        );
        assert!(output.stdout.is_truncated() && output.stdout.head().len() == 750);
    }
}

#[tokio::test]
async fn limits_of_memory_files_and_descriptors_apply() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let output = skill.python("x = bytearray(400 << 20)").await;
        // A cgroup ends the run, a resource limit fails the allocation.
        let is_over_limit = matches!(output.termination, Termination::MemoryLimit { .. });
        assert!(
            is_over_limit || output.stderr.text().contains("MemoryError"),
            "{}",
            output.stderr.text()
        );
        let limit_bytes = skill.limits.memory_bytes;
        let refused = RefusedOperation::UseMemory { limit_bytes };
        let is_reported = output
            .refusals
            .list()
            .iter()
            .any(|known| known.operation == refused);
        assert_eq!(is_reported, is_over_limit, "{:?}", output.refusals);
        let mut skill = Skill::new(mode);
        skill.limits.file_bytes = 1_000;
        let script = "import os, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n\
                  with open(os.environ['HOME'] + '/big', 'wb') as f:\n    f.write(b'x' * 5000)";
        assert!(
            skill
                .python(script)
                .await
                .stderr
                .text()
                .contains("File too large")
        );
        let output = skill
            .python("import os\nfds = [os.open('/dev/null', os.O_RDONLY) for _ in range(1100)]")
            .await;
        assert!(output.stderr.text().contains("Too many open files"));
    }
}

/// What V8 does for code in the main thread and in a worker.
#[tokio::test]
async fn addresses_that_a_runtime_reserves_for_code_are_not_memory_in_use() {
    let script = "import mmap\n\
                  flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS\n\
                  print(len([mmap.mmap(-1, 512 << 20, flags=flags) for _ in range(2)]))";
    for mode in supported_modes() {
        let output = Skill::new(mode).python(script).await;
        assert_eq!(
            (output.stdout.text().as_str(), output.stderr.text().as_str()),
            ("2\n", ""),
            "{:?}",
            output.termination
        );
    }
}

/// The memory limit of Node must not prevent what scripts do with memory.
#[tokio::test]
async fn node_shares_memory_with_workers_and_runs_webassembly() {
    if let Err(reason) = host::program("node") {
        return skip(reason);
    }
    let script = "const { Worker } = require('worker_threads');\n\
                  const shared = new Int32Array(new SharedArrayBuffer(16 << 20));\n\
                  const memories = Array.from({ length: 8 }, (_, at) => new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: at % 2 == 0 }));\n\
                  memories[1].grow(256);\n\
                  const worker = new Worker(\"const { workerData } = require('worker_threads'); Atomics.store(workerData, 0, 7);\", { eval: true, workerData: shared });\n\
                  worker.on('exit', () => console.log(shared[0], memories.length));";
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let output = skill.run(skill.job("main.js", script)).await;
        assert_eq!(
            (output.stdout.text().as_str(), output.stderr.text().as_str()),
            ("7 8\n", ""),
            "{:?}",
            output.termination
        );
    }
}

#[tokio::test]
async fn the_report_lists_every_restriction() {
    for mode in supported_modes() {
        let skill = Skill::new(mode).tool("Write");
        let report = skill.python("pass").await.enforcement;
        let facts = report
            .fields()
            .iter()
            .map(|fact| format!("{}: {}", fact.name, fact.value));
        let lines: Vec<String> = facts
            .chain(report.restrictions().iter().map(ToString::to_string))
            .collect();
        let (abi, kernel) = (
            report.field_value("landlock-abi").unwrap(),
            report.field_value("kernel").unwrap(),
        );
        let text = lines
            .join("\n")
            .replace(&format!("ABI {abi}"), "ABI N")
            .replace(&format!("abi: {abi}"), "abi: N")
            .replace(kernel, "KERNEL");
        // Whether processes and memory are counted depends on the host and the user.
        let depends = |line: &&str| {
            ["host-user", "processes ", "memory"]
                .iter()
                .any(|name| line.starts_with(name))
        };
        assert_snapshot!(
            format!("report_{mode:?}"),
            text.lines()
                .filter(|line| !depends(line))
                .collect::<Vec<_>>()
                .join("\n")
        );
        assert!(
            report.degraded_reason().is_none_or(
                |reason| mode == IsolationMode::LandlockOnly || reason.contains("/proc")
            ),
            "{report:?}"
        );
    }
}

/// The sandbox and the tests detect independently what the host supports.
#[tokio::test]
async fn the_probe_agrees_with_the_host() {
    for isolation in [
        IsolationMode::BestAvailable,
        IsolationMode::Namespaces,
        IsolationMode::LandlockOnly,
    ] {
        let probed = LinuxSandbox::new("/").isolation_mode(isolation).probe();
        assert_eq!(
            probed.is_ok(),
            check_host(isolation).is_ok(),
            "{isolation:?}: {probed:?}, {:?}",
            check_host(isolation)
        );
    }
}

#[tokio::test]
async fn memory_and_processes_are_counted_where_the_host_has_control_groups() {
    let groups = control_groups();
    for mode in supported_modes() {
        let report = Skill::new(mode)
            .tool("Bash")
            .python("pass")
            .await
            .enforcement;
        let is_enforced = |name: &str| {
            report.restrictions().iter().any(|restriction| {
                restriction.name() == name && restriction.status() == EnforcementStatus::Enforced
            })
        };
        assert_eq!(
            is_enforced("memory"),
            groups.memory,
            "{mode:?} {groups:?} {report:?}"
        );
        // With a user namespace the kernel counts its processes.
        assert_eq!(
            is_enforced("processes"),
            groups.processes || mode == IsolationMode::Namespaces,
            "{mode:?} {groups:?} {report:?}"
        );
    }
}

#[tokio::test]
async fn unenforceable_jobs_are_rejected() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let nul = skill
            .sandbox()
            .run(skill.job("main.py", "").arg("a\0b"))
            .await
            .unwrap_err();
        assert_eq!(
            nul.to_string(),
            "cannot run the job in the linux sandbox: a path, argument or variable contains a NUL byte"
        );
    }
    if !skip_without(IsolationMode::LandlockOnly) {
        let skill = Skill::new(IsolationMode::LandlockOnly).tool("WebFetch");
        let error = skill
            .sandbox()
            .run(skill.job("main.py", ""))
            .await
            .unwrap_err();
        assert_snapshot!(error, @"cannot run the job in the linux sandbox: granted hosts need a network namespace, which needs user namespaces");
    }
}

#[tokio::test]
async fn disabled_sandboxing_is_reported() {
    let skill = Skill::new(IsolationMode::DangerouslyDisabled);
    let output = skill.python("import os\nprint(len(open('/etc/passwd').read()) > 0, 'HOME' in os.environ, len(os.environ) < 20)").await;
    assert_eq!(
        (
            output.stdout.text().as_str(),
            output.termination.is_success()
        ),
        ("True True True\n", true),
        "{}",
        output.stderr.text()
    );
    assert_eq!(output.enforcement.field_value("isolation"), Some("none"));
    assert_eq!(
        output.enforcement.degraded_reason(),
        Some("sandboxing disabled by the embedding host")
    );
    assert!(
        output
            .enforcement
            .restrictions()
            .iter()
            .all(|restriction| restriction.status() != EnforcementStatus::Enforced),
        "{:?}",
        output.enforcement
    );
}

/// The copy that the policy decided on runs, not the current content of the skill. With namespaces
/// it is mounted at the path of the skill, also inside a readable directory.
#[tokio::test]
async fn a_copy_runs_in_place_of_the_skill() {
    for mode in supported_modes() {
        for is_inside_grant in [false, true] {
            check_that_a_copy_runs(mode, is_inside_grant).await;
        }
    }
}

async fn check_that_a_copy_runs(mode: IsolationMode, is_inside_grant: bool) {
    let skill = Skill::new(mode);
    let (live, copy) = (skill.path("skill"), skill.path("copy"));
    std::fs::create_dir(&copy).unwrap();
    let script = "import os, sys\nfrom other import NAME\nprint(NAME, __file__, os.getcwd(), os.environ['SKILL_DIR'], open('data').read())\n";
    for (directory, name) in [(&live, "live"), (&copy, "copy")] {
        std::fs::write(directory.join("main.py"), script).unwrap();
        std::fs::write(directory.join("other.py"), format!("NAME = '{name}'\n")).unwrap();
        std::fs::write(directory.join("data"), name).unwrap();
    }
    let request = Request::new(&live).copy(&copy).limits(skill.limits.clone());
    let request = if is_inside_grant {
        request.read(live.parent().unwrap())
    } else {
        request
    };
    let allow = Rule::parse(Effect::Allow, RuleSource::Invocation, "read").unwrap();
    let Authorization::Granted(grants) = Policy::default().rule(allow).authorize(&request) else {
        panic!("reading is allowed")
    };
    assert_eq!(grants.files().len(), 1 + usize::from(is_inside_grant));
    let job = Job::new(
        grants,
        Program::script(ScriptType::Python, live.join("main.py")),
    );
    let output = skill
        .run(job.env("SKILL_DIR", live.to_string_lossy()))
        .await;
    let expected_path = if mode == IsolationMode::Namespaces {
        &live
    } else {
        &copy
    }
    .display()
    .to_string();
    assert_eq!(
        output.stdout.text(),
        format!("copy {expected_path}/main.py {expected_path} {expected_path} copy\n"),
        "{mode:?}, {is_inside_grant}: {}",
        output.stderr.text()
    );
}

/// Systems install `python3` only, and scripts call `python`.
#[tokio::test]
async fn python_is_found_where_only_python3_is_installed() {
    for mode in supported_modes() {
        for tool in ["Bash", "Bash(python:*)"] {
            let skill = Skill::new(mode).tool(tool);
            let output = skill.run_shell("python -c 'print(1 + 1)'").await;
            assert_eq!(
                output.stdout.text(),
                "2\n",
                "{tool}: {}",
                output.stderr.text()
            );
        }
    }
}

/// Files in a granted directory are for the user, not only for the run.
#[tokio::test]
async fn new_files_have_the_modes_that_the_user_chose() {
    use std::os::unix::fs::PermissionsExt;
    for mode in supported_modes() {
        let skill = Skill::new(mode).tool("Write");
        let file = skill.path("workspace").join("file");
        let job = skill.job("main.py", "import sys\nopen(sys.argv[1], 'w')");
        let output = skill.run(job.arg(file.to_str().unwrap())).await;
        assert_eq!(output.stderr.text(), "");
        let expected = skill.path("workspace").join("expected");
        std::fs::write(&expected, "").unwrap();
        let mode_of = |path: &std::path::Path| path.metadata().unwrap().permissions().mode();
        assert_eq!(mode_of(&file), mode_of(&expected));
    }
}
