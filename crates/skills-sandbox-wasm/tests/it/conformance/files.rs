//! Files by path: cases 1 to 15.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use skills_sandbox_conformance::{AttemptResult, Observations};

use super::denied::check_denied;
use super::layout::{asked_for, create_layout, everywhere, words};
use crate::cases::fixture::Generation;

pub(crate) async fn observe(observations: &mut Observations) {
    for &generation in Generation::ALL {
        reading(observations, generation).await;
        changing(observations, generation).await;
        metadata(observations, generation).await;
        granted(observations, generation).await;
        devices(observations, generation).await;
        temporary(observations, generation).await;
    }
}

async fn reading(observations: &mut Observations, generation: Generation) {
    let fixture = create_layout(generation).writable();
    let read =
        |paths: &[PathBuf]| [everywhere(&["read", "raw-read"], paths), asked_for(paths)].concat();
    check_denied(
        observations,
        1,
        &fixture,
        &read(&[
            "/etc/shadow".into(),
            fixture.path("outside/home/.ssh/id_rsa"),
        ]),
    )
    .await;
    check_denied(
        observations,
        2,
        &fixture,
        &read(&[
            "/etc/passwd".into(),
            "/etc/hosts".into(),
            fixture.path("outside/data.txt"),
        ]),
    )
    .await;
    check_denied(
        observations,
        3,
        &fixture,
        &everywhere(
            &["list"],
            &[
                "/".into(),
                "/root".into(),
                fixture.path(""),
                fixture.path("outside/home"),
            ],
        ),
    )
    .await;
    check_denied(
        observations,
        4,
        &fixture,
        &read(&[fixture.path("sibling/SKILL.md")]),
    )
    .await;
    check_denied(
        observations,
        4,
        &fixture,
        &words(&[
            &["raw-read", "/skill/../sibling/SKILL.md"],
            &["list", "/skill/../sibling"],
        ]),
    )
    .await;
    let up = [
        "/skill/..",
        "/skill/sub/../..",
        "/work/..",
        "/workspace/.",
        "/skill/directory/..",
    ];
    let climbs = up.map(|up| vec!["raw-read".to_owned(), format!("{up}/secret.txt")]);
    check_denied(observations, 14, &fixture, &climbs).await;
    check_denied(
        observations,
        14,
        &fixture,
        &words(&[
            &["open-in", "/skill", ".."],
            &["open-in", "/skill", "../secret.txt"],
            &["list", "/skill/.."],
        ]),
    )
    .await;
}

async fn changing(observations: &mut Observations, generation: Generation) {
    let fixture = create_layout(generation).writable();
    let before = (fixture.tree("skill"), fixture.tree("outside"));
    let attempts = words(&[
        &["write", "/skill/data.txt"],
        &["write", "/skill/new.txt"],
        &["truncate", "/skill/data.txt"],
        &["resize", "/skill/data.txt", "0"],
        &["make-directory", "/skill/new"],
        &["remove-directory", "/skill/sub"],
        &["unlink", "/skill/data.txt"],
        &["rename", "/skill/data.txt", "/skill/other.txt"],
        &["rename", "/workspace/known.txt", "/skill/data.txt"],
        &["symlink", "data.txt", "/skill/new"],
    ]);
    check_denied(observations, 5, &fixture, &attempts).await;
    let places = [
        "/etc/planted".into(),
        "/usr/local/bin/planted".into(),
        fixture.path("outside/planted"),
        fixture.path("outside/data.txt"),
    ];
    check_denied(
        observations,
        6,
        &fixture,
        &everywhere(&["write", "create", "make-directory", "unlink"], &places),
    )
    .await;
    check_denied(
        observations,
        7,
        &fixture,
        &everywhere(
            &["truncate"],
            &[fixture.path("outside/data.txt"), fixture.path("secret.txt")],
        ),
    )
    .await;
    check_denied(
        observations,
        7,
        &fixture,
        &words(&[&["resize", "/workspace/../outside/data.txt", "0"]]),
    )
    .await;
    let after = (fixture.tree("skill"), fixture.tree("outside"));
    observations.check(
        5,
        "the skill's files",
        AttemptResult::Denied,
        before.0 == after.0,
    );
    let is_same = before.1 == after.1 && !places[..2].iter().any(|place| place.exists());
    observations.check(6, "files outside", AttemptResult::Denied, is_same);
    observations.check(7, "files outside", AttemptResult::Denied, is_same);
}

async fn metadata(observations: &mut Observations, generation: Generation) {
    let fixture = create_layout(generation).writable();
    let before = (fixture.tree("skill"), fixture.tree("outside"));
    let outside = [fixture.path("outside/data.txt"), fixture.path("outside")];
    check_denied(
        observations,
        8,
        &fixture,
        &everywhere(&["set-times", "set-times-through"], &outside),
    )
    .await;
    check_denied(
        observations,
        8,
        &fixture,
        &words(&[
            &["set-times", "/skill/data.txt"],
            &["set-times-through", "/skill/link"],
        ]),
    )
    .await;
    observations.check(
        8,
        "seen from outside",
        AttemptResult::Denied,
        before == (fixture.tree("skill"), fixture.tree("outside")),
    );
    check_denied(
        observations,
        9,
        &fixture,
        &everywhere(
            &["stat"],
            &["/etc/passwd".into(), fixture.path("outside/data.txt")],
        ),
    )
    .await;
    check_denied(
        observations,
        9,
        &fixture,
        &words(&[
            &["stat", "/skill/link"],
            &["stat", "/skill/directory/data.txt"],
        ]),
    )
    .await;
}

async fn granted(observations: &mut Observations, generation: Generation) {
    let fixture = create_layout(generation);
    let before = fixture.tree("workspace");
    let attempts = words(&[
        &["write", "/workspace/new"],
        &["write", "/workspace/known.txt"],
        &["unlink", "/workspace/known.txt"],
        &["make-directory", "/workspace/new"],
        &["truncate", "/workspace/known.txt"],
        &["symlink", "a", "/workspace/new"],
        &["set-times", "/workspace/known.txt"],
    ]);
    check_denied(observations, 10, &fixture, &attempts).await;
    observations.check(
        10,
        "seen from outside",
        AttemptResult::Denied,
        before == fixture.tree("workspace"),
    );
    let fixture = fixture.writable();
    let text = fixture.attempt(&["write", "/workspace/made.txt"]).await;
    let made = fs::metadata(fixture.path("workspace/made.txt"));
    let is_ours =
        made.is_ok_and(|made| made.uid() == fs::metadata(fixture.path("")).unwrap().uid());
    let is_so = is_ours && fs::read(fixture.path("workspace/made.txt")).unwrap() == b"written";
    observations.check(11, &text, AttemptResult::Succeeded, is_so);
}

async fn devices(observations: &mut Observations, generation: Generation) {
    let fixture = create_layout(generation).writable();
    let devices = [
        "/dev/mem",
        "/dev/kmsg",
        "/dev/kvm",
        "/dev/sda",
        "/dev/vda",
        "/dev/dri/card0",
        "/dev/zero",
    ];
    check_denied(
        observations,
        13,
        &fixture,
        &[
            everywhere(&["raw-read", "truncate"], &devices),
            asked_for(&devices),
        ]
        .concat(),
    )
    .await;
    check_denied(
        observations,
        13,
        &fixture,
        &words(&[&["raw-read", "/skill/zero"], &["create", "/skill/zero"]]),
    )
    .await;
    // A device in the workspace; only root can create it, and without it the other devices are
    // tried.
    let device = fixture.path("workspace/device");
    let made = std::process::Command::new("mknod")
        .arg(&device)
        .args(["c", "1", "5"])
        .output();
    if made.is_ok_and(|output| output.status.success()) {
        check_denied(
            observations,
            13,
            &fixture,
            &words(&[
                &["raw-read", "/workspace/device"],
                &["truncate", "/workspace/device"],
            ]),
        )
        .await;
    }
}

async fn temporary(observations: &mut Observations, generation: Generation) {
    let fixture = create_layout(generation).writable();
    let hosts = tempfile::NamedTempFile::new().unwrap();
    fs::write(hosts.path(), "host").unwrap();
    let left = std::env::temp_dir().join(format!(
        "left-by-a-program-{}-{generation:?}",
        std::process::id()
    ));
    check_denied(
        observations,
        15,
        &fixture,
        &[
            everywhere(&["raw-read", "truncate"], &[hosts.path()]),
            everywhere(&["write"], &[&left]),
        ]
        .concat(),
    )
    .await;
    check_denied(
        observations,
        15,
        &fixture,
        &[vec!["pour", left.to_str().unwrap(), "1000"]],
    )
    .await;
    let is_same = !left.exists() && fs::read(hosts.path()).unwrap() == b"host";
    observations.check(15, "seen from outside", AttemptResult::Denied, is_same);
}
