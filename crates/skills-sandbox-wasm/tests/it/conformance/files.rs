//! Files by path: cases 1 to 15.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use skills_sandbox::conformance::AttemptResult;

use super::answers::Answers;
use super::scene::{asked_for, everywhere, planted, words};
use crate::cases::lab::Generation;

pub(crate) async fn answer(answers: &mut Answers) {
    for &generation in Generation::ALL {
        reading(answers, generation).await;
        changing(answers, generation).await;
        metadata(answers, generation).await;
        granted(answers, generation).await;
        devices(answers, generation).await;
        temporary(answers, generation).await;
    }
}

async fn reading(answers: &mut Answers, generation: Generation) {
    let lab = planted(generation).writing();
    let read =
        |paths: &[PathBuf]| [everywhere(&["read", "raw-read"], paths), asked_for(paths)].concat();
    answers
        .denied(
            1,
            &lab,
            &read(&["/etc/shadow".into(), lab.path("outside/home/.ssh/id_rsa")]),
        )
        .await;
    answers
        .denied(
            2,
            &lab,
            &read(&[
                "/etc/passwd".into(),
                "/etc/hosts".into(),
                lab.path("outside/data.txt"),
            ]),
        )
        .await;
    answers
        .denied(
            3,
            &lab,
            &everywhere(
                &["list"],
                &[
                    "/".into(),
                    "/root".into(),
                    lab.path(""),
                    lab.path("outside/home"),
                ],
            ),
        )
        .await;
    answers
        .denied(4, &lab, &read(&[lab.path("sibling/SKILL.md")]))
        .await;
    answers
        .denied(
            4,
            &lab,
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
    answers.denied(14, &lab, &climbs).await;
    answers
        .denied(
            14,
            &lab,
            &words(&[
                &["open-in", "/skill", ".."],
                &["open-in", "/skill", "../secret.txt"],
                &["list", "/skill/.."],
            ]),
        )
        .await;
}

async fn changing(answers: &mut Answers, generation: Generation) {
    let lab = planted(generation).writing();
    let before = (lab.tree("skill"), lab.tree("outside"));
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
    answers.denied(5, &lab, &attempts).await;
    let places = [
        "/etc/planted".into(),
        "/usr/local/bin/planted".into(),
        lab.path("outside/planted"),
        lab.path("outside/data.txt"),
    ];
    answers
        .denied(
            6,
            &lab,
            &everywhere(&["write", "create", "make-directory", "unlink"], &places),
        )
        .await;
    answers
        .denied(
            7,
            &lab,
            &everywhere(
                &["truncate"],
                &[lab.path("outside/data.txt"), lab.path("secret.txt")],
            ),
        )
        .await;
    answers
        .denied(
            7,
            &lab,
            &words(&[&["resize", "/workspace/../outside/data.txt", "0"]]),
        )
        .await;
    let after = (lab.tree("skill"), lab.tree("outside"));
    answers.holds(
        5,
        "the skill's files",
        AttemptResult::Denied,
        before.0 == after.0,
    );
    let is_same = before.1 == after.1 && !places[..2].iter().any(|place| place.exists());
    answers.holds(6, "files outside", AttemptResult::Denied, is_same);
    answers.holds(7, "files outside", AttemptResult::Denied, is_same);
}

async fn metadata(answers: &mut Answers, generation: Generation) {
    let lab = planted(generation).writing();
    let before = (lab.tree("skill"), lab.tree("outside"));
    let outside = [lab.path("outside/data.txt"), lab.path("outside")];
    answers
        .denied(
            8,
            &lab,
            &everywhere(&["set-times", "set-times-through"], &outside),
        )
        .await;
    answers
        .denied(
            8,
            &lab,
            &words(&[
                &["set-times", "/skill/data.txt"],
                &["set-times-through", "/skill/link"],
            ]),
        )
        .await;
    answers.holds(
        8,
        "seen from outside",
        AttemptResult::Denied,
        before == (lab.tree("skill"), lab.tree("outside")),
    );
    answers
        .denied(
            9,
            &lab,
            &everywhere(
                &["stat"],
                &["/etc/passwd".into(), lab.path("outside/data.txt")],
            ),
        )
        .await;
    answers
        .denied(
            9,
            &lab,
            &words(&[
                &["stat", "/skill/link"],
                &["stat", "/skill/directory/data.txt"],
            ]),
        )
        .await;
}

async fn granted(answers: &mut Answers, generation: Generation) {
    let lab = planted(generation);
    let before = lab.tree("workspace");
    let attempts = words(&[
        &["write", "/workspace/new"],
        &["write", "/workspace/known.txt"],
        &["unlink", "/workspace/known.txt"],
        &["make-directory", "/workspace/new"],
        &["truncate", "/workspace/known.txt"],
        &["symlink", "a", "/workspace/new"],
        &["set-times", "/workspace/known.txt"],
    ]);
    answers.denied(10, &lab, &attempts).await;
    answers.holds(
        10,
        "seen from outside",
        AttemptResult::Denied,
        before == lab.tree("workspace"),
    );
    let lab = lab.writing();
    let said = lab.attempt(&["write", "/workspace/made.txt"]).await;
    let made = fs::metadata(lab.path("workspace/made.txt"));
    let is_ours = made.is_ok_and(|made| made.uid() == fs::metadata(lab.path("")).unwrap().uid());
    let is_so = is_ours && fs::read(lab.path("workspace/made.txt")).unwrap() == b"written";
    answers.holds(11, &said, AttemptResult::Succeeded, is_so);
}

async fn devices(answers: &mut Answers, generation: Generation) {
    let lab = planted(generation).writing();
    let devices = [
        "/dev/mem",
        "/dev/kmsg",
        "/dev/kvm",
        "/dev/sda",
        "/dev/vda",
        "/dev/dri/card0",
        "/dev/zero",
    ];
    answers
        .denied(
            13,
            &lab,
            &[
                everywhere(&["raw-read", "truncate"], &devices),
                asked_for(&devices),
            ]
            .concat(),
        )
        .await;
    answers
        .denied(
            13,
            &lab,
            &words(&[&["raw-read", "/skill/zero"], &["create", "/skill/zero"]]),
        )
        .await;
    // A device in the workspace; only root can create it, and without it the other devices are
    // tried.
    let device = lab.path("workspace/device");
    let made = std::process::Command::new("mknod")
        .arg(&device)
        .args(["c", "1", "5"])
        .output();
    if made.is_ok_and(|output| output.status.success()) {
        answers
            .denied(
                13,
                &lab,
                &words(&[
                    &["raw-read", "/workspace/device"],
                    &["truncate", "/workspace/device"],
                ]),
            )
            .await;
    }
}

async fn temporary(answers: &mut Answers, generation: Generation) {
    let lab = planted(generation).writing();
    let hosts = tempfile::NamedTempFile::new().unwrap();
    fs::write(hosts.path(), "host").unwrap();
    let left = std::env::temp_dir().join(format!(
        "left-by-a-program-{}-{generation:?}",
        std::process::id()
    ));
    answers
        .denied(
            15,
            &lab,
            &[
                everywhere(&["raw-read", "truncate"], &[hosts.path()]),
                everywhere(&["write"], &[&left]),
            ]
            .concat(),
        )
        .await;
    answers
        .denied(15, &lab, &[vec!["pour", left.to_str().unwrap(), "1000"]])
        .await;
    let is_same = !left.exists() && fs::read(hosts.path()).unwrap() == b"host";
    answers.holds(15, "seen from outside", AttemptResult::Denied, is_same);
}
