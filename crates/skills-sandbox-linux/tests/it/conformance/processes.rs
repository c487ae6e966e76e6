//! Processes and signals: cases 50 to 59.

use std::time::Duration;

use skills_sandbox::{Sandbox, Termination};
use skills_sandbox_conformance::AttemptResult;
use skills_sandbox_conformance::attempts::{
    ALL_AT_ONCE, DAEMON, SIGNALS, SPAWNING, attempts_of, quoted,
};
use skills_test_support::scene::syscall_numbers;
use tokio::time::timeout;

use super::attempts::{node, python};
use super::observations::Observations;
use super::scene::{Victim, create_scene, has_node, python_paths};
use super::{host, scene};
use crate::lifetime_pipe::{LifetimePipe, TEST_TIMEOUT};

pub(crate) async fn run(observations: &mut Observations) {
    signals(observations).await;
    daemons(observations).await;
    host_killed(observations).await;
    unresponsive(observations).await;
    spawning(observations).await;
    inherited(observations).await;
    observations.finish_group("processes");
}

async fn signals(observations: &mut Observations) {
    let (skill, mut victim) = (
        create_scene(observations.mode).tool("Bash"),
        Victim::start(),
    );
    let (host, other) = (std::process::id(), victim.pid());
    let attempts = attempts_of(SIGNALS);
    let prelude = format!(
        "HOST, OTHER = {host}, {other}\n{}{ALL_AT_ONCE}",
        syscall_numbers()
    );
    let (tried, report) = python(&skill, &prelude, &attempts).await;
    let debugging: Vec<_> = tried.into_iter().filter(|tried| tried.case == 51).collect();
    observations.check_denied(&debugging);
    if victim.is_alive() {
        observations.observe(50, "the other process lives", AttemptResult::NoEffect);
    } else {
        observations.check_reported(50, &report, "signals");
    }
}

async fn daemons(observations: &mut Observations) {
    // On a busy host the daemon may not start before an early deadline.
    for limit_ms in [2_500, 10_000, 40_000] {
        let mut skill = create_scene(observations.mode).tool("Write").tool("Bash");
        skill.limits.wall_time = Duration::from_millis(limit_ms);
        let mut daemon = LifetimePipe::new(&skill);
        let output = skill
            .python(&format!("{DAEMON}while True: time.sleep(1)"))
            .await;
        if daemon.was_opened() || limit_ms == 40_000 {
            let is_late = output.termination == Termination::TimedOut { limit_ms };
            observations.check(
                52,
                &format!("{:?}", output.termination),
                AttemptResult::Contained,
                is_late && daemon.is_released().await,
            );
            break;
        }
    }

    let mut skill = create_scene(observations.mode).tool("Write").tool("Bash");
    // The daemon holds both output pipes open, so a run that waits for them would last longer than
    // the timeout of this test.
    skill.limits.wall_time = TEST_TIMEOUT * 10;
    let mut daemon = LifetimePipe::new(&skill);
    match timeout(TEST_TIMEOUT, skill.python(DAEMON)).await {
        Ok(output) => {
            let is_well = output.termination.is_success() && output.stdout.text() == "started\n";
            observations.check(
                54,
                &format!("{:?} {}", output.termination, output.stderr.text()),
                AttemptResult::Contained,
                is_well,
            );
            observations.check(
                53,
                &format!("{:?}", output.termination),
                AttemptResult::Contained,
                is_well && daemon.is_released().await,
            );
        }
        Err(_) => [53, 54].into_iter().for_each(|case| {
            observations.observe(
                case,
                "the run waits for the daemon",
                AttemptResult::Succeeded,
            )
        }),
    }

    // Other processes start and exit while runs end in all ways. A process with a reused PID must
    // not be killed.
    let mut others: Vec<Victim> = Vec::new();
    let mut skill = create_scene(observations.mode).tool("Bash");
    skill.limits.wall_time = Duration::from_millis(150);
    for round in 0..12 {
        others.push(Victim::start());
        let script = if round % 2 == 0 {
            ":"
        } else {
            "while :; do :; done"
        };
        let job = skill.job("main.sh", &format!("(while :; do :; done) & {script}"));
        if round % 3 == 0 {
            // A run whose future is dropped.
            let sandbox = skill.sandbox();
            let _ = tokio::time::timeout(Duration::from_millis(20), sandbox.run(job)).await;
        } else {
            let _ = skill.sandbox().run(job).await;
        }
    }
    observations.check(
        56,
        "other processes live",
        AttemptResult::NoEffect,
        others.iter_mut().all(Victim::is_alive),
    );
}

/// A separate host process starts a run with a daemon, and is killed.
async fn host_killed(observations: &mut Observations) {
    let skill = create_scene(observations.mode);
    let (mut script, mut daemon) = (
        LifetimePipe::named(&skill, "script"),
        LifetimePipe::new(&skill),
    );
    let mut host = host::command("killed", observations.mode)
        .env("SKILLS_TEST_ROOT", skill.path(""))
        .spawn()
        .unwrap();
    let is_started = script.is_opened().await && daemon.is_opened().await;
    host.kill().unwrap();
    host.wait().unwrap();
    assert!(is_started, "the host's run does not start");
    // The script itself is killed at both isolation levels.
    if !script.is_released().await {
        observations.observe(55, "the script survives", AttemptResult::Succeeded);
    } else if daemon.is_released().await {
        observations.observe(55, "all processes are killed", AttemptResult::Contained);
    } else {
        let report = scene::report(&skill).await;
        observations.check_reported(55, &report, "host-death");
    }
    scene::kill_all(&skill);
}

async fn unresponsive(observations: &mut Observations) {
    let mut skill = create_scene(observations.mode).tool("Bash");
    skill.limits.wall_time = Duration::from_millis(700);
    for script in [
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGSTOP)\nwhile True: time.sleep(1)",
        "import signal, time\nfor number in range(1, 65):\n    try: signal.signal(number, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: time.sleep(1)",
        "import os, signal, time\npid = os.fork()\nif pid == 0:\n    while True: time.sleep(1)\nos.kill(pid, signal.SIGSTOP)\nos.waitpid(pid, 0)",
    ] {
        let ended = timeout(TEST_TIMEOUT, skill.python(script))
            .await
            .map(|output| output.termination);
        observations.check(
            57,
            &format!("{ended:?}"),
            AttemptResult::Contained,
            ended == Ok(Termination::TimedOut { limit_ms: 700 }),
        );
    }
}

async fn spawning(observations: &mut Observations) {
    let skill = create_scene(observations.mode);
    let attempts = attempts_of(SPAWNING);
    // For functions that return a status instead of raising an error.
    let prelude = "def failing(status):\n    if status != 0: raise OSError(errno.EPERM, '')";
    let (tried, _) = python(&skill, prelude, &attempts).await;
    observations.check_denied(&tried);
    for code in [
        "/bin/true && echo spawned",
        "x=$(echo spawned); echo $x",
        "echo spawned | cat",
        "(echo spawned)",
        "exec /bin/echo spawned",
        "echo spawned & wait",
    ] {
        let output = skill.run(skill.job("main.sh", &format!("{code}\n"))).await;
        observations.check(
            58,
            &format!("{code}: {}", output.stdout.text()),
            AttemptResult::Denied,
            !output.stdout.text().contains("spawned"),
        );
    }
    if has_node() {
        let tried = node(
            &skill,
            &[
                (58, "{ const r = child.spawnSync('/bin/true'); if (r.error) throw r.error; }"),
                (58, "child.execFileSync('/bin/true')"),
                (58, "child.execSync('true')"),
                (58, "new Promise((d, f) => { const c = child.spawn('/bin/true'); c.on('error', f); c.on('exit', d); })"),
            ]
            .map(|(case, code)| (case, if code.starts_with('{') { format!("(() => {code})()") } else { code.to_owned() })),
        )
        .await;
        observations.check_denied(&tried);
    }
}

/// The restrictions apply to threads and other programs as well.
async fn inherited(observations: &mut Observations) {
    let skill = create_scene(observations.mode).tool("Bash");
    let again = "import socket, os\nfor attempt in [lambda: socket.socket(type=socket.SOCK_DGRAM), lambda: open('/etc/shadow'), lambda: open('../outside/public.txt')]:\n    try: attempt()\n    except OSError: continue\n    print('out')\n";
    let prelude = format!(
        "{}AGAIN = {}\nimport threading\n\
         def in_thread():\n    said = []\n    def work():\n        try: socket.socket(type=socket.SOCK_DGRAM); said.append('socket')\n        except OSError: pass\n        \
         try: open('/etc/shadow'); said.append('file')\n        except OSError: pass\n    thread = threading.Thread(target=work)\n    thread.start()\n    thread.join()\n    \
         if not said: raise OSError(errno.EPERM, '')\n    return said\n\
         def in_program(*command):\n    said = subprocess.run(command, capture_output=True, text=True).stdout\n    if 'out' not in said: raise OSError(errno.EPERM, '')\n    return said\n\
         def privileges():\n    data = (ctypes.c_uint32 * 6)(*[9] * 6)\n    head = (ctypes.c_uint32 * 2)(0x20080522, 0)\n    libc.capget(head, data)\n    \
         bounding = [n for n in range(41) if libc.prctl(24, n, 0, 0, 0) == 1]\n    return list(data), libc.prctl(39, 0, 0, 0, 0), libc.prctl(21, 0, 0, 0, 0), bounding",
        python_paths(&skill),
        quoted(again)
    );
    let attempts = [
        (59, "in_thread()"),
        (59, "in_program(sys.executable, '-c', AGAIN)"),
        (
            59,
            "in_program('/bin/sh', '-c', 'cat /etc/shadow ../outside/public.txt && echo out')",
        ),
        (
            59,
            "in_program('/bin/sh', '-c', 'exec 3<>/dev/tcp/127.0.0.1/22 && echo out')",
        ),
        (59, "named('prctl', 22, 0, 0, 0, 0)"),
        (59, "named('prctl', 38, 0, 0, 0, 0)"),
        (59, "named('prctl', 1, 0, 0, 0, 0)"),
    ];
    let (mut tried, _) = python(&skill, &prelude, &[(59, "privileges()")]).await;
    let found = tried.remove(0).result.unwrap();
    let is_bounded = observations.has_namespaces() || nix::unistd::geteuid().is_root();
    let expected = if is_bounded {
        "([0, 0, 0, 0, 0, 0], 1, 2, [])"
    } else {
        "([0, 0, 0, 0, 0, 0], 1, 2, ["
    };
    observations.check(
        59,
        &found,
        AttemptResult::Denied,
        found.starts_with(expected),
    );
    let (tried, _) = python(&skill, &prelude, &attempts).await;
    observations.check_denied(&tried);
}
