//! Memory, disk, time: cases 60 to 67.

use std::fs;
use std::time::Duration;

use skills_sandbox::conformance::Answer;
use skills_sandbox::{Ending, ScriptKind};

use super::answers::Answers;
use super::attempts::python;
use super::scene::{alive, has, planted};

pub(crate) async fn answer(answers: &mut Answers) {
    processes(answers).await;
    memory(answers).await;
    disk(answers).await;
    limits(answers).await;
    time(answers).await;
    core(answers).await;
    answers.through("resources");
}

async fn processes(answers: &mut Answers) {
    const MOST: u64 = 40;
    let mut skill = planted(answers.tier).tool("Bash");
    skill.limits.processes = MOST;
    let script = "import os, time\nmade = 0\ntry:\n    while made < 150:\n        if os.fork() == 0:\n            time.sleep(60)\n            os._exit(0)\n        \
                  made += 1\nexcept OSError: pass\nprint(made, flush=True)";
    let outcome = skill.python(script).await;
    let made: u64 = outcome.stdout.text().trim().parse().unwrap_or_else(|_| panic!("{:?} {}", outcome.ending, outcome.stderr.text()));
    if made <= MOST {
        answers.observe(60, "stopped in time", Answer::Contained);
    } else {
        answers.reported(60, &outcome.report, "processes");
    }
    for _ in 0..10 {
        if alive(&skill).is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    answers.observe(60, "processes are left a second after the end", Answer::Works);
}

async fn memory(answers: &mut Answers) {
    let skill = planted(answers.tier);
    let prelude = "def hold(take):\n    try: return len(take())\n    except MemoryError: raise OSError(errno.ENOMEM, '')\n\
                   def mapped(flags):\n    held = mmap.mmap(-1, 400 << 20, flags)\n    for at in range(0, len(held), 4096): held[at] = 1\n    return held";
    let attempts = [
        (61, "hold(lambda: bytearray(400 << 20))"),
        (61, "hold(lambda: [bytearray(1 << 20) for _ in range(400)])"),
        (61, "hold(lambda: mapped(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))"),
        (61, "hold(lambda: mapped(mmap.MAP_SHARED | mmap.MAP_ANONYMOUS))"),
    ];
    let (tried, _) = python(&skill, prelude, &attempts).await;
    for tried in &tried {
        answers.holds(61, &format!("{tried:?}"), Answer::Contained, tried.result == Err("ENOMEM".to_owned()));
    }
    if has(ScriptKind::Node) {
        let script = "const all = []; for (let i = 0; i < 600; i++) all.push(Buffer.alloc(1 << 20, 1)); console.log('held');";
        let outcome = skill.run(skill.job("main.js", script)).await;
        answers.holds(61, &format!("Node: {:?}", outcome.ending), Answer::Contained, !outcome.stdout.text().contains("held"));
    }
    // Four times 70 MiB where 128 MiB are allowed.
    let mut skill = planted(answers.tier).tool("Bash");
    skill.limits.memory_bytes = 128 << 20;
    let script = "import os\nready, go = os.pipe(), os.pipe()\nfor _ in range(4):\n    if os.fork() == 0:\n        held = bytearray(b'x') * (70 << 20)\n        \
                  os.write(ready[1], b'x')\n        os.close(go[1])\n        os.read(go[0], 1)\n        os._exit(0)\nos.close(ready[1])\nheld = b''\n\
                  while len(held) < 4:\n    more = os.read(ready[0], 4)\n    if not more: break\n    held += more\nprint(len(held), flush=True)";
    let outcome = skill.python(script).await;
    let together = outcome.stdout.text();
    if together == "4\n" {
        answers.reported(62, &outcome.report, "memory");
    } else {
        let is_stopped = matches!(outcome.ending, Ending::MemoryLimit { .. }) || together.len() == 2;
        answers.holds(62, &format!("{:?} {together} {}", outcome.ending, outcome.stderr.text()), Answer::Contained, is_stopped);
    }
}

async fn disk(answers: &mut Answers) {
    let mut skill = planted(answers.tier);
    (skill.limits.scratch_bytes, skill.limits.file_bytes) = (8 << 20, 3 << 20);
    let prelude = "def fill():\n    for number in range(6):\n        with open(home + '/big%d' % number, 'wb') as file: file.write(b'x' * (2 << 20))\n\
                   def many():\n    for number in range(70_000): os.close(os.open(home + '/f%d' % number, os.O_CREAT | os.O_WRONLY))";
    // A disk of the host's is not filled with files just to see that nobody counts them.
    let attempts = if answers.is_isolated() { &[(63, "fill()"), (63, "many()")][..] } else { &[(63, "fill()")] };
    let (tried, report) = python(&skill, prelude, attempts).await;
    if tried.iter().all(|tried| tried.result == Err("ENOSPC".to_owned())) {
        answers.observe(63, "both end", Answer::Contained);
    } else {
        answers.reported(63, &report, "scratch");
    }
    answers.holds(63, "left in the scratch directory", answers.of(63).unwrap(), skill.leftovers() == 0);
}

async fn limits(answers: &mut Answers) {
    let mut skill = planted(answers.tier);
    skill.limits.file_bytes = 1 << 20;
    let prelude = "def limit(resource, soft, hard):\n    return named('setrlimit', resource, (ctypes.c_ulong * 2)(soft, hard))";
    let attempts = [
        (64, "open(home + '/big', 'wb').write(b'x' * (2 << 20))"),
        (64, "os.truncate(home + '/big', 2 << 20)"),
        (64, "[os.open('/dev/null', os.O_RDONLY) for _ in range(300)]"),
        (64, "os.posix_fallocate(os.open(home + '/other', os.O_CREAT | os.O_WRONLY), 0, 2 << 20)"),
        (64, "limit(resource.RLIMIT_FSIZE, 1 << 30, 1 << 30)"),
        (64, "limit(resource.RLIMIT_NOFILE, 4096, 4096)"),
        (64, "limit(resource.RLIMIT_CPU, 1 << 40, 1 << 40)"),
        (64, "limit(resource.RLIMIT_CORE, 1 << 30, 1 << 30)"),
        (64, "limit(resource.RLIMIT_MEMLOCK, 1 << 20, 1 << 20)"),
        (64, "limit(resource.RLIMIT_RTPRIO, 1, 1)"),
        (64, "named('prlimit', 0, resource.RLIMIT_NOFILE, (ctypes.c_ulong * 2)(4096, 4096), None)"),
        (64, "named('mlockall', 1)"),
    ];
    // Descriptors that stay open would be in the way of what comes next.
    let (many, others): (Vec<_>, Vec<_>) = attempts.into_iter().partition(|(_, code)| code.contains("range(300)"));
    answers.denied(&python(&skill, prelude, &many).await.0);
    answers.denied(&python(&skill, prelude, &others).await.0);
}

async fn time(answers: &mut Answers) {
    let mut skill = planted(answers.tier).tool("Bash");
    skill.limits.wall_time = Duration::from_millis(800);
    let threads = "import threading\ndef spin():\n    while True: pass\nfor _ in range(4): threading.Thread(target=spin).start()";
    for job in
        [skill.job("main.py", threads), skill.job("main.sh", "for i in 1 2 3 4; do (while :; do :; done) & done; while :; do :; done")]
    {
        let outcome = skill.run(job).await;
        let is_late = outcome.ending == Ending::TimedOut { limit_ms: 800 } && outcome.duration < Duration::from_secs(10);
        answers.holds(65, &format!("{:?}", outcome.ending), Answer::Contained, is_late);
    }
    skill.limits.wall_time = Duration::from_millis(1_000);
    let outcome = skill.python("import time\ntime.sleep(3600)").await;
    // A fifth of a second is the contract; a machine that does other things too may be later, but never earlier.
    let is_timely = (Duration::from_millis(1_000)..Duration::from_millis(2_500)).contains(&outcome.duration);
    let shown = format!("{:?} after {:?}", outcome.ending, outcome.duration);
    answers.holds(66, &shown, Answer::Contained, outcome.ending == Ending::TimedOut { limit_ms: 1_000 } && is_timely);
}

async fn core(answers: &mut Answers) {
    let skill = planted(answers.tier).tool("Write");
    let script = "import os, resource\nprint(resource.getrlimit(resource.RLIMIT_CORE), flush=True)\nos.chdir('../workspace')\nos.abort()";
    let outcome = skill.python(script).await;
    let is_crash = matches!(outcome.ending, Ending::Signalled { .. }) && outcome.stdout.text() == "(1, 1)\n";
    let names: Vec<_> = ["workspace", "skill", ""].iter().flat_map(|place| fs::read_dir(skill.path(place)).unwrap()).collect();
    let has_core = names.iter().any(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("core"));
    answers.holds(67, &format!("{:?} {}", outcome.ending, outcome.stdout.text()), Answer::NoEffect, is_crash && !has_core);
}
