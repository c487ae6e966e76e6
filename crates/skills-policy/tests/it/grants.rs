//! What backends read from grants.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use skills_policy::{
    Access, Authorization, Capability, Effect, Grants, Policy, Request, Rule, RuleSource,
    VariableSource,
};

fn granted(allowed: &[&str], request: &Request) -> Grants {
    let rule = |text: &&str| Rule::parse(Effect::Allow, RuleSource::User, text).unwrap();
    match Policy::default()
        .with_rules(allowed.iter().map(rule))
        .authorize(request)
    {
        Authorization::Granted(grants) => grants,
        Authorization::Denied(denial) => panic!("{denial}"),
    }
}

fn files(grants: &Grants) -> Vec<(&Path, Access)> {
    grants
        .files()
        .iter()
        .map(|file| (file.path(), file.access()))
        .collect()
}

#[test]
fn files_of_a_copied_directory_are_located_in_the_copy() {
    let request = Request::new("/skills/a")
        .copy("/copies/1")
        .read("/skills")
        .read("/other");
    let grants = granted(&[], &request);
    let located = |path: &str| grants.locate(Path::new(path)).into_os_string();
    assert_eq!(
        located("/skills/a/scripts/run.sh"),
        "/copies/1/scripts/run.sh"
    );
    assert_eq!(located("/skills/a"), "/copies/1", "no slash at the end");
    for itself in [
        "/skills",
        "/skills/b",
        "/skills/ab",
        "/other/x",
        "/not/granted",
        "/copies/1",
    ] {
        assert_eq!(located(itself), itself);
    }
    let home = &grants.files()[0];
    assert_eq!(
        (home.path(), home.location(), home.guest_path()),
        (Path::new("/skills/a"), Path::new("/copies/1"), "/skill")
    );
    let moved = grants.with_real_paths();
    let paths: Vec<&Path> = moved
        .files()
        .iter()
        .map(skills_policy::FileGrant::path)
        .collect();
    assert_eq!(
        paths,
        [
            Path::new("/copies/1"),
            Path::new("/other"),
            Path::new("/skills")
        ]
    );
}

#[test]
fn a_copied_directory_is_the_directory_itself_if_the_run_writes_in_it() {
    let request = |write: &str| {
        Request::for_host_command("/work")
            .read("/skills/a")
            .copy_of("/skills/a", "/copies/a")
            .copy_of("/skills/b", "/copies/b")
            .write(write)
    };
    let located = |write: &str| {
        granted(&["write"], &request(write))
            .locate(Path::new("/skills/a/x"))
            .into_os_string()
    };
    assert_eq!(located("/work/out"), "/copies/a/x");
    assert_eq!(located("/skills/a2"), "/copies/a/x");
    assert_eq!(located("/skills"), "/copies/a/x");
    assert_eq!(located("/skills/a"), "/skills/a/x");
    assert_eq!(located("/skills/a/out"), "/skills/a/x");
    let grants = granted(&["write"], &request("/work/out"));
    let copies = grants.files().iter().map(|file| file.location());
    assert!(
        !copies
            .into_iter()
            .any(|path| path == Path::new("/copies/b"))
    );
}

#[test]
fn the_innermost_grant_applies_to_a_path() {
    let request = Request::new("/s")
        .read("/w")
        .write("/w/out/deep")
        .read("/w/out");
    let grants = granted(&["write:/w/out/deep"], &request);
    let around = |path: &str| {
        grants
            .innermost_grant(Path::new(path))
            .map(|file| (file.path().to_str().unwrap(), file.access()))
    };
    assert_eq!(
        around("/w/out/deep/x"),
        Some(("/w/out/deep", Access::ReadWrite))
    );
    assert_eq!(
        around("/w/out/deep"),
        Some(("/w/out/deep", Access::ReadWrite))
    );
    assert_eq!(around("/w/out/deeper"), Some(("/w/out", Access::ReadOnly)));
    assert_eq!(around("/w/x"), Some(("/w", Access::ReadOnly)));
    assert_eq!(around("/s/SKILL.md"), Some(("/s", Access::ReadOnly)));
    for none in ["/", "/wide", "/x"] {
        assert_eq!(around(none), None, "{none}");
    }
}

/// A read-only grant inside a writable directory takes nothing away.
#[test]
fn the_innermost_writable_grant_is_found() {
    let request = Request::new("/s")
        .read("/w")
        .write("/w/out")
        .write("/w/out/deep")
        .read("/w/out/deep/in");
    let grants = granted(&["write"], &request);
    let writable = |path: &str| {
        grants
            .innermost_writable(Path::new(path))
            .map(|file| file.path().to_str().unwrap())
    };
    assert_eq!(writable("/w/out/deep/in/x"), Some("/w/out/deep"));
    assert_eq!(writable("/w/out/deep"), Some("/w/out/deep"));
    assert_eq!(writable("/w/out/deeper"), Some("/w/out"));
    for none in ["/w", "/w/x", "/w/outer", "/s/x", "/"] {
        assert_eq!(writable(none), None, "{none}");
    }
}

#[test]
fn a_path_that_is_granted_twice_keeps_the_wider_access() {
    let both = Request::new("/s").private_workspace("/run").read("/run");
    assert_eq!(
        files(&granted(&[], &both)),
        [
            (Path::new("/s"), Access::ReadOnly),
            (Path::new("/run"), Access::ReadWrite)
        ]
    );
    let both = Request::new("/s").read("/w").write("/w");
    assert_eq!(
        files(&granted(&["write"], &both)),
        [
            (Path::new("/s"), Access::ReadOnly),
            (Path::new("/w"), Access::ReadWrite)
        ]
    );
}

/// Host commands start in the first directory of the list, but the position grants nothing.
#[test]
fn the_directory_of_a_host_command_is_first_if_it_is_granted() {
    let first = Request::for_host_command("/work").read("/a");
    assert_eq!(
        files(&granted(&[], &first)),
        [
            (Path::new("/work"), Access::ReadOnly),
            (Path::new("/a"), Access::ReadOnly)
        ]
    );
    let without = Request::for_host_command("/work")
        .spawn("sort")
        .drop_capability(Capability::Read);
    assert_eq!(files(&granted(&["spawn:sort"], &without)), []);
}

#[test]
fn protected_and_hidden_paths_are_in_the_grants() {
    let grants = granted(
        &[],
        &Request::new("/s").protect("/h/skills").hide("/h/state"),
    );
    let only = |path: &str| BTreeSet::from([PathBuf::from(path)]);
    assert_eq!(
        (grants.protected(), grants.hidden()),
        (&only("/h/skills"), &only("/h/state"))
    );
}

#[test]
fn a_capability_is_included_if_a_permission_of_it_is_granted() {
    let includes = |allowed: &[&str], request: Request| {
        let grants = granted(allowed, &request);
        Capability::ALL
            .into_iter()
            .filter(|capability| grants.includes(*capability))
            .collect::<Vec<_>>()
    };
    let skill = || Request::new("/s");
    assert_eq!(includes(&[], skill()), [Capability::Read]);
    assert_eq!(
        includes(&["write:/w"], skill().write("/w")),
        [Capability::Read, Capability::Write]
    );
    assert_eq!(
        includes(
            &["network:a.example"],
            skill().connect("a.example".parse().unwrap())
        ),
        [Capability::Read, Capability::Network]
    );
    assert_eq!(
        includes(&["spawn:sort"], skill().spawn("sort")),
        [Capability::Read, Capability::Spawn]
    );
    assert_eq!(
        includes(&["spawn"], skill().spawn_any()),
        [Capability::Read, Capability::Spawn]
    );
    assert_eq!(
        includes(&[], skill().variable("KEY", VariableSource::Caller)),
        [Capability::Read, Capability::Environment]
    );
    assert_eq!(
        includes(
            &["spawn:sort"],
            Request::for_host_command("/w")
                .spawn("sort")
                .drop_capability(Capability::Read)
        ),
        [Capability::Spawn]
    );
}

#[test]
fn only_granted_programs_are_allowed() {
    let starts = |allowed: &[&str], request: Request| {
        let grants = granted(allowed, &request);
        ["git", "rm"].map(|program| grants.spawn().allows_program(program))
    };
    assert_eq!(starts(&[], Request::new("/s")), [false, false]);
    assert_eq!(
        starts(&["spawn:git"], Request::new("/s").spawn("git")),
        [true, false]
    );
    assert_eq!(
        starts(&["spawn"], Request::new("/s").spawn("git").spawn_any()),
        [true, true]
    );
}

#[test]
fn keys_of_a_skill_are_for_its_own_scripts() {
    let withholds = |request: &Request| {
        let grants = granted(&["read:/work"], request);
        let key = Path::new("/skills/a/.env");
        assert_eq!(grants.files()[0].includes_keys(), !grants.withholds(key));
        grants.withholds(key)
    };
    assert!(!withholds(&Request::new("/skills/a")));
    assert!(!withholds(&Request::new("/skills/a").workspace("/work")));
    // A project that is a skill itself.
    assert!(withholds(
        &Request::new("/skills/a").workspace("/skills/a/work")
    ));
    assert!(withholds(&Request::new("/skills/a").workspace("/skills/a")));
    assert!(withholds(&Request::new("/skills/a").ad_hoc("a digest")));
}

#[test]
fn keys_are_withheld_unless_a_permission_names_them() {
    let request = Request::new("/skills/a")
        .workspace("/work")
        .private_workspace("/private")
        .read_keys("/work/secrets/.env");
    let grants = granted(&["read:/work", "read:/work/secrets/.env"], &request);
    for (path, expected) in [
        ("/work/.env", true),
        ("/work/.aws/credentials", true),
        ("/work/secrets/.env.local", true),
        ("/work/secrets/.env", false),
        ("/work/main.py", false),
        ("/private/.env", false),
        ("/elsewhere/.env", false),
    ] {
        assert_eq!(grants.withholds(Path::new(path)), expected, "{path}");
    }
    let includes = |path: &str| {
        let mut files = grants.files().iter();
        let file = files.find(|file| file.path() == Path::new(path)).unwrap();
        file.includes_keys()
    };
    assert!(includes("/private") && includes("/skills/a") && !includes("/work"));
}

#[test]
fn files_that_a_program_executes_are_named_after_it() {
    let request = Request::new("/skills/a").workspace("/home/.husky/work");
    let grants = granted(&["read:/home/.husky/work", "read:/other"], &request);
    let reader = |path: &str| grants.file_reader(Path::new(path));
    assert_eq!(reader("/home/.husky/work/.git/config"), Some("git"));
    assert_eq!(
        reader("/home/.husky/work/main.py"),
        None,
        "in the workspace"
    );
    assert_eq!(reader("/other/.git/hooks/pre-commit"), Some("git"));
    assert_eq!(reader("/home/.husky/x"), Some("Husky"), "beside it");
    let reader_in = |path: &str| grants.reader_of_files_in(Path::new(path));
    assert_eq!(reader_in("/other/.husky"), Some("Husky"));
    assert_eq!(reader_in("/other/src"), None);
}

#[test]
fn a_protected_path_is_added_to_the_grants() {
    let mut grants = granted(&[], &Request::new("/skills/a"));
    assert!(grants.protected().is_empty());
    grants.protect("/skills/a/generated");
    let protected: Vec<_> = grants.protected().iter().collect();
    assert_eq!(protected, [Path::new("/skills/a/generated")]);
}

#[test]
fn a_rule_for_a_directory_around_keys_does_not_allow_them() {
    let request = Request::new("/skills/a").read_keys("/work/.env");
    let authorize = |rule: &str| {
        let rule = Rule::parse(Effect::Allow, RuleSource::User, rule).unwrap();
        Policy::default().with_rules([rule]).authorize(&request)
    };
    for wide in ["read", "read:/work", "read:/work/.env.local"] {
        assert!(
            matches!(authorize(wide), Authorization::Denied(_)),
            "{wide}"
        );
    }
    for exact in ["read:/work/.env", "write:/work/.env"] {
        assert!(
            matches!(authorize(exact), Authorization::Granted(_)),
            "{exact}"
        );
    }
}
