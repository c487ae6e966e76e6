//! Paths through symlinks, as users type them.

use skills_test_support::{SkillTree, skip_without_sandbox};

use crate::skills::command;

/// A home directory or a workspace can be a symlink, such as `/home/ada` that leads to another disk.
#[test]
fn a_program_finds_the_path_that_its_user_typed() {
    if skip_without_sandbox() {
        return;
    }
    let tree = SkillTree::new("skills/");
    let script = "import sys\nfor path in sys.argv[1:]: print(open(path).read())\n";
    tree.skill("one", "").script("one", "main.py", script);
    let (disk, scratch) = (tree.path("disk/ada"), tree.path("scratch"));
    for directory in [&scratch, &disk.join("project"), &disk.join("other")] {
        std::fs::create_dir_all(directory).unwrap();
    }
    std::fs::write(disk.join("project/in.txt"), "workspace").unwrap();
    std::fs::write(disk.join("other/in.txt"), "other").unwrap();
    std::fs::write(disk.join("secret.txt"), "secret").unwrap();
    let home = tree.path("home");
    std::os::unix::fs::symlink(&disk, &home).unwrap();
    let text = |path: &str| home.join(path).display().to_string();
    let root = tree.path("skills").display().to_string();
    let (workspace, other) = (text("project"), format!("read:{}", text("other")));
    let run = |files: &[&str]| {
        let options = ["run", "one", "--root", &root, "--workspace", &workspace];
        let options = [&options[..], &["--allow", &other, "--"]].concat();
        let files: Vec<String> = files.iter().map(|file| text(file)).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let output = command(&[options, files].concat(), &scratch)
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        (String::from_utf8(output.stdout).unwrap(), stderr)
    };
    let (stdout, stderr) = run(&["project/in.txt", "other/in.txt"]);
    assert_eq!(stdout, "workspace\nother\n", "{stderr}");
    let (stdout, stderr) = run(&["secret.txt"]);
    assert!(
        stdout.is_empty() && stderr.contains("not visible"),
        "{stderr}"
    );
}
