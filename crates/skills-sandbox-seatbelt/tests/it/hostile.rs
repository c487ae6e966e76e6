//! Whatever characters a path contains, the profile decides as for a harmless one.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use skills_policy::{Authorization, Capability, Policy, Request, RuleSource};
use skills_sandbox::{Job, Program, ScriptType};
use skills_sandbox_seatbelt::{ExecutableSet, Plan, PlanContext, ProxyAccess};

use crate::evaluator::{Evaluator, Subject};

/// The decisions for a skill and a workspace with these names that would reveal a wider profile.
/// `None` if policy or plan reject them.
fn decisions(skill: &str, workspace: &str) -> Option<Vec<bool>> {
    let (directory, workspace) = (
        Path::new("/Users/me/skills").join(skill),
        Path::new("/Users/me/work").join(workspace),
    );
    let rules = Policy::default().allow(RuleSource::Invocation, Capability::Write);
    let request = Request::new(&directory)
        .workspace(&workspace)
        .allowed_tool("Write", None);
    let Authorization::Granted(grants) = rules.authorize(&request) else {
        return None;
    };
    let job = Job::new(
        grants,
        Program::script(ScriptType::Python, directory.join("run.py")),
    )
    .arg("-D")
    .arg("SKILL_ROOT=/");
    let ground = PlanContext {
        scratch: "/private/scratch".into(),
        profile_path: "/tmp/p.sb".into(),
        network: ProxyAccess::None,
        keys: Vec::new(),
    };
    let plan = Plan::new(&job, &ExecutableSet::new("/usr/bin/python3"), &ground).ok()?;
    let evaluator = evaluator(&plan);
    let files = [
        "/Users/me",
        "/Users/me/.ssh/id_rsa",
        "/Users/me/skills",
        "/Users/me/skills/other/a",
        "/Users/me/work/other/a",
        "/etc/passwd",
        "/",
    ];
    let own = [
        directory.clone(),
        directory.join("SKILL.md"),
        workspace.clone(),
        workspace.join("a"),
        workspace.join(".git/hooks/x"),
    ];
    let paths: Vec<PathBuf> = files.iter().map(PathBuf::from).chain(own).collect();
    let operations = [
        "file-read-data",
        "file-read-metadata",
        "file-write-data",
        "file-write-create",
        "file-write-unlink",
        "file-map-executable",
        "process-exec",
    ];
    let on_files = operations.iter().flat_map(|operation| {
        paths
            .iter()
            .map(|path| evaluator.allows(operation, &Subject::path(path)))
    });
    let others = [
        "process-fork",
        "network-bind",
        "network-inbound",
        "system-socket",
        "mach-register",
        "sysctl-write",
        "iokit-open",
    ];
    let on_nothing = others
        .iter()
        .map(|operation| evaluator.allows(operation, &Subject::Nothing));
    let network = evaluator.allows("network-outbound", &Subject::remote("127.0.0.1", 80));
    Some(on_files.chain(on_nothing).chain([network]).collect())
}

/// Parses the command line as `sandbox-exec` does: options up to `--`, each parameter up to its
/// first `=`.
fn evaluator(plan: &Plan) -> Evaluator {
    let options: Vec<&str> = plan
        .args()
        .iter()
        .map(String::as_str)
        .take_while(|argument| *argument != "--")
        .collect();
    let (file, parameters) = options.split_at(2);
    assert_eq!(file, ["-f", "/tmp/p.sb"]);
    let pairs = parameters.chunks(2).map(|pair| {
        assert_eq!(pair[0], "-D");
        pair[1].split_once('=').expect("a name and a path")
    });
    Evaluator::new(&plan.profile().to_string(), &pairs.collect::<Vec<_>>())
}

#[test]
fn hostile_names_do_not_change_the_decisions() {
    let plain = decisions("plain", "plain");
    for hostile in [
        "a\") (allow default) (\"",
        "a\"",
        "a\\",
        "a\\\"",
        "a\\x22",
        "#\"",
        ";",
        "(param \"SCRATCH\")",
        "=",
        "--",
        "-f",
        "A=B",
        "🦀",
        "^/.*$",
        "a b",
    ] {
        assert_eq!(decisions(hostile, "plain"), plain, "{hostile}");
        assert_eq!(decisions("plain", hostile), plain, "{hostile}");
    }
    for refused in ["a\nb", "a\r", "a\0b", "\u{1b}[2J", "\u{85}", "a/../../.."] {
        assert_eq!(decisions(refused, "plain"), None, "{refused:?}");
        assert_eq!(decisions("plain", refused), None, "{refused:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_path_widens_a_profile(skill in hostile(), workspace in hostile()) {
        if let Some(found) = decisions(&skill, &workspace) {
            prop_assert_eq!(Some(found), decisions("plain", "plain"));
        }
    }
}

fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(
        prop::sample::select(vec![
            "\"",
            "\\",
            "(",
            ")",
            " ",
            "allow default",
            "#",
            ";",
            "=",
            "-D",
            "\n",
            "a",
            "é",
        ]),
        1..12,
    );
    let text = prop_oneof![
        pieces.prop_map(|pieces| pieces.concat()),
        "[^/\\x00-\\x1f]{1,40}"
    ];
    // Names with a special meaning in file systems are not used as names of directories here.
    text.prop_filter("a name", |name| {
        !matches!(name.as_str(), "." | "..") && name != "other"
    })
}
