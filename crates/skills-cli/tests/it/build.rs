//! `build`, and `new` with a language.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use serde_json::json;
use skills_test_support::{skip, source_tree};

use crate::skills::{Done, command};

/// A directory of skills, with a home directory next to it.
struct Fixture {
    directory: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("skills")).unwrap();
        Self { directory }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    fn skill(&self, path: &str) -> PathBuf {
        self.path().join("skills").join(path)
    }

    /// Runs the command in the directory of the skills, with an empty `PATH`.
    fn run(&self, arguments: &[&str]) -> Done {
        self.run_with(arguments, &[])
    }

    fn run_with(&self, arguments: &[&str], variables: &[(&str, &Path)]) -> Done {
        let home = self.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        let mut command = command(arguments, &home);
        // This tests the default cache directory.
        command.env_remove("XDG_CACHE_HOME");
        let output = command
            .current_dir(self.path().join("skills"))
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes)
                .unwrap()
                .replace(self.path().to_str().unwrap(), "PLACE");
            // Staging directories have random names.
            let mut parts = text.split("/stage-");
            let first = parts.next().unwrap().to_owned();
            parts.fold(first, |text, part| {
                format!("{text}/STAGE/{}", part.split_once('/').unwrap().1)
            })
        };
        Done {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

/// Returns the directory of the fake compilers.
fn fake_tools() -> String {
    source_tree()
        .join("crates/skills-build/tests/it/tools")
        .canonicalize()
        .unwrap()
        .display()
        .to_string()
}

#[test]
fn a_new_skill_in_c_is_built_once() {
    let fixture = Fixture::new();
    let tools = fake_tools();
    assert_snapshot!(fixture.run(&["new", "polite", "--lang", "c"]).page(), @"
    exit 0
    -- stdout
    ./polite/SKILL.md
    -- stderr
    next: describe in `description` what it does and when to use it, then run `skills build ./polite`
    ");
    assert_eq!(fixture.run(&["compat", "validate", "polite"]).code, 0);
    std::fs::write(fixture.skill("polite/guest/main.c"), "one\n").unwrap();
    assert_snapshot!(fixture.run(&["build", "polite", "--tools", &tools]).page(), @"
    exit 0
    -- stdout
    polite/wasm/skill.wasm
    built, 4 bytes, sha256 2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806
    c: zig 1.2.3
    -- stderr
    $ TREE/crates/skills-build/tests/it/tools/zig version
    $ TREE/crates/skills-build/tests/it/tools/zig cc -target wasm32-wasi -Os -s -Wall -o PLACE/home/.cache/skills/build/STAGE/skill.wasm ./main.c
    a warning
    ");
    assert_snapshot!(fixture.run(&["build", "polite"]).page(), @"
    exit 0
    -- stdout
    polite/wasm/skill.wasm
    nothing changed, 4 bytes, sha256 2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806
    c: zig 1.2.3
    ");
    assert_eq!(
        fixture
            .run(&["build", "polite", "--check", "--tools", &tools, "--json"])
            .json()["status"],
        "same-bytes"
    );
    assert_eq!(
        fixture
            .run(&["build", "polite", "--force", "--tools", &tools, "--json"])
            .json()["status"],
        "built"
    );
    std::fs::write(fixture.skill("polite/guest/main.c"), "two\n").unwrap();
    assert_snapshot!(fixture.run(&["build", "polite", "--check", "--tools", &tools]).page(), @"
    exit 1
    -- stderr
    error: artifact `polite/wasm/skill.wasm` is out of date with its source
    help: build it with `skills build polite` without `--check`; commit the artifact and its lock together
    ");
    std::fs::write(fixture.skill("polite/guest/main.c"), "wrong\n").unwrap();
    assert_snapshot!(fixture.run(&["build", "polite", "--tools", &tools]).page(), @"
    exit 1
    -- stderr
    $ TREE/crates/skills-build/tests/it/tools/zig version
    $ TREE/crates/skills-build/tests/it/tools/zig cc -target wasm32-wasi -Os -s -Wall -o PLACE/home/.cache/skills/build/STAGE/skill.wasm ./main.c
    error: `zig` ended with exit status: 1
    ./main.c: that is wrong
    ");
}

#[test]
fn failed_builds_explain_what_is_missing() {
    let fixture = Fixture::new();
    assert_eq!(fixture.run(&["new", "talk", "--lang", "js"]).code, 0);
    assert_snapshot!(fixture.run(&["build", "talk"]).page(), @"
    exit 1
    -- stderr
    error: `node` not found (install: https://nodejs.org); `esbuild` not found (install: npm install esbuild); `componentize-qjs` not found (install: npm install componentize-qjs)
    help: install the other tools first, then the rest with `skills build talk --install` (npm, pip, rustup)
    ");
    let json = fixture.run(&["build", "talk", "--json"]);
    assert_eq!(
        (json.code, &json.json()["error"]["code"]),
        (1, &json!("missing-tool"))
    );
    let failed = fixture.run(&["build", "talk", "--install"]);
    assert_eq!(
        (failed.code, failed.stderr.lines().next()),
        (
            1,
            Some(
                "warning: cannot install the missing tools: `node` not found (install: https://nodejs.org)"
            )
        )
    );
    std::fs::write(fixture.skill("talk/guest/main.c"), "").unwrap();
    assert_snapshot!(fixture.run(&["build", "talk"]).page(), @"
    exit 2
    -- stderr
    error: `talk` has source in several languages (js, c); select one with `--lang`
    ");
    assert_eq!(fixture.run(&["new", "empty"]).code, 0);
    assert_snapshot!(fixture.run(&["build", "empty"]).page(), @"
    exit 2
    -- stderr
    error: cannot find source in `empty` (searched for guest/Cargo.toml, guest/{main,index,skill}.{js,mjs,ts}, guest/*.c, guest/{app,main}.py)
    help: create a skill with source with `skills new NAME --lang rust` (or js, ts, c, python)
    ");
    assert_eq!(fixture.run(&["build", "absent"]).code, 1);
    assert_eq!(fixture.run(&["build", "empty", "--lang", "cobol"]).code, 2);
    assert_eq!(
        fixture.run(&["build", "empty", "--check", "--force"]).code,
        2
    );
}

#[test]
fn templates_of_all_languages_are_valid_skills_with_source() {
    let fixture = Fixture::new();
    for (language, file) in [
        ("rust", "src/main.rs"),
        ("js", "main.js"),
        ("ts", "main.ts"),
        ("c", "main.c"),
        ("python", "app.py"),
    ] {
        let name = format!("new-{language}");
        assert_eq!(
            fixture.run(&["new", &name, "--lang", language]).code,
            0,
            "{language}"
        );
        assert!(
            fixture.skill(&name).join("guest").join(file).is_file(),
            "{language}"
        );
        let checked = fixture.run(&["validate", &name, "--json"]).json();
        assert_eq!(checked["results"][0]["warnings"], json!([]), "{language}");
        let result = fixture.run(&["build", &name, "--json"]).json();
        assert_eq!(
            result["error"]["code"], "missing-tool",
            "the source is found: {result}"
        );
    }
}

/// Uses the toolchain of this machine; the built program runs.
#[test]
fn a_program_in_rust_is_built_and_runs() {
    let fixture = Fixture::new();
    assert_eq!(fixture.run(&["new", "plain", "--lang", "rust"]).code, 0);
    let manifest = std::fs::read_to_string(fixture.skill("plain/guest/Cargo.toml")).unwrap();
    // Without dependencies, nothing is downloaded.
    std::fs::write(
        fixture.skill("plain/guest/Cargo.toml"),
        manifest.replace("serde_json = \"1\"\n", ""),
    )
    .unwrap();
    let program = "fn main() { print!(\"{}\", std::fs::read_to_string(\"/skill/references/words.txt\").unwrap()) }\n";
    std::fs::write(fixture.skill("plain/guest/src/main.rs"), program).unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let below_home = |name: &str| std::env::home_dir().unwrap_or_default().join(name);
    let home = |variable: &str, name: &str| {
        std::env::var_os(variable).map_or_else(|| below_home(name), PathBuf::from)
    };
    let (cargo, rustup) = (home("CARGO_HOME", ".cargo"), home("RUSTUP_HOME", ".rustup"));
    let variables = [
        ("PATH", Path::new(&path)),
        ("CARGO_HOME", &cargo),
        ("RUSTUP_HOME", &rustup),
    ];
    let built = fixture.run_with(&["build", "plain", "--json"], &variables);
    if built.json()["error"]["code"] == "missing-tool" {
        return skip(format!("no tools: {}", built.json()["error"]["message"]));
    }
    assert_eq!(
        (built.code, &built.json()["status"]),
        (0, &json!("built")),
        "{}",
        built.page()
    );
    let ran = fixture.run(&["run", "plain", "--root", "."]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "please\nthanks\nsorry\n"),
        "{}",
        ran.page()
    );
}

/// Exercises the `skill` module for JavaScript in the engine.
const TRIES: &str = r#"
import { env, input, list, print, readText, writeText } from "skill";
const stored = [1, 2].map((n) => n * 2);
export function run() {
  const given = input();
  console.log("told", { a: stored });
  if (given.fail) throw new Error("as wished");
  writeText("/work/a", "ü€😀".repeat(5000));
  const tried = (path) => { try { return readText(path); } catch (error) { return error.message; } };
  const denied = ["/etc/passwd", "/skill/absent", "/skillful"].map(tried);
  const length = readText("/work/a").length;
  print({ text: given.text, name: env("SKILL_NAME"), none: env("HOME") ?? null, length, list: list("/skill"), denied });
  print("é".repeat(5000));
}
"#;

#[test]
fn a_program_in_javascript_is_built_and_runs() {
    let fixture = Fixture::new();
    assert_eq!(fixture.run(&["new", "tries", "--lang", "js"]).code, 0);
    std::fs::write(fixture.skill("tries/guest/main.js"), TRIES).unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let tools = std::env::var("SKILLS_TEST_TOOLS")
        .unwrap_or_else(|_| fixture.path().join("no-tools").display().to_string());
    let built = fixture.run_with(
        &["build", "tries", "--tools", &tools, "--json"],
        &[("PATH", Path::new(&path))],
    );
    if built.json()["error"]["code"] == "missing-tool" {
        return skip(format!("no tools: {}", built.json()["error"]["message"]));
    }
    assert_eq!(built.code, 0, "{}", built.page());
    let run = |input: &str| {
        fixture.run(&[
            "run",
            "tries",
            "--root",
            ".",
            "--timeout",
            "300",
            "--input",
            input,
        ])
    };
    let ran = run(r#"{"text": "hä😀"}"#);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (0, "told {\"a\":[2,4]}\n--- end of program output ---\n"),
        "{}",
        ran.page()
    );
    let (first, second) = ran.stdout.split_once('\n').unwrap();
    let expected = json!({
        "text": "hä😀", "name": "tries", "none": null, "length": 20_000, "list": ["SKILL.md", "guest", "references", "wasm"],
        "denied": [
            "/etc/passwd: not in a directory that this skill was given", "/skill/absent: no-entry",
            "/skillful: not in a directory that this skill was given",
        ],
    });
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(first).unwrap(),
        expected
    );
    assert_eq!(second, "é".repeat(5000) + "\n");
    let failed = run(r#"{"fail": true}"#);
    assert_eq!(failed.code, 1);
    assert!(
        failed
            .stderr
            .contains("Error: as wished\n    at run (/bundle.js:"),
        "{}",
        failed.page()
    );
}
