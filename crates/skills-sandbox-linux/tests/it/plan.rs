use std::os::unix::fs::MetadataExt;
use std::path::Path;

use skills_policy::{Authorization, Capability, Policy, Request, RuleSource};
use skills_process::ProgramFinder;
use skills_sandbox::{Job, Program, ScriptType};
use skills_sandbox_linux::{IsolationLevel, Plan, PlanContext};

/// The complete plan of a job. No process was started to create it.
#[test]
fn a_plan_is_plain_data() {
    let request = Request::new("/skills/pdf")
        .workspace("/project")
        .allowed_tool("Write", None);
    let Authorization::Granted(grants) = Policy::default()
        .allow(RuleSource::User, Capability::Write)
        .authorize(&request)
    else {
        panic!("granted")
    };
    let job = Job::new(
        grants,
        Program::script(ScriptType::Shell, "/skills/pdf/scripts/run.sh"),
    )
    .arg("--page")
    .arg("1");
    let job = job.env("SKILL_ID", "pdf");
    let shell = Path::new("/bin/bash")
        .canonicalize()
        .unwrap()
        .display()
        .to_string();
    let user = format!(
        "skill:x:{}",
        std::fs::metadata("/proc/self")
            .map(|own| own.uid())
            .map_or(0, |own| if own == 0 { 65_534 } else { own })
    );
    for (name, isolation) in [
        ("namespaces", IsolationLevel::Namespaces),
        ("landlock", IsolationLevel::Landlock),
    ] {
        let scratch = if isolation == IsolationLevel::Namespaces {
            "/tmp"
        } else {
            "/tmp/skill-x"
        };
        let context = PlanContext {
            isolation,
            scratch_path: scratch.into(),
            mount_proc: true,
            own_network: true,
        };
        let plan = Plan::new(&job, &ProgramFinder::default(), &context).unwrap();
        insta::assert_snapshot!(
            name,
            format!("{plan:#?}")
                .replace(&shell, "SHELL")
                .replace(&user, "skill:x:USER")
        );
    }
}
