//! Memory, disk, time: cases 60 to 67.

use std::fs;
use std::time::Duration;

use skills_sandbox::{RunOutput, Sandbox, Termination};
use skills_sandbox_conformance::attempts::{
    HOG, LIMITS, SET_LIMIT, TOGETHER, WAYS_OF_HOG, attempts_of,
};
use skills_sandbox_conformance::{AttemptResult, Observations};
use skills_test_support::scene::processes_with_argument;
use tokio::time::timeout;

use super::attempts::{create_scene, python, sandbox, script};
use crate::lifetime_pipe::TEST_TIMEOUT;
use crate::skill::Skill;

pub(crate) async fn observe(observations: &mut Observations) {
    processes(observations).await;
    memory(observations).await;
    together(observations).await;
    disk(observations).await;
    limits(observations).await;
    time(observations).await;
    core(observations).await;
}

async fn processes(observations: &mut Observations) {
    const MAX_PROCESSES: u64 = 40;
    let mut skill = create_scene();
    skill.limits.processes = MAX_PROCESSES;
    let text = "import os, time\nmade = 0\ntry:\n    while made < 150:\n        if os.fork() == 0:\n            time.sleep(60)\n            os._exit(0)\n        \
                made += 1\nexcept OSError: pass\nprint(made, flush=True)";
    let output = script(&skill, text).await;
    let made: Result<u64, _> = output.stdout.text().trim().parse();
    let own = skill.path("skill").display().to_string();
    let all_dead = async {
        while !processes_with_argument(&own).is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let are_dead = timeout(TEST_TIMEOUT, all_dead).await.is_ok();
    observations.check(
        60,
        &format!("{made:?} {:?} {}", output.termination, output.stderr.text()),
        AttemptResult::Contained,
        are_dead && made.is_ok_and(|made| made <= MAX_PROCESSES),
    );
}

/// The memory that each attempt tries to use.
const TOTAL_BYTES: u64 = 640 << 20;
/// How much more than the limit a measurement may find, while the kernel kills a process.
const TOLERANCE_BYTES: u64 = 64 << 20;

/// Tries all ways. The kernel may also kill the process that starts them, and then the others are tried
/// in the next container.
async fn memory(observations: &mut Observations) {
    let mut ways = &WAYS_OF_HOG[..];
    while !ways.is_empty() {
        let tried = hog(observations, ways).await;
        if tried == 0 {
            return observations.observe(61, "nothing was tried", AttemptResult::Succeeded);
        }
        ways = &ways[tried..];
    }
}

/// Tries each way in a child, and returns how many were tried.
async fn hog(observations: &mut Observations, ways: &[&str]) -> usize {
    let mut skill = create_scene().workspace();
    skill.limits.scratch_bytes = 64 << 20;
    fs::write(skill.path("skill/hog.py"), HOG).unwrap();
    fs::write(skill.path("workspace/measured"), "").unwrap();
    let text = format!(
        "import os, sys\nfor way in {ways:?}:\n    if os.fork() == 0:\n        sys.argv = ['hog', 'hog', way, '../workspace', '{TOTAL_BYTES}']\n        \
         open('/proc/self/oom_score_adj', 'w').write('1000')\n        print(way, end=' ', flush=True)\n        exec(open('hog.py').read())\n        os._exit(0)\n    \
         _, status = os.wait()\n    if os.WIFSIGNALED(status): print('stopped by signal', os.WTERMSIG(status), flush=True)\n",
    );
    let (output, max_bytes) = measured(&skill, &text).await;
    let stdout = output.stdout.text();
    let is_killed = matches!(output.termination, Termination::MemoryLimit { .. });
    let is_bounded = max_bytes > 0 && max_bytes <= skill.limits.memory_bytes + TOLERANCE_BYTES;
    let are_stopped = stdout
        .lines()
        .all(|line| !line.contains("nothing") && (line.contains("stopped by") || is_killed));
    observations.check(
        61,
        &format!(
            "{} MiB {:?} {stdout} {}",
            max_bytes >> 20,
            output.termination,
            output.stderr.text()
        ),
        AttemptResult::Contained,
        is_bounded && are_stopped,
    );
    stdout.lines().count()
}

/// Runs a script, and measures the memory of its processes from outside meanwhile.
async fn measured(skill: &Skill, text: &str) -> (RunOutput, u64) {
    let sandbox = sandbox(skill);
    let mut run = sandbox.run(skill.job("main.py", text));
    let mut max_bytes = 0;
    loop {
        tokio::select! {
            output = &mut run => return (output.unwrap(), max_bytes),
            () = tokio::time::sleep(Duration::from_millis(5)) => {
                max_bytes = max_bytes.max(resident_bytes(skill));
            }
        }
    }
}

/// Returns the memory of all processes of a skill, with their shares of shared memory.
fn resident_bytes(skill: &Skill) -> u64 {
    let of_process = |pid: u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let of = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        Some(of("Pss_Anon:")? + of("Pss_Shmem:")?)
    };
    let own = skill.path("skill").display().to_string();
    let sizes = processes_with_argument(&own).into_iter();
    sizes.filter_map(of_process).sum::<u64>() << 10
}

async fn together(observations: &mut Observations) {
    // Four times 70 MiB with a limit of 128 MiB.
    let mut skill = create_scene();
    skill.limits.memory_bytes = 128 << 20;
    let output = script(&skill, TOGETHER).await;
    let together = output.stdout.text();
    observations.check(
        62,
        &format!(
            "{:?} {together} {}",
            output.termination,
            output.stderr.text()
        ),
        AttemptResult::Contained,
        together != "4\n" && matches!(output.termination, Termination::MemoryLimit { .. }),
    );
}

async fn disk(observations: &mut Observations) {
    let mut skill = create_scene();
    skill.limits.scratch_bytes = 8 << 20;
    skill.limits.file_bytes = 3 << 20;
    skill.limits.memory_bytes = 64 << 20;
    let prelude = "def fill():\n    for number in range(6):\n        with open(home + '/big%d' % number, 'wb') as file: file.write(b'x' * (2 << 20))";
    let (tried, _) = python(&skill, prelude, &[(63, "fill()"), (15, "fill()")]).await;
    for tried in &tried {
        observations.check(
            tried.case,
            &format!("{tried:?}"),
            AttemptResult::Contained,
            tried.result == Err("ENOSPC".to_owned()),
        );
    }
    // The memory of the container also counts the files themselves.
    let text = "import os\nnumber = 0\nwhile True:\n    os.close(os.open('/tmp/f%d' % number, os.O_CREAT | os.O_WRONLY))\n    number += 1";
    let output = script(&skill, text).await;
    let is_full = output.stderr.text().contains("No space left");
    observations.check(
        63,
        &format!("{:?} {}", output.termination, output.stderr.text()),
        AttemptResult::Contained,
        is_full || matches!(output.termination, Termination::MemoryLimit { .. }),
    );
}

async fn limits(observations: &mut Observations) {
    let mut skill = create_scene();
    skill.limits.file_bytes = 1 << 20;
    // Descriptors that stay open would affect the other attempts, so that attempt is the last.
    let mut attempts = attempts_of(LIMITS);
    attempts.sort_by_key(|(_, code)| code.contains("range(1100)"));
    let (tried, _) = python(&skill, SET_LIMIT, &attempts).await;
    observations.check_denied(&tried);
}

async fn time(observations: &mut Observations) {
    let mut skill = create_scene();
    skill.limits.wall_time = Duration::from_millis(800);
    let threads = "import os, threading\nos.fork()\ndef spin():\n    while True: pass\nfor _ in range(4): threading.Thread(target=spin).start()";
    for (case, text) in [(65, threads), (66, "import time\ntime.sleep(3600)")] {
        let output = timeout(TEST_TIMEOUT, script(&skill, text)).await.unwrap();
        // The delay depends on the load of the host, but the run never ends early.
        let is_not_early = output.duration >= Duration::from_millis(800);
        observations.check(
            case,
            &format!("{:?} after {:?}", output.termination, output.duration),
            AttemptResult::Contained,
            output.termination == Termination::TimedOut { limit_ms: 800 } && is_not_early,
        );
    }
}

async fn core(observations: &mut Observations) {
    let skill = create_scene().workspace();
    let text = "import os, resource\nprint(resource.getrlimit(resource.RLIMIT_CORE), flush=True)\nos.chdir('../workspace')\nos.abort()";
    let output = script(&skill, text).await;
    let is_crash = output.termination == Termination::Exited { code: 134 }
        && output.stdout.text() == "(1, 1)\n";
    let mut names = ["workspace", "skill", ""]
        .into_iter()
        .flat_map(|place| fs::read_dir(skill.path(place)).unwrap())
        .map(|entry| entry.unwrap().file_name());
    let has_core = names.any(|name| name.to_string_lossy().contains("core"));
    observations.check(
        67,
        &format!("{:?} {}", output.termination, output.stdout.text()),
        AttemptResult::NoEffect,
        is_crash && !has_core,
    );
}
