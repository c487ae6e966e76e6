//! Local sockets and shared memory inside one run. Sockets of the host stay out of reach, however a
//! program names them and whatever other threads do meanwhile.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use skills_sandbox::{RunOutput, Termination};
use skills_sandbox_linux::IsolationMode;

use crate::conformance::scene::ConnectionCount;
use crate::skill::{Skill, skip_without, supported_modes};

/// Functions for scripts. `say` prints the result or the error of a function.
const PRELUDE: &str =
    "import ctypes, errno, mmap, os, socket, struct, sys, tempfile, threading, time
libc = ctypes.CDLL(None, use_errno=True)
STREAM, PACKETS, DATAGRAMS = socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM
def say(name, function):
    try: print(name, function(), flush=True)
    except OSError as error: print(name, errno.errorcode[error.errno], flush=True)
def local(kind=STREAM): return socket.socket(socket.AF_UNIX, kind)
def listen(path, kind=STREAM, backlog=5):
    listener = local(kind)
    listener.bind(path)
    listener.listen(backlog)
    return listener
def connect(path, kind=STREAM):
    client = local(kind)
    client.connect(path)
    return client
def talk(path, kind=STREAM, name=None):
    listener = listen(path, kind)
    client = connect(name or path, kind)
    server, _ = listener.accept()
    client.sendall(b'ping')
    return server.recv(4).decode()
def address(path): return struct.pack('H', socket.AF_UNIX) + os.fsencode(path) + b'\\0'
temporary = os.environ['TMPDIR']
";

/// A skill with a writable workspace, in which a service of the host listens.
struct Scene {
    skill: Skill,
    service: UnixListener,
}

impl Scene {
    fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    fn below(parent: &Path) -> Self {
        let skill = Skill::below(parent, IsolationMode::Namespaces)
            .tool("Write")
            .tool("Bash");
        let service = UnixListener::bind(skill.path("workspace/service")).unwrap();
        Self { skill, service }
    }

    /// Runs a script, in which `service` is the path of the service and `workspace` that of its
    /// directory.
    async fn run(&self, script: &str) -> RunOutput {
        let workspace = self.skill.path("workspace");
        let paths = format!(
            "workspace = {:?}\nservice = workspace + '/service'\n",
            workspace.display().to_string()
        );
        let output = self
            .skill
            .python(&format!("{PRELUDE}{paths}{script}"))
            .await;
        let (stdout, stderr) = (output.stdout.text(), output.stderr.text());
        assert!(output.termination.is_success(), "{stdout}{stderr}");
        output
    }

    /// Returns what a script printed, after checking that it reached no socket of the host.
    async fn printed(&self, script: &str) -> String {
        let output = self.run(script).await;
        assert_eq!(
            self.service.connection_count(),
            0,
            "{}",
            output.stdout.text()
        );
        output.stdout.text()
    }
}

fn families(output: &RunOutput) -> Vec<&str> {
    let refusals = output.refusals.list().iter();
    refusals
        .filter_map(|refusal| refusal.operation.object())
        .collect()
}

#[tokio::test]
async fn processes_of_a_run_talk_over_local_sockets() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let script = "
say('temporary', lambda: talk(tempfile.mkdtemp() + '/s'))
say('home', lambda: talk(os.environ['HOME'] + '/s'))
say('packets', lambda: talk(temporary + '/packets', PACKETS))
say('abstract', lambda: talk('\\0name'))
os.chdir(tempfile.mkdtemp())
say('relative', lambda: talk('s', name='./../' + os.path.basename(os.getcwd()) + '/s'))
os.symlink(temporary, 'link')
os.symlink('link/linked', 'end')
say('link', lambda: talk(temporary + '/linked', name='end'))
say('shared', lambda: talk(temporary + '/shm', name='/dev/shm' + (temporary + '/shm').removeprefix('/tmp')))
def polled():
    listener = listen('polled')
    client = local()
    client.setblocking(False)
    return client.connect_ex('polled')
say('polled', polled)
say('pair', lambda: len(socket.socketpair(socket.AF_UNIX, PACKETS)))
say('missing', lambda: connect(temporary + '/missing'))
say('file', lambda: connect('/etc/passwd'))
say('directory', lambda: connect(temporary))
stream = listen('stream')
say('kind', lambda: connect('stream', PACKETS))
def forked():
    listener = listen('forked')
    if os.fork() == 0:
        connect('forked').sendall(b'pong')
        os._exit(0)
    return listener.accept()[0].recv(4).decode()
say('forked', forked)
";
    let expected = "temporary ping\nhome ping\npackets ping\nabstract ping\nrelative ping\nlink ping\nshared ping\npolled 0\npair 2\nmissing ENOENT\nfile ECONNREFUSED\ndirectory ECONNREFUSED\nkind EPROTOTYPE\nforked pong\n";
    // With a writable directory of the host in `/tmp`, and without.
    for skill in [
        Scene::new().skill,
        Skill::new(IsolationMode::Namespaces).tool("Bash"),
    ] {
        let output = skill.python(&format!("{PRELUDE}{script}")).await;
        assert_eq!(output.stdout.text(), expected, "{}", output.stderr.text());
    }
}

#[tokio::test]
async fn process_pools_and_managers_of_python_work() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let script = "import multiprocessing
def square(x): return x * x
if __name__ == '__main__':
    multiprocessing.set_start_method('forkserver')
    with multiprocessing.Pool(2) as pool: print(pool.map(square, [1, 2, 3]))
    with multiprocessing.Manager() as manager:
        shared = manager.dict(a=1)
        print(shared['a'])
    from multiprocessing import shared_memory
    block = shared_memory.SharedMemory(create=True, size=4096)
    print(block.size)
    block.close()
    block.unlink()
";
    for skill in [
        Scene::new().skill,
        Skill::new(IsolationMode::Namespaces).tool("Bash"),
    ] {
        let output = skill.python(script).await;
        let stdout = output.stdout.text();
        assert_eq!(stdout, "[1, 4, 9]\n1\n4096\n", "{}", output.stderr.text());
    }
}

#[tokio::test]
async fn sockets_of_granted_directories_are_out_of_reach() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let scene = Scene::new();
    let in_skill = UnixListener::bind(scene.skill.path("skill/service")).unwrap();
    let output = scene
        .run(
            "
os.symlink(service, temporary + '/link')
os.symlink(workspace, temporary + '/directory')
names = [service, temporary + '/link', temporary + '/directory/service',
    os.path.relpath(service, '/').join(['/tmp/../', '']), '/proc/self/root' + service,
    '/proc/self/cwd/service', '/dev/fd/9/service', '/proc/thread-self/root' + service,
    temporary + '/..' + '/..' * 3 + service, 'service', './service']
os.dup2(os.open(workspace, os.O_RDONLY), 9)
for name in names:
    for kind in [STREAM, PACKETS]: say(names.index(name), lambda: connect(name, kind))
os.chdir(workspace)
say('here', lambda: connect('service'))
os.chdir(temporary)
say('up', lambda: connect(os.path.relpath(service)))
say('descriptor', lambda: connect('/proc/self/fd/%d' % os.open(service, os.O_PATH)))
def pair(kind, target):
    mine, theirs = socket.socketpair(socket.AF_UNIX, kind)
    theirs.close()
    mine.connect(target)
for kind in [STREAM, PACKETS]: say('pair', lambda: pair(kind, service))
own = [listen(temporary + '/own%d' % kind, kind) for kind in [STREAM, PACKETS]]
for kind in [STREAM, PACKETS]: say('pair', lambda: pair(kind, temporary + '/own%d' % kind))
say('send', lambda: local().sendto(b'x', service))
mine, theirs = socket.socketpair(socket.AF_UNIX, PACKETS)
say('packet', lambda: mine.sendto(b'x', service))
say('link', lambda: os.link(service, temporary + '/hard'))
say('rename', lambda: os.rename(service, temporary + '/moved'))
",
        )
        .await;
    assert_eq!(scene.service.connection_count(), 0);
    assert_eq!(in_skill.connection_count(), 0);
    let stdout = output.stdout.text();
    let results: Vec<&str> = stdout
        .lines()
        .map(|line| line.split_once(' ').unwrap().1)
        .collect();
    // The last ones fail in the kernel: pairs are connected, and so are the packets that one
    // ignores the address of.
    let (connects, others) = results.split_at(results.len() - 6);
    assert!(
        connects.iter().all(|result| *result == "EACCES"),
        "{stdout}"
    );
    let expected = ["EISCONN", "EISCONN", "ENOTSUP", "1", "EXDEV", "EXDEV"];
    assert_eq!(others, expected, "{stdout}");
    assert!(families(&output).contains(&"host-sockets"), "{output:?}");
}

/// The address and the socket of a call are exchanged by other threads while it is decided about:
/// the path by another one, and an Internet socket with its address by a local one.
#[tokio::test]
async fn exchanging_an_address_or_a_socket_reaches_no_service() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let script = "
own, theirs = address(temporary + '/own'), address(service)
size = max(len(own), len(theirs))
listener = listen(temporary + '/own', backlog=4096)
server = socket.create_server(('127.0.0.1', 8123), backlog=4096)
internet = struct.pack('=H', socket.AF_INET) + struct.pack('>H4s8s', 8123, bytes([127, 0, 0, 1]), b'')
shared = ctypes.create_string_buffer(size)
descriptor = 200
ended = False
def exchange_address():
    while not ended:
        for content in [own, theirs, internet]: ctypes.memmove(shared, content, len(content))
def exchange_socket():
    while not ended:
        for family in [socket.AF_UNIX, socket.AF_INET]:
            with socket.socket(family) as fresh: os.dup2(fresh.fileno(), descriptor)
def exchange_link():
    while not ended:
        for target in [temporary + '/own', service, workspace]:
            try:
                os.symlink(target, temporary + '/new')
                os.rename(temporary + '/new', temporary + '/link')
            except FileExistsError: pass
exchange_socket_once = socket.socket(socket.AF_UNIX)
os.dup2(exchange_socket_once.fileno(), descriptor)
threads = [threading.Thread(target=work) for work in [exchange_address, exchange_socket, exchange_link]]
for thread in threads: thread.start()
counts = {}
end = time.monotonic() + 3
while time.monotonic() < end:
    for length in [16, len(own), len(theirs)]:
        failed = libc.connect(descriptor, shared, length)
        name = errno.errorcode[ctypes.get_errno()] if failed else 'ok'
        counts[name] = counts.get(name, 0) + 1
    for path in ['/link', '/link/service']:
        with local() as client:
            client.setblocking(False)
            try: client.connect(temporary + path)
            except OSError as error: counts[error.errno] = counts.get(error.errno, 0) + 1
    for waiting in [listener, server]:
        waiting.setblocking(False)
        try:
            while True: waiting.accept()[0].close()
        except OSError: pass
ended = True
for thread in threads: thread.join()
print(counts['EACCES'] > 0 and counts['ok'] > 0, counts)
";
    let printed = Scene::new().printed(script).await;
    assert!(printed.starts_with("True"), "{printed}");
}

#[tokio::test]
async fn a_service_that_starts_during_a_run_is_out_of_reach() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let scene = Scene::new();
    let late = scene.skill.path("workspace/late");
    let script = "
open(workspace + '/started', 'w').close()
while not os.path.exists(workspace + '/late'): time.sleep(0.01)
say('late', lambda: connect(workspace + '/late'))
say('linked', lambda: connect(os.symlink(workspace + '/late', temporary + '/x') or temporary + '/x'))
";
    let started = scene.skill.path("workspace/started");
    let bind = tokio::spawn(async move {
        while !started.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        UnixListener::bind(late).unwrap()
    });
    let printed = scene.printed(script).await;
    assert_eq!(printed, "late EACCES\nlinked EACCES\n");
    assert_eq!(bind.await.unwrap().connection_count(), 0);
}

/// Programs of the host would connect to such a socket.
#[tokio::test]
async fn no_socket_appears_in_a_granted_directory() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    // Landlock has one right for all that is in `/tmp`.
    let scene = Scene::below(Path::new("/var/tmp"));
    let printed = scene
        .printed(
            "
say('bind', lambda: local().bind(workspace + '/bound'))
say('node', lambda: os.mknod(workspace + '/node', 0o140644))
os.symlink(workspace, temporary + '/directory')
say('link', lambda: local().bind(temporary + '/directory/bound'))
os.chdir(workspace)
say('relative', lambda: local().bind('bound'))
os.chdir('/')
listen(temporary + '/own')
say('moved', lambda: os.rename(temporary + '/own', workspace + '/moved'))
say('linked', lambda: os.link(temporary + '/own', workspace + '/linked'))
",
        )
        .await;
    assert_eq!(printed.lines().count(), 6, "{printed}");
    let denied: Vec<&str> = printed
        .lines()
        .map(|line| line.split_once(' ').unwrap().1)
        .filter(|result| !["EACCES", "EXDEV"].contains(result))
        .collect();
    assert!(denied.is_empty(), "{printed}");
    let names = fs::read_dir(scene.skill.path("workspace")).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["service"]);
}

/// Programs such as LibreOffice bind sockets in `/tmp` itself. A socket in a granted directory
/// below it is not a way to a service: nothing of the run connects to it.
#[tokio::test]
async fn sockets_are_bound_in_the_scratch_space_around_a_workspace() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let scene = Scene::new();
    let printed = scene
        .printed(
            "
say('own', lambda: talk('/tmp/own'))
server = listen(workspace + '/bound')
say('bound', lambda: connect(workspace + '/bound'))
say('service', lambda: connect(service))
",
        )
        .await;
    assert_eq!(printed, "own ping\nbound EACCES\nservice EACCES\n");
}

/// A datagram has an address of its own, which no filter can read.
#[tokio::test]
async fn local_datagrams_are_refused_by_name() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let output = Scene::new()
        .run(
            "
say('socket', lambda: local(DATAGRAMS))
say('raw', lambda: local(socket.SOCK_RAW))
say('flags', lambda: local(DATAGRAMS | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK))
say('pair', lambda: socket.socketpair(socket.AF_UNIX, DATAGRAMS))
",
        )
        .await;
    let expected = "socket EPERM\nraw EPERM\nflags EPERM\npair EPERM\n";
    assert_eq!(output.stdout.text(), expected);
    assert_eq!(families(&output), ["local-datagrams"]);
}

/// The host process is the peer of the connections that it makes.
#[tokio::test]
async fn a_program_gets_no_descriptor_of_the_host_process() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let printed = Scene::new()
        .printed(
            "
listener = listen(temporary + '/s')
client = connect(temporary + '/s')
server, _ = listener.accept()
for end in [client, server]: say('descriptor', lambda: end.getsockopt(socket.SOL_SOCKET, 77))
pid, user, group = struct.unpack('3i', server.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
print(pid, user == os.getuid(), group == os.getgid())
",
        )
        .await;
    assert_eq!(
        printed,
        "descriptor ENOPROTOOPT\ndescriptor ENOPROTOOPT\n0 True True\n"
    );
}

/// A listener that accepts nothing makes only those wait that connect to it, and only so many that
/// the host process has threads for others.
#[tokio::test]
async fn a_connection_that_waits_delays_no_other() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let printed = Scene::new()
        .printed(
            "
full = listen(temporary + '/full', backlog=0)
connect(temporary + '/full')
results = []
def wait():
    try: results.append(connect(temporary + '/full') and 'connected')
    except OSError as error: results.append(errno.errorcode[error.errno])
threads = [threading.Thread(target=wait, daemon=True) for _ in range(8)]
for thread in threads: thread.start()
time.sleep(0.3)
start = time.monotonic()
print(talk(temporary + '/other'), talk('\\0other'), time.monotonic() - start < 1, results)
for _ in range(9): full.accept()
for thread in threads: thread.join()
print(sorted(set(results)), len(results))
more = [threading.Thread(target=wait, daemon=True) for _ in range(24)]
for thread in more: thread.start()
time.sleep(2)
print(results.count('EAGAIN') > 0)
",
        )
        .await;
    assert_eq!(printed, "ping ping True []\n['connected'] 8\nTrue\n");
}

/// Connections that wait in the queues of listeners belong to the host process, which made them.
/// Each is two sockets, also after its program has closed its own.
#[tokio::test]
async fn a_socket_that_closes_slowly_does_not_delay_the_deadline() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let mut skill = Scene::new().skill;
    skill.limits.wall_time = Duration::from_secs(3);
    // The thread that makes the connection has the last descriptor of a socket that waits for a
    // peer to read all before it is closed. Its slot is free only then.
    let script = format!(
        "{PRELUDE}
listener = socket.create_server(('127.0.0.1', 0))
peers = []
def attack():
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    client.connect(listener.getsockname())
    peers.append(listener.accept())
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 60))
    client.setblocking(False)
    try:
        while True: client.send(bytes(65536))
    except BlockingIOError: pass
    number = client.detach()
    name = b'\\x02\\0' + bytes(14)
    calling = threading.Thread(target=lambda: libc.connect(number, name, 16))
    calling.start()
    os.dup2(peers[0][0].fileno(), number)
    calling.join()
print('began', flush=True)
while True:
    try: attack()
    except OSError: time.sleep(0.01)
"
    );
    let started = Instant::now();
    let output = skill.python(&script).await;
    assert_eq!(output.stdout.text(), "began\n", "{}", output.stderr.text());
    assert_eq!(
        output.termination,
        Termination::TimedOut { limit_ms: 3_000 }
    );
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn the_sockets_of_a_run_are_limited() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let printed = Scene::new()
        .printed(
            "
listeners = [listen('\\0%d' % number, backlog=4096) for number in range(4)]
counts, errors = [0] * 4, []
def fill(number):
    try:
        for _ in range(4096):
            connect('\\0%d' % number).close()
            counts[number] += 1
    except OSError as error: errors.append(errno.errorcode[error.errno])
threads = [threading.Thread(target=fill, args=[number]) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(*errors, 4000 < sum(counts) < 4200)
for listener in listeners: listener.close()
print(talk('\\0again'))
",
        )
        .await;
    assert_eq!(printed, "EAGAIN EAGAIN EAGAIN EAGAIN True\nping\n");
}

#[tokio::test]
async fn a_file_in_memory_is_bounded_and_starts_no_program() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let mut skill = Skill::new(IsolationMode::Namespaces).tool("Bash");
    skill.limits.scratch_bytes = 4 << 20;
    let script = format!(
        "{PRELUDE}
file = os.memfd_create('own')
os.ftruncate(file, 4096)
mapped = mmap.mmap(file, 4096)
if os.fork() == 0:
    mapped[:5] = b'hello'
    os._exit(0)
os.wait()
print(mapped[:5], os.get_inheritable(file), os.get_inheritable(os.memfd_create('own', 0)))
program = os.memfd_create('program')
os.write(program, open('/bin/true', 'rb').read())
os.fchmod(program, 0o755)
say('descriptor', lambda: os.execve(program, ['true'], {{}}))
say('path', lambda: os.execv('/proc/self/fd/%d' % program, ['true']))
say('executable', lambda: os.memfd_create('own', 0x10))
say('huge', lambda: os.memfd_create('own', 4))
say('sealed', lambda: os.memfd_create('own', os.MFD_ALLOW_SEALING))
say('secret', lambda: 'made' if libc.syscall(447, 0) >= 0 else errno.errorcode[ctypes.get_errno()])
def fill():
    for _ in range(8): os.write(os.memfd_create('more'), b'x' * (1 << 20))
say('fill', fill)
say('scratch', lambda: open('/tmp/file', 'wb', buffering=0).write(b'x' * (4 << 20)) < 4 << 20)
"
    );
    let output = skill.python(&script).await;
    insta::assert_snapshot!(output.stdout.text(), @r"
    b'hello' False True
    descriptor EACCES
    path EACCES
    executable EPERM
    huge EPERM
    sealed EPERM
    secret EPERM
    fill ENOSPC
    scratch ENOSPC
    ");
    assert!(families(&output).contains(&"memory-files"));
}

/// Without namespaces nothing keeps a local socket of the host out of reach.
#[tokio::test]
async fn without_namespaces_local_sockets_are_refused_by_name() {
    if skip_without(IsolationMode::LandlockOnly) {
        return;
    }
    let script = format!(
        "{PRELUDE}
for kind in [STREAM, PACKETS, DATAGRAMS]: say('socket', lambda: local(kind))
say('packets', lambda: socket.socketpair(socket.AF_UNIX, PACKETS))
say('pair', lambda: len(socket.socketpair()))
say('memory', lambda: os.memfd_create('own'))
"
    );
    let output = Skill::new(IsolationMode::LandlockOnly)
        .python(&script)
        .await;
    let expected =
        "socket EPERM\nsocket EPERM\nsocket EPERM\npackets EPERM\npair 2\nmemory EPERM\n";
    assert_eq!(output.stdout.text(), expected);
    let expected = ["local-sockets", "local-datagrams", "memory-files"];
    assert_eq!(families(&output), expected);
}

#[tokio::test]
async fn a_program_lowers_its_own_priority_only() {
    for mode in supported_modes() {
        let script = format!(
            "{PRELUDE}
before = os.nice(0)
say('lower', lambda: os.nice(1) == min(before + 1, 19))
say('raise', lambda: os.nice(-1))
say('lower', lambda: os.setpriority(os.PRIO_PROCESS, 0, 19))
for kind, number in [(os.PRIO_PROCESS, os.getppid()), (os.PRIO_PGRP, 0), (os.PRIO_USER, 0)]:
    say('other', lambda: os.setpriority(kind, number, 19))
"
        );
        let output = Skill::new(mode).python(&script).await;
        let stdout = output.stdout.text().replace("EACCES", "EPERM");
        let expected =
            "lower True\nraise EPERM\nlower None\n".to_owned() + &"other EPERM\n".repeat(3);
        assert_eq!(stdout, expected, "{}", output.stderr.text());
    }
}

#[tokio::test]
async fn names_of_ports_and_protocols_are_readable() {
    let names = ["/etc/services", "/etc/protocols"];
    if !names.iter().all(|name| Path::new(name).exists()) {
        return skills_test_support::skip("this host has no names of ports");
    }
    for mode in supported_modes() {
        let script =
            "import socket\nprint(socket.getservbyname('https'), socket.getprotobyname('tcp'))";
        let output = Skill::new(mode).python(script).await;
        assert_eq!(output.stdout.text(), "443 6\n", "{}", output.stderr.text());
    }
}
