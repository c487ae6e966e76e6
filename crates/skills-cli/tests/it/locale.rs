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
    // Every system has another default.
    let default = if cfg!(target_os = "macos") {
        "en_US.UTF-8"
    } else {
        "C.UTF-8"
    };
    let expected = [
        "08 C.UTF-8 None\n".to_owned(),
        format!("00 {default} C\n"),
        format!("00 {default} None\n"),
    ];
    let variables = [
        [("TZ", "XYZ-8"), ("LANG", "C.UTF-8")],
        [("TZ", "UTC0"), ("LC_TIME", "C")],
        [("TZ", "UTC0"), ("LC_TIME", "/etc/shadow")],
    ];
    for (variables, expected) in variables.into_iter().zip(expected) {
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
