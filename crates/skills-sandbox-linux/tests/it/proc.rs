//! What programs see in `/proc`.

use std::net::TcpListener;

use skills_sandbox_linux::IsolationMode;

use crate::skill::{Skill, skip_without};

/// A run has a network of its own, so the files about it show none of the host's sockets, addresses
/// and routes, but the listener for name lookups.
#[tokio::test]
async fn proc_shows_no_network_of_the_host() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!(
        r"
for directory in ['/proc/net', '/proc/self/net']:
    for name in ['tcp', 'tcp6', 'udp', 'unix', 'arp', 'route', 'packet', 'netlink']:
        lines = open(f'{{directory}}/{{name}}').read().splitlines()[1:]
        lines = [line for line in lines if ' 0100007F:0035 ' not in line]
        if name != 'netlink' and lines: print(name, lines)
        if any(':{port:04X} ' in line for line in lines): print('port', name)
    print([line.split(':')[0].strip() for line in open(f'{{directory}}/dev')][2:])
"
    );
    let output = Skill::new(IsolationMode::Namespaces).python(&script).await;
    assert_eq!(output.stderr.text(), "");
    assert_eq!(
        output.stdout.text(),
        "['lo']
['lo']
"
    );
}

/// Programs find the facts about the machine that they need, and nothing about other processes.
#[tokio::test]
async fn proc_has_own_processes_and_facts_about_the_machine() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let script = r"
import os
print(sorted(name for name in os.listdir('/proc') if name.isdigit()))
def size(path):
    try:
        return 'data' if open('/proc/' + path, 'rb').read(64) else 'empty'
    except OSError as e:
        return type(e).__name__
for path in ['cpuinfo', 'meminfo', 'stat', 'uptime', 'loadavg', 'filesystems', 'self/status', 'self/maps', 'sys/kernel/osrelease', 'sys/kernel/pid_max']:
    if size(path) != 'data': print(path, size(path))
visible = ['cpuinfo', 'meminfo', 'stat', 'uptime', 'loadavg', 'filesystems', 'sys', 'self', 'thread-self', 'mounts', 'net']
for name in os.listdir('/proc'):
    if name.isdigit() or name in visible: continue
    path = '/proc/' + name
    if os.path.islink(path): print('link', name, os.readlink(path))
    elif os.path.isdir(path):
        if os.listdir(path): print('listed', name)
    elif size(name) != 'PermissionError': print('readable', name, size(name))
print(sorted(os.listdir('/proc/sys')))
text = open('/proc/stat').read()
print(text.count('cpu') == os.sysconf('SC_NPROCESSORS_ONLN') + 1, 'intr 0\n' in text)
for path in ['sys/kernel/core_pattern', 'self/uid_map', 'self/oom_score_adj', 'sysrq-trigger', 'stat', 'kcore']:
    try: print(path, os.open('/proc/' + path, os.O_WRONLY))
    except OSError as e: pass
for call in [lambda: os.chmod('/proc/kcore', 0o644), lambda: os.unlink('/dev/.proc/file'), lambda: open('/dev/.proc/stat', 'w')]:
    try: print(call())
    except OSError: pass
";
    let output = Skill::new(IsolationMode::Namespaces).python(script).await;
    assert_eq!(
        (output.stdout.text().as_str(), output.stderr.text().as_str()),
        ("['1', '2']\n['kernel', 'vm']\nTrue True\n", "")
    );
}
