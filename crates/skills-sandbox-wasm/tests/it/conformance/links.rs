//! Symlinks, hard links and renames: cases 16 to 25.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use skills_policy::{Authorization, Grants, Policy, Request};
use skills_sandbox::{Job, Program, Sandbox};
use skills_sandbox_conformance::{AttemptResult, Observations};
use skills_sandbox_wasm::WasmSandbox;
use skills_test_support::scene::create_keys;

use super::denied::check_denied;
use super::layout::{create_layout, everywhere, words};
use crate::cases::fixture::Generation;

pub(crate) async fn observe(observations: &mut Observations) {
    for &generation in Generation::ALL {
        links(observations, generation).await;
        swapped(observations, generation).await;
        protected(observations, generation).await;
        keys(observations, generation).await;
        symlinked(observations, generation).await;
        output_files(observations, generation).await;
        odd_paths(observations, generation).await;
    }
    temporary(observations).await;
}

async fn links(observations: &mut Observations, generation: Generation) {
    let fixture = create_layout(generation).writable();
    fs::write(fixture.path("workspace/mine.txt"), "mine").unwrap();
    let before = (fixture.tree("outside"), fixture.tree("skill"));
    let targets = [
        "/skill/link",
        "/skill/shadow",
        "/skill/directory/data.txt",
        "/skill/directory/../secret.txt",
    ];
    check_denied(
        observations,
        16,
        &fixture,
        &targets.map(|path| vec!["raw-read", path]),
    )
    .await;
    check_denied(
        observations,
        16,
        &fixture,
        &words(&[
            &["list", "/skill/directory"],
            &["write", "/skill/directory/new.txt"],
        ]),
    )
    .await;

    let targets = [
        "../outside/data.txt",
        "../skill/../outside/data.txt",
        "/etc/shadow",
        "../../../../../../../../etc/passwd",
    ];
    for (number, target) in targets.iter().enumerate() {
        let link = format!("/workspace/link{number}");
        // Whether it can be created does not matter, as long as it does not lead outside.
        fixture.attempt(&["symlink", target, &link]).await;
        check_denied(
            observations,
            17,
            &fixture,
            &["raw-read", "truncate", "set-times-through"]
                .map(|action| vec![action, link.as_str()]),
        )
        .await;
    }
    fixture
        .attempt(&["symlink", "../outside", "/workspace/directory"])
        .await;
    check_denied(
        observations,
        17,
        &fixture,
        &words(&[
            &["write", "/workspace/directory/new"],
            &["unlink", "/workspace/directory/data.txt"],
        ]),
    )
    .await;

    let linked = words(&[
        &["link", "/workspace/../outside/data.txt", "/workspace/h1"],
        &["link", "/workspace/directory/data.txt", "/workspace/h2"],
        &["link", "/skill/data.txt", "/workspace/h3"],
        &["link", "/skill/data.txt", "/work/h4"],
        &["link", "/etc/passwd", "/workspace/h5"],
        &["link", "/workspace/mine.txt", "/workspace/../outside/h6"],
    ]);
    check_denied(observations, 19, &fixture, &linked).await;
    let moved = words(&[
        &["rename", "/workspace/../outside/data.txt", "/workspace/r1"],
        &["rename", "/workspace/directory/data.txt", "/workspace/r1"],
        &["rename", "/skill/data.txt", "/workspace/r2"],
        &["rename", "/workspace/mine.txt", "/workspace/../outside/r3"],
        &["rename", "/workspace/mine.txt", "/workspace/directory/r3"],
        &["rename", "/workspace/mine.txt", "/skill/r4"],
        &["rename", "/etc/hostname", "/workspace/r5"],
    ]);
    check_denied(observations, 20, &fixture, &moved).await;
    let is_same = before == (fixture.tree("outside"), fixture.tree("skill"));
    [16, 17, 19, 20].iter().for_each(|case| {
        observations.check(*case, "files outside", AttemptResult::Denied, is_same)
    });
}

/// A granted directory is replaced with a symlink and back, at least a thousand times, while runs
/// start.
async fn swapped(observations: &mut Observations, generation: Generation) {
    const FLIPS: usize = 1_000;
    const RUNS: usize = 100;
    let fixture = create_layout(generation);
    fs::write(fixture.path("workspace/data.txt"), "own").unwrap();
    symlink("outside", fixture.path("decoy")).unwrap();
    let (stop, flips) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let flipper = {
        let (stop, flips) = (Arc::clone(&stop), Arc::clone(&flips));
        let [workspace, decoy, aside] =
            ["workspace", "decoy", "aside"].map(|name| fixture.path(name));
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                for (from, to) in [
                    (&workspace, &aside),
                    (&decoy, &workspace),
                    (&workspace, &decoy),
                    (&aside, &workspace),
                ] {
                    fs::rename(from, to).unwrap();
                }
                flips.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    let (mut own, mut refused, mut runs) = (0, 0, 0);
    while runs < RUNS || flips.load(Ordering::Relaxed) < FLIPS {
        runs += 1;
        let ran = fixture
            .run_job(fixture.job(&["raw-read", "/workspace/data.txt"]))
            .await
            .map(|outcome| outcome.stdout.text());
        match ran.as_deref() {
            Ok("ok: own\n") => own += 1,
            Ok(output) if !output.starts_with("refused: ") => {
                observations.observe(18, &format!("it read {output:?}"), AttemptResult::Succeeded)
            }
            _ => refused += 1,
        }
    }
    stop.store(true, Ordering::Relaxed);
    flipper.join().unwrap();
    observations.observe(
        18,
        &format!("{own} runs saw their own, {refused} nothing"),
        AttemptResult::Denied,
    );
}

/// The tests of protected paths cover all variants.
async fn protected(observations: &mut Observations, generation: Generation) {
    let fixture = create_layout(generation).writable();
    fs::write(fixture.path("workspace/evil"), "evil").unwrap();
    fs::create_dir(fixture.path("workspace/other")).unwrap();
    let before = fixture.tree("workspace/.git");
    let attempts = words(&[
        &["write", "/workspace/.git/config"],
        &["write", "/workspace/.git/hooks/post-commit"],
        &["rename", "/workspace/.git", "/workspace/.moved"],
        &["rename", "/workspace/.git/hooks", "/workspace/moved"],
        &["rename", "/workspace/evil", "/workspace/.git/config"],
        &["rename", "/workspace/other", "/workspace/.git"],
        &["hold", "/workspace/.git/hooks", "/workspace/moved"],
        &["unlink", "/workspace/.git/config"],
        &["truncate", "/workspace/.git/config"],
    ]);
    check_denied(observations, 21, &fixture, &attempts).await;
    observations.check(
        21,
        "seen from outside",
        AttemptResult::Denied,
        before == fixture.tree("workspace/.git"),
    );
}

async fn keys(observations: &mut Observations, generation: Generation) {
    let fixture = create_layout(generation).writable();
    create_keys(&fixture.path("workspace"));
    let attempts = words(&[
        &["read", "/workspace/.env"],
        &["read", "/workspace/keys/hard.txt"],
        &["read", "/workspace/keys/symbolic.txt"],
        &["read", "/workspace/keys/.aws/credentials"],
        &["write", "/workspace/.env"],
        &["unlink", "/workspace/.env"],
        &["rename", "/workspace/.env", "/workspace/moved"],
        &["rename", "/workspace/keys", "/workspace/elsewhere"],
    ]);
    check_denied(observations, 102, &fixture, &attempts).await;
}

fn granted(root: &std::path::Path) -> Option<Grants> {
    match Policy::default().authorize(&Request::new(root)) {
        Authorization::Granted(grants) => Some(grants),
        Authorization::Denied(_) => None,
    }
}

/// A caller that knows the skill resolves its path; a backend that followed symlinks would follow
/// those of attackers, too.
async fn symlinked(observations: &mut Observations, generation: Generation) {
    let fixture = create_layout(generation);
    symlink(fixture.path("skill"), fixture.path("alias")).unwrap();
    let job = |root: &std::path::Path| {
        Job::new(granted(root).unwrap(), Program::Wasm(generation.guest()))
            .arg("raw-read")
            .arg("/skill/data.txt")
    };
    let refused = fixture
        .run_job(job(&fixture.path("alias")))
        .await
        .map(|outcome| outcome.stdout.text())
        .map_err(|error| error.to_string());
    observations.check(
        22,
        &format!("{refused:?}"),
        AttemptResult::Rejected,
        refused
            .as_ref()
            .is_err_and(|error| error.contains("symlink")),
    );
    let resolved = fixture
        .run_job(job(&fixture.path("alias").canonicalize().unwrap()))
        .await
        .unwrap()
        .stdout
        .text();
    observations.check(
        22,
        "the resolved path",
        AttemptResult::Rejected,
        resolved == "ok: data\n",
    );
}

async fn output_files(observations: &mut Observations, generation: Generation) {
    let mut fixture = create_layout(generation).writable();
    fixture.limits.file_bytes = 1 << 20;
    let before = fixture.tree("outside");
    fixture
        .attempt(&["symlink", "../outside/data.txt", "/workspace/left"])
        .await;
    fixture
        .attempt(&["resize", "/workspace/sparse", "10737418240"])
        .await;
    fixture
        .attempt(&["pour", "/workspace/sparse", "10000000"])
        .await;
    let odd = "/workspace/name\nwith\u{1b}[31m";
    let made = fixture.attempt(&["create", odd]).await;
    let special = |entry: fs::DirEntry| {
        let found = entry.path().symlink_metadata().unwrap();
        let is_plain = found.is_file() || found.is_dir() || found.is_symlink();
        !is_plain
            || (!found.is_symlink() && found.mode() & 0o6000 != 0)
            || (found.is_file() && found.len() > 1 << 20)
    };
    let has_special = fs::read_dir(fixture.path("workspace"))
        .unwrap()
        .any(|entry| special(entry.unwrap()));
    let is_so = made == "ok: create"
        && fixture.path("workspace/sparse").exists()
        && !has_special
        && before == fixture.tree("outside");
    observations.check(23, &made, AttemptResult::Contained, is_so);
}

/// Symlinks with the names of earlier scratch directories, and similar ones, point to a file that
/// must not change.
async fn temporary(observations: &mut Observations) {
    let fixture = create_layout(Generation::P2);
    let sandbox = WasmSandbox::new(fixture.path("scratch"));
    let before = fixture.tree("outside");
    let mut names: Vec<String> = (0..20).map(|number| format!("skill-{number:06}")).collect();
    for _ in 0..4 {
        // The run that reports a name is stopped, so that its directory still exists.
        let mut run = sandbox.run(fixture.job(&["wait", "/work/began", "/work/go"]));
        std::future::poll_fn(|context| {
            assert!(
                run.as_mut().poll(context).is_pending(),
                "the run ended by itself"
            );
            let scratch = fs::read_dir(fixture.path("scratch"))
                .unwrap()
                .map(|entry| entry.unwrap());
            let began = scratch.filter(|entry| entry.path().join("began").exists());
            names.extend(began.map(|entry| entry.file_name().into_string().unwrap()));
            if names.is_empty()
                || names.iter().all(|name| {
                    fixture
                        .path("scratch")
                        .join(name)
                        .symlink_metadata()
                        .is_err()
                })
            {
                context.waker().wake_by_ref();
                return std::task::Poll::Pending;
            }
            std::task::Poll::Ready(())
        })
        .await;
        drop(run);
        for name in names.drain(..) {
            let _ = symlink(fixture.path("outside"), fixture.path("scratch").join(name));
        }
        let output = sandbox
            .run(fixture.job(&["write", "/work/x"]))
            .await
            .unwrap()
            .stdout
            .text();
        observations.check(
            24,
            &output,
            AttemptResult::NoEffect,
            output == "ok: written\n" && before == fixture.tree("outside"),
        );
    }
}

async fn odd_paths(observations: &mut Observations, generation: Generation) {
    let fixture = create_layout(generation);
    let long: String = std::iter::repeat_n("long-name-of-a-directory/", 200).collect();
    let names: [&[u8]; 6] = [
        b"new\nline",
        b"a\") (allow default) (\"",
        b"'single' $(id) `id`",
        b"tab\tand\x1b[31m",
        b"\xff\xfe",
        long.as_bytes(),
    ];
    for name in names {
        let root = fixture.path("workspace").join(OsStr::from_bytes(name));
        let is_made = fs::create_dir_all(&root).is_ok();
        let _ = fs::write(root.join("own.txt"), "own");
        // Policy or backend may reject such a path; otherwise the restrictions are the usual ones.
        let Some(grants) = granted(&root) else {
            continue;
        };
        let mut attempts = everywhere(&["raw-read"], &[fixture.path("outside/data.txt")]);
        attempts.push(vec!["raw-read".to_owned(), "/skill/own.txt".to_owned()]);
        for words in attempts {
            let job = words.iter().fold(
                Job::new(grants.clone(), Program::Wasm(generation.guest())),
                |job, word| job.arg(word),
            );
            let output = fixture
                .run_job(job)
                .await
                .map(|outcome| outcome.stdout.text())
                .map_err(|error| error.to_string());
            let is_own = is_made && words[1] == "/skill/own.txt";
            let is_so = output.as_deref() == Ok("ok: own\n") && is_own
                || output.as_ref().map_or(!is_made, |output| {
                    !is_own && output.starts_with("refused: ")
                });
            observations.check(
                25,
                &format!("{:?} {words:?}: {output:?}", &name[..name.len().min(24)]),
                AttemptResult::NoEffect,
                is_so,
            );
        }
    }
}
