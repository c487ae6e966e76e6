//! Implicit invocations: the conformance cases I1 to I7 of Codex, and commands that Codex misses.

use proptest::prelude::*;
use skills_discovery::{ConfigRule, Selector};
use skills_prompt::{CommandLine, ImplicitIndex, TurnInvocations, UseKind};

use crate::skill_tree::{SkillTree, catalog_of_source};

fn index() -> (SkillTree, ImplicitIndex) {
    let tree = SkillTree::new();
    for name in ["x", "y", "gone"] {
        tree.skill(&format!("repo/{name}"), name);
        tree.file(&format!("repo/{name}/scripts/x.py"), "")
            .file(&format!("repo/{name}/scripts/deep/y.sh"), "");
    }
    tree.file(
        "repo/manual/SKILL.md",
        "---\nname: manual\ndescription: d\ndisable-model-invocation: true\n---\n",
    );
    let catalog = tree.catalog_with([ConfigRule::disable(
        Selector::Name("gone".to_owned()),
        "test",
    )]);
    (tree, ImplicitIndex::new(catalog))
}

/// Checks the uses in each command, with `S` for the directory of the skills. A command starts in
/// the directory of the skill `x`.
fn check(cases: &[(&str, &[&str])]) {
    let (tree, index) = index();
    let skills = tree.text("repo");
    let mut failures = Vec::new();
    for (command, expected) in cases {
        let text = command.replace("S/", &format!("{skills}/"));
        let uses = index.detect(CommandLine::Shell(&text), &tree.path("repo/x"));
        let got: Vec<String> = uses
            .iter()
            .map(|found| format!("{} {}", found.kind.as_str(), found.entry.name()))
            .collect();
        if got != *expected {
            failures.push(format!("{command}: {got:?}, not {expected:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn uses_that_codex_detects() {
    check(&[
        ("python3 -u S/x/scripts/x.py --flag", &["runs x"]),
        ("/usr/bin/Python3.exe S/x/scripts/x.py", &["runs x"]),
        ("python3 -c 'import x'", &[]),
        ("python3 -m x S/x/scripts/x.py", &[]),
        ("cat S/x/SKILL.md | head", &["reads x"]),
        ("cat ../y/SKILL.md", &["reads y"]),
        ("python3 scripts/x.py", &["runs x"]),
        ("sed -n '1,200p' S/y/SKILL.md", &["reads y"]),
        ("bash S/y/scripts/deep/y.sh", &["runs y"]),
        ("bash -- S/y/scripts/deep/y.sh", &["runs y"]),
        ("cat S/x/scripts/x.py", &[]),
        ("grep x S/x/SKILL.md", &[]),
        ("python3 S/x/other.py", &[]),
        ("python3 S/x/scripts/data.json", &[]),
        ("cat S/gone/SKILL.md; cat S/manual/SKILL.md", &[]),
    ]);
}

/// Programs have this path in `SKILL_DIR`.
#[test]
fn skills_of_sources_are_read_and_run() {
    let (_scratch, catalog) = catalog_of_source();
    let directory = catalog.entries()[0].directory().to_owned();
    let index = ImplicitIndex::new(catalog);
    for (command, expected) in [
        ("cat SKILL.md", UseKind::ReadDocument),
        ("python3 scripts/x.py", UseKind::RunScript),
    ] {
        let uses = index.detect(CommandLine::Shell(command), &directory);
        let kinds: Vec<UseKind> = uses.iter().map(|found| found.kind).collect();
        assert_eq!(kinds, [expected], "{command}");
    }
}

#[test]
fn uses_that_codex_misses() {
    check(&[
        ("ls | cat - S/x/SKILL.md", &["reads x"]),
        (
            "true && cat S/x/SKILL.md; cat S/y/SKILL.md",
            &["reads x", "reads y"],
        ),
        ("cd S/y && cat SKILL.md", &["reads y"]),
        ("cd ../y; python3 scripts/x.py", &["runs y"]),
        ("(cd ../y; true) && cat SKILL.md", &["reads x"]),
        ("cd scripts && python3 x.py", &["runs x"]),
        ("cd ../y | true; cat SKILL.md", &["reads x"]),
        ("true | cd ../y; cat SKILL.md", &["reads x"]),
        ("true; cd ../y; cat SKILL.md", &["reads y"]),
        ("cd ../y & cat SKILL.md", &["reads x"]),
        ("cd - && cat SKILL.md", &[]),
        ("cd $DIR && cat SKILL.md; cat S/x/SKILL.md", &["reads x"]),
        ("A=1 B=2 python3 scripts/x.py", &["runs x"]),
        ("A_1= _B=x python3 scripts/x.py", &["runs x"]),
        (
            "1A=2 python3 scripts/x.py; =x python3 scripts/x.py; A-B=1 python3 scripts/x.py",
            &[],
        ),
        ("cat a#b ../a~/../x/SKILL.md # ../y/SKILL.md", &["reads x"]),
        ("kill 1; cat SKILL.md; cat skill.MD", &["reads x"]),
        ("env -i A=1 python3 scripts/x.py", &["runs x"]),
        (
            "env -C ../y cat SKILL.md && cat SKILL.md",
            &["reads y", "reads x"],
        ),
        (
            "sudo -u www-data timeout -k 1 5s nice -n 3 python3 scripts/x.py",
            &["runs x"],
        ),
        ("uv run scripts/x.py", &["runs x"]),
        ("uv run --with requests python scripts/x.py", &["runs x"]),
        ("uv --directory ../y run scripts/x.py", &["runs y"]),
        ("uv run --directory=../y python scripts/x.py", &["runs y"]),
        ("bash -euo pipefail scripts/deep/y.sh", &["runs x"]),
        ("bash -e scripts/deep/y.sh", &["runs x"]),
        ("bash -o pipefail -c 'cat SKILL.md'", &["reads x"]),
        (
            "bash -n scripts/deep/y.sh; python3 -mblack scripts/x.py; node --check scripts/x.js",
            &[],
        ),
        (
            "ruby -e1 scripts/x.py; python3 -W ignore -cpass scripts/x.py; node -pe 1 scripts/x.js",
            &[],
        ),
        (
            "bash -c \"cat ${D}SKILL.md\"; cat $(dirname x)SKILL.md",
            &[],
        ),
        ("command -v scripts/x.py; sudo -l scripts/x.py", &[]),
        (
            "cat SKILL.md\r\ncat ../y/SKILL.md\r\n",
            &["reads x", "reads y"],
        ),
        ("cat notes && git commit -m \"it's SKILL.md", &[]),
        (
            "if false; then :; elif cat SKILL.md; then :; fi",
            &["reads x"],
        ),
        ("cat <<EOF\n\tEOF\npython3 scripts/x.py\nEOF", &[]),
        ("echo $(( 4/2 )) $'it\\'s' && cat SKILL.md", &["reads x"]),
        ("cat SKILL.md>out", &["reads x"]),
        (
            "cat SKILL.md &>>out; cat ../y/SKILL.md >&2",
            &["reads x", "reads y"],
        ),
        ("cat ../y/x 'SKILL.md' >(cat) <(cat)", &["reads x"]),
        (
            "env A=1 B=2 python3 scripts/x.py; env -i -- A=1 cat ../y/SKILL.md",
            &["runs x", "reads y"],
        ),
        ("ruby -c scripts/x.rb; perl -e1 scripts/x.pl", &[]),
        ("cat 2>/dev/null SKILL.md", &["reads x"]),
        ("true |& cd ../y; cat SKILL.md", &["reads x"]),
        ("cat <<<SKILL.md ../y/SKILL.md", &["reads y"]),
        (
            "cat <<-EOF\nx\ncat ../y/SKILL.md\n\tEOF\ncat SKILL.md",
            &["reads x"],
        ),
        ("diff <(cat SKILL.md) x", &["reads x"]),
        ("echo $\"a; cat ../y/SKILL.md\"; cat SKILL.md", &["reads x"]),
        ("echo $(echo \\( ) ; cat SKILL.md", &["reads x"]),
        ("ls && cat SKILL.md \\", &["reads x"]),
        ("echo $(echo \"(\") ; cat SKILL.md", &["reads x"]),
        ("echo $(echo ')' \"a\") ; cat SKILL.md", &["reads x"]),
        ("cd scripts && uv run x.py", &["runs x"]),
        ("cd scripts && poetry run x.py", &[]),
        ("uv run --with=requests python scripts/x.py", &["runs x"]),
        ("sudo -E cat SKILL.md", &["reads x"]),
        (
            "python3 run scripts/x.py; python3 - scripts/x.py; python-config scripts/x.py",
            &[],
        ),
        ("node -r ts-node/register scripts/x.js", &["runs x"]),
        ("deno run -c deno.json scripts/x.ts", &["runs x"]),
        ("deno eval scripts/x.ts", &[]),
        ("ruby -I lib scripts/x.rb", &["runs x"]),
        ("perl -W scripts/x.pl", &["runs x"]),
        ("pwsh -ExecutionPolicy Bypass scripts/x.ps1", &["runs x"]),
        ("/usr/bin/Python3 scripts/x.py", &["runs x"]),
        ("python3.exe scripts/x.py", &["runs x"]),
        ("scripts/node_modules/.bin/tsc", &[]),
        ("npx -y tsx S/x/scripts/x.ts", &["runs x"]),
        ("npm exec -- node S/x/scripts/x.js", &["runs x"]),
        ("poetry run python scripts/x.py", &["runs x"]),
        ("deno run -A S/x/scripts/x.ts", &["runs x"]),
        ("python3.12 -W ignore scripts/x.py", &["runs x"]),
        ("./scripts/x.py", &["runs x"]),
        ("S/y/scripts/deep/y.sh arg", &["runs y"]),
        ("bash -lc 'cd ../y && cat SKILL.md'", &["reads y"]),
        ("bash -c \"bash -c 'cat S/x/SKILL.md'\"", &["reads x"]),
        (
            "echo $(cat SKILL.md) `cat ../y/SKILL.md`",
            &["reads x", "reads y"],
        ),
        ("cat < SKILL.md > out", &["reads x"]),
        (". scripts/deep/y.sh", &["runs x"]),
        (
            "cat <<EOF\ncat S/y/SKILL.md\nEOF\ncat SKILL.md",
            &["reads x"],
        ),
        ("if true; then cat SKILL.md; fi", &["reads x"]),
        ("echo 'cat SKILL.md' # cat SKILL.md", &[]),
        ("cat 'S/x/SKILL.md", &[]),
        ("cat S/x/SKILL.md 'x", &["reads x"]),
        ("cat *.md ~/SKILL.md", &[]),
    ]);
}

/// Work is bounded: substitutions are followed three levels deep, and a script of more than
/// 256 KiB is skipped.
#[test]
fn deep_and_long_commands_are_skipped() {
    let (tree, index) = index();
    let count = |text: &str| {
        index
            .detect(CommandLine::Shell(text), &tree.path("repo/x"))
            .len()
    };
    let nested = |levels: usize| {
        format!(
            "{}cat SKILL.md{}",
            "echo $(".repeat(levels),
            ")".repeat(levels)
        )
    };
    assert_eq!(
        [0, 1, 3, 4].map(|levels| count(&nested(levels))),
        [1, 1, 1, 0]
    );
    let side_by_side = format!(
        "{}echo $(cat SKILL.md)",
        "echo $(echo SKILL.md); ".repeat(9)
    );
    assert_eq!(
        count(&side_by_side),
        1,
        "sequential substitutions are not nested"
    );

    let padded = |bytes: usize| format!("cat SKILL.md #{}", "x".repeat(bytes - 14));
    assert_eq!(
        [1_000, 256 * 1024, 256 * 1024 + 1].map(|bytes| count(&padded(bytes))),
        [1, 1, 0]
    );
}

#[test]
fn arguments_are_not_parsed_as_a_shell_script() {
    let (tree, index) = index();
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<String>>()
    };
    let count = |given: &[&str]| {
        index
            .detect(CommandLine::Argv(&words(given)), &tree.path("repo/x"))
            .len()
    };
    assert_eq!(count(&["cat", "SKILL.md"]), 1);
    assert_eq!(count(&["bash", "-lc", "cat SKILL.md | head"]), 1);
    assert_eq!(count(&["echo", "&&", "cat", "SKILL.md"]), 0);
    assert_eq!(count(&[]), 0);
}

#[test]
fn symlinks_that_the_scan_followed_are_followed() {
    let tree = SkillTree::new();
    tree.skill("elsewhere/pack/tool", "tool")
        .file("repo/readme", "");
    std::os::unix::fs::symlink(tree.path("elsewhere/pack"), tree.path("repo/pack")).unwrap();
    let index = ImplicitIndex::new(tree.catalog());
    let uses = index.detect(
        CommandLine::Shell("cat pack/tool/SKILL.md"),
        &tree.path("repo"),
    );
    assert_eq!(
        (uses.len(), uses[0].path.clone()),
        (1, tree.path("elsewhere/pack/tool/SKILL.md"))
    );
}

#[test]
fn a_skill_is_recorded_once_per_turn() {
    let (tree, index) = index();
    let mut turn = TurnInvocations::default();
    let mut record =
        |text: &str| turn.record(&index.detect(CommandLine::Shell(text), &tree.path("repo/x")));
    let first = record("cat SKILL.md && cat SKILL.md && python3 scripts/x.py");
    assert_eq!(
        (
            first.len(),
            first[0].skill.as_str(),
            first[0].kind,
            first[0].scope.as_str()
        ),
        (1, "x", UseKind::ReadDocument, "repo")
    );
    assert_eq!(record("python3 scripts/x.py").len(), 0);
    assert_eq!(record("cat ../y/SKILL.md").len(), 1);
    let again = TurnInvocations::default()
        .record(&index.detect(CommandLine::Shell("cat SKILL.md"), &tree.path("repo/x")));
    assert_eq!(again.len(), 1, "a new turn records it again");
}

/// For hostile and malformed scripts: text that no shell would run is never a use, and a command
/// before it always is.
#[test]
fn only_commands_that_a_shell_would_run_are_uses() {
    let (tree, index) = index();
    let directory = tree.path("repo/x");
    let detect = |text: &str| index.detect(CommandLine::Shell(text), &directory);
    let command = "(cat|bash|-c|SKILL\\.md|scripts/x\\.py|cd|\\.\\./y|[ '\"$(){}`|&;<>\n#~*é\\\\-]|env|uv run|A=1){0,30}";
    proptest!(|(text in command)| {
        let uses = detect(&text);
        let files = text.matches("SKILL.md").count() + text.matches("scripts/x.py").count();
        prop_assert!(uses.len() <= files, "{} uses of {} files", uses.len(), files);
        for found in &uses {
            prop_assert!(matches!(found.entry.name().as_str(), "x" | "y"));
            prop_assert!(found.path.starts_with(found.entry.directory()));
        }

        let first = detect(&format!("cat ../y/SKILL.md\n{text}"));
        prop_assert_eq!(first[0].entry.name().as_str(), "y");
        let commented: String = text.lines().map(|line| format!("# {line}\n")).collect();
        prop_assert_eq!(detect(&commented).len(), 0);
        prop_assert_eq!(detect(&format!("echo '{}'", text.replace('\'', ""))).len(), 0);
        let words = text.split_whitespace().map(str::to_owned);
        let words: Vec<String> = ["echo".to_owned()].into_iter().chain(words).collect();
        prop_assert_eq!(index.detect(CommandLine::Argv(&words), &directory).len(), 0);
    });
}
