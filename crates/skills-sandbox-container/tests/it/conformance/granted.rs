//! A writable workspace: cases 11, 12, 17, 19 to 21, 23, 47 to 49, 81, 87 and 88.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;

use skills_sandbox_conformance::attempts::{
    CHANGES, GRANTED, KEYS, LINKS, LOCAL_SOCKET_FUNCTIONS, LOCAL_SOCKETS, PROTECTED, SETUID_FILES,
    attempts_of, python_script,
};
use skills_sandbox_conformance::{AttemptResult, Observations};
use skills_test_support::host;
use skills_test_support::scene::{ConnectionCount, create_keys, metadata_of_tree};

use super::attempts::{create_scene, python, python_paths, run_attempts, sandbox, script};
use super::files::own_devices;

pub(crate) async fn observe(observations: &mut Observations) {
    changes(observations).await;
    protected(observations).await;
    keys(observations).await;
    output_files(observations).await;
    local_sockets(observations).await;
    own_code(observations).await;
}

const COMMANDS: &str = "def gains(*command): return subprocess.run(command, capture_output=True, check=True).stdout\n\
     def follow(target, place):\n    os.symlink(target, place)\n    return open(place).read()\n";

async fn changes(observations: &mut Observations) {
    let skill = create_scene().workspace();
    let before = metadata_of_tree(&skill.path("outside"));
    let attempts: Vec<(u8, &str)> = [GRANTED, LINKS, SETUID_FILES, CHANGES]
        .iter()
        .flat_map(|list| attempts_of(list))
        .collect();
    let prelude = format!("{}{COMMANDS}", python_paths(&skill));
    let (tried, _) = python(&skill, &prelude, &attempts).await;
    let is_same = before == metadata_of_tree(&skill.path("outside"));
    for case in [6, 7, 17, 19, 20] {
        observations.check(case, "files outside", AttemptResult::Denied, is_same);
    }
    let made = fs::metadata(skill.path("workspace/made.txt"));
    let owner = made.map(|file| file.uid()).ok();
    let content = fs::read_to_string(skill.path("workspace/made.txt")).unwrap_or_default();
    observations.check(
        11,
        &format!("owned by {owner:?}"),
        AttemptResult::Succeeded,
        owner == Some(nix::unistd::geteuid().as_raw()) && content == "made",
    );
    let special: Vec<_> = fs::read_dir(skill.path("workspace"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.metadata().unwrap().mode() & 0o6000 != 0)
        .map(|entry| entry.file_name())
        .collect();
    if special.is_empty() {
        observations.check_without_effect(81, &tried);
    } else {
        let what = format!("{special:?} run as their owner");
        observations.observe(81, &what, AttemptResult::Succeeded);
    }
    let tried: Vec<_> = tried
        .into_iter()
        .filter(|tried| ![11, 81].contains(&tried.case))
        .collect();
    let tried = own_devices(observations, tried);
    observations.check_denied(&tried);
}

/// Ways to protected files that a mount would have to cover too.
const OTHER_WAYS: &[(u8, &[&str])] = &[
    (
        21,
        &[
            "write('/workspace/.git/config')",
            "os.rename('/workspace/.git', '/workspace/.moved')",
            "os.rename(workspace + '/.git', '/workspace/.moved')",
            "os.unlink('/workspace/.git/hooks/pre-commit')",
            "os.link(workspace + '/.git/config', '/workspace/copy')",
            "os.chmod('/workspace/.git/hooks/pre-commit', 0o777)",
        ],
    ),
    (
        27,
        &[
            "write('/proc/self/root' + workspace + '/.git/config')",
            "write('/proc/1/root' + workspace + '/.git/config')",
            "write('/proc/self/root/workspace/.git/config')",
            "write('/proc/1/root/workspace/.git/config')",
            "os.rename('/proc/self/root/workspace/.git', '/proc/self/root/workspace/.moved')",
            "os.open('/proc/self/fd/%d' % os.open(workspace + '/.git/config', os.O_RDONLY), os.O_RDWR)",
            "write('/.sandbox/launch')",
            "os.unlink('/.sandbox/launch')",
            "os.rename('/.sandbox', '/moved')",
        ],
    ),
];

async fn protected(observations: &mut Observations) {
    let skill = create_scene().workspace();
    let tree = || {
        (
            metadata_of_tree(&skill.path("workspace/.git/config")),
            metadata_of_tree(&skill.path("workspace/.git/hooks")),
        )
    };
    let before = tree();
    let attempts: Vec<(u8, &str)> = [OTHER_WAYS, PROTECTED]
        .iter()
        .flat_map(|list| attempts_of(list))
        .collect();
    let prelude = python_paths(&skill);
    let job = skill
        .job("main.py", &python_script(&prelude, &attempts))
        .path_alias("/workspace", skill.path("workspace"));
    let (tried, _) = run_attempts(&sandbox(&skill), job, &attempts).await;
    observations.check_denied(&tried);
    let after = tree();
    let what = format!("{before:?} -> {after:?}");
    observations.check(21, &what, AttemptResult::Denied, before == after);
}

async fn keys(observations: &mut Observations) {
    let skill = create_scene().workspace();
    create_keys(&skill.path("workspace"));
    let attempts = attempts_of(KEYS);
    let prelude = python_paths(&skill);
    let job = skill
        .job("main.py", &python_script(&prelude, &attempts))
        .path_alias("/workspace", skill.path("workspace"));
    let (tried, _) = run_attempts(&sandbox(&skill), job, &attempts).await;
    observations.check_denied(&tried);
}

async fn output_files(observations: &mut Observations) {
    let mut skill = create_scene().workspace();
    skill.limits.file_bytes = 1 << 20;
    let before = metadata_of_tree(&skill.path("outside"));
    let text = format!(
        "import os\n{}for place in [workspace, os.environ['HOME']]:\n    os.symlink(outside, place + '/link')\n    os.mkfifo(place + '/pipe')\n    \
         file = open(place + '/sparse', 'w')\n    for change in [lambda: file.truncate(10 << 30), lambda: os.chmod(place + '/sparse', 0o6755), \
         lambda: os.mknod(place + '/device', 0o60666, os.makedev(8, 0))]:\n        try: change()\n        except OSError: pass\n    \
         open(place + '/name\\nwith\\x1b[31m', 'w')\nprint('made')",
        python_paths(&skill)
    );
    let output = script(&skill, &text).await;
    let made = |name: &str| fs::symlink_metadata(skill.path("workspace").join(name));
    let sparse = made("sparse").unwrap();
    let facts = [
        output.stdout.text() == "made\n",
        made("link").unwrap().is_symlink() && made("pipe").is_ok() && made("device").is_err(),
        sparse.len() <= 1 << 20 && sparse.mode() & 0o6000 == 0,
        before == metadata_of_tree(&skill.path("outside")),
    ];
    observations.check(
        23,
        &format!("{facts:?} {}", output.stderr.text()),
        AttemptResult::Contained,
        facts.iter().all(|fact| *fact),
    );
}

async fn local_sockets(observations: &mut Observations) {
    use std::os::linux::net::SocketAddrExt;
    let skill = create_scene().workspace();
    let name = format!("skills-container-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let abstract_listener = UnixListener::bind_addr(&address).unwrap();
    let agent = UnixListener::bind(skill.path("outside/agent")).unwrap();
    let shared = UnixListener::bind(skill.path("workspace/helper")).unwrap();
    let (engine, _) = host::container_engine().unwrap();
    let mut attempts: Vec<(u8, String)> = attempts_of(LOCAL_SOCKETS)
        .into_iter()
        .map(|(case, code)| (case, code.to_owned()))
        .collect();
    let engine = engine.display();
    attempts.extend([
        (47, format!("connect('{engine}')")),
        (47, format!("os.stat('{engine}')")),
        (47, format!("connect('/proc/1/root{engine}')")),
    ]);
    let paths = python_paths(&skill);
    let prelude = format!("{paths}NAME = {name:?}\n{LOCAL_SOCKET_FUNCTIONS}");
    let (tried, _) = python(&skill, &prelude, &attempts).await;
    let (talk, others): (Vec<_>, Vec<_>) = tried.into_iter().partition(|tried| tried.case == 49);
    observations.check_denied(&others);
    let talked = format!("{:?}", talk[0].result);
    let is_answered = talked == "Ok(\"b'hello'\")";
    observations.check(49, &talked, AttemptResult::Succeeded, is_answered);
    for (case, listener) in [(46, abstract_listener), (47, agent), (48, shared)] {
        let is_alone = listener.connection_count() == 0;
        observations.check(case, "connections", AttemptResult::Denied, is_alone);
    }
}

/// Programs and libraries that the script created run, but with the same restrictions.
async fn own_code(observations: &mut Observations) {
    let skill = create_scene().workspace();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let prelude = format!(
        "{}import shutil, glob\nloader = [path for path in ['/lib64/ld-linux-x86-64.so.2', '/lib/ld-linux-aarch64.so.1'] if os.path.exists(path)][0]\n\
         for name in ['cat', 'bash']: shutil.copyfile('/usr/bin/' + name, workspace + '/' + name); os.chmod(workspace + '/' + name, 0o755)\n\
         shutil.copyfile(glob.glob('/usr/lib/*/libc.so.6')[0], workspace + '/own.so')\n\
         def runs(*command, **environment):\n    return subprocess.run(command, capture_output=True, check=True, text=True, env=dict(os.environ, **environment)).stdout\n\
         def mode_of(path): return runs(workspace + '/bash', '-c', 'chmod() {{ :; }}; echo x > /dev/tcp/127.0.0.1/{port}')",
        python_paths(&skill)
    );
    let denied = [
        (87, "runs(loader, workspace + '/cat', '/etc/shadow')"),
        (
            87,
            "runs(loader, workspace + '/cat', outside + '/public.txt')",
        ),
        (87, "runs(workspace + '/cat', outside + '/public.txt')"),
        (87, "mode_of(workspace)"),
        (87, "os.memfd_create('own')"),
        (
            88,
            "runs('cat', '/etc/shadow', LD_PRELOAD=workspace + '/own.so')",
        ),
        (
            88,
            "runs('cat', outside + '/public.txt', LD_LIBRARY_PATH=workspace)",
        ),
    ];
    let works = [
        (87, "runs(loader, workspace + '/cat', 'SKILL.md')"),
        (87, "runs(workspace + '/cat', 'SKILL.md')"),
        (
            88,
            "runs('cat', 'SKILL.md', LD_PRELOAD=workspace + '/own.so')",
        ),
    ];
    let attempts: Vec<(u8, &str)> = denied.into_iter().chain(works).collect();
    let (tried, _) = python(&skill, &prelude, &attempts).await;
    for (index, tried) in tried.iter().enumerate() {
        // They do run, so the others failed because of the restrictions.
        let is_so = match index < denied.len() {
            true => tried.result.is_err(),
            false => tried.result == Ok("'skill'".to_owned()),
        };
        let what = format!("{tried:?}");
        observations.check(tried.case, &what, AttemptResult::Contained, is_so);
    }
    let is_alone = listener.connection_count() == 0;
    observations.check(87, "connections", AttemptResult::Contained, is_alone);
}
