//! Unix sockets of the host: cases 46 to 49, 103 and 104.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;

use skills_sandbox_conformance::AttemptResult;
use skills_sandbox_conformance::attempts::{LOCAL_SOCKET_FUNCTIONS, LOCAL_SOCKETS, attempts_of};
use skills_sandbox_linux::IsolationMode;

use super::attempts::{node, python};
use super::observations::Observations;
use super::scene::{ConnectionCount, create_scene_below, has_node, python_paths};

pub(crate) async fn run(observations: &mut Observations) {
    // Not below `/tmp`, in which Landlock has one right for all that is mounted.
    let skill = create_scene_below(Path::new("/var/tmp"), observations.mode);
    let skill = skill.tool("Write").tool("Bash");
    let name = format!(
        "skills-conformance-{}-{:?}",
        std::process::id(),
        observations.mode
    );
    let abstract_listener =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let (agent, shared) = (
        UnixListener::bind(skill.path("outside/agent")).unwrap(),
        UnixListener::bind(skill.path("workspace/helper")).unwrap(),
    );
    let attempts = attempts_of(LOCAL_SOCKETS);
    let paths = python_paths(&skill);
    let prelude = format!("{paths}NAME = {name:?}\n{LOCAL_SOCKET_FUNCTIONS}");
    let (tried, _) = python(&skill, &prelude, &attempts).await;
    // Without namespaces a run has pairs only.
    let is_own = |case| case == 103 && observations.mode == IsolationMode::Namespaces;
    let (talked, others): (Vec<_>, Vec<_>) = tried
        .into_iter()
        .partition(|tried| tried.case == 49 || is_own(tried.case));
    observations.check_denied(&others);
    for talk in &talked {
        let what = format!("{talk:?}");
        let has_talked = talk.result == Ok("b'hello'".to_owned());
        observations.check(talk.case, &what, AttemptResult::Succeeded, has_talked);
    }
    let is_unbound = !skill.path("workspace/bound").exists();
    observations.check(104, "the workspace", AttemptResult::Denied, is_unbound);
    if has_node() {
        let (agent, helper) = (skill.path("outside/agent"), skill.path("workspace/helper"));
        let connect = |path: &std::path::Path| format!("connect({{ path: '{}' }})", path.display());
        observations
            .check_denied(&node(&skill, &[(47, connect(&agent)), (48, connect(&helper))]).await);
    }
    for (case, listener) in [(46, abstract_listener), (47, agent), (48, shared)] {
        observations.check(
            case,
            "connections",
            AttemptResult::Denied,
            listener.connection_count() == 0,
        );
    }
    observations.finish_group("local sockets");
}
