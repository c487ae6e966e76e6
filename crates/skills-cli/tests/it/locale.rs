//! The language and the time zone of the user, as programs see them.

use skills_test_support::{SkillTree, skip_without_sandbox};

use crate::skills::command;

/// "Today" of a script is that of its user. A value that names a file is left out.
#[test]
fn a_program_has_the_language_and_the_time_zone_of_the_user() {
    if skip_without_sandbox() {
        return;
    }
    let script = "import os, time\n\
        print(time.strftime('%H', time.localtime(0)), os.environ['LANG'], os.environ.get('LC_TIME'))\n";
    let tree = SkillTree::new("skills/");
    tree.skill("one", "").script("one", "main.py", script);
    let root = tree.path("skills").display().to_string();
    let scratch = tree.path("scratch");
    std::fs::create_dir_all(&scratch).unwrap();
    for (variables, expected) in [
        ([("TZ", "XYZ-8"), ("LANG", "C.UTF-8")], "08 C.UTF-8 None\n"),
        ([("TZ", "UTC0"), ("LC_TIME", "C")], "00 C.UTF-8 C\n"),
        (
            [("TZ", "UTC0"), ("LC_TIME", "/etc/shadow")],
            "00 C.UTF-8 None\n",
        ),
    ] {
        let mut command = command(&["run", "one", "--root", &root], &scratch);
        for name in ["LANG", "LC_ALL", "LC_TIME"] {
            command.env_remove(name);
        }
        let output = command.envs(variables).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{stderr}"
        );
    }
}
