//! The cost of a run compared with its baselines, measured alternately in one process: plain
//! wasmtime with the same component, file and output, and `/bin/true`.
//!
//! `cargo bench -p skills-sandbox-wasm --bench targets [-- [--component PATH] [SECTION …]]`; the
//! sections are warm, throughput, cold, overshoot and memory. A custom component is run with the
//! arguments `read /skill/data.txt`.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a bench creates its own files and fails by panicking"
)]

#[path = "floor/bare.rs"]
mod bare;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bare::{Allocation, Bare, config};
use skills_policy::{Authorization, Policy, Request, ResourceLimits};
use skills_sandbox::{Job, Program, Sandbox, Termination};
use skills_sandbox_wasm::{CodeCache, WasmSandbox};
use tempfile::TempDir;
use wasmtime::Engine;
use wasmtime::component::Component;

const PROBE: &[u8] = include_bytes!("../tests/guest/probe.wasm");
const ROUNDS: usize = 2_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, component, directory] = arguments.as_slice()
        && mode.starts_with("cold-")
    {
        return cold_child(mode, Path::new(component), Path::new(directory));
    }
    let mut sections: Vec<&str> = Vec::new();
    let mut component = Arc::from(PROBE);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--component" => component = std::fs::read(rest.next().unwrap()).unwrap().into(),
            "--bench" => {}
            section => sections.push(section),
        }
    }
    let wants = |section: &str| sections.is_empty() || sections.contains(&section);
    let bench = Bench::new(component);
    let all: [(&str, Section); 5] = [
        ("warm", warm),
        ("throughput", throughput),
        ("cold", cold),
        ("overshoot", overshoot),
        ("memory", memory),
    ];
    all.iter()
        .filter(|(name, _)| wants(name))
        .for_each(|(_, section)| section(&bench));
}

/// A measurement with its output.
type Section = fn(&Bench);

struct Bench {
    skill: TempDir,
    scratch: TempDir,
    component: Arc<[u8]>,
    sandbox: WasmSandbox,
}

impl Bench {
    fn new(component: Arc<[u8]>) -> Self {
        let (skill, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(skill.path().join("data.txt"), "data").unwrap();
        let sandbox = WasmSandbox::new(scratch.path());
        Self {
            skill,
            scratch,
            component,
            sandbox,
        }
    }

    fn job(&self) -> Job {
        job(
            self.skill.path(),
            &self.component,
            &["read", "/skill/data.txt"],
            ResourceLimits::default(),
        )
    }
}

fn job(skill: &Path, component: &Arc<[u8]>, arguments: &[&str], limits: ResourceLimits) -> Job {
    let Authorization::Granted(grants) =
        Policy::default().authorize(&Request::new(skill).limits(limits))
    else {
        panic!("granted")
    };
    arguments.iter().fold(
        Job::new(grants, Program::Wasm(Arc::clone(component))),
        |job, argument| job.arg(*argument),
    )
}

fn executor() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// One run of each alternately, so that the speed of the machine is the same for all.
fn warm(bench: &Bench) {
    let executor = executor();
    let (on_demand, pooled) = (
        Bare::new(&bench.component, Allocation::OnDemand),
        Bare::new(&bench.component, Allocation::Pooled),
    );
    let job = bench.job();
    let skill = bench.skill.path();
    let mut times: [Vec<Duration>; 4] = Default::default();
    for round in 0..ROUNDS + 100 {
        let taken = [
            timed(|| executor.block_on(on_demand.run(skill))),
            timed(|| executor.block_on(pooled.run(skill))),
            timed(|| {
                assert!(
                    executor
                        .block_on(bench.sandbox.run(job.clone()))
                        .unwrap()
                        .termination
                        .is_success()
                )
            }),
            if round % 10 == 0 {
                timed(|| {
                    assert!(
                        std::process::Command::new("/bin/true")
                            .status()
                            .unwrap()
                            .success()
                    )
                })
            } else {
                Duration::MAX
            },
        ];
        if round >= 100 {
            times
                .iter_mut()
                .zip(taken)
                .filter(|(_, taken)| *taken < Duration::MAX)
                .for_each(|(times, taken)| times.push(taken));
        }
    }
    let [on_demand, pooled, ours, spawn] = times.map(Spread::of);
    println!("warm run, microseconds   min / p50 / p99");
    println!("  bare, on demand        {on_demand}");
    println!("  bare, pooled           {pooled}");
    println!("  ours                   {ours}");
    println!("  /bin/true              {spawn}");
    let ratio = |floor: &Spread| ours.p50.as_secs_f64() / floor.p50.as_secs_f64();
    println!(
        "  ours: {:.2} of bare on demand, {:.2} of bare pooled, {:.2} of /bin/true",
        ratio(&on_demand),
        ratio(&pooled),
        ratio(&spawn)
    );
}

/// Runs for two seconds on 1, 2 and 4 threads, each with an executor of its own.
fn throughput(bench: &Bench) {
    let pooled = Bare::new(&bench.component, Allocation::Pooled);
    let (job, skill) = (bench.job(), bench.skill.path());
    println!("throughput, runs per second   bare, pooled / ours");
    for threads in [1, 2, 4] {
        let bare = per_second(threads, &|executor| executor.block_on(pooled.run(skill)));
        let ours = per_second(threads, &|executor| {
            assert!(
                executor
                    .block_on(bench.sandbox.run(job.clone()))
                    .unwrap()
                    .termination
                    .is_success()
            );
        });
        println!("  {threads} threads   {bare} / {ours}");
    }
}

fn per_second(threads: usize, work: &(dyn Fn(&tokio::runtime::Runtime) + Sync)) -> u64 {
    let (count, end) = (AtomicU64::new(0), Instant::now() + Duration::from_secs(2));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let executor = executor();
                while Instant::now() < end {
                    work(&executor);
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    count.load(Ordering::Relaxed) / 2
}

/// The first run in a new process: ours from its cache, plain wasmtime from a file with compiled
/// code. Each process reports the time since it created its engine.
fn cold(bench: &Bench) {
    let directory = bench.scratch.path();
    let component = directory.join("component.wasm");
    std::fs::write(&component, &bench.component).unwrap();
    let engine = Engine::new(&config(Allocation::OnDemand)).unwrap();
    std::fs::write(
        directory.join("bare.cwasm"),
        engine.precompile_component(&bench.component).unwrap(),
    )
    .unwrap();
    let child = |mode: &str| -> Duration {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .arg(mode)
            .arg(&component)
            .arg(directory)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Duration::from_nanos(
            String::from_utf8(output.stdout)
                .unwrap()
                .trim()
                .parse()
                .unwrap(),
        )
    };
    child("cold-ours");
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        bare.push(child("cold-bare"));
        ours.push(child("cold-ours"));
    }
    let (bare, ours) = (Spread::of(bare), Spread::of(ours));
    println!(
        "first run in a new process, microseconds   min / p50 / p99\n  bare deserialize_file   {bare}\n  ours from the cache     {ours}"
    );
    println!(
        "  ours: {:.2} of bare",
        ours.p50.as_secs_f64() / bare.p50.as_secs_f64()
    );
}

fn cold_child(mode: &str, component: &Path, directory: &Path) {
    let executor = executor();
    let skill = tempfile::tempdir().unwrap();
    std::fs::write(skill.path().join("data.txt"), "data").unwrap();
    let bytes: Arc<[u8]> = std::fs::read(component).unwrap().into();
    let job = job(
        skill.path(),
        &bytes,
        &["read", "/skill/data.txt"],
        ResourceLimits::default(),
    );
    let started = Instant::now();
    // Until there is a result; cleanup afterwards does not count.
    let taken = if mode == "cold-bare" {
        let bare = from_file(&directory.join("bare.cwasm"));
        executor.block_on(bare.run(skill.path()));
        started.elapsed()
    } else {
        let sandbox = WasmSandbox::new(directory)
            .code_cache(CodeCache::open(directory.join("cache")).unwrap());
        assert!(
            executor
                .block_on(sandbox.run(job))
                .unwrap()
                .termination
                .is_success()
        );
        started.elapsed()
    };
    println!("{}", taken.as_nanos());
}

/// How much later than its deadline an endless loop and a sleep are stopped.
fn overshoot(bench: &Bench) {
    let executor = executor();
    println!("overshoot of a deadline of 50 ms, microseconds   min / p50 / p99");
    for action in ["spin", "sleep"] {
        let mut limits = ResourceLimits::default();
        limits.wall_time = Duration::from_millis(50);
        let job = job(
            bench.skill.path(),
            &Arc::from(PROBE),
            &[action],
            limits.clone(),
        );
        let mut times = Vec::new();
        for round in 0..205 {
            let taken = timed(|| {
                let ending = executor
                    .block_on(bench.sandbox.run(job.clone()))
                    .unwrap()
                    .termination;
                assert_eq!(ending, Termination::TimedOut { limit_ms: 50 });
            });
            if round >= 5 {
                times.push(taken - limits.wall_time);
            }
        }
        println!("  {action:<6} {}", Spread::of(times));
    }
}

/// Whether the memory of the process grows over many runs.
fn memory(bench: &Bench) {
    let (executor, job) = (executor(), bench.job());
    let run = |count: usize| {
        for _ in 0..count {
            assert!(
                executor
                    .block_on(bench.sandbox.run(job.clone()))
                    .unwrap()
                    .termination
                    .is_success()
            );
        }
    };
    println!("resident memory, KiB");
    run(1_000);
    for runs in [0, 25_000, 25_000, 50_000] {
        run(runs);
        println!("  after {runs} more runs: {}", resident_kibibytes());
    }
}

fn resident_kibibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap_or_default();
    line.split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

struct Spread {
    min: Duration,
    p50: Duration,
    p99: Duration,
}

impl Spread {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
        Self {
            min: at(0.0),
            p50: at(0.5),
            p99: at(0.99),
        }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:>7} / {:>7} / {:>7}",
            self.min.as_micros(),
            self.p50.as_micros(),
            self.p99.as_micros()
        )
    }
}

#[expect(unsafe_code, reason = "the file was written by this bench")]
fn from_file(path: &Path) -> Bare {
    let engine = Engine::new(&config(Allocation::OnDemand)).unwrap();
    // SAFETY: this bench wrote the file with the same engine, and no other process knows its path.
    let component = unsafe { Component::deserialize_file(&engine, path) }.unwrap();
    Bare::linked(engine, &component)
}
