//! Packages that a skill imports and does not declare, with an index on the loopback device.

use std::fs;

use crate::deps::{PACKAGES, User};
use crate::package_index::PackageIndex;
use crate::terminal::answered;

const RULE: &str = "packages:pypi:demo-pkg";
const HELP: &str =
    "help: allow exactly the package `demo_pkg` with `--allow packages:pypi:demo-pkg`";
const QUESTION: &str = "[N]o";

/// Returns a user with a skill that declares nothing and has this script.
fn importing(script: &str) -> Option<User> {
    let user = User::new(&PACKAGES).map(User::with_uv)?;
    let scripts = user.fixture.path().join("skills/demo/scripts");
    fs::remove_file(scripts.join("requirements.txt")).unwrap();
    user.fixture.file("skills/demo/scripts/show.py", script);
    Some(user)
}

fn answer(user: &User, answer: &str, arguments: &[&str]) -> (i32, String) {
    answered(user.command(arguments), QUESTION, answer, || {})
}

const SCRIPT: &str = "import sys, demo_pkg\nprint('demo', demo_pkg.VERSION, file=sys.stderr)\n";
/// What a run of it shows: programs write to standard error within a frame.
const SHOWN: &str = "demo 1.2\n--- end of program output ---\n";

#[test]
fn the_package_of_a_failed_import_is_one_question() {
    let Some(user) = importing(SCRIPT) else {
        return;
    };
    let (code, text) = answer(&user, "n", &["run", "demo"]);
    assert_eq!(code, 1, "{text}");
    for part in [
        "Run skill `demo` again, with what it imports?",
        "install package `pypi:demo-pkg` 1.2\n",
        "`demo-pkg` is on 127.0.0.1:",
        " since an unknown date, owned by ada; `scripts/show.py` imports `demo_pkg`, \
         which the skill does not declare; ",
        "installs 2 packages, from 127.0.0.1:",
        HELP,
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!((user.builds(), user.index.count(".whl#")), (0, 0));

    let (code, text) = answer(&user, "y", &["run", "demo"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("demo 1.2\n"), "{text}");
    // An answer for one run is for no other one.
    let (code, text) = user.run(&["run", "demo"]);
    assert_eq!(code, 1, "{text}");

    let (code, text) = answer(&user, "a", &["run", "demo"]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = user.run(&["run", "demo"]);
    assert_eq!((code, text.as_str()), (0, SHOWN));
    // It is for this content.
    user.fixture
        .file("skills/demo/scripts/show.py", &format!("{SCRIPT}\n"));
    let (code, text) = user.run(&["run", "demo"]);
    assert_eq!(code, 1, "{text}");
}

/// Such as a plan for a skill that declares the package.
#[test]
fn a_plan_without_an_origin_gets_one() {
    let Some(user) = importing(SCRIPT) else {
        return;
    };
    let origin = "since an unknown date, owned by ada";
    let declaration = "skills/demo/scripts/requirements.txt";
    user.fixture.file(declaration, "demo_pkg\n");
    let (_, text) = answer(&user, "n", &["run", "demo"]);
    assert!(
        text.contains("install package `pypi:demo-pkg` 1.2"),
        "{text}"
    );
    assert!(!text.contains(origin), "{text}");
    fs::remove_file(user.fixture.path().join(declaration)).unwrap();
    let planned = user.index.count("/simple/needed/");
    for _ in 0..2 {
        let (_, text) = answer(&user, "n", &["run", "demo"]);
        assert!(text.contains(origin), "{text}");
    }
    // The versions are those of the stored plan, and the index is asked once.
    assert_eq!(user.index.count("/simple/needed/"), planned);
    assert_eq!(user.index.count("/pypi/demo-pkg/json"), 1);
}

#[test]
fn only_a_rule_with_exactly_the_name_installs_it() {
    let Some(user) = importing(SCRIPT) else {
        return;
    };
    let policy = user.fixture.path().join("home/.config/skills/policy.toml");
    for arguments in [
        &[][..],
        &["--yes"],
        &["--allow", "packages"],
        &["--allow", "packages:pypi:*"],
        &["--allow", "packages:pypi:demo*", "--yes"],
        &["--allow", "packages:pypi:needed"],
    ] {
        // Trusted mode covers what a skill declares.
        user.fixture
            .file("home/.config/skills/policy.toml", "mode = \"trusted\"\n");
        let (code, text) = user.run(&[&["run", "demo"], arguments].concat());
        assert_eq!(code, 1, "{arguments:?}: {text}");
        assert!(text.contains(HELP), "{arguments:?}: {text}");
        assert_eq!(text.matches("help:").count(), 1, "{text}");
        assert_eq!((user.builds(), user.index.count("")), (0, 0));
    }
    fs::remove_file(policy).unwrap();
    let (code, text) = user.run(&["run", "demo", "--allow", RULE]);
    assert_eq!((code, text.as_str()), (0, SHOWN));
    user.fixture.file(
        "home/.config/skills/policy.toml",
        "deny = [\"packages:pypi:needed\"]\n",
    );
    let (code, text) = user.run(&["run", "demo", "--allow", RULE]);
    assert_eq!(code, 1, "{text}");
    let reason = "cannot install `demo_pkg`: `deny packages:pypi:needed";
    assert!(text.contains(reason) && !text.contains(HELP), "{text}");
}

/// The help would be the rule that was given.
#[test]
fn an_accepted_package_that_cannot_be_installed_is_a_note() {
    let Some(user) = importing("import no_such_package\n") else {
        return;
    };
    let (code, text) = user.run(&["run", "demo", "--allow", "packages:pypi:no-such-package"]);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("cannot install `no_such_package`: "),
        "{text}"
    );
    assert!(!text.contains("with `--allow packages"), "{text}");
}

/// Each comfort is one more name that an attacker could register.
#[test]
fn what_no_file_imports_or_a_local_file_is_in_no_question() {
    let Some(user) = importing("import sys\nsys.exit(\"No module named 'demo_pkg'\")\n") else {
        return;
    };
    let asked = |arguments: &[&str]| {
        let (code, text) = answer(&user, "y", arguments);
        assert_eq!(code, 1, "{text}");
        assert!(!text.contains("install package"), "{text}");
        assert_eq!(user.builds(), 0, "{text}");
        text
    };
    asked(&["run", "demo"]);
    fs::create_dir(user.fixture.path().join("work")).unwrap();
    // In the skill, beside it, and in the workspace.
    user.fixture.file("skills/demo/scripts/show.py", SCRIPT);
    for file in [
        "skills/demo/vendor/demo_pkg.pyi",
        "skills/shared/demo_pkg.py",
        "work/demo_pkg/__init__.py",
    ] {
        user.fixture.file(file, "");
        let text = asked(&["run", "demo", "--workspace", "work"]);
        assert!(!text.contains("--allow packages"), "{file}: {text}");
        // Whatever file of the skill imports it.
        user.fixture
            .file("skills/demo/scripts/show.py", "import helper\n")
            .file("skills/demo/scripts/helper.py", SCRIPT);
        let script = ["--script", "show.py"];
        let text = asked(&[&["run", "demo", "--workspace", "work"][..], &script].concat());
        assert!(!text.contains("--allow packages"), "{file}: {text}");
        user.fixture.file("skills/demo/scripts/show.py", SCRIPT);
        for file in [file, "skills/demo/scripts/helper.py"] {
            fs::remove_file(user.fixture.path().join(file)).unwrap();
        }
    }
    // The index has no such package.
    user.fixture
        .file("skills/demo/scripts/show.py", "import no_such_package\n");
    let text = asked(&["run", "demo"]);
    assert!(text.contains("cannot install `no_such_package`"), "{text}");
    assert!(!text.contains("--allow packages"), "{text}");
}

/// Such as one that is started with `python -m`: it is accepted with the setting, and no other one is.
#[test]
fn a_package_that_only_the_instructions_name_is_accepted_alone() {
    let Some(user) = importing("import sys\nsys.exit(\"No module named 'needed'\")\n") else {
        return;
    };
    user.fixture.file(
        "skills/demo/SKILL.md",
        "---\nname: demo\ndescription: Shows versions.\n---\nFirst `pip install needed demo-pkg`.\n",
    );
    let (code, text) = answer(&user, "y", &["run", "demo"]);
    assert_eq!(code, 1, "{text}");
    let help = "help: accept its packages with `skills config set skills.demo.packages needed` and";
    assert!(text.contains(help), "{text}");
    assert!(
        !text.contains("install package") && user.builds() == 0,
        "{text}"
    );
}

#[test]
fn a_package_without_the_module_is_not_used() {
    let Some(mut user) = importing("import wrong\n") else {
        return;
    };
    user.index =
        PackageIndex::start_with_modules(&[("wrong", "1.0", &[])], |name| format!("{name}_other"));
    let (code, text) = user.run(&["run", "demo", "--allow", "packages:pypi:wrong"]);
    assert_ne!(code, 0, "{text}");
    assert!(text.contains("`wrong` has no module `wrong`"), "{text}");
    let (code, text) = answer(&user, "y", &["run", "demo"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("cannot run it again: "), "{text}");
}

#[test]
fn an_attempt_with_effects_is_not_repeated() {
    let script = format!("open('made', 'a').write('x')\n{SCRIPT}");
    let Some(user) = importing(&script) else {
        return;
    };
    fs::create_dir(user.fixture.path().join("work")).unwrap();
    let run = ["run", "demo", "--workspace", "work", "--allow", "write"];
    let made = || fs::read_to_string(user.fixture.path().join("work/made")).unwrap();
    let (code, text) = answer(&user, "a", &run);
    assert_eq!((code, made().as_str()), (1, "x"), "{text}");
    assert!(text.contains("start it again"), "{text}");
    let (code, text) = user.run(&run);
    assert_eq!((code, made().as_str()), (0, "xx"), "{text}");
}

#[test]
fn each_attempt_adds_one_package() {
    let script = "import sys, demo_pkg, needed\nimport other_pkg\nprint('all', file=sys.stderr)\n";
    let Some(mut user) = importing(script) else {
        return;
    };
    user.index = PackageIndex::start(&[
        ("demo-pkg", "1.2", &[]),
        ("needed", "3.1", &[]),
        ("other-pkg", "1", &[]),
    ]);
    let (code, text) = answer(&user, "y", &["run", "demo"]);
    assert_eq!(code, 1, "{text}");
    for (name, count) in [("demo-pkg", 2), ("needed", 1), ("other-pkg", 0)] {
        let shown = text
            .matches(&format!("install package `pypi:{name}`"))
            .count();
        assert!(
            shown <= count && (count == 0 || shown > 0),
            "{name}: {text}"
        );
    }
    let rule = |name: &str| format!("packages:pypi:{name}");
    let [demo, needed, other] = ["demo-pkg", "needed", "other-pkg"].map(rule);
    let run = [
        "run", "demo", "--allow", &demo, "--allow", &needed, "--allow", &other,
    ];
    let (code, text) = user.run(&run);
    assert!(code == 0 && text.starts_with("all\n"), "{text}");
}
