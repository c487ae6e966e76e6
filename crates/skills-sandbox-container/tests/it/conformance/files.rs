//! Files by their paths, and links: cases 1 to 10, 13 to 16, 18, 22, 24 and 25.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use skills_policy::{Authorization, Policy, Request};
use skills_sandbox::{Job, Program, Sandbox, ScriptType};
use skills_sandbox_conformance::attempts::{
    AttemptOutput, CHANGES, METADATA, READ_ONLY, READS, attempts_of,
};
use skills_sandbox_conformance::{AttemptResult, Observations};
use skills_test_support::scene::metadata_of_tree;

use super::attempts::{create_scene, python, python_paths, sandbox, shell, split_off};
use crate::skill::Skill;

pub(crate) async fn observe(observations: &mut Observations) {
    plain(observations).await;
    by_shell(observations).await;
    read_only(observations).await;
    swapped(observations).await;
    symlinked(observations).await;
    temporary(observations).await;
    unusual_paths(observations).await;
}

const LISTINGS: &[(u8, &[&str])] = &[(
    3,
    &[
        "os.listdir('/')",
        "os.listdir('..')",
        "os.listdir(outside + '/home')",
        "os.listdir('/home')",
    ],
)];
const PLANTED_LINKS: &[(u8, &[&str])] = &[(
    16,
    &[
        "open('link').read()",
        "open('shadow').read()",
        "open('directory/public.txt').read()",
        "os.listdir('directory')",
        "write('directory/planted')",
    ],
)];

async fn plain(observations: &mut Observations) {
    let skill = create_scene();
    let hosts = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    fs::write(hosts.path(), "host").unwrap();
    let left = format!("/tmp/left-by-a-script-{}", std::process::id());
    let before = (
        metadata_of_tree(&skill.path("outside")),
        metadata_of_tree(&skill.path("skill/SKILL.md")),
    );
    let lists = [READS, LISTINGS, CHANGES, METADATA, PLANTED_LINKS];
    let mut attempts: Vec<(u8, String)> = lists
        .iter()
        .flat_map(|list| attempts_of(list))
        .map(|(case, code)| (case, code.to_owned()))
        .collect();
    attempts.extend([
        (15, format!("open('{}').read()", hosts.path().display())),
        (15, format!("write('{left}')")),
    ]);
    let (tried, _) = python(&skill, &python_paths(&skill), &attempts).await;
    // Metadata includes the times of reads of the directory, which did not change.
    let after = (
        metadata_of_tree(&skill.path("outside")),
        metadata_of_tree(&skill.path("skill/SKILL.md")),
    );
    for case in [5, 6, 7, 8] {
        let what = format!("{before:?} -> {after:?}");
        observations.check(case, &what, AttemptResult::Denied, before == after);
    }
    observations.check_without_effect(8, &tried);
    let names = |path| fs::read_dir(skill.path(path)).unwrap().count();
    observations.check(
        5,
        "the skill's files",
        AttemptResult::Denied,
        names("skill") == 5 && names("") == 5,
    );
    // `ptmx` makes terminals in an instance of the container only.
    let (terminals, tried) = split_off(tried, &["/dev/ptmx"]);
    for tried in terminals {
        let result = match tried.result {
            Ok(_) => AttemptResult::Contained,
            Err(_) => AttemptResult::Denied,
        };
        observations.observe(13, &tried.code, result);
    }
    let (devices, tried): (Vec<_>, Vec<_>) = tried.into_iter().partition(|tried| tried.case == 13);
    for tried in devices {
        let what = format!("{} gave {:?}", tried.code, tried.result);
        observations.check(13, &what, AttemptResult::Contained, tried.result.is_err());
    }
    let tried = own_devices(observations, tried);
    let (listed, tried): (Vec<_>, Vec<_>) = tried.into_iter().partition(|tried| tried.case == 3);
    listings(observations, &listed);
    let (own, tried): (Vec<_>, Vec<_>) = tried.into_iter().partition(|tried| tried.case == 15);
    let is_private = own[0].result == Err("ENOENT".to_owned())
        && own[1].result.is_ok()
        && !Path::new(&left).exists();
    observations.check(
        15,
        &format!("{own:?}"),
        AttemptResult::Contained,
        is_private,
    );
    let tried: Vec<_> = tried.into_iter().filter(|tried| tried.case != 8).collect();
    observations.check_denied(&tried);
}

/// The directory `/dev` is in memory, private to the container, and belongs to root. Returns the other
/// attempts.
pub(crate) fn own_devices(
    observations: &mut Observations,
    tried: Vec<AttemptOutput>,
) -> Vec<AttemptOutput> {
    let (own, tried) = split_off(tried, &["/dev/planted"]);
    for own in &own {
        let result = match own.result {
            Ok(_) => AttemptResult::Contained,
            Err(_) => AttemptResult::Denied,
        };
        observations.observe(6, "a file in its own /dev", result);
    }
    tried
}

/// Only directories of the image, and those that lead to granted paths, are listed.
fn listings(observations: &mut Observations, listed: &[AttemptOutput]) {
    for AttemptOutput { code, result, .. } in listed {
        let Ok(names) = result else { continue };
        let hidden = [
            "outside",
            "sibling",
            "scratch",
            "workspace",
            "'root'",
            "'boot'",
            "'home'",
        ];
        observations.check(
            3,
            &format!("{code}: {names}"),
            AttemptResult::Contained,
            !hidden.iter().any(|name| names.contains(name)),
        );
    }
}

async fn by_shell(observations: &mut Observations) {
    let skill = create_scene();
    let read = |path: &str| format!("read -r line < {path}");
    let attempts = [
        (1, read("/etc/shadow")),
        (1, read("../outside/home/.ssh/id_rsa")),
        (2, "cat ../outside/public.txt".to_owned()),
        (4, "ls ../sibling".to_owned()),
        (5, "echo x > SKILL.md".to_owned()),
        (5, "rm -f SKILL.md".to_owned()),
        (6, "echo x > /etc/planted".to_owned()),
        (6, "mkdir /usr/lib/planted".to_owned()),
        (
            14,
            read("../../../../../../../../../../../../../../etc/shadow"),
        ),
        (16, read("link")),
        (
            58,
            "exit_of_a_program() { /bin/ls / > /dev/null; }; exit_of_a_program".to_owned(),
        ),
    ];
    let (spawned, tried): (Vec<_>, Vec<_>) = shell(&skill, &attempts)
        .await
        .into_iter()
        .partition(|tried| tried.case == 58);
    observations.check_denied(&tried);
    assert!(spawned[0].result.is_ok(), "programs of the image start");
}

async fn read_only(observations: &mut Observations) {
    let skill = create_scene().readable_workspace();
    let before = metadata_of_tree(&skill.path("workspace"));
    let prelude = format!(
        "{}assert open(workspace + '/known.txt').read() == 'known'",
        python_paths(&skill)
    );
    let (tried, _) = python(&skill, &prelude, &attempts_of(READ_ONLY)).await;
    observations.check_denied(&tried);
    observations.check(
        10,
        "the workspace",
        AttemptResult::Denied,
        before == metadata_of_tree(&skill.path("workspace")),
    );
}

/// Exchanges the granted directory for a symlink and back, thousands of times, while containers are
/// created.
async fn swapped(observations: &mut Observations) {
    const FLIPS: usize = 10_000;
    const RUNS: usize = 6;
    let skill = create_scene().readable_workspace();
    symlink(skill.path("outside"), skill.path("decoy")).unwrap();
    fs::write(skill.path("workspace/public.txt"), "own").unwrap();
    let script = "print(open('../workspace/public.txt').read())";
    let (job, sandbox) = (skill.job("main.py", script), sandbox(&skill));
    let flipper = Flipper::start(&skill);
    let (mut own, mut rejected, mut runs) = (0, 0, 0);
    while runs < RUNS || flipper.count() < FLIPS {
        runs += 1;
        match sandbox.run(job.clone()).await {
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
    drop(flipper);
    let what = format!("{own} runs read their own file, {rejected} none");
    observations.observe(18, &what, AttemptResult::Denied);
}

/// A thread that exchanges the workspace and a symlink until this value is dropped.
struct Flipper {
    stop: Arc<AtomicBool>,
    count: Arc<AtomicUsize>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Flipper {
    fn start(skill: &Skill) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let count = Arc::new(AtomicUsize::new(0));
        let (workspace, decoy) = (skill.path("workspace"), skill.path("decoy"));
        let (is_stopped, counter) = (Arc::clone(&stop), Arc::clone(&count));
        let thread = std::thread::spawn(move || {
            let exchange = RenameFlags::RENAME_EXCHANGE;
            while !is_stopped.load(Ordering::Relaxed) {
                renameat2(AT_FDCWD, &workspace, AT_FDCWD, &decoy, exchange).unwrap();
                counter.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self {
            stop,
            count,
            thread: Some(thread),
        }
    }

    fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

impl Drop for Flipper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

/// Runs a shell script in a directory that is granted by its path.
async fn run_in(skill: &Skill, root: &Path) -> Result<String, String> {
    let Authorization::Granted(grants) = Policy::default().authorize(&Request::new(root)) else {
        return Err("denied".to_owned());
    };
    let script = Program::script(ScriptType::Shell, root.join("main.sh"));
    let output = sandbox(skill).run(Job::new(grants, script)).await;
    output
        .map(|output| output.stdout.text())
        .map_err(|error| error.to_string())
}

async fn symlinked(observations: &mut Observations) {
    let skill = create_scene();
    fs::write(skill.path("skill/main.sh"), "echo ran").unwrap();
    symlink(skill.path("skill"), skill.path("alias")).unwrap();
    let rejected = run_in(&skill, &skill.path("").join("alias")).await;
    observations.check(
        22,
        &format!("{rejected:?}"),
        AttemptResult::Rejected,
        rejected.is_err_and(|error| error.contains("symlink")),
    );
}

/// Symlinks with the names of temporary directories lead to a directory that must not change.
async fn temporary(observations: &mut Observations) {
    let skill = create_scene();
    let before = metadata_of_tree(&skill.path("outside"));
    for number in 0..4 {
        let name = format!("skills-run-{number:012}.tmp");
        symlink(skill.path("outside"), skill.path("scratch").join(name)).unwrap();
    }
    let text = "import os\nopen(os.environ['HOME'] + '/x', 'w').write('x')";
    let output = super::attempts::script(&skill, text).await;
    observations.check(
        24,
        &output.stderr.text(),
        AttemptResult::NoEffect,
        output.termination.is_success() && before == metadata_of_tree(&skill.path("outside")),
    );
}

async fn unusual_paths(observations: &mut Observations) {
    let skill = create_scene();
    let long = "long-name-of-a-directory/".repeat(200);
    let names: [&[u8]; 6] = [
        b"new\nline",
        b"a\", ro, /etc:/etc:rw (\"",
        b"'single' $(id) `id`",
        b"tab\tand\x1b[31m",
        b"\xff\xfe",
        long.as_bytes(),
    ];
    for name in names {
        let root = skill.path("workspace").join(OsStr::from_bytes(name));
        let is_made = fs::create_dir_all(&root).is_ok();
        let script = "if read -r line < ../../outside/public.txt || read -r line < /etc/shadow; then echo out; fi; echo ran";
        let _ = fs::write(root.join("main.sh"), script);
        let stdout = run_in(&skill, &root).await;
        let is_text = std::str::from_utf8(name).is_ok() && is_made;
        let is_so = if is_text {
            // Engines reject some of them, and then nothing runs.
            stdout != Ok("out\nran\n".to_owned())
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
