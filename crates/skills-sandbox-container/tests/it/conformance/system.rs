//! procfs, sockets, processes of the host and system calls: cases 26 to 37, 44, 50, 51, 59, 64, 80,
//! 82 to 86, 89 to 91, 93 and 101.

use std::fs;
use std::net::{TcpListener, UdpSocket};

use skills_sandbox::Termination;
use skills_sandbox_conformance::attempts::{
    ALL_AT_ONCE, KERNEL_FILES, POOLS, PRIVILEGES, PROCESS_FILES, SIGNALS, SOCKETS, SYSTEM_CALLS,
    TIMERS, attempts_of,
};
use skills_sandbox_conformance::{AttemptResult, Observations};
use skills_test_support::host::landlock_version;
use skills_test_support::scene::{ConnectionCount, Victim, syscall_numbers};

use super::attempts::{create_scene, python, python_paths, script, split_off};

pub(crate) async fn observe(observations: &mut Observations) {
    kernel_files(observations).await;
    sockets(observations).await;
    listeners(observations).await;
    signals(observations).await;
    system_calls(observations).await;
    foreign_abi(observations).await;
}

/// Attempts that are harmless in a container: its own settings are readable, and a process may change
/// those parts of its own identity that are not privileges.
const READABLE: [&str; 2] = [
    "open('/proc/sys/kernel/core_pattern').read()",
    "os.listdir('/sys')",
];

async fn kernel_files(observations: &mut Observations) {
    let (skill, mut victim) = (create_scene(), Victim::start());
    let mut attempts: Vec<(u8, String)> = Vec::new();
    for number in [victim.pid(), std::process::id()] {
        let files = ["environ", "cmdline", "maps", "mem", "status", "stat"];
        attempts
            .extend(files.map(|file| (26, format!("open('/proc/{number}/{file}', 'rb').read(1)"))));
        attempts.push((26, format!("os.listdir('/proc/{number}/fd')")));
        attempts.push((26, format!("os.readlink('/proc/{number}/exe')")));
    }
    attempts.extend(
        [PROCESS_FILES, KERNEL_FILES]
            .iter()
            .flat_map(|list| attempts_of(list))
            .map(|(case, code)| (case, code.to_owned())),
    );
    let listed = "sorted(name for name in os.listdir('/proc') if name.isdigit())";
    attempts.push((29, listed.to_owned()));
    let prelude = format!(
        "{}def mine(environment):\n    if b'CANARY' in environment or b'SHLVL' in environment: return environment\n    raise OSError(errno.ENOENT, '')",
        python_paths(&skill)
    );
    let host = || {
        ["core_pattern", "hostname", "sysrq"]
            .map(|name| fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok())
    };
    let before = (host(), fs::read_to_string("/proc/self/cgroup").unwrap());
    let (tried, _) = python(&skill, &prelude, &attempts).await;
    let after = (host(), fs::read_to_string("/proc/self/cgroup").unwrap());
    observations.check(
        28,
        "the host's settings",
        AttemptResult::Denied,
        before == after,
    );
    let is_alive = victim.is_alive();
    observations.check(26, "the other process", AttemptResult::Denied, is_alive);
    let (_, tried) = split_off(tried, &READABLE);
    let (own, tried) = split_off(tried, &["self/mem", "coredump_filter", "loginuid"]);
    // They change nothing but the process itself.
    if own
        .iter()
        .any(|tried| tried.case == 31 && tried.result.is_ok())
    {
        observations.observe(31, "its own settings", AttemptResult::Contained);
    }
    let (listed, tried): (Vec<_>, Vec<_>) = tried.into_iter().partition(|tried| tried.case == 29);
    let names = format!("{:?}", listed[0].result);
    let has_two = names.matches(',').count() == 1 && names.contains("['1', ");
    observations.check(29, &names, AttemptResult::Contained, has_two);
    let (identity, tried): (Vec<_>, Vec<_>) = tried.into_iter().partition(|tried| tried.case == 31);
    for tried in identity {
        let what = format!("{tried:?}");
        observations.check(31, &what, AttemptResult::Contained, tried.result.is_err());
    }
    observations.check_denied(&tried);
}

async fn sockets(observations: &mut Observations) {
    let skill = create_scene();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let six = TcpListener::bind("[::1]:0").ok();
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let prelude = format!(
        "TCP, UDP, SIX = {}, {}, {}",
        port(&tcp),
        udp.local_addr().unwrap().port(),
        six.as_ref().map_or(9, port)
    );
    let (tried, _) = python(&skill, &prelude, &attempts_of(SOCKETS)).await;
    observations.check_denied(&tried);
    for (case, count) in [
        (32, tcp.connection_count()),
        (33, udp.connection_count()),
        (36, six.map_or(0, |listener| listener.connection_count())),
    ] {
        observations.check(case, "seen from outside", AttemptResult::Denied, count == 0);
    }
}

/// A program can listen in its own network, where the host cannot connect.
async fn listeners(observations: &mut Observations) {
    let skill = create_scene().workspace();
    let text = "import os, socket, time
servers = [socket.create_server((host, 0)) for host in ('127.0.0.1', '0.0.0.0')]
with open('../workspace/new', 'w') as file:
    file.write(' '.join(str(server.getsockname()[1]) for server in servers))
os.rename('../workspace/new', '../workspace/ports')
while not os.path.exists('../workspace/tried'): time.sleep(0.005)";
    let (ports, tried) = (skill.path("workspace/ports"), skill.path("workspace/tried"));
    let host = std::thread::spawn(move || {
        while !ports.exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let text = fs::read_to_string(ports).unwrap();
        let reached: Vec<bool> = text
            .split(' ')
            .map(|port| port.parse().unwrap())
            .map(|port: u16| {
                std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
                    || std::net::TcpStream::connect(("::1", port)).is_ok()
            })
            .collect();
        fs::write(tried, "").unwrap();
        reached
    });
    let output = script(&skill, text).await;
    let reached = host.join().unwrap();
    observations.check(
        34,
        &format!("reached {reached:?}, {}", output.stderr.text()),
        AttemptResult::Denied,
        output.termination.is_success() && reached == [false; 2],
    );
}

async fn signals(observations: &mut Observations) {
    let (skill, mut victim) = (create_scene(), Victim::start());
    let (host, other) = (std::process::id(), victim.pid());
    let prelude = format!(
        "HOST, OTHER = {host}, {other}\n{}{ALL_AT_ONCE}",
        syscall_numbers()
    );
    let mut attempts = attempts_of(SIGNALS);
    // `setpgid` of a process that does not exist fails without a restriction.
    attempts.extend([
        (51, "call(number('ptrace'), 16, 1, 0, 0)"),
        (51, "os.open('/proc/1/mem', os.O_RDWR)"),
        (51, "os.open('/proc/1/root/etc', os.O_RDONLY)"),
    ]);
    let (tried, _) = python(&skill, &prelude, &attempts).await;
    let debugging: Vec<_> = tried.into_iter().filter(|tried| tried.case == 51).collect();
    observations.check_denied(&debugging);
    let is_alive = victim.is_alive();
    observations.check(50, "the other process", AttemptResult::NoEffect, is_alive);
}

/// Attempts that Linux namespaces deny and that have no effect outside of a container.
const INHERITED: &[(u8, &[&str])] = &[
    (
        59,
        &[
            "in_thread()",
            "in_program(sys.executable, '-c', AGAIN)",
            "in_program('/bin/sh', '-c', 'cat /etc/shadow ../outside/public.txt && echo out')",
            "in_program('/bin/sh', '-c', 'exec 3<>/dev/tcp/127.0.0.1/22 && echo out')",
            "named('prctl', 22, 0, 0, 0, 0)",
            "named('prctl', 38, 0, 0, 0, 0)",
        ],
    ),
    (
        91,
        &[
            "narrow()",
            "open('SKILL.md').read()",
            "open(outside + '/public.txt').read()",
            "open('/etc/shadow').read()",
        ],
    ),
];

const IN_ANOTHER: &str = "AGAIN = '''import socket
for attempt in [lambda: socket.socket(type=socket.SOCK_DGRAM), lambda: socket.socket(socket.AF_UNIX), lambda: open('/etc/shadow'), lambda: open('../outside/public.txt')]:
    try: attempt()
    except OSError: continue
    print('out')
'''
import threading
def in_thread():
    said = []
    def work():
        for action in [lambda: socket.socket(type=socket.SOCK_DGRAM), lambda: open('/etc/shadow')]:
            try: action(); said.append('out')
            except OSError: pass
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if not said: raise OSError(errno.EPERM, '')
    return said
def in_program(*command):
    said = subprocess.run(command, capture_output=True, text=True).stdout
    if 'out' not in said: raise OSError(errno.EPERM, '')
    return said
def privileges():
    data = (ctypes.c_uint32 * 6)(*[9] * 6)
    libc.capget((ctypes.c_uint32 * 2)(0x20080522, 0), data)
    bounding = [n for n in range(41) if libc.prctl(24, n, 0, 0, 0) == 1]
    return list(data), libc.prctl(39, 0, 0, 0, 0), libc.prctl(21, 0, 0, 0, 0), bounding
def narrow():
    ruleset = call(444, ctypes.byref(ctypes.c_uint64(4)), 8, 0)
    call(446, ruleset, 0)
";

async fn system_calls(observations: &mut Observations) {
    let skill = create_scene();
    // Shared memory of the host. Without this directory there is nothing to find.
    let shared = tempfile::NamedTempFile::new_in("/dev/shm").ok();
    if let Some(file) = &shared {
        fs::write(file.path(), "host").unwrap();
    }
    let path = shared.as_ref().map_or("/dev/shm/nothing".into(), |file| {
        file.path().display().to_string()
    });
    let mut attempts = vec![(59, "privileges()")];
    for list in [SYSTEM_CALLS, POOLS, INHERITED] {
        attempts.extend(attempts_of(list));
    }
    attempts.push((93, "open(SHARED, 'w').write('script')"));
    let prelude = format!(
        "{}{}SHARED = {path:?}\n{PRIVILEGES}{TIMERS}{IN_ANOTHER}",
        syscall_numbers(),
        python_paths(&skill)
    );
    let (mut tried, _) = python(&skill, &prelude, &attempts).await;
    // Writing may succeed in a separate `/dev/shm` of the run.
    tried.pop();
    let is_same = shared.is_none_or(|file| fs::read(file.path()).unwrap() == b"host");
    observations.check(93, "seen from outside", AttemptResult::Denied, is_same);
    let privileges = format!("{:?}", tried.remove(0).result);
    let is_bounded = privileges == "Ok(\"([0, 0, 0, 0, 0, 0], 1, 2, [])\")";
    observations.check(59, &privileges, AttemptResult::Denied, is_bounded);
    let (narrowed, tried): (Vec<_>, Vec<_>) = tried.into_iter().partition(|tried| tried.case == 91);
    match &narrowed[0].result {
        Err(_) if landlock_version() == 0 => observations.skip(91, "the kernel has no Landlock"),
        result => observations.check(
            91,
            &format!("{narrowed:?}"),
            AttemptResult::Succeeded,
            result.is_ok() && narrowed[1..].iter().all(|tried| tried.result.is_err()),
        ),
    }
    observations.check_denied(&tried);
}

async fn foreign_abi(observations: &mut Observations) {
    if !cfg!(target_arch = "x86_64") {
        observations.skip(89, "not x86-64");
        return;
    }
    let skill = create_scene();
    // getpid and socket with the numbers of x32; then in 32-bit code: mov eax, 20; int 0x80; ret
    let text = "import ctypes, errno, mmap
libc = ctypes.CDLL(None, use_errno=True)
print([libc.syscall(ctypes.c_long(0x40000000 + number), 2, 1, 0) for number in (39, 41)])
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
print('before', flush=True)
print('after', ctypes.CFUNCTYPE(ctypes.c_int)(address)())";
    let output = script(&skill, text).await;
    // The code of an end by SIGSYS, or by SIGSEGV of a kernel without support for 32-bit code.
    let is_killed = [159, 139].map(|code| Termination::Exited { code });
    observations.check(
        89,
        &format!("{:?} {}", output.termination, output.stdout.text()),
        AttemptResult::Denied,
        is_killed.contains(&output.termination) && output.stdout.text() == "[-1, -1]\nbefore\n",
    );
}
