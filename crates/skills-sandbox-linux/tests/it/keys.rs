//! Files with keys in a writable workspace, by their other names.

use std::fs;
use std::os::unix::fs::symlink;

use skills_sandbox_linux::IsolationMode;

use crate::skill::{Skill, supported_modes};

/// A workspace in which only symlinks tell that `store/real` and `awsconf` hold keys.
fn skill_with_links(mode: IsolationMode) -> Skill {
    let skill = Skill::new(mode).tool("Write");
    let workspace = skill.path("workspace");
    for directory in ["store", "keep", "awsconf", "proj/deep", "other"] {
        fs::create_dir_all(workspace.join(directory)).unwrap();
    }
    for file in ["store/real", "awsconf/file"] {
        fs::write(workspace.join(file), "canary").unwrap();
    }
    symlink("../current/real", workspace.join("keep/.env")).unwrap();
    symlink("store", workspace.join("current")).unwrap();
    symlink("../../awsconf", workspace.join("proj/deep/.aws")).unwrap();
    skill
}

const PRELUDE: &str = r"
libc = ctypes.CDLL(None, use_errno=True)
w = 'WORKSPACE'
def exchange(a, b):
    if libc.renameat2(-100, (w + a).encode(), -100, (w + b).encode(), 2): raise OSError(ctypes.get_errno(), 'renameat2')
";

/// Otherwise the next run would read what they lead to.
#[tokio::test]
async fn symlinks_to_keys_are_neither_removed_nor_moved() {
    for mode in supported_modes() {
        let skill = skill_with_links(mode);
        let workspace = skill.path("workspace");
        let prelude = PRELUDE.replace("WORKSPACE", &workspace.to_string_lossy());
        let output = skill
            .attempts(
                &prelude,
                &[
                    "os.unlink(w + '/keep/.env')",
                    "os.unlink(w + '/current/../keep/.env')",
                    "os.rename(w + '/keep/.env', w + '/keep/z')",
                    "os.rename(w + '/keep/.env', w + '/other/z')",
                    "os.rename(w + '/keep', w + '/moved')",
                    "os.rename(w + '/proj', w + '/other/proj')",
                    "os.rename(w + '/proj/deep', w + '/deep')",
                    "os.rename(w + '/proj/deep/.aws', w + '/aws')",
                    "os.unlink(w + '/proj/deep/.aws')",
                    "os.unlink(w + '/current')",
                    "os.rename(w + '/current', w + '/now')",
                    "os.rename(w + '/store', w + '/stored')",
                    "os.rename(w + '/awsconf', w + '/conf')",
                    "os.symlink('x', w + '/other/.env'); os.replace(w + '/other/.env', w + '/keep/.env')",
                    "os.symlink('x', w + '/other/new'); os.replace(w + '/other/new', w + '/current')",
                    "exchange('/other', '/keep')",
                    "exchange('/other', '/current')",
                    "open(w + '/store/real').read()",
                    "open(w + '/keep/.env').read()",
                    "open(w + '/awsconf/file').read()",
                ],
            )
            .await;
        assert!(!output.contains("ALLOWED"), "{mode:?}: {output}");
        let run = skill.python("").await;
        assert_eq!(run.changed_key_links, []);
        let read = |path: &str| fs::read_to_string(workspace.join(path)).unwrap();
        assert_eq!(read("keep/.env"), "canary");
        assert_eq!(read("proj/deep/.aws/file"), "canary");
        let withheld = run.withheld_keys;
        assert_eq!(
            withheld,
            [workspace.join("awsconf"), workspace.join("store/real")],
            "{mode:?}"
        );
    }
}

/// A program that writes beside such a symlink is not stopped.
#[tokio::test]
async fn files_beside_symlinks_to_keys_are_written() {
    for mode in supported_modes() {
        let skill = skill_with_links(mode);
        let workspace = skill.path("workspace");
        fs::write(workspace.join("other/old"), "old").unwrap();
        let script = format!(
            "import os\nw = '{}'\nopen(w + '/keep/new', 'w').write('new')\nopen(w + '/other/new', 'w').write('new')\n\
             os.rename(w + '/other/old', w + '/other/moved')\nprint(open(w + '/other/new').read())",
            workspace.display()
        );
        let output = skill.python(&script).await;
        assert_eq!(output.stdout.text(), "new\n", "{}", output.stderr.text());
        assert!(workspace.join("keep/new").exists());
    }
}

#[tokio::test]
async fn a_rule_for_a_hard_link_of_a_key_names_the_key() {
    for mode in supported_modes() {
        let skill = Skill::new(mode).tool("Read");
        let workspace = skill.path("workspace");
        fs::write(workspace.join(".env"), "canary").unwrap();
        fs::hard_link(workspace.join(".env"), workspace.join("hard")).unwrap();
        let hard = workspace.join("hard").display().to_string();
        let skill = skill.allow(format!("read:{hard}"));
        let script = format!("open('{hard}').read()");
        let output = skill.python(&script).await;
        assert!(
            output.stderr.text().contains("PermissionError"),
            "{mode:?}: {}",
            output.stderr.text()
        );
        let key = workspace.join(".env").display().to_string();
        let note = format!("only a rule or an approval to read `{key}` shares it");
        assert!(
            output.notes.iter().any(|line| line.contains(&note)),
            "{mode:?}: {:?}",
            output.notes
        );
    }
}

#[tokio::test]
async fn one_note_names_the_directories_with_keys() {
    for mode in supported_modes() {
        let skill = Skill::new(mode).tool("Write");
        let workspace = skill.path("workspace");
        for number in 0..9 {
            let directory = workspace.join(format!("{number}"));
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join(".env"), "canary").unwrap();
        }
        let output = skill.python("raise SystemExit(1)").await;
        let notes = output.notes.join("\n");
        let expected = match mode {
            IsolationMode::LandlockOnly => {
                "in `/w`, `/w/0`, `/w/1` and 7 more directories with keys, the program could not read, rename or remove files that it created: this host has no user namespaces, with which only the keys are withheld"
            }
            _ => "",
        };
        assert_eq!(notes.replace(&*workspace.to_string_lossy(), "/w"), expected);
    }
}

/// Otherwise they are lost without a word.
#[tokio::test]
async fn files_in_the_private_home_are_listed() {
    for mode in supported_modes() {
        let script = "import os, pathlib, tempfile\nhome = pathlib.Path.home()\n(home / 'notes.jsonl').write_text('x')\n\
                      (home / 'a/b').mkdir(parents=True)\n(home / 'a/b/c').write_text('x')\nos.symlink('/etc', home / 'link')\n\
                      (pathlib.Path(os.environ['TMPDIR']) / 'temporary').write_text('x')\ntempfile.mkstemp()";
        let output = Skill::new(mode).python(script).await;
        let home = output.private_home.unwrap();
        let mut files = home.files.clone();
        files.sort();
        assert_eq!(files, ["a/b/c", "link", "notes.jsonl"], "{mode:?}");
        let replaced =
            "import os\nos.rmdir(os.environ['HOME'])\nos.symlink('/etc', os.environ['HOME'])";
        let output = Skill::new(mode).python(replaced).await;
        assert_eq!(output.private_home.unwrap().files, [""; 0], "{mode:?}");
    }
}
