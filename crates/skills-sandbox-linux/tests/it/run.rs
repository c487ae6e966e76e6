use insta::assert_snapshot;
use skills_sandbox::{Ending, Sandbox};

use crate::skill::{Skill, lacks_landlock};

#[tokio::test]
async fn input_arguments_and_environment_reach_the_program_unchanged() {
    if lacks_landlock(3) {
        return;
    }
    let skill = Skill::new();
    let job = skill.job("main.py", "import os, sys\nprint(sys.stdin.read(), sys.argv[1:], os.environ['SKILL_NAME'], os.getcwd())");
    let odd = "a 'b' \"c\" $(id) `id` ; \\ \n{}";
    let outcome = skill.run(job.argument(odd).environment("SKILL_NAME", "pdf").input(b"{\"x\": 1}".to_vec())).await;
    let directory = skill.path("skill").display().to_string();
    assert_eq!(outcome.stderr.text(), "");
    assert_snapshot!(outcome.stdout.text().replace(&directory, "SKILL"), @r#"{"x": 1} ['a \'b\' "c" $(id) `id` ; \\ \n{}'] pdf SKILL"#);
    assert_eq!(outcome.ending, Ending::Exited { code: 0 });
}

#[tokio::test]
async fn the_environment_is_exactly_the_documented_one() {
    if lacks_landlock(3) {
        return;
    }
    let skill = Skill::new();
    let script = "import os\nfor name in sorted(os.environ): print(name + '=' + os.environ[name])";
    let job = skill.job("main.py", script).environment("SKILL_ID", "pdf").environment("PATH", "/evil").environment("HOME", "/evil");
    let outcome = skill.run(job).await;
    let scratch = skill.path("scratch").display().to_string();
    let text = outcome.stdout.text();
    let text = text.lines().map(|line| line.split_once(&scratch).map_or(line.to_owned(), |(name, _)| format!("{name}SCRATCH")));
    assert_snapshot!(text.collect::<Vec<_>>().join("\n"), @"
    HOME=SCRATCH
    LANG=C.UTF-8
    PATH=/usr/bin:/bin:/usr/local/bin
    PYTHONDONTWRITEBYTECODE=1
    PYTHONNOUSERSITE=1
    SKILL_ID=pdf
    TMPDIR=SCRATCH
    ");
}

#[tokio::test]
async fn shell_scripts_run_with_what_the_shell_has_built_in() {
    if lacks_landlock(3) {
        return;
    }
    let skill = Skill::new();
    let script = "read -r line\nwhile [ ${#line} -gt 0 ]; do printf '%s.' \"${line%\"${line#?}\"}\"; line=${line#?}; done\nexit 3\n";
    let outcome = skill.run(skill.job("main.sh", script).input(b"abc\n".to_vec())).await;
    assert_eq!((outcome.stdout.text().as_str(), &outcome.ending), ("a.b.c.", &Ending::Exited { code: 3 }));
}

#[tokio::test]
async fn a_crash_is_an_outcome_with_its_message() {
    if lacks_landlock(3) {
        return;
    }
    let skill = Skill::new();
    let outcome = skill.python("print('before')\n1/0").await;
    assert_eq!(outcome.ending, Ending::Exited { code: 1 });
    assert_eq!(outcome.stdout.text(), "before\n");
    assert!(outcome.stderr.text().contains("ZeroDivisionError: division by zero"));
    let outcome = skill.python("import os\nos.abort()").await;
    assert_eq!(outcome.ending, Ending::Signalled { signal: 6 });
}

#[tokio::test]
async fn scratch_is_private_writable_and_gone_afterwards() {
    if lacks_landlock(3) {
        return;
    }
    let skill = Skill::new();
    let script = "import os, stat, tempfile\nopen(os.path.join(os.environ['HOME'], 'a'), 'w').write('x')\n\
                  print(oct(stat.S_IMODE(os.stat(os.environ['TMPDIR']).st_mode)), tempfile.mkdtemp().startswith(os.environ['TMPDIR']))";
    let outcome = skill.python(script).await;
    assert_eq!(outcome.stderr.text(), "");
    assert_eq!(outcome.stdout.text(), "0o700 True\n");
    assert_eq!(skill.leftovers(), 0);
}

#[tokio::test]
async fn no_scratch_directory_is_too_odd_to_remove() {
    if lacks_landlock(3) {
        return;
    }
    let script = "import os\nos.umask(0)\nhome = os.environ['HOME']\nos.mkdir(home + '/closed', 0)\nos.symlink('/', home + '/root')\n\
                  os.mkdir(home + '/half')\nopen(home + '/half/file', 'w')\nos.mkdir(home + '/half/closed', 0)\nos.chdir(home)\n\
                  for _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\nprint('made')";
    let skill = Skill::new();
    let outcome = skill.python(script).await;
    assert_eq!(outcome.stdout.text(), "made\n", "{}", outcome.stderr.text());
    assert_eq!(skill.leftovers(), 0);
}

#[tokio::test]
async fn a_signal_without_a_name_is_an_outcome_too() {
    if lacks_landlock(3) {
        return;
    }
    let outcome = Skill::new().python("import os\nprint('before', flush=True)\nos.kill(os.getpid(), 40)").await;
    assert_eq!((outcome.stdout.text().as_str(), &outcome.ending), ("before\n", &Ending::Signalled { signal: 40 }));
}

#[tokio::test]
async fn a_workspace_is_written_only_with_the_grant() {
    if lacks_landlock(3) {
        return;
    }
    let script =
        "import os\nopen('../workspace/out.txt', 'w').write('result')\nos.rename('../workspace/out.txt', '../workspace/final.txt')";
    let skill = Skill::new().tool("Read");
    assert!(skill.python(script).await.stderr.text().contains("PermissionError"));
    let skill = Skill::new().tool("Write");
    assert_eq!(skill.python(script).await.stderr.text(), "");
    assert_eq!(std::fs::read_to_string(skill.path("workspace/final.txt")).unwrap(), "result");
}

#[tokio::test]
async fn ten_megabytes_of_unread_input_do_not_block() {
    if lacks_landlock(3) {
        return;
    }
    let skill = Skill::new();
    let outcome = skill.run(skill.job("main.py", "print('done')").input(vec![b'x'; 10 << 20])).await;
    assert_eq!((outcome.stdout.text().as_str(), outcome.ending.is_success()), ("done\n", true));
}

#[tokio::test]
async fn output_is_kept_up_to_its_limit_and_a_flood_is_stopped() {
    if lacks_landlock(3) {
        return;
    }
    let mut skill = Skill::new();
    skill.limits.output_bytes = 1_000;
    let outcome = skill.python("import sys\nsys.stdout.write('o' * 5000)\nsys.stderr.write('e' * 10)").await;
    assert_eq!(
        (outcome.stdout.bytes().len(), outcome.stdout.tail().len(), outcome.stdout.dropped_bytes(), outcome.stderr.text().len()),
        (750, 250, 4_000, 10)
    );
    assert!(outcome.ending.is_success());
    skill.limits.flood_bytes = 1 << 20;
    let outcome = skill.python("while True: print('x' * 1000)").await;
    assert_eq!(outcome.ending, Ending::OutputLimit { limit_bytes: 1 << 20 });
    assert!(outcome.stdout.is_truncated() && outcome.stdout.bytes().len() == 750);
}

#[tokio::test]
async fn limits_of_memory_files_and_descriptors_hold() {
    if lacks_landlock(3) {
        return;
    }
    let skill = Skill::new();
    let outcome = skill.python("x = bytearray(400 << 20)").await;
    assert!(outcome.stderr.text().contains("MemoryError"), "{}", outcome.stderr.text());
    let mut skill = Skill::new();
    skill.limits.file_bytes = 1_000;
    let script = "import os, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n\
                  with open(os.environ['HOME'] + '/big', 'wb') as f:\n    f.write(b'x' * 5000)";
    assert!(skill.python(script).await.stderr.text().contains("File too large"));
    let outcome = skill.python("import os\nfds = [os.open('/dev/null', os.O_RDONLY) for _ in range(300)]").await;
    assert!(outcome.stderr.text().contains("Too many open files"));
}

#[tokio::test]
async fn the_report_names_every_wall() {
    if lacks_landlock(6) {
        return;
    }
    let skill = Skill::new();
    let outcome = skill.python("pass").await;
    let lines: Vec<String> = outcome.report.layers().iter().map(ToString::to_string).collect();
    let text = lines.join("\n");
    let abi = text.split("Landlock ABI ").nth(1).and_then(|rest| rest.split(':').next()).unwrap_or_default().to_owned();
    assert_snapshot!(text.replace(&format!("ABI {abi}"), "ABI N"), @"
    files enforced: Landlock ABI N: reading, writing and starting files outside the grants refused
    metadata partial: changes refused or ignored (seccomp); names, sizes and attributes of other files can be seen
    network enforced: no sockets but connected local pairs (seccomp), no TCP (Landlock)
    processes partial: no second process; the number of threads is limited by memory alone
    signals enforced: only to processes inside (Landlock)
    privileges enforced: no_new_privs, all capabilities dropped
    system-calls enforced: 103 refused (seccomp)
    memory enforced: 256 MiB per process
    time enforced: 20000 ms, then the whole process group dies
    environment enforced: declared variables only, no inherited descriptors, no terminal
    ");
}

#[tokio::test]
async fn what_cannot_be_enforced_or_loaded_is_refused() {
    if lacks_landlock(3) {
        return;
    }
    let skill = Skill::new().tool("WebFetch");
    let refused = skill.sandbox().run(skill.job("main.py", "")).await.unwrap_err();
    assert_snapshot!(refused, @"the linux sandbox refuses: it cannot open the network to named hosts only, and opens it to none instead");
    let skill = Skill::new();
    let nul = skill.sandbox().run(skill.job("main.py", "").argument("a\0b")).await.unwrap_err();
    assert_snapshot!(nul, @"the linux sandbox refuses: a path, argument or variable holds a NUL byte");
}
