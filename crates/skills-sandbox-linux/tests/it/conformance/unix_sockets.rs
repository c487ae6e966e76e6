//! Unix sockets of the host: cases 46 to 49.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use skills_sandbox_conformance::AttemptResult;
use skills_sandbox_conformance::attempts::{LOCAL_SOCKETS, attempts_of};

use super::attempts::{node, python};
use super::observations::Observations;
use super::scene::{ConnectionCount, create_scene, has_node, python_paths};

pub(crate) async fn run(observations: &mut Observations) {
    let skill = create_scene(observations.mode).tool("Write").tool("Bash");
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
    let prelude = format!(
        "{}NAME = {name:?}\n\
         def connect(path, kind=socket.SOCK_STREAM):\n    socket.socket(socket.AF_UNIX, kind).connect(path)\n\
         def pair(): return socket.socketpair()[0]\n\
         def talk():\n    mine, theirs = socket.socketpair()\n    if os.fork() == 0:\n        theirs.sendall(b'hello')\n        os._exit(0)\n    return mine.recv(5)",
        python_paths(&skill)
    );
    let (tried, _) = python(&skill, &prelude, &attempts).await;
    let (talk, others): (Vec<_>, Vec<_>) = tried.into_iter().partition(|tried| tried.case == 49);
    observations.check_denied(&others);
    let talked = format!("{:?}", talk[0].result);
    observations.check(
        49,
        &talked,
        AttemptResult::Succeeded,
        talked == "Ok(\"b'hello'\")",
    );
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
