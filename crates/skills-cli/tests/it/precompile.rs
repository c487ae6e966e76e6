//! Tests of `precompile` and of deterministic runs.

use insta::{allow_duplicates, assert_snapshot};
use serde_json::json;

use crate::skills::{EXAMPLES, command, skills, skills_in};

#[test]
fn compiled_modules_are_cached_until_cleared() {
    let state = tempfile::tempdir().unwrap();
    let precompile = |arguments: &[&str]| {
        skills_in(
            &[&["wasm", "precompile"], arguments, &EXAMPLES].concat(),
            "",
            state.path(),
        )
    };
    let compiled = precompile(&["code-review", "--json"]);
    assert_eq!(
        (
            compiled.code,
            &compiled.json()["skills"][0]["preparation"]["kind"]
        ),
        (0, &json!("compiled")),
        "{}",
        compiled.page()
    );
    assert_snapshot!(precompile(&["code-review"]).page(), @"
    exit 0
    -- stdout
    code-review: already compiled
    ");
    let cleared = precompile(&["--clear", "--json"]);
    assert_eq!(
        (
            cleared.code,
            &cleared.json()["deleted"]["modules"],
            &cleared.json()["skills"]
        ),
        (0, &json!(1), &json!([]))
    );
    assert_snapshot!(precompile(&["--clear"]).page(), @"
    exit 0
    -- stderr
    deleted 0 compiled modules, 0 bytes
    ");
    let again = precompile(&["code-review", "--json"]);
    assert_eq!(again.json()["skills"][0]["preparation"]["kind"], "compiled");
}

#[test]
fn errors_of_several_skills_have_hints() {
    let precompile =
        |arguments: &[&str]| skills(&[&["wasm", "precompile"], arguments, &EXAMPLES].concat());
    assert_snapshot!(precompile(&["wether", "text-stats"]).page(), @"
    exit 1
    -- stdout
    text-stats: nothing to compile
    -- stderr
    error: skill `wether` not found
    help: did you mean `weather`?
    ");
    let document = precompile(&["wether", "text-stats", "--json"]).json();
    assert_eq!(document["skills"][0]["error"]["code"], "unknown-skill");
    assert_eq!(
        document["skills"][0]["error"]["candidates"],
        json!(["weather"])
    );
}

#[test]
fn precompile_needs_a_cache_directory() {
    let scratch = tempfile::tempdir().unwrap();
    let mut command = command(&["wasm", "precompile"], scratch.path());
    let output = command
        .env("HOME", "relative")
        .env_remove("XDG_CACHE_HOME")
        .output()
        .unwrap();
    let expected = "error: cannot open the code cache: no home directory; set `XDG_CACHE_HOME`\n";
    assert_eq!(
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap()
        ),
        (Some(1), expected.to_owned())
    );
}

#[test]
fn deterministic_runs_are_identical_and_scripts_are_rejected() {
    let input = json!({"code": "fn main() { a.unwrap() }", "file": "a.rs"}).to_string();
    let run = || {
        skills(
            &[
                &[
                    "run",
                    "code-review",
                    "--deterministic",
                    "7",
                    "--input",
                    &input,
                ],
                &EXAMPLES[..],
            ]
            .concat(),
        )
    };
    let (first, second) = (run(), run());
    assert_eq!(
        (first.code, first.stdout.contains("unwrap")),
        (0, true),
        "{}",
        first.page()
    );
    assert_eq!(first.page(), second.page());
    let fixture = tempfile::tempdir().unwrap();
    let output = fixture.path().join("out");
    let script = [
        "run",
        "text-stats",
        "--deterministic",
        "7",
        "--output",
        output.to_str().unwrap(),
    ];
    allow_duplicates! {
    for (more, code) in [(&[][..], 125), (&["--dry-run"], 2)] {
        let done = skills(&[&script, more, &EXAMPLES].concat());
        assert_eq!(done.code, code, "{more:?}");
        assert_snapshot!(done.stderr, @"
        error: cannot run a script with `--deterministic`: only WebAssembly supports it
        ");
        assert!(!output.exists(), "no output directory is created for a rejected run");
    }
    }
}

#[test]
fn source_that_was_not_built_is_reported() {
    let fixture = tempfile::tempdir().unwrap();
    let skill = fixture.path().canonicalize().unwrap().join("one");
    std::fs::create_dir_all(skill.join("guest")).unwrap();
    std::fs::write(
        skill.join("SKILL.md"),
        "---\nname: one\ndescription: d\n---\n",
    )
    .unwrap();
    std::fs::write(skill.join("guest/main.c"), "int main(void) {}\n").unwrap();
    let root = fixture.path().display().to_string();
    allow_duplicates! {
    for (more, code) in [(&[][..], 127), (&["--dry-run"], 1)] {
        let done = skills(&[&["run", "one", "--root", &root], more].concat());
        assert_eq!(done.code, code, "{more:?}");
        assert_snapshot!(done.stderr.replace(skill.to_str().unwrap(), "SKILL"), @"
        error: cannot run skill `one`: no `.wasm` in its directory or `wasm/`, and no script in its directory or `scripts/`
        help: build its source in `guest` with `skills build SKILL`
        ");
        let json = skills(&[&["run", "one", "--json", "--root", &root], more].concat()).json();
        assert_eq!(json["error"]["code"], "no-program");
    }
    }
}

/// The audit record shows that compiled code was modified.
#[test]
fn modified_code_is_recompiled_and_recorded() {
    let state = tempfile::tempdir().unwrap();
    let skills = |arguments: &[&str]| skills_in(&[arguments, &EXAMPLES].concat(), "", state.path());
    assert_eq!(skills(&["wasm", "precompile", "code-review"]).code, 0);
    let artifact = find(state.path()).expect("compiled code is cached");
    let mut bytes = std::fs::read(&artifact).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&artifact, &bytes).unwrap();
    let run = skills(&[
        "run",
        "code-review",
        "--input",
        r#"{"code": "", "file": "a.rs"}"#,
        "--json",
    ]);
    let restrictions = run.json()["sandbox"]["restrictions"].to_string();
    assert!(
        run.code == 0 && restrictions.contains("code-cache") && restrictions.contains("deleted"),
        "{}",
        run.page()
    );
    assert_ne!(
        std::fs::read(&artifact).unwrap(),
        bytes,
        "it was compiled again"
    );
    let log = skills(&["audit", "tail", "--json"]);
    assert!(log.stdout.contains("code-cache"), "{}", log.page());
}

/// Finds the file of the compiled code.
fn find(directory: &std::path::Path) -> Option<std::path::PathBuf> {
    std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find_map(|path| {
            if path.is_dir() {
                return find(&path);
            }
            path.extension()
                .is_some_and(|extension| extension == "artifact")
                .then_some(path)
        })
}
