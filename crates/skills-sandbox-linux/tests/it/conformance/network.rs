//! Network sockets, without and next to granted hosts: cases 32 to 37 and 43 to 45.

use std::net::{TcpListener, UdpSocket};

use skills_sandbox::{Sandbox, SandboxErrorKind};
use skills_sandbox_conformance::AttemptResult;
use skills_sandbox_conformance::attempts::{FORGET_PROXY, NEXT_TO_PROXY, SOCKETS, attempts_of};

use super::attempts::{node, python, shell};
use super::observations::Observations;
use super::scene::{ConnectionCount, create_scene, has_node};

/// The port of the proxy in the sandbox.
const PROXY_PORT: u16 = 3_128;

pub(crate) async fn run(observations: &mut Observations) {
    without_hosts(observations).await;
    listeners(observations).await;
    next_to_the_proxy(observations).await;
    observations.finish_group("network");
}

async fn without_hosts(observations: &mut Observations) {
    let skill = create_scene(observations.mode);
    let (tcp, udp) = (
        TcpListener::bind("127.0.0.1:0").unwrap(),
        UdpSocket::bind("127.0.0.1:0").unwrap(),
    );
    // Without IPv6 there is no listener, but the attempts are made nevertheless.
    let six = TcpListener::bind("[::1]:0").ok();
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let (tcp_port, udp_port, six_port) = (
        port(&tcp),
        udp.local_addr().unwrap().port(),
        six.as_ref().map_or(9, port),
    );
    let attempts = attempts_of(SOCKETS);
    let (tried, _) = python(
        &skill,
        &format!("TCP, UDP, SIX = {tcp_port}, {udp_port}, {six_port}"),
        &attempts,
    )
    .await;
    observations.check_denied(&tried);
    let device = |host: &str, port: u16| format!("echo x > /dev/tcp/{host}/{port}");
    let by_shell = [
        (32, device("127.0.0.1", tcp_port)),
        (33, format!("echo x > /dev/udp/127.0.0.1/{udp_port}")),
        (36, device("::1", six_port)),
    ];
    observations.check_denied(&shell(&skill, &by_shell).await);
    if has_node() {
        let tried = node(
            &skill,
            &[
                (32, format!("connect({{ host: '127.0.0.1', port: {tcp_port} }})")),
                (33, format!("new Promise((d, f) => {{ const s = dgram.createSocket('udp4'); s.on('error', f); s.send('x', {udp_port}, '127.0.0.1', (e) => e ? f(e) : d()); }})")),
                (35, "dns.promises.lookup('skills.invalid')".to_owned()),
                (35, "dns.promises.resolve4('skills.invalid')".to_owned()),
                (36, format!("connect({{ host: '::1', port: {six_port} }})")),
                (37, "connect({ host: '169.254.169.254', port: 80 })".to_owned()),
            ],
        )
        .await;
        observations.check_denied(&tried);
    }
    observations.check(
        32,
        "connections by TCP",
        AttemptResult::Denied,
        tcp.connection_count() == 0,
    );
    observations.check(
        33,
        "packets by UDP",
        AttemptResult::Denied,
        udp.connection_count() == 0,
    );
    observations.check(
        36,
        "connections by IPv6",
        AttemptResult::Denied,
        six.is_none_or(|listener| listener.connection_count() == 0),
    );
}

/// Without a network namespace a script cannot listen. In one it can, where the host cannot connect.
async fn listeners(observations: &mut Observations) {
    const LISTEN: &[&str] = &[
        "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()",
        "s = socket.socket(); s.bind(('0.0.0.0', 0)); s.listen()",
        "s = socket.socket(socket.AF_INET6); s.listen()",
    ];
    let skill = create_scene(observations.mode).tool("Write");
    if !observations.has_namespaces() {
        let attempts = attempts_of(&[(34, LISTEN)]);
        observations.check_denied(&python(&skill, "", &attempts).await.0);
        if has_node() {
            let listen = "new Promise((d, f) => { const s = net.createServer(); s.on('error', f); s.listen(0, '127.0.0.1', d); })";
            observations.check_denied(&node(&skill, &[(34, listen)]).await);
        }
        return;
    }
    let script = "import os, socket, time
servers = [socket.create_server((host, 0)) for host in ('127.0.0.1', '0.0.0.0')]
servers.append(socket.create_server(('::', 0), family=socket.AF_INET6))
with open('../workspace/new', 'w') as file:
    file.write(' '.join(str(server.getsockname()[1]) for server in servers))
os.rename('../workspace/new', '../workspace/ports')
while not os.path.exists('../workspace/tried'): time.sleep(0.005)";
    let (ports, tried) = (skill.path("workspace/ports"), skill.path("workspace/tried"));
    let host = std::thread::spawn(move || {
        while !ports.exists() {
            std::thread::yield_now();
        }
        let text = std::fs::read_to_string(ports).unwrap();
        let reached: Vec<bool> = text
            .split(' ')
            .map(|port| port.parse().unwrap())
            .map(|port: u16| {
                std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
                    || std::net::TcpStream::connect(("::1", port)).is_ok()
            })
            .collect();
        std::fs::write(tried, "").unwrap();
        reached
    });
    let output = skill.run(skill.job("main.py", script)).await;
    let reached = tokio::task::spawn_blocking(|| host.join().unwrap())
        .await
        .unwrap();
    observations.check(
        34,
        &format!("reached {reached:?}, {}", output.stderr.text()),
        AttemptResult::Denied,
        output.termination.is_success() && reached == [false; 3],
    );
}

/// With granted hosts a script has a network namespace, which contains only the proxy.
async fn next_to_the_proxy(observations: &mut Observations) {
    let skill = create_scene(observations.mode).tool("WebFetch(domain:skills.example)");
    if !observations.has_namespaces() {
        let error = skill
            .sandbox()
            .run(skill.job("main.py", ""))
            .await
            .map(|output| output.stdout.text())
            .unwrap_err();
        for case in [43, 45] {
            observations.check(
                case,
                &error.to_string(),
                AttemptResult::Rejected,
                error.kind() == SandboxErrorKind::Rejected,
            );
        }
        return;
    }
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    // If another program uses the port already, there is nothing to count.
    let other = TcpListener::bind(("127.0.0.2", PROXY_PORT)).ok();
    let attempts = attempts_of(NEXT_TO_PROXY);
    let port = tcp.local_addr().unwrap().port();
    let prelude = format!("{FORGET_PROXY}TCP = {port}");
    let (tried, _) = python(&skill, &prelude, &attempts).await;
    observations.check_denied(&tried);
    observations.check(
        43,
        "connections",
        AttemptResult::Denied,
        tcp.connection_count() == 0,
    );
    observations.check(
        45,
        "connections",
        AttemptResult::Denied,
        other.is_none_or(|listener| listener.connection_count() == 0),
    );
}
