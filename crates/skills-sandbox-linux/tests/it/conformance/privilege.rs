//! Privileges, and system calls of the kernel: cases 80 to 93.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use skills_sandbox::{RunOutput, Termination};
use skills_sandbox_conformance::AttemptResult;
use skills_sandbox_conformance::attempts::{
    PRIVILEGES, SETUID_FILES, SYSTEM_CALLS, attempts_of, quoted,
};
use skills_test_support::host::landlock_version;
use skills_test_support::host_process::marked_lines;
use skills_test_support::scene::syscall_numbers;

use super::attempts::python;
use super::host;
use super::observations::Observations;
use super::scene::{create_scene, python_paths};
use crate::lifetime_pipe::LifetimePipe;
use crate::skill::Skill;

pub(crate) async fn run(observations: &mut Observations) {
    denied(observations).await;
    setuid(observations).await;
    own_code(observations).await;
    conventions(observations).await;
    narrower(observations).await;
    nested(observations).await;
    observations.finish_group("privileges");
}

async fn denied(observations: &mut Observations) {
    let skill = create_scene(observations.mode).tool("Bash");
    // Shared memory of the host. Without this directory there is nothing to find.
    let shared = tempfile::NamedTempFile::new_in("/dev/shm").ok();
    if let Some(file) = &shared {
        fs::write(file.path(), "host").unwrap();
    }
    let path = shared.as_ref().map_or("/dev/shm/nothing".into(), |file| {
        file.path().display().to_string()
    });
    let attempts = attempts_of(SYSTEM_CALLS);
    let prelude = format!("{}SHARED = {path:?}\n{PRIVILEGES}", syscall_numbers());
    let (tried, _) = python(&skill, &prelude, &attempts).await;
    observations.check_denied(&tried);
    // Writing may succeed in a separate `/dev/shm` of the run.
    let _ = python(
        &skill,
        &prelude,
        &[(93, "open(SHARED, 'w').write('script')")],
    )
    .await;
    let is_same = shared.is_none_or(|file| fs::read(file.path()).unwrap() == b"host");
    observations.check(93, "seen from outside", AttemptResult::Denied, is_same);
}

async fn setuid(observations: &mut Observations) {
    let skill = create_scene(observations.mode).tool("Write").tool("Bash");
    let attempts = attempts_of(SETUID_FILES);
    let prelude = format!(
        "{}def gains(*command): return subprocess.run(command, capture_output=True, check=True).stdout",
        python_paths(&skill)
    );
    let (tried, _) = python(&skill, &prelude, &attempts).await;
    let special = fs::read_dir(skill.path("workspace"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().metadata().unwrap().mode() & 0o6000 != 0)
        .count();
    if special == 0 {
        observations.check_without_effect(81, &tried);
    } else {
        observations.observe(
            81,
            &format!("{special} files run as their owner"),
            AttemptResult::Succeeded,
        );
    }
}

/// Programs and libraries that the script created run, but with the same restrictions.
async fn own_code(observations: &mut Observations) {
    let skill = create_scene(observations.mode).tool("Write").tool("Bash");
    let mut daemon = LifetimePipe::new(&skill);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let prelude = format!(
        "{}import shutil, glob\nloader = [path for path in ['/lib64/ld-linux-x86-64.so.2', '/lib/ld-linux-aarch64.so.1'] if os.path.exists(path)][0]\n\
         for name in ['cat', 'bash']: shutil.copyfile('/usr/bin/' + name, workspace + '/' + name); os.chmod(workspace + '/' + name, 0o755)\n\
         shutil.copyfile(glob.glob('/usr/lib/*/libm.so.6')[0], workspace + '/own.so')\n\
         def runs(*command, **environment):\n    return subprocess.run(command, capture_output=True, check=True, text=True, env=dict(os.environ, **environment)).stdout\n\
         def from_memory():\n    file = os.memfd_create('own')\n    os.write(file, open('/bin/true', 'rb').read())\n    return runs('/proc/self/fd/%d' % file)",
        python_paths(&skill)
    );
    let attempts: Vec<(u8, String)> = [
        (
            87,
            "runs(loader, workspace + '/cat', '/etc/shadow')".to_owned(),
        ),
        (
            87,
            "runs(loader, workspace + '/cat', outside + '/public.txt')".to_owned(),
        ),
        (
            87,
            format!(
                "runs(loader, workspace + '/bash', '-c', 'echo x > /dev/tcp/127.0.0.1/{port}')"
            ),
        ),
        (87, "runs(workspace + '/cat', '/etc/shadow')".to_owned()),
        (
            87,
            "from_memory() and runs(loader, workspace + '/cat', '/etc/shadow')".to_owned(),
        ),
        (
            88,
            "runs('cat', '/etc/shadow', LD_PRELOAD=workspace + '/own.so')".to_owned(),
        ),
        (
            88,
            "runs('cat', outside + '/public.txt', LD_LIBRARY_PATH=workspace)".to_owned(),
        ),
        (
            88,
            "runs('su', '-c', 'id', LD_PRELOAD=workspace + '/own.so')".to_owned(),
        ),
    ]
    .into();
    let (tried, _) = python(&skill, &prelude, &attempts).await;
    for tried in &tried {
        observations.check(
            tried.case,
            &format!("{tried:?}"),
            AttemptResult::Contained,
            tried.result.is_err(),
        );
    }
    // They do run, so the attempts above failed because of the restrictions.
    let works = [
        (87, "runs(loader, workspace + '/cat', 'SKILL.md')"),
        (
            88,
            "runs('cat', 'SKILL.md', LD_PRELOAD=workspace + '/own.so')",
        ),
        (
            87,
            "subprocess.Popen([loader, workspace + '/bash', '-c', '(setsid true; echo beat >&3; : > ../workspace/up; exec sleep 600) 3> ../workspace/alive & while [ ! -e ../workspace/up ]; do :; done']).wait()",
        ),
    ];
    let (tried, _) = python(&skill, &prelude, &works).await;
    for tried in &tried {
        observations.check(
            tried.case,
            &format!("{tried:?}"),
            AttemptResult::Contained,
            tried
                .result
                .as_ref()
                .is_ok_and(|text| ["'skill'", "0"].contains(&text.as_str())),
        );
    }
    observations.check(
        87,
        "its daemon",
        AttemptResult::Contained,
        daemon.is_released().await,
    );
    observations.check(
        87,
        "visits",
        AttemptResult::Contained,
        super::scene::ConnectionCount::connection_count(&listener) == 0,
    );
}

async fn conventions(observations: &mut Observations) {
    if !cfg!(target_arch = "x86_64") {
        observations.skip(89, "not x86-64");
        return;
    }
    let skill = create_scene(observations.mode);
    // getpid, openat and socket with the numbers of x32.
    let attempts = [
        (89, "call(0x40000000 + 39)"),
        (89, "call(0x40000000 + 257, -100, b'SKILL.md', 0)"),
        (89, "call(0x40000000 + 41, 2, 1, 0)"),
    ];
    observations.check_denied(&python(&skill, "", &attempts).await.0);
    // mov eax, 20 (getpid of 32-bit code); int 0x80; ret
    let script = "import ctypes, mmap\ncode = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\n\
                  code.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))\naddress = ctypes.addressof(ctypes.c_char.from_buffer(code))\n\
                  print('before', flush=True)\nprint('after', ctypes.CFUNCTYPE(ctypes.c_int)(address)())";
    let output = skill.python(script).await;
    let is_killed = matches!(output.termination, Termination::Signaled { .. })
        && output.stdout.text() == "before\n";
    // A kernel without support for 32-bit code also kills it.
    observations.check(
        89,
        &format!("{:?} {}", output.termination, output.stdout.text()),
        AttemptResult::Denied,
        is_killed,
    );
}

async fn narrower(observations: &mut Observations) {
    let skill = create_scene(observations.mode);
    let prelude = format!(
        "{}def narrow():\n    ruleset = call(444, ctypes.byref(ctypes.c_uint64(4)), 8, 0)\n    call(446, ruleset, 0)\nassert open('SKILL.md').read() == 'skill'",
        python_paths(&skill)
    );
    let attempts = [
        (91, "narrow()"),
        (91, "open('SKILL.md').read()"),
        (91, "open(outside + '/public.txt').read()"),
        (91, "open('/etc/shadow').read()"),
    ];
    let (tried, _) = python(&skill, &prelude, &attempts).await;
    match &tried[0].result {
        Err(_) if landlock_version() == 0 => observations.skip(91, "the kernel has no Landlock"),
        result => observations.check(
            91,
            &format!("{tried:?}"),
            AttemptResult::Succeeded,
            result.is_ok() && tried[1..].iter().all(|tried| tried.result.is_err()),
        ),
    }
}

/// A host process in a sandbox cannot create a sandbox. It must return an error and run nothing.
async fn nested(observations: &mut Observations) {
    let mut skill: Skill = create_scene(observations.mode).tool("Bash").tool("Write");
    skill.limits.memory_bytes = 2 << 30;
    fs::copy(std::env::current_exe().unwrap(), skill.path("skill/host")).unwrap();
    fs::write(
        skill.path("skill/inner.sh"),
        "echo inner > ../workspace/inner; echo inner",
    )
    .unwrap();
    let arguments: Vec<String> = host::command("", observations.mode)
        .get_args()
        .map(|argument| quoted(argument.to_str().unwrap()))
        .collect();
    let script = format!(
        "export SKILLS_TEST_TASK=nested SKILLS_TEST_ISOLATION=BestAvailable\nexec ./host {}",
        arguments.join(" ")
    );
    let RunOutput {
        termination,
        stdout,
        stderr,
        ..
    } = skill.run(skill.job("main.sh", &script)).await;
    let lines = marked_lines(&stdout.text());
    let shown = format!("{termination:?} {lines:?} {}", stderr.text());
    let has = |start: &str| lines.iter().any(|line| line.starts_with(start));
    let is_rejected = has("rejected: ") && !Path::new(&skill.path("workspace/inner")).exists();
    observations.check(
        92,
        &shown,
        AttemptResult::Rejected,
        is_rejected && has("unavailable: ") && termination.is_success(),
    );
}
