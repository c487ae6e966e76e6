use std::path::Path;

use skills_policy::{Capability, Decision, Layer, Request, Rules};
use skills_sandbox::{Job, Program, ScriptKind};
use skills_sandbox_linux::{Interpreters, Plan};

/// The whole plan of a job, which is plain data: nothing was started to make it.
#[test]
fn a_plan_is_data() {
    let request = Request::new("/skills/pdf").workspace("/project").tool("Write", None);
    let Decision::Granted(grants) = Rules::default().allow(Layer::User, Capability::Write).decide(&request) else { panic!("granted") };
    let job = Job::new(grants, Program::script(ScriptKind::Shell, "/skills/pdf/scripts/run.sh")).argument("--page").argument("1");
    let plan = Plan::new(&job.environment("SKILL_ID", "pdf"), &Interpreters::default(), Path::new("/tmp/skill-x")).unwrap();
    let shell = Path::new("/bin/sh").canonicalize().unwrap().display().to_string();
    insta::assert_snapshot!(format!("{plan:#?}").replace(&shell, "SHELL"));
}
