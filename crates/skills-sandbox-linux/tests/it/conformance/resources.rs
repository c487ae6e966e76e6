//! Memory, disk, time: cases 60 to 67, and 101.

use std::fs;
use std::time::Duration;

use skills_sandbox::{Job, Sandbox, Termination};
use skills_sandbox_conformance::AttemptResult;
use skills_sandbox_conformance::attempts::{
    HOG, LIMITS, POOLS, SET_LIMIT, TIMERS, TOGETHER, WAYS_OF_HOG, attempts_of,
};
use skills_test_support::scene::syscall_numbers;
use tokio::time::timeout;

use super::attempts::python;
use super::observations::Observations;
use super::scene::{alive, create_scene, has_node};
use crate::lifetime_pipe::TEST_TIMEOUT;
use crate::skill::Skill;

pub(crate) async fn run(observations: &mut Observations) {
    processes(observations).await;
    memory(observations).await;
    disk(observations).await;
    limits(observations).await;
    time(observations).await;
    core(observations).await;
    pools(observations).await;
    observations.finish_group("resources");
}

async fn processes(observations: &mut Observations) {
    const MAX_PROCESSES: u64 = 40;
    let mut skill = create_scene(observations.mode).tool("Bash");
    skill.limits.processes = MAX_PROCESSES;
    let script = "import os, time\nmade = 0\ntry:\n    while made < 150:\n        if os.fork() == 0:\n            time.sleep(60)\n            os._exit(0)\n        \
                  made += 1\nexcept OSError: pass\nprint(made, flush=True)";
    let output = skill.python(script).await;
    let made: u64 = output
        .stdout
        .text()
        .trim()
        .parse()
        .unwrap_or_else(|_| panic!("{:?} {}", output.termination, output.stderr.text()));
    if made <= MAX_PROCESSES {
        observations.observe(60, "stopped in time", AttemptResult::Contained);
    } else {
        observations.check_reported(60, &output.enforcement, "processes");
    }
    let all_dead = async {
        while !alive(&skill).is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    if timeout(TEST_TIMEOUT, all_dead).await.is_err() {
        observations.observe(
            60,
            "processes are left after the end",
            AttemptResult::Succeeded,
        );
    }
}

/// The memory that a script tries to use.
const TOTAL_BYTES: u64 = 640 << 20;
/// How much a run may exceed its limit: the memory of its interpreters before the script starts.
const TOLERANCE_BYTES: u64 = 128 << 20;

async fn memory(observations: &mut Observations) {
    for way in WAYS_OF_HOG {
        let mut skill = create_scene(observations.mode).tool("Write");
        skill.limits.scratch_bytes = 64 << 20;
        hog(
            observations,
            &skill,
            skill.job("main.py", HOG).arg("hog").arg(way),
        )
        .await;
    }
    if has_node() {
        // Memory that Node can use by itself, and that a program can use which Node starts: both
        // have the same limits and the same filter.
        let takes = [
            "Buffer.alloc(step, 1)",
            "new Uint8Array(new SharedArrayBuffer(step)).fill(1)",
        ];
        for take in takes.into_iter().chain(WAYS_OF_HOG) {
            let mut skill = create_scene(observations.mode).tool("Write").tool("Bash");
            skill.limits.scratch_bytes = 64 << 20;
            fs::write(skill.path("skill/hog.py"), HOG).unwrap();
            let script = match takes.contains(&take) {
                true => format!(
                    "const fs = require('fs'), [workspace, total] = process.argv.slice(-2), step = 16 << 20, held = [];\n\
                     try {{ for (let at = 0; at < total; at += step) held.push({take}); }} catch (error) {{ console.log(error.message); }}\n\
                     fs.writeFileSync(workspace + '/held', '');\n\
                     const wait = () => fs.existsSync(workspace + '/measured') ? console.log(held.length) : setTimeout(wait, 5);\nwait();\n"
                ),
                false => "const [program, ...rest] = process.argv.slice(2);\n\
                          const { signal } = require('child_process').spawnSync('/usr/bin/python3', [program, ...rest], { stdio: 'inherit' });\n\
                          if (signal) console.log('stopped by', signal);\n"
                    .to_owned(),
            };
            let job = skill
                .job("main.js", &script)
                .arg(skill.path("skill/hog.py").to_str().unwrap());
            hog(observations, &skill, job.arg("hog").arg(take)).await;
        }
    }
    together(observations).await;
}

/// Runs a job that uses memory, and measures from outside the memory of all its processes.
async fn hog(observations: &mut Observations, skill: &Skill, job: Job) {
    let what = format!("{:?}", job.args());
    let [held, measured] = ["held", "measured"].map(|name| skill.path("workspace").join(name));
    let job = job
        .arg(skill.path("workspace").to_str().unwrap())
        .arg(TOTAL_BYTES.to_string());
    let sandbox = skill.sandbox();
    let mut run = sandbox.run(job);
    let mut max_bytes = 0;
    let output = loop {
        tokio::select! {
            output = &mut run => break output.unwrap(),
            () = tokio::time::sleep(Duration::from_millis(5)) => {
                let is_finished = held.exists();
                max_bytes = max_bytes.max(resident(skill));
                // A process above the limit keeps its memory until it is killed.
                if is_finished && max_bytes <= skill.limits.memory_bytes + TOLERANCE_BYTES {
                    fs::write(&measured, "").unwrap();
                }
            }
        }
    };
    let shown = format!(
        "{what}: {} MiB, {:?}: {}{}",
        max_bytes >> 20,
        output.termination,
        output.stdout.text(),
        output.stderr.text()
    );
    assert!(
        held.exists() || !output.termination.is_success() || shown.contains("stopped by SIGKILL"),
        "{shown}"
    );
    let is_contained = max_bytes <= skill.limits.memory_bytes + TOLERANCE_BYTES
        || matches!(output.termination, Termination::MemoryLimit { .. });
    observations.check(
        61,
        &shown,
        AttemptResult::Contained,
        is_contained && max_bytes > 0,
    );
}

/// Returns the memory of all processes of a skill, including their shares of shared memory, but
/// without pages of files on a disk.
fn resident(skill: &Skill) -> u64 {
    let proportional = |pid: u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let of = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name))?
                .split_whitespace()
                .next()?
                .parse::<u64>()
                .ok()
        };
        Some(of("Pss_Anon:")? + of("Pss_Shmem:")?)
    };
    alive(skill)
        .into_iter()
        .filter_map(proportional)
        .sum::<u64>()
        << 10
}

async fn together(observations: &mut Observations) {
    // Four times 70 MiB with a limit of 128 MiB.
    let mut skill = create_scene(observations.mode).tool("Bash");
    skill.limits.memory_bytes = 128 << 20;
    let output = skill.python(TOGETHER).await;
    let together = output.stdout.text();
    if together == "4\n" {
        observations.check_reported(62, &output.enforcement, "memory");
    } else {
        let is_stopped =
            matches!(output.termination, Termination::MemoryLimit { .. }) || together.len() == 2;
        observations.check(
            62,
            &format!(
                "{:?} {together} {}",
                output.termination,
                output.stderr.text()
            ),
            AttemptResult::Contained,
            is_stopped,
        );
    }
}

async fn disk(observations: &mut Observations) {
    let mut skill = create_scene(observations.mode);
    (skill.limits.scratch_bytes, skill.limits.file_bytes) = (8 << 20, 3 << 20);
    // The limits end the run, however slow the disk is.
    skill.limits.wall_time = TEST_TIMEOUT * 10;
    let prelude = "def fill():\n    for number in range(6):\n        with open(home + '/big%d' % number, 'wb') as file: file.write(b'x' * (2 << 20))\n\
                   def many():\n    for number in range(70_000): os.close(os.open(home + '/f%d' % number, os.O_CREAT | os.O_WRONLY))";
    if observations.has_namespaces() {
        let (tried, _) = python(&skill, prelude, &[(63, "fill()"), (63, "many()")]).await;
        observations.check(
            63,
            &format!("{tried:?}"),
            AttemptResult::Contained,
            tried
                .iter()
                .all(|tried| tried.result == Err("ENOSPC".to_owned())),
        );
    } else {
        for attempt in ["fill()", "many()"] {
            let output = skill
                .python(&format!(
                    "import os\nhome = os.environ['HOME']\n{prelude}\n{attempt}"
                ))
                .await;
            observations.check(
                63,
                &format!("{:?}", output.termination),
                AttemptResult::Contained,
                matches!(output.termination, Termination::DiskLimit(_)),
            );
        }
    }
    let result = observations.result_of(63).unwrap();
    observations.check(
        63,
        "left in the scratch directory",
        result,
        skill.leftovers() == 0,
    );
}

async fn limits(observations: &mut Observations) {
    let mut skill = create_scene(observations.mode);
    skill.limits.file_bytes = 1 << 20;
    let attempts = attempts_of(LIMITS);
    // Descriptors that stay open would affect the other attempts.
    let (many, others): (Vec<_>, Vec<_>) = attempts
        .into_iter()
        .partition(|(_, code)| code.contains("range(1100)"));
    observations.check_denied(&python(&skill, SET_LIMIT, &many).await.0);
    observations.check_denied(&python(&skill, SET_LIMIT, &others).await.0);
}

async fn time(observations: &mut Observations) {
    let mut skill = create_scene(observations.mode).tool("Bash");
    skill.limits.wall_time = Duration::from_millis(800);
    let threads = "import threading\ndef spin():\n    while True: pass\nfor _ in range(4): threading.Thread(target=spin).start()";
    for job in [
        skill.job("main.py", threads),
        skill.job(
            "main.sh",
            "for i in 1 2 3 4; do (while :; do :; done) & done; while :; do :; done",
        ),
    ] {
        let output = timeout(TEST_TIMEOUT, skill.run(job)).await.unwrap();
        observations.check(
            65,
            &format!("{:?}", output.termination),
            AttemptResult::Contained,
            output.termination == Termination::TimedOut { limit_ms: 800 },
        );
    }
    skill.limits.wall_time = Duration::from_millis(1_000);
    let sleeping = timeout(TEST_TIMEOUT, skill.python("import time\ntime.sleep(3600)")).await;
    let output = sleeping.unwrap();
    // The delay depends on the load of the host, but the run never ends early.
    let is_not_early = output.duration >= Duration::from_millis(1_000);
    let shown = format!("{:?} after {:?}", output.termination, output.duration);
    observations.check(
        66,
        &shown,
        AttemptResult::Contained,
        output.termination == Termination::TimedOut { limit_ms: 1_000 } && is_not_early,
    );
}

async fn core(observations: &mut Observations) {
    let skill = create_scene(observations.mode).tool("Write");
    let script = "import os, resource\nprint(resource.getrlimit(resource.RLIMIT_CORE), flush=True)\nos.chdir('../workspace')\nos.abort()";
    let output = skill.python(script).await;
    let is_crash = matches!(output.termination, Termination::Signaled { .. })
        && output.stdout.text() == "(1, 1)\n";
    let names: Vec<_> = ["workspace", "skill", ""]
        .iter()
        .flat_map(|place| fs::read_dir(skill.path(place)).unwrap())
        .collect();
    let has_core = names.iter().any(|entry| {
        entry
            .as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .contains("core")
    });
    observations.check(
        67,
        &format!("{:?} {}", output.termination, output.stdout.text()),
        AttemptResult::NoEffect,
        is_crash && !has_core,
    );
}

/// Resources that are counted per user or per host, so that one run could use them up.
async fn pools(observations: &mut Observations) {
    let skill = create_scene(observations.mode);
    let prelude = format!("{}{TIMERS}", syscall_numbers());
    let attempts = attempts_of(POOLS);
    observations.check_denied(&python(&skill, &prelude, &attempts).await.0);
}
