//! Another program replaces a directory with a symlink between the plan of a run and the mounts of its
//! container.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use skills_sandbox::{Sandbox, SandboxErrorKind};
use skills_sandbox_container::ContainerSandbox;
use skills_test_support::host;

use crate::engine_proxy::{Answer, EngineProxy};
use crate::skill::Skill;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_becomes_a_symlink_is_not_mounted() {
    if Skill::new().sandbox().is_none() {
        return;
    }
    for (name, request) in [
        ("workspace/.git", "/containers/create"),
        ("workspace/.git", "/start"),
        ("workspace", "/start"),
        ("skill", "/start"),
    ] {
        let skill = Skill::new().workspace();
        if name == "workspace/.git" {
            skill.write("workspace/.git/config", "own");
        }
        skill.write("outside/config", "foreign");
        let script = "open('/tmp/ran', 'w')\nimport os\nprint(os.getcwd())";
        let job = skill.job("main.py", script);
        let swap = Swap {
            directory: skill.path(name),
            moved: skill.path("moved"),
            outside: skill.path("outside"),
            is_done: AtomicBool::new(false),
        };
        let proxy = EngineProxy::start(&skill.path("proxy.sock"), move |line| {
            if line.contains(request) && !line.contains("/exec/") {
                swap.once();
            }
            Answer::Forward
        });
        let (_, image) = host::container_engine().unwrap();
        let sandbox = ContainerSandbox::new(
            proxy.socket(),
            image.parse().unwrap(),
            skill.path("scratch"),
        );
        let error = sandbox.run(job).await.unwrap_err();
        assert!(skill.path(name).is_symlink(), "{name} was not replaced");
        assert_eq!(error.kind(), SandboxErrorKind::Rejected, "{name}: {error}");
        assert!(
            error
                .to_string()
                .contains("changed while the container was created"),
            "{name} at {request}: {error}"
        );
        let outside = fs::read_dir(skill.path("outside")).unwrap().count();
        let config = fs::read_to_string(skill.path("outside/config")).unwrap();
        assert_eq!((outside, config.as_str()), (1, "foreign"));
    }
}

/// Replaces a directory with a symlink.
struct Swap {
    directory: PathBuf,
    moved: PathBuf,
    outside: PathBuf,
    is_done: AtomicBool,
}

impl Swap {
    fn once(&self) {
        if !self.is_done.swap(true, Ordering::Relaxed) {
            fs::rename(&self.directory, &self.moved).unwrap();
            symlink(&self.outside, &self.directory).unwrap();
        }
    }
}
