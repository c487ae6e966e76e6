//! Symlinks, hard links and renames: cases 16 to 25.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use skills_policy::{Authorization, Grants, Policy, Request};
use skills_sandbox::{Job, Program, Sandbox, ScriptType};
use skills_sandbox_conformance::AttemptResult;
use skills_sandbox_conformance::attempts::{KEYS, LINKS, PROTECTED, attempts_of};
use skills_test_support::scene::create_keys;

use super::attempts::python;
use super::observations::Observations;
use super::scene::{create_scene, metadata_of_tree, python_paths};

pub(crate) async fn run(observations: &mut Observations) {
    links(observations).await;
    swapped(observations).await;
    protected(observations).await;
    keys(observations).await;
    symlinked(observations).await;
    artifacts(observations).await;
    temporary(observations).await;
    unusual_paths(observations).await;
    observations.finish_group("races");
}

async fn links(observations: &mut Observations) {
    let skill = create_scene(observations.mode).tool("Write");
    let before = metadata_of_tree(&skill.path("outside"));
    let attempts = attempts_of(LINKS);
    let prelude = format!(
        "{}def follow(target, place):\n    os.symlink(target, place)\n    return open(place).read()",
        python_paths(&skill)
    );
    let (tried, _) = python(&skill, &prelude, &attempts).await;
    observations.check_denied(&tried);
    for case in [17, 19, 20] {
        observations.check(
            case,
            "files outside",
            AttemptResult::Denied,
            before == metadata_of_tree(&skill.path("outside")),
        );
    }
}

/// Exchanges the granted directory for a symlink and back, at least ten thousand times, while runs
/// start.
async fn swapped(observations: &mut Observations) {
    const FLIPS: usize = 10_000;
    const RUNS: usize = 40;
    let skill = create_scene(observations.mode).tool("Read");
    symlink(skill.path("outside"), skill.path("decoy")).unwrap();
    fs::write(skill.path("workspace/public.txt"), "own").unwrap();
    let job = skill.job(
        "main.sh",
        "while read -r word || [ \"$word\" ]; do echo \"$word\"; done < ../workspace/public.txt",
    );
    let (stop, flips) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let flipper = {
        let (stop, flips, workspace, decoy) = (
            Arc::clone(&stop),
            Arc::clone(&flips),
            skill.path("workspace"),
            skill.path("decoy"),
        );
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                renameat2(
                    AT_FDCWD,
                    &workspace,
                    AT_FDCWD,
                    &decoy,
                    RenameFlags::RENAME_EXCHANGE,
                )
                .unwrap();
                flips.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    let (mut own, mut rejected, mut runs) = (0, 0, 0);
    while runs < RUNS || flips.load(Ordering::Relaxed) < FLIPS {
        runs += 1;
        match skill.sandbox().run(job.clone()).await {
            Ok(output) => match output.stdout.text().as_str() {
                "own\n" => own += 1,
                "" => rejected += 1,
                other => observations.observe(
                    18,
                    &format!("it read {other:?}"),
                    AttemptResult::Succeeded,
                ),
            },
            Err(_) => rejected += 1,
        }
    }
    stop.store(true, Ordering::Relaxed);
    flipper.join().unwrap();
    observations.observe(
        18,
        &format!("{own} runs read their own file, {rejected} none"),
        AttemptResult::Denied,
    );
}

async fn protected(observations: &mut Observations) {
    let skill = create_scene(observations.mode).tool("Write");
    let before = (
        metadata_of_tree(&skill.path("workspace/.git/config")),
        metadata_of_tree(&skill.path("workspace/.git/hooks")),
    );
    let attempts = attempts_of(PROTECTED);
    let (tried, report) = python(&skill, &python_paths(&skill), &attempts).await;
    let after = (
        metadata_of_tree(&skill.path("workspace/.git/config")),
        metadata_of_tree(&skill.path("workspace/.git/hooks")),
    );
    if before == after && tried.iter().all(|tried| tried.result.is_err()) {
        observations.observe(21, "all failed", AttemptResult::Denied);
    } else {
        observations.check_reported(21, &report, "protected");
    }
}

async fn keys(observations: &mut Observations) {
    let skill = create_scene(observations.mode).tool("Write");
    create_keys(&skill.path("workspace"));
    let (tried, _) = python(&skill, &python_paths(&skill), &attempts_of(KEYS)).await;
    observations.check_denied(&tried);
    let reads_others = skill
        .python(&format!(
            "{}print(open(workspace + '/known.txt').read())",
            python_paths(&skill)
        ))
        .await;
    observations.check(
        102,
        "a file beside the keys is read",
        AttemptResult::Denied,
        reads_others.termination.is_success(),
    );
}

fn granted(root: &Path) -> Grants {
    match Policy::default().authorize(&Request::new(root)) {
        Authorization::Granted(grants) => grants,
        Authorization::Denied(denial) => panic!("{denial}"),
    }
}

/// Callers resolve the path of a skill. A backend that followed symlinks would also follow those
/// that a program created.
async fn symlinked(observations: &mut Observations) {
    let skill = create_scene(observations.mode);
    fs::write(skill.path("skill/main.sh"), "echo ran").unwrap();
    symlink(skill.path("skill"), skill.path("alias")).unwrap();
    let run = async |root: PathBuf| {
        let job = Job::new(
            granted(&root),
            Program::script(ScriptType::Shell, root.join("main.sh")),
        );
        skill.sandbox().run(job).await
    };
    let rejected = run(skill.path("alias"))
        .await
        .map(|output| output.stdout.text())
        .map_err(|error| error.to_string());
    observations.check(
        22,
        &format!("{rejected:?}"),
        AttemptResult::Rejected,
        rejected
            .as_ref()
            .is_err_and(|error| error.contains("symlink")),
    );
    let resolved = run(skill.path("alias").canonicalize().unwrap())
        .await
        .unwrap()
        .stdout
        .text();
    observations.check(
        22,
        "the resolved path",
        AttemptResult::Rejected,
        resolved == "ran\n",
    );
}

async fn artifacts(observations: &mut Observations) {
    let mut skill = create_scene(observations.mode).tool("Write");
    skill.ceiling.file_bytes = 1 << 20;
    let before = metadata_of_tree(&skill.path("outside"));
    let script = format!(
        "import os\n{}for place in [workspace, os.environ['HOME']]:\n    os.symlink(outside, place + '/link')\n    os.mkfifo(place + '/pipe')\n    \
         file = open(place + '/sparse', 'w')\n    for change in [lambda: file.truncate(10 << 30), lambda: os.chmod(place + '/sparse', 0o6755), \
         lambda: os.mknod(place + '/device', 0o60666, os.makedev(8, 0))]:\n        try: change()\n        except OSError: pass\n    \
         open(place + '/name\\nwith\\x1b[31m', 'w')\nprint('made')",
        python_paths(&skill)
    );
    let output = skill.python(&script).await;
    let made = |name: &str| fs::symlink_metadata(skill.path("workspace").join(name));
    let sparse = made("sparse").unwrap();
    let facts = [
        output.stdout.text() == "made\n",
        output.duration < std::time::Duration::from_secs(15),
        made("link").unwrap().is_symlink() && made("pipe").is_ok() && made("device").is_err(),
        sparse.len() <= 1 << 20 && sparse.mode() & 0o6000 == 0,
        skill.leftovers() == 0,
        before == metadata_of_tree(&skill.path("outside")),
    ];
    observations.check(
        23,
        &format!("{facts:?} {}", output.stderr.text()),
        AttemptResult::Contained,
        facts.iter().all(|fact| *fact),
    );
}

/// Symlinks with the names of scratch directories lead to a directory that must not change.
async fn temporary(observations: &mut Observations) {
    let skill = create_scene(observations.mode);
    let script = "import os\nopen(os.environ['HOME'] + '/x', 'w').write('x')\nprint(os.path.basename(os.environ['TMPDIR']))";
    let before = metadata_of_tree(&skill.path("outside"));
    let mut names: Vec<String> = (0..20).map(|number| format!("skill-{number:06}")).collect();
    for round in 0..4 {
        let output = skill.python(script).await;
        observations.check(
            24,
            &output.stderr.text(),
            AttemptResult::NoEffect,
            output.termination.is_success(),
        );
        names.push(format!("{}{round}", output.stdout.text().trim()));
        names.push(output.stdout.text().trim().to_owned());
        for name in names.drain(..) {
            // In memory all scratch directories have the same name, so the symlink may exist
            // already.
            let _ = symlink(skill.path("outside"), skill.path("scratch").join(name));
        }
        observations.check(
            24,
            "the symlinks lead to nothing that changed",
            AttemptResult::NoEffect,
            before == metadata_of_tree(&skill.path("outside")),
        );
    }
}

async fn unusual_paths(observations: &mut Observations) {
    let skill = create_scene(observations.mode);
    let base = skill.path("workspace");
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
        let root = base.join(OsStr::from_bytes(name));
        let is_made = fs::create_dir_all(&root).is_ok();
        let script = "if read -r line < ../../outside/public.txt || read -r line < /etc/shadow; then echo out; fi; echo ran";
        let _ = fs::write(root.join("main.sh"), script);
        // The rules or the backend may reject such a path. Otherwise the restrictions apply as to
        // any other.
        let Authorization::Granted(grants) = Policy::default().authorize(&Request::new(&root))
        else {
            continue;
        };
        let output = skill
            .sandbox()
            .run(Job::new(
                grants,
                Program::script(ScriptType::Shell, root.join("main.sh")),
            ))
            .await;
        let stdout = output
            .map(|output| output.stdout.text())
            .map_err(|error| error.to_string());
        let is_text = std::str::from_utf8(name).is_ok() && is_made;
        let is_so = if is_text {
            stdout == Ok("ran\n".to_owned())
        } else {
            stdout.is_err()
        };
        observations.check(
            25,
            &format!("{:?}: {stdout:?}", &name[..name.len().min(24)]),
            AttemptResult::NoEffect,
            is_so,
        );
    }
}
