//! Arguments that name files of the working directory, which a program sees only in a workspace.

use std::fs;
use std::process::Command;

use skills_test_support::{SkillTree, skip_without_sandbox};

use crate::skills::{Done, command};
use crate::terminal::answered;

/// Reads the file of its first argument.
const SCRIPT: &str = "import sys\nprint(open(sys.argv[-1].split('=')[-1]).read())\n";

/// A project with a file, beside a home directory.
struct Project(SkillTree);

impl Project {
    fn new() -> Self {
        let tree = SkillTree::new("skills/");
        tree.skill("one", "").script("one", "main.py", SCRIPT);
        for directory in ["scratch", "home", "project/sub", "other"] {
            fs::create_dir_all(tree.path(directory)).unwrap();
        }
        for file in ["project/form.txt", "project/sub/form.txt", "home/form.txt"] {
            fs::write(tree.path(file), "content").unwrap();
        }
        fs::write(tree.path("other/secret.txt"), "secret").unwrap();
        Self(tree)
    }

    fn command(&self, directory: &str, options: &[&str], arguments: &[&str]) -> Command {
        let root = self.0.path("skills").display().to_string();
        let run = [
            &["run", "one", "--root", &root],
            options,
            &["--"],
            arguments,
        ]
        .concat();
        let mut command = command(&run, &self.0.path("scratch"));
        command.current_dir(self.0.path(directory));
        command.env("HOME", self.0.path("home"));
        command
    }

    fn run(&self, directory: &str, options: &[&str], arguments: &[&str]) -> Done {
        let output = self
            .command(directory, options, arguments)
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Done {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Runs on a terminal, and answers the question if there is one.
    fn ask(&self, options: &[&str], arguments: &[&str], answer: &str) -> (i32, String) {
        let command = self.command("project", options, arguments);
        answered(command, "[y]es / [N]o", answer, || {})
    }
}

/// Returns the lines that name the option.
fn help(done: &Done) -> Vec<&str> {
    let lines = done.stderr.lines();
    lines
        .filter(|line| line.contains("working directory"))
        .collect()
}

#[test]
fn a_file_of_the_working_directory_is_named_with_its_option() {
    if skip_without_sandbox() {
        return;
    }
    let project = Project::new();
    let typed = project.0.path("project/form.txt").display().to_string();
    for argument in ["form.txt", "--in=form.txt", "sub/form.txt", "./form.txt"] {
        let done = project.run("project", &[], &[argument]);
        assert_ne!(done.code, 0);
        let shown = argument.split('=').next_back().unwrap();
        assert_eq!(
            help(&done),
            [format!(
                "help: the program did not see `{shown}` of the working directory; let it use the directory with `--workspace .`"
            )],
            "{}",
            done.page()
        );
    }
    // One option is enough.
    let done = project.run("project", &[], &[&typed]);
    assert!(done.stderr.contains("--allow read:") && help(&done).is_empty());
    let done = project.run("project", &["--workspace", "."], &["form.txt"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "content\n"));
    let document = project.run("project", &["--json"], &["form.txt"]).json();
    assert!(document["help"].to_string().contains("--workspace ."));
    // A home directory is too much for a skill. The options are of help only after a failure.
    let done = project.run("home", &[], &["form.txt"]);
    assert!(
        done.stderr.contains("with `--file form.txt`"),
        "{}",
        done.page()
    );
    project.0.script("one", "main.py", "print('ran')\n");
    assert_eq!(project.run("project", &[], &["form.txt"]).stderr, "");
}

/// Nothing but a file that the user's argument names, and that the program does not see, is a reason.
#[test]
fn other_arguments_offer_no_workspace() {
    if skip_without_sandbox() {
        return;
    }
    let project = Project::new();
    std::os::unix::fs::symlink(
        project.0.path("other/secret.txt"),
        project.0.path("project/link.txt"),
    )
    .unwrap();
    let outside = project.0.path("other/secret.txt").display().to_string();
    let form = project.0.path("project/form.txt").display().to_string();
    let cases: [(&[&str], &str); 8] = [
        (&[], "missing.txt"),
        (&[], "link.txt"),
        (&[], "../other/secret.txt"),
        (&[], &outside),
        (&[], "sub"),
        (&[], ""),
        // It is in the directory of the skill, in which the program starts.
        (&[], "SKILL.md/x"),
        (&["--read", &form], "form.txt"),
    ];
    for (options, argument) in cases {
        let done = project.run("project", options, &[argument]);
        assert_ne!(done.code, 0, "{argument}");
        assert_eq!(help(&done), [""; 0], "{argument}: {}", done.page());
    }
}

/// The question is for a person, who gives one directory for one call.
#[test]
fn a_workspace_is_given_only_by_a_person_at_the_terminal() {
    if skip_without_sandbox() {
        return;
    }
    let project = Project::new();
    let (code, shown) = project.ask(&[], &["form.txt"], "y");
    assert!(
        code == 0
            && shown
                .contains("The program does not see `form.txt`. Let it read and write all of `"),
        "{shown}"
    );
    let typed = project.0.path("project/form.txt").display().to_string();
    assert_eq!(project.ask(&[], &[&typed], "y").0, 0);
    for answer in ["", "n", "x"] {
        let (code, shown) = project.ask(&[], &["form.txt"], answer);
        assert!(
            code == 1 && shown.contains("FileNotFoundError"),
            "{answer}: {shown}"
        );
    }
    // An option that answers what a skill asks for gives it no directory.
    for option in ["--yes", "--deny"] {
        let (code, shown) = project.ask(&[option], &["form.txt"], "y");
        assert!(code == 1 && !shown.contains("[N]o"), "{option}: {shown}");
    }
    // A rule that denies still decides.
    let config = project.0.path("home/.config/skills");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("policy.toml"), "deny = [\"read\"]\n").unwrap();
    let (code, shown) = project.ask(&[], &["form.txt"], "y");
    assert!(code != 0, "{shown}");
}

/// Another user can choose the name of a file or directory.
#[test]
fn a_name_forges_no_part_of_the_question() {
    if skip_without_sandbox() {
        return;
    }
    let project = Project::new();
    for (name, shown) in [
        (
            "form\u{1b}]0;title\u{7}.txt",
            "`form\\u{1b}]0;title\\u{7}.txt`.",
        ),
        ("a\nb.txt", "`a\\nb.txt`."),
        ("a`. Safe.txt", "`a\\u{60}. Safe.txt`."),
    ] {
        fs::write(project.0.path("project").join(name), "content").unwrap();
        let (_, text) = project.ask(&[], &[name], "n");
        let question = format!("The program does not see {shown}");
        assert!(text.contains(&question), "{text:?}");
    }
    // The end of a long path decides what is given.
    let long = format!("{}/form.txt", "d".repeat(200));
    let file = project.0.path("project").join(&long);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, "content").unwrap();
    let (code, text) = project.ask(&[], &[&long], "y");
    assert!(code == 1 && !text.contains("[N]o"), "{text}");
    let help = project.run("project", &[], &[&long]).stderr;
    assert!(help.contains(&format!("`{}…`", "d".repeat(200))), "{help}");
    let inside = format!("project/{}", "d".repeat(200));
    let command = project.command(&inside, &[], &["form.txt"]);
    let (code, text) = answered(command, "[y]es / [N]o", "y", || {});
    assert!(code == 1 && !text.contains("[N]o"), "{text}");
}

/// A program that scans `.` would report on its own skill, with exit code 0.
#[test]
fn a_program_without_a_workspace_is_offered_the_working_directory() {
    if skip_without_sandbox() {
        return;
    }
    let project = Project::new();
    let script = "import os, sys\nprint(sorted(os.listdir('.')), file=sys.stderr)\n";
    project.0.script("one", "main.py", script);
    let question = "Let the program read and write all of `";
    let (code, shown) = project.ask(&[], &["--root=."], "y");
    assert!(
        code == 0 && shown.contains(question) && shown.contains("'form.txt'"),
        "{shown}"
    );
    for answer in ["", "n", "x"] {
        let (_, shown) = project.ask(&[], &[], answer);
        assert!(shown.contains("'SKILL.md'"), "{answer}: {shown}");
    }
    // Other options say where it starts, or answer for the skill and not about a directory.
    for options in [
        &["--yes"][..],
        &["--deny"],
        &["--cwd", "skill"],
        &["--workspace", "."],
    ] {
        let (_, shown) = project.ask(options, &[], "y");
        assert!(!shown.contains("[N]o"), "{options:?}: {shown}");
    }
    // A home directory is too much for a skill.
    let command = project.command("home", &[], &[]);
    let (_, shown) = answered(command, "[y]es / [N]o", "y", || {});
    assert!(!shown.contains("[N]o"), "{shown}");
}
