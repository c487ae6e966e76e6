//! Builds with stubs for compilers.

use std::fs;

use skills_build::{
    Artifact, BuildError, BuildErrorKind, BuildMode, BuildRequest, BuildStatus, ToolFinder, build,
};

use crate::place::{Place, stand_ins};

fn request(place: &Place) -> BuildRequest {
    BuildRequest::new(
        place.skill(),
        ToolFinder::default().directory(stand_ins()),
        place.path().join("work"),
    )
}

fn built(place: &Place, mode: BuildMode) -> Result<Artifact, BuildError> {
    build(&request(place), mode, &mut |_| {})
}

fn status(place: &Place, mode: BuildMode) -> Result<BuildStatus, BuildErrorKind> {
    built(place, mode)
        .map(|artifact| artifact.status)
        .map_err(|error| error.kind())
}

#[test]
fn a_skill_is_built_once_and_again_when_it_changed() {
    let place = Place::new(&[("guest/main.c", "one\n"), ("guest/x.h", "")]);
    assert_eq!(status(&place, BuildMode::Check), Err(BuildErrorKind::Stale));
    let mut told = Vec::new();
    let artifact = build(&request(&place), BuildMode::IfStale, &mut |line| {
        told.push(line.to_owned())
    })
    .unwrap();
    assert_eq!(
        (artifact.status, artifact.bytes, artifact.path.clone()),
        (BuildStatus::Built, 4, place.skill().join("wasm/skill.wasm"))
    );
    assert_eq!(fs::read_to_string(&artifact.path).unwrap(), "one\n");
    let zig = stand_ins().join("zig").display().to_string();
    assert_eq!(told[0], format!("$ {zig} version"));
    assert!(
        told[1].starts_with(&format!("$ {zig} cc -target wasm32-wasi")),
        "{told:?}"
    );
    assert_eq!(told[2..], ["a warning"]);
    insta::assert_snapshot!(fs::read_to_string(place.skill().join("guest/artifact.lock")).unwrap(), @"
    language c
    sources fa61b1825162fe3cd18cad96dc16cd5a05bb9983a47ec2fc3809aa8fbf23aef9
    artifact 2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806
    tool zig 1.2.3
    ");

    assert_eq!(status(&place, BuildMode::IfStale), Ok(BuildStatus::Fresh));
    assert_eq!(
        status(&place, BuildMode::Check),
        Ok(BuildStatus::Reproduced)
    );
    assert_eq!(status(&place, BuildMode::Force), Ok(BuildStatus::Built));
    place.write("guest/x.h", "changed");
    assert_eq!(status(&place, BuildMode::Check), Err(BuildErrorKind::Stale));
    assert_eq!(status(&place, BuildMode::IfStale), Ok(BuildStatus::Built));
    assert_eq!(status(&place, BuildMode::IfStale), Ok(BuildStatus::Fresh));
    place.write("wasm/skill.wasm", "forged");
    assert_eq!(status(&place, BuildMode::Check), Err(BuildErrorKind::Stale));
    assert_eq!(status(&place, BuildMode::IfStale), Ok(BuildStatus::Built));
}

#[test]
fn files_of_tools_are_not_source() {
    let place = Place::new(&[("guest/main.c", "one\n")]);
    assert_eq!(status(&place, BuildMode::IfStale), Ok(BuildStatus::Built));
    for path in [
        "guest/target/x",
        "guest/node_modules/a/index.js",
        "guest/.venv/lib/x.py",
        "guest/__pycache__/x.pyc",
        "guest/probe.wasm",
    ] {
        place.write(path, "made");
        assert_eq!(
            status(&place, BuildMode::IfStale),
            Ok(BuildStatus::Fresh),
            "{path}"
        );
    }
    place.write("guest/sub/new.h", "");
    assert_eq!(status(&place, BuildMode::IfStale), Ok(BuildStatus::Built));
}

#[test]
fn other_bytes_of_the_same_source_are_reported() {
    let place = Place::new(&[("guest/main.c", "one\n")]);
    assert_eq!(status(&place, BuildMode::IfStale), Ok(BuildStatus::Built));
    // As another compiler would have built them.
    place.write("wasm/skill.wasm", "two\n");
    let lock = fs::read_to_string(place.skill().join("guest/artifact.lock")).unwrap();
    let of_two = "27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a";
    let line = lock
        .lines()
        .find(|line| line.starts_with("artifact "))
        .unwrap();
    place.write(
        "guest/artifact.lock",
        &lock.replace(line, &format!("artifact {of_two}")),
    );
    let error = built(&place, BuildMode::Check).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::NotReproduced);
    insta::assert_snapshot!(place.told(&error), @"artifact `PLACE/skill/wasm/skill.wasm` is not reproducible with these tools (built with zig 1.2.3)");
    assert_eq!(
        fs::read_to_string(place.skill().join("wasm/skill.wasm")).unwrap(),
        "two\n",
        "a check changes nothing"
    );
}

#[test]
fn for_unreproducible_languages_the_source_is_compared() {
    let place = Place::new(&[("guest/app.py", "one\n")]);
    let first = built(&place, BuildMode::IfStale).unwrap();
    assert_eq!(status(&place, BuildMode::IfStale), Ok(BuildStatus::Fresh));
    assert_eq!(
        status(&place, BuildMode::Check),
        Ok(BuildStatus::SourceUnchanged)
    );
    assert_ne!(
        built(&place, BuildMode::Force).unwrap().sha256,
        first.sha256
    );
    place.write("guest/app.py", "two\n");
    assert_eq!(status(&place, BuildMode::Check), Err(BuildErrorKind::Stale));
    assert_eq!(
        fs::read_dir(place.skill().join("guest")).unwrap().count(),
        2,
        "only the source and its lock"
    );
}

#[test]
fn a_failing_compiler_changes_nothing() {
    let place = Place::new(&[("guest/main.c", "one\n")]);
    assert_eq!(status(&place, BuildMode::IfStale), Ok(BuildStatus::Built));
    let lock = fs::read(place.skill().join("guest/artifact.lock")).unwrap();
    place.write("guest/main.c", "wrong\n");
    let error = built(&place, BuildMode::IfStale).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::CompileFailed);
    assert_eq!(
        error.to_string(),
        "`zig` ended with exit status: 1\n./main.c: that is wrong"
    );
    assert_eq!(
        fs::read_to_string(place.skill().join("wasm/skill.wasm")).unwrap(),
        "one\n"
    );
    assert_eq!(
        fs::read(place.skill().join("guest/artifact.lock")).unwrap(),
        lock
    );
    let kept: Vec<_> = fs::read_dir(place.path().join("work"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        kept.iter()
            .all(|name| !name.to_string_lossy().starts_with("stage-")),
        "{kept:?}"
    );
}

#[test]
fn a_source_without_a_skill_is_built_to_the_given_output() {
    let place = Place::new(&[("main.c", "one\n")]);
    let output = place.skill().join("probe.wasm");
    let artifact = build(
        &request(&place).output(&output),
        BuildMode::IfStale,
        &mut |_| {},
    )
    .unwrap();
    assert_eq!(
        (artifact.path, fs::read_to_string(&output).unwrap()),
        (output, "one\n".to_owned())
    );
    assert!(place.skill().join("artifact.lock").is_file());
}

#[test]
fn symlinks_and_special_files_are_rejected() {
    use std::os::unix::fs::symlink;
    let place = Place::new(&[("guest/main.c", "one\n"), ("outside.h", "secret")]);
    symlink("../outside.h", place.skill().join("guest/secret.h")).unwrap();
    let error = built(&place, BuildMode::IfStale).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::CompileFailed);
    insta::assert_snapshot!(place.told(&error), @"PLACE/skill/guest/secret.h: is a symlink; source files must be regular files");
    fs::remove_file(place.skill().join("guest/secret.h")).unwrap();
    let _socket =
        std::os::unix::net::UnixListener::bind(place.skill().join("guest/socket")).unwrap();
    insta::assert_snapshot!(place.told(built(&place, BuildMode::IfStale).unwrap_err()), @"PLACE/skill/guest/socket: not a regular file");
    assert!(!place.skill().join("wasm").exists());
}

#[test]
fn a_source_has_limits() {
    let place = Place::new(&[("guest/main.c", "one\n"), ("guest/large.h", "")]);
    // A sparse file takes no disk space.
    fs::File::options()
        .write(true)
        .open(place.skill().join("guest/large.h"))
        .unwrap()
        .set_len(64 << 20)
        .unwrap();
    insta::assert_snapshot!(place.told(built(&place, BuildMode::IfStale).unwrap_err()), @"PLACE/skill/guest: source exceeds 64 MiB");
    fs::remove_file(place.skill().join("guest/large.h")).unwrap();
    (0..10_000).for_each(|number| place.write(&format!("guest/many/{number}.h"), ""));
    insta::assert_snapshot!(place.told(built(&place, BuildMode::IfStale).unwrap_err()), @"PLACE/skill/guest: source exceeds 10000 files");
    fs::remove_file(place.skill().join("guest/many/0.h")).unwrap();
    assert_eq!(status(&place, BuildMode::IfStale), Ok(BuildStatus::Built));
}

#[test]
fn symlinks_are_replaced_and_not_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new(&[("guest/main.c", "one\n"), ("mine", "kept"), ("wasm/x", "")]);
    for name in [
        "wasm/skill.wasm",
        "wasm/skill.wasm.new",
        "guest/artifact.lock",
    ] {
        symlink(place.skill().join("mine"), place.skill().join(name)).unwrap();
    }
    // That name is not used by this crate, and no source has it.
    assert_eq!(status(&place, BuildMode::IfStale), Ok(BuildStatus::Built));
    assert_eq!(
        fs::read_to_string(place.skill().join("mine")).unwrap(),
        "kept"
    );
    let metadata = place
        .skill()
        .join("wasm/skill.wasm")
        .symlink_metadata()
        .unwrap();
    assert!(metadata.is_file() && metadata.permissions().mode() & 0o400 != 0);
    assert_eq!(
        metadata.permissions().mode(),
        place
            .skill()
            .join("mine")
            .metadata()
            .unwrap()
            .permissions()
            .mode(),
        "as all new files"
    );
    assert_eq!(
        fs::read_dir(place.skill().join("wasm")).unwrap().count(),
        3,
        "nothing is left behind"
    );
}

#[test]
fn directories_outside_of_the_skill_require_an_output() {
    use std::os::unix::fs::symlink;
    let place = Place::new(&[("SKILL.md", "")]);
    let (guest, wasm) = (
        place.path().join("elsewhere"),
        place.path().join("artifacts"),
    );
    fs::create_dir(&guest).unwrap();
    fs::create_dir(&wasm).unwrap();
    fs::write(guest.join("main.c"), "one\n").unwrap();
    symlink(&guest, place.skill().join("guest")).unwrap();
    let error = built(&place, BuildMode::IfStale).unwrap_err();
    insta::assert_snapshot!(place.told(&error), @"`PLACE/skill/guest` is outside of the skill, at `PLACE/elsewhere`; pass `--output`");
    let output = place.path().join("out.wasm");
    assert_eq!(
        build(
            &request(&place).output(&output),
            BuildMode::IfStale,
            &mut |_| {}
        )
        .unwrap()
        .status,
        BuildStatus::Built
    );
    assert_eq!(fs::read_to_string(output).unwrap(), "one\n");
    fs::remove_file(place.skill().join("guest")).unwrap();
    place.write("src/main.c", "one\n");
    symlink("src", place.skill().join("guest")).unwrap();
    symlink(&wasm, place.skill().join("wasm")).unwrap();
    let error = built(&place, BuildMode::IfStale).unwrap_err();
    insta::assert_snapshot!(place.told(&error), @"`PLACE/skill/wasm` is outside of the skill, at `PLACE/artifacts`; pass `--output`");
    assert_eq!(fs::read_dir(&wasm).unwrap().count(), 0);
    fs::remove_file(place.skill().join("wasm")).unwrap();
    assert_eq!(status(&place, BuildMode::IfStale), Ok(BuildStatus::Built));
}

#[test]
fn the_lock_file_of_a_skill_describes_its_own_artifact() {
    let place = Place::new(&[("guest/main.c", "one\n")]);
    let output = place.path().join("out.wasm");
    assert_eq!(
        build(
            &request(&place).output(&output),
            BuildMode::IfStale,
            &mut |_| {}
        )
        .unwrap()
        .status,
        BuildStatus::Built
    );
    assert!(
        output.is_file()
            && !place.skill().join("guest/artifact.lock").exists()
            && !place.skill().join("wasm").exists()
    );
    assert_eq!(status(&place, BuildMode::IfStale), Ok(BuildStatus::Built));
    assert_eq!(
        build(
            &request(&place).output(&output),
            BuildMode::Check,
            &mut |_| {}
        )
        .unwrap()
        .status,
        BuildStatus::Reproduced
    );
}
