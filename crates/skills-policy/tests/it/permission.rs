//! What permissions, targets and limits cover.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use skills_policy::{
    Capability, HostPattern, Permission, ResourceLimits, Target, is_variable_name,
};

fn read(path: &str) -> Permission {
    Permission::Read(path.into())
}

fn write(path: &str) -> Permission {
    Permission::Write(path.into())
}

fn write_protected(path: &str, protected: &str) -> Permission {
    Permission::WriteProtected {
        path: path.into(),
        protected: protected.into(),
    }
}

fn read_keys(path: &str, keys: &str) -> Permission {
    Permission::ReadKeys {
        path: path.into(),
        keys: keys.into(),
    }
}

fn host(pattern: &str) -> Permission {
    Permission::Host(pattern.parse().unwrap())
}

fn program(name: &str) -> Permission {
    Permission::Program(name.to_owned())
}

#[test]
fn a_permission_covers_narrower_ones() {
    let invalid = Permission::Invalid(Capability::Spawn, "$(id)".to_owned());
    let hook = |command: &str| Permission::Hook(command.to_owned());
    let variable = |name: &str| Permission::Variable(name.to_owned());
    for (wide, narrow, covers) in [
        (read("/w"), read("/w"), true),
        (read("/w"), read("/w/a/b"), true),
        (read("/w/a"), read("/w"), false),
        (read("/w"), read("/wide"), false),
        (read("/w"), write("/w"), false),
        (
            read_keys("/w/.aws", "/w/.aws"),
            read_keys("/w/.aws/credentials", "/w/.aws"),
            true,
        ),
        (
            read_keys("/w", "/w"),
            read_keys("/w/.env", "/w/.env"),
            false,
        ),
        (
            read_keys("/w/.aws/a", "/w/.aws"),
            read_keys("/w/.aws/b", "/w/.aws"),
            false,
        ),
        (read("/w"), read_keys("/w/.env", "/w/.env"), false),
        (read_keys("/w", "/w"), read("/w/a"), true),
        (read("/w"), write("/w/a"), false),
        (write("/w"), read("/w/a"), true),
        (write("/w"), write("/w/a"), true),
        (write("/w/a"), write("/w"), false),
        (write("/w/a"), read("/w"), false),
        (write("/w"), write_protected("/w/.git", "/w/.git"), false),
        (
            write_protected("/w/.git", "/w/.git"),
            read("/w/.git/config"),
            true,
        ),
        (write_protected("/w/.git", "/w/.git"), read("/w"), false),
        (
            write_protected("/w/.git", "/w/.git"),
            write("/w/.git"),
            false,
        ),
        (
            write_protected("/w/.git", "/w/.git"),
            write_protected("/w/.git/objects", "/w/.git"),
            true,
        ),
        (
            write_protected("/w/.git/objects", "/w/.git"),
            write_protected("/w/.git", "/w/.git"),
            false,
        ),
        (
            write_protected("/w/.git", "/w/.git"),
            write_protected("/w/.git/hooks", "/w/.git/hooks"),
            false,
        ),
        (host("*.example"), host("a.example"), true),
        (host("a.example"), host("*.example"), false),
        (host("a.example"), Permission::ListedHosts, false),
        (Permission::AnyProgram, program("git"), true),
        (Permission::AnyProgram, hook("Stop git"), false),
        (program("git"), program("git"), true),
        (program("git"), program("rm"), false),
        (program("git"), Permission::AnyProgram, false),
        (variable("KEY"), variable("KEY"), true),
        (variable("KEY"), variable("KEY_2"), false),
        (hook("Stop a.sh"), hook("Stop a.sh"), true),
        (hook("Stop a.sh"), hook("Stop b.sh"), false),
        // An approval of an invalid permission covers nothing.
        (invalid.clone(), invalid, false),
    ] {
        assert_eq!(wide.covers(&narrow), covers, "{wide:?} {narrow:?}");
    }
}

#[test]
fn a_permission_for_all_hosts_is_displayed_as_such() {
    assert_eq!(
        ["*", "*.example", "a.example"].map(|pattern| host(pattern).to_string()),
        [
            "connect to any host",
            "connect to `*.example`",
            "connect to `a.example`"
        ]
    );
}

#[test]
fn capabilities_have_distinct_names() {
    let names: BTreeSet<&str> = Capability::ALL
        .iter()
        .map(|capability| capability.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "environment",
            "network",
            "packages",
            "read",
            "spawn",
            "write"
        ]
        .into()
    );
}

#[test]
fn permissions_and_targets_return_their_paths() {
    for permission in [read("/w"), write("/w"), write_protected("/w", "/w")] {
        assert_eq!(permission.path(), Some(Path::new("/w")), "{permission:?}");
    }
    assert_eq!(program("git").path(), None);
    for (before, path, after) in [
        ("read:/w", Some("/w"), "read:/v"),
        ("write:/w", Some("/w"), "write:/v"),
        ("write", None, "write"),
        ("spawn:git", None, "spawn:git"),
        ("network:a.example", None, "network:a.example"),
    ] {
        let target: Target = before.parse().unwrap();
        assert_eq!(target.path(), path.map(Path::new), "{before}");
        assert_eq!(target.with_path("/v").unwrap().to_string(), after);
    }
    assert!(
        "write:/w"
            .parse::<Target>()
            .unwrap()
            .with_path("/w/..")
            .is_err()
    );
}

/// Each limit by itself takes the smaller value, from either side.
#[test]
fn each_limit_is_lowered_separately() {
    let set: [fn(&mut ResourceLimits, u32); 8] = [
        |limits, value| limits.wall_time = Duration::from_secs(value.into()),
        |limits, value| limits.memory_bytes = value.into(),
        |limits, value| limits.captured_bytes = value as usize,
        |limits, value| limits.output_limit_bytes = value.into(),
        |limits, value| limits.file_bytes = value.into(),
        |limits, value| limits.open_files = value.into(),
        |limits, value| limits.processes = value.into(),
        |limits, value| limits.scratch_bytes = value.into(),
    ];
    for (index, set) in set.into_iter().enumerate() {
        let mut less = ResourceLimits::default_ceiling();
        set(&mut less, 1);
        assert_eq!(
            ResourceLimits::default_ceiling().min(&less),
            less,
            "limit {index}"
        );
        assert_eq!(
            less.min(&ResourceLimits::default_ceiling()),
            less,
            "limit {index}"
        );
    }
    assert_eq!(
        ResourceLimits::default().min(&ResourceLimits::default_ceiling()),
        ResourceLimits::default(),
        "no default is above the ceiling"
    );
}

#[test]
fn names_have_a_maximum_length() {
    let name = |bytes: usize| "a".repeat(bytes);
    assert!(
        Target::program(name(128)).is_ok()
            && Target::program(name(129)).is_err()
            && Target::program("").is_err()
    );
    assert!(is_variable_name(&name(128)) && !is_variable_name(&name(129)) && !is_variable_name(""));
    let is_host = |text: &str| text.parse::<HostPattern>().is_ok();
    assert!(
        is_host(&format!("{}.example", name(63))) && !is_host(&format!("{}.example", name(64)))
    );
    let labels = |last: usize| format!("{0}.{0}.{0}.{1}", name(63), name(last));
    assert_eq!((labels(61).len(), labels(62).len()), (253, 254));
    assert!(is_host(&labels(61)) && !is_host(&labels(62)));
}

#[test]
fn program_names_contain_no_path() {
    for name in ["git", "g++", "python3.12", "x86_64-gcc@2", ".hidden", "..."] {
        assert!(Target::program(name).is_ok(), "{name}");
    }
    for name in [
        ".", "..", "-rf", "bin/git", "bin\\git", "a b", "a;b", "$(id)", "g\u{ef}t",
    ] {
        assert!(Target::program(name).is_err(), "{name}");
    }
}

/// Text of a skill is truncated to sixty characters, not bytes.
#[test]
fn long_texts_are_truncated() {
    let shown = |characters: usize| {
        Permission::Invalid(Capability::Network, "\u{e4}".repeat(characters)).to_string()
    };
    assert_eq!(shown(60), format!("connect to `{}`", "\u{e4}".repeat(60)));
    assert_eq!(
        shown(61),
        format!("connect to `{}\u{2026}`", "\u{e4}".repeat(60))
    );
}

#[test]
fn the_ceiling_limits_captured_output_and_nothing_else() {
    let (ceiling, default) = (ResourceLimits::default_ceiling(), ResourceLimits::default());
    assert_eq!(
        (ceiling.captured_bytes, default.captured_bytes),
        (8_388_608, 1_048_576)
    );
    assert_eq!(
        (ceiling.memory_bytes, default.memory_bytes),
        (u64::MAX, 2_147_483_648)
    );
    assert_eq!(
        (ceiling.file_bytes, default.file_bytes),
        (u64::MAX, 67_108_864)
    );
    assert_eq!(default.wall_time, Duration::from_secs(30));
    assert_eq!(ResourceLimits::MAX_CHOSEN_TIME, Duration::from_secs(600));
    assert_eq!((default.open_files, default.processes), (1_024, 1_024));
    assert_eq!(default.scratch_bytes, 268_435_456);
}
