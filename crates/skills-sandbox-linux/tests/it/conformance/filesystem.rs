//! Files by their paths: cases 1 to 15.

use std::fs;
use std::os::unix::fs::MetadataExt;

use skills_sandbox_conformance::AttemptResult;
use skills_sandbox_conformance::attempts::{
    AttemptOutput, CHANGES, GRANTED, METADATA, READ_ONLY, READS, attempts_of,
};

use super::attempts::{node, python, shell};
use super::observations::Observations;
use super::scene::{create_scene, has_node, metadata_of_tree, python_paths};
use crate::skill::Skill;

pub(crate) async fn run(observations: &mut Observations) {
    reading(observations).await;
    shell_and_node(observations).await;
    changing(observations).await;
    metadata(observations).await;
    granted(observations).await;
    temporary(observations).await;
    observations.finish_group("files");
}

async fn reading(observations: &mut Observations) {
    let skill = create_scene(observations.mode);
    assert_eq!(
        fs::read_to_string(skill.path("outside/public.txt")).unwrap(),
        "outside",
        "the host can read it"
    );
    let attempts = attempts_of(READS);
    let (tried, _) = python(&skill, &python_paths(&skill), &attempts).await;
    let (devices, tried): (Vec<_>, Vec<_>) = tried.into_iter().partition(|tried| tried.case == 13);
    observations.check_denied(&tried);
    check_devices(observations, &devices);
    let listings = [
        (3, "os.listdir('/')"),
        (3, "os.listdir('..')"),
        (3, "os.listdir(outside + '/home')"),
        (3, "os.listdir('/home')"),
    ];
    let (tried, _) = python(&skill, &python_paths(&skill), &listings).await;
    let has_namespaces = observations.has_namespaces();
    for AttemptOutput { code, result, .. } in &tried {
        match result {
            // Only the directories that lead to granted paths are listed, and nothing next to them.
            Ok(listed) => {
                let hidden = [
                    "outside", "sibling", "scratch", "'home'", "'root'", "'var'", "'boot'",
                    "'opt'", "'sys'", "'run'", "'srv'",
                ];
                let shown = format!("{code}: {listed}");
                observations.check(
                    3,
                    &shown,
                    AttemptResult::Contained,
                    has_namespaces && !hidden.iter().any(|name| listed.contains(name)),
                );
            }
            Err(_) if observations.has_namespaces() => {}
            Err(_) => observations.observe(3, code, AttemptResult::Denied),
        }
    }
}

/// The same with shell builtins, and with Node.
/// With namespaces `ptmx` makes terminals of the run only. All other devices are denied.
fn check_devices(observations: &mut Observations, tried: &[AttemptOutput]) {
    if !observations.has_namespaces() {
        return observations.check_denied(tried);
    }
    for tried in tried {
        let what = format!("{} gave {:?}", tried.code, tried.result);
        let is_of_run = tried.code.contains("/dev/ptmx");
        let is_contained = is_of_run || tried.result.is_err();
        observations.check(13, &what, AttemptResult::Contained, is_contained);
    }
}

async fn shell_and_node(observations: &mut Observations) {
    let skill = create_scene(observations.mode);
    let before = metadata_of_tree(&skill.path(""));
    let read = |path: &str| format!("read -r line < {path}");
    let tried = shell(
        &skill,
        &[
            (1, read("/etc/shadow")),
            (1, read("../outside/home/.ssh/id_rsa")),
            (2, read("../outside/public.txt")),
            (4, read("../sibling/SKILL.md")),
            (5, "echo x > SKILL.md".to_owned()),
            (5, "echo x >> main.sh".to_owned()),
            (6, "echo x > /usr/lib/planted".to_owned()),
            (6, "echo x > /etc/planted".to_owned()),
            (6, "echo x > ../outside/planted".to_owned()),
            (13, read("/dev/kmsg")),
            (
                14,
                read("../../../../../../../../../../../../../../etc/shadow"),
            ),
            (16, read("link")),
        ],
    )
    .await;
    let (devices, tried): (Vec<_>, Vec<_>) = tried.into_iter().partition(|tried| tried.case == 13);
    check_devices(observations, &devices);
    observations.check_denied(&tried);
    fs::remove_file(skill.path("skill/main.sh")).unwrap();
    if has_node() {
        let tried = node(
            &skill,
            &[
                (1, "fs.readFileSync('/etc/shadow')"),
                (1, "fs.readFileSync('../outside/home/.ssh/id_rsa')"),
                (2, "fs.readFileSync('../outside/public.txt')"),
                (4, "fs.readFileSync('../sibling/SKILL.md')"),
                (5, "fs.writeFileSync('SKILL.md', 'x')"),
                (5, "fs.unlinkSync('SKILL.md')"),
                (6, "fs.writeFileSync('/usr/lib/planted', 'x')"),
                (6, "fs.writeFileSync('../outside/planted', 'x')"),
                (7, "fs.truncateSync('../outside/victim.txt')"),
                (16, "fs.readFileSync('link')"),
            ],
        )
        .await;
        observations.check_denied(&tried);
        fs::remove_file(skill.path("skill/main.js")).unwrap();
    }
    unchanged(
        observations,
        &[5, 6, 7],
        &without_times(&before),
        &without_times(&metadata_of_tree(&skill.path(""))),
    );
}

/// The tests create and remove scripts in the directory of the skill, which changes its times.
fn without_times(metadata_of_tree: &str) -> String {
    metadata_of_tree
        .lines()
        .filter(|line| !line.contains("/skill ") && !line.contains("/scratch "))
        .collect::<Vec<_>>()
        .join("\n")
}

fn unchanged(observations: &mut Observations, cases: &[u8], before: &str, after: &str) {
    if before != after {
        for case in cases {
            observations.observe(
                *case,
                &format!("something changed:\n{before}\n->\n{after}"),
                AttemptResult::Succeeded,
            );
        }
    }
}

async fn changing(observations: &mut Observations) {
    for tools in [&[][..], &["Write", "Bash"]] {
        let skill = tools
            .iter()
            .fold(create_scene(observations.mode), |skill, tool| {
                skill.tool(tool)
            });
        let outside = metadata_of_tree(&skill.path("outside"));
        let attempts = attempts_of(CHANGES);
        let (tried, _) = python(&skill, &python_paths(&skill), &attempts).await;
        observations.check_denied(&tried);
        unchanged(
            observations,
            &[6, 7],
            &outside,
            &metadata_of_tree(&skill.path("outside")),
        );
        let names = |path| fs::read_dir(skill.path(path)).unwrap().count();
        observations.check(
            5,
            "the skill's files",
            AttemptResult::Denied,
            names("skill") == 5 && fs::read(skill.path("skill/SKILL.md")).unwrap() == b"skill",
        );
        observations.check(
            6,
            "the directory above",
            AttemptResult::Denied,
            names("") == 5,
        );
    }
}

async fn metadata(observations: &mut Observations) {
    let skill = create_scene(observations.mode);
    let before = (
        metadata_of_tree(&skill.path("outside")),
        metadata_of_tree(&skill.path("skill/SKILL.md")),
    );
    let attempts = attempts_of(METADATA);
    // The directory of the skill was read before, so reading it again changes no time.
    let (tried, report) = python(&skill, &python_paths(&skill), &attempts).await;
    if before
        == (
            metadata_of_tree(&skill.path("outside")),
            metadata_of_tree(&skill.path("skill/SKILL.md")),
        )
    {
        observations.check_without_effect(8, &tried);
    } else {
        observations.observe(8, "the files changed", AttemptResult::Succeeded);
    }
    for tried in tried.iter().filter(|tried| tried.case == 9) {
        match tried.result {
            Ok(_) => observations.check_reported(9, &report, "metadata"),
            Err(_) if observations.has_namespaces() => {
                observations.observe(9, &tried.code, AttemptResult::Denied)
            }
            Err(_) => {}
        }
    }
}

async fn granted(observations: &mut Observations) {
    let skill = create_scene(observations.mode).tool("Read");
    let before = metadata_of_tree(&skill.path("workspace"));
    let attempts = attempts_of(READ_ONLY);
    let (tried, _) = python(
        &skill,
        &format!(
            "{}assert open(workspace + '/known.txt').read() == 'known'",
            python_paths(&skill)
        ),
        &attempts,
    )
    .await;
    observations.check_denied(&tried);
    unchanged(
        observations,
        &[10],
        &before,
        &metadata_of_tree(&skill.path("workspace")),
    );

    let skill = create_scene(observations.mode).tool("Write");
    let (tried, _) = python(&skill, &python_paths(&skill), &attempts_of(GRANTED)).await;
    let (made, devices): (Vec<AttemptOutput>, Vec<AttemptOutput>) =
        tried.into_iter().partition(|tried| tried.case == 11);
    let owner = fs::metadata(skill.path("workspace/made.txt"))
        .map(|file| file.uid())
        .ok();
    let is_ours = owner == Some(fs::metadata("/proc/self").unwrap().uid());
    let content = fs::read_to_string(skill.path("workspace/made.txt")).unwrap_or_default();
    observations.check(
        11,
        &format!("{made:?} owned by {owner:?}"),
        AttemptResult::Succeeded,
        made[0].result.is_ok() && is_ours && content == "made",
    );
    observations.check_denied(&devices);
}

/// Files of the host in its temporary directory, and files that a run creates there.
async fn temporary(observations: &mut Observations) {
    let mut skill: Skill = create_scene(observations.mode);
    skill.limits.scratch_bytes = 4 << 20;
    let hosts = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    fs::write(hosts.path(), "host").unwrap();
    let left = format!(
        "/tmp/left-by-a-script-{}-{:?}",
        std::process::id(),
        observations.mode
    );
    let prelude = "def fill():\n    for number in range(64):\n        with open('/tmp/fill%d' % number, 'wb') as file: file.write(b'x' * (1 << 20))";
    let attempts = [
        (15, format!("open('{}').read()", hosts.path().display())),
        (15, format!("write('{left}')")),
        (15, "fill()".to_owned()),
    ];
    let (tried, _) = python(&skill, prelude, &attempts).await;
    let errors: Vec<Result<&str, &str>> = tried
        .iter()
        .map(|tried| tried.result.as_deref().map_err(String::as_str))
        .collect();
    let shown = format!("{errors:?}");
    assert!(fs::metadata(&left).is_err(), "it is on the host: {shown}");
    match errors.as_slice() {
        [Err("ENOENT"), Ok(_), Err("ENOSPC")] => {
            observations.observe(15, &shown, AttemptResult::Contained)
        }
        [Err("EACCES"), Err("EACCES"), Err("EACCES")] => {
            observations.observe(15, &shown, AttemptResult::Denied)
        }
        _ => observations.observe(15, &shown, AttemptResult::Succeeded),
    }
}
