use insta::assert_snapshot;
use skills_sandbox::Termination;
use skills_sandbox_linux::IsolationMode;

use crate::skill::{Skill, skip_without};

#[tokio::test]
async fn files_outside_the_grants_cannot_be_read_changed_or_listed() {
    if skip_without(IsolationMode::LandlockOnly) {
        return;
    }
    let skill = Skill::new(IsolationMode::LandlockOnly);
    std::fs::write(skill.path("secret.txt"), "secret").unwrap();
    std::os::unix::fs::symlink("../secret.txt", skill.path("skill/link")).unwrap();
    let output = skill
        .attempts(
            "home = os.environ['HOME']",
            &[
                "open('/etc/shadow')",
                "open('/etc/passwd')",
                "open('../secret.txt')",
                "open('link')",
                "open('/proc/self/environ')",
                "open('/proc/self/root/etc/passwd')",
                "os.listdir('/')",
                "os.listdir('..')",
                "open('SKILL.md', 'w')",
                "open('../secret.txt', 'w')",
                "open('/usr/lib/planted', 'w')",
                "os.truncate('../secret.txt', 0)",
                "os.unlink('main.py')",
                "os.rename('main.py', home + '/main.py')",
                "os.link('../secret.txt', home + '/hard')",
                "open(home + '/../../planted', 'w')",
                "os.mknod(home + '/device', 0o20600, os.makedev(1, 3))",
            ],
        )
        .await;
    assert_snapshot!(output);
    assert_eq!(
        std::fs::read_to_string(skill.path("secret.txt")).unwrap(),
        "secret"
    );
}

#[tokio::test]
async fn metadata_of_other_files_cannot_be_changed() {
    if skip_without(IsolationMode::LandlockOnly) {
        return;
    }
    let skill = Skill::new(IsolationMode::LandlockOnly);
    std::fs::write(skill.path("secret.txt"), "secret").unwrap();
    let before = std::fs::metadata(skill.path("secret.txt")).unwrap();
    let output = skill
        .attempts(
            "path = '../secret.txt'",
            &[
                "os.chmod(path, 0o777)",
                "os.utime(path, (0, 0))",
                "os.utime(path)",
                "os.chown(path, os.getuid(), -1)",
                "os.setxattr(path, 'user.a', b'b')",
            ],
        )
        .await;
    // The first two report success and have no effect.
    assert_snapshot!(output, @"
    os.chmod(path, 0o777) ALLOWED
    os.utime(path, (0, 0)) ALLOWED
    os.utime(path) EPERM
    os.chown(path, os.getuid(), -1) EPERM
    os.setxattr(path, 'user.a', b'b') EPERM
    ");
    let after = std::fs::metadata(skill.path("secret.txt")).unwrap();
    assert_eq!(
        (before.permissions(), before.modified().unwrap()),
        (after.permissions(), after.modified().unwrap())
    );
}

#[tokio::test]
async fn copying_files_works_although_modes_and_times_are_ignored() {
    if skip_without(IsolationMode::LandlockOnly) {
        return;
    }
    let script = "import os, shutil\nhome = os.environ['HOME']\nshutil.copy('main.py', home)\nshutil.copy2('main.py', home + '/two')\n\
                  shutil.copytree('.', home + '/tree')\nimport pathlib\npathlib.Path(home, 'touched').touch()\nprint(sorted(os.listdir(home)))";
    let output = Skill::new(IsolationMode::LandlockOnly).python(script).await;
    assert_eq!(
        output.stdout.text(),
        "['main.py', 'touched', 'tree', 'two']\n",
        "{}",
        output.stderr.text()
    );
}

#[tokio::test]
async fn no_socket_can_be_created() {
    if skip_without(IsolationMode::LandlockOnly) {
        return;
    }
    let output = Skill::new(IsolationMode::LandlockOnly)
        .attempts(
            "",
            &[
                "socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
                "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
                "socket.socket(socket.AF_INET6, socket.SOCK_STREAM)",
                "socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)",
                "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
                "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
                "socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)",
                "socket.create_connection(('127.0.0.1', 80))",
                "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
                "socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)",
                "socket.socketpair(socket.AF_NETLINK, socket.SOCK_STREAM)",
                "socket.socketpair()",
            ],
        )
        .await;
    assert_snapshot!(output, @"
    socket.socket(socket.AF_INET, socket.SOCK_STREAM) EPERM
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM) EPERM
    socket.socket(socket.AF_INET6, socket.SOCK_STREAM) EPERM
    socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) EPERM
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW) EPERM
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW) EPERM
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) EPERM
    socket.create_connection(('127.0.0.1', 80)) EPERM
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) EPERM
    socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) EPERM
    socket.socketpair(socket.AF_NETLINK, socket.SOCK_STREAM) EPERM
    socket.socketpair() ALLOWED
    ");
}

#[tokio::test]
async fn a_second_process_requires_a_grant() {
    if skip_without(IsolationMode::LandlockOnly) {
        return;
    }
    let statements = [
        "os.fork()",
        "subprocess.run(['/bin/true'])",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "os.execv('/bin/true', ['true'])",
    ];
    assert_snapshot!(Skill::new(IsolationMode::LandlockOnly).attempts("", &statements).await, @"
    os.fork() EPERM
    subprocess.run(['/bin/true']) EPERM
    os.posix_spawn('/bin/true', ['true'], {}) EPERM
    os.execv('/bin/true', ['true']) EACCES
    ");
    let threads = Skill::new(IsolationMode::LandlockOnly)
        .python("import threading\nt = threading.Thread(target=print, args=('thread',))\nt.start()\nt.join()")
        .await;
    assert_eq!(threads.stdout.text(), "thread\n");
}

#[tokio::test]
async fn a_grant_allows_one_program_only() {
    if skip_without(IsolationMode::LandlockOnly) {
        return;
    }
    let skill = Skill::new(IsolationMode::LandlockOnly).tool("Bash(true:*)");
    let output = skill
        .attempts(
            "",
            &[
                "subprocess.run(['true'], check=True)",
                "subprocess.run(['/bin/ls'])",
            ],
        )
        .await;
    assert_snapshot!(output, @"
    subprocess.run(['true'], check=True) ALLOWED
    subprocess.run(['/bin/ls']) EACCES
    ");
    let skill = Skill::new(IsolationMode::LandlockOnly).tool("Bash");
    let output = skill
        .run(skill.job("main.sh", "echo one two | wc -w\nx=$(printf sub)\necho $x\nls /etc/shadow || echo denied\ncat /etc/shadow"))
        .await;
    assert_eq!(output.stdout.text(), "2\nsub\n/etc/shadow\n");
    assert!(
        output.stderr.text().contains("Permission denied"),
        "{}",
        output.stderr.text()
    );
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn other_processes_and_the_kernel_are_inaccessible() {
    if skip_without(IsolationMode::LandlockOnly) {
        return;
    }
    let prelude = "libc = ctypes.CDLL(None, use_errno=True)\n\
                   def call(number, *args):\n    if libc.syscall(number, *args) < 0: raise OSError(ctypes.get_errno(), '')\n\
                   parent = os.getppid()\nimport resource";
    let output = Skill::new(IsolationMode::LandlockOnly)
        .tool("Bash")
        .attempts(
            prelude,
            &[
                "os.kill(parent, 0)",
                "os.pidfd_open(parent)",
                "os.setsid()",
                "os.setpgid(0, 0)",
                "os.setpriority(os.PRIO_PROCESS, parent, 5)",
                "resource.prlimit(parent, resource.RLIMIT_NOFILE, (64, 64))",
                "os.sched_setaffinity(parent, {0})",
                "os.unshare(os.CLONE_NEWUSER) if hasattr(os, 'unshare') else call(272, 0x10000000)",
                "os.chroot('.')",
                "call(425, 1, 0)",
                "call(321, 0, 0, 0)",
                "call(248, 0, 0, 0, 0, 0)",
                "call(435, 0, 0)",
                "call(0x40000000 + 39)",
                "call(101, 16, parent, 0, 0)",
                "call(29, 0, 4096, 0o1600)",
                "call(65, 0, 0, 0)",
                "call(254, 0, 0, 0)",
                "call(294, 0)",
                "call(157, 1, 0, 0, 0, 0)",
                "call(56, 0x8000 | 17, 0, 0, 0, 0)",
                "os.memfd_create('x')",
                "__import__('fcntl').fcntl(open('main.py'), 1024, 1)",
                "__import__('fcntl').ioctl(open('main.py'), 0x40086602, b'12345678')",
                "__import__('fcntl').ioctl(0, 0x5412, b'x')",
            ],
        )
        .await;
    assert_snapshot!(output);
}

#[tokio::test]
async fn no_descriptor_or_privilege_is_inherited() {
    if skip_without(IsolationMode::LandlockOnly) {
        return;
    }
    // A host process that leaks a descriptor without close-on-exec.
    let leaked = nix::unistd::dup(std::fs::File::open("/etc/hosts").unwrap()).unwrap();
    let script = "import ctypes, os\nopen_fds = []\nfor fd in range(1024):\n    try:\n        os.fstat(fd)\n        open_fds.append(fd)\n    except OSError: pass\n\
                  libc = ctypes.CDLL(None)\ndata = (ctypes.c_uint32 * 6)(*[9] * 6)\nhead = (ctypes.c_uint32 * 2)(0x20080522, 0)\n\
                  libc.capget(head, data)\nprint(open_fds, list(data), libc.prctl(39, 0, 0, 0, 0), os.isatty(0))";
    let output = Skill::new(IsolationMode::LandlockOnly).python(script).await;
    drop(leaked);
    assert_eq!(
        output.stdout.text(),
        "[0, 1, 2] [0, 0, 0, 0, 0, 0] 1 False\n",
        "{}",
        output.stderr.text()
    );
}

#[tokio::test]
async fn a_script_cannot_signal_its_host() {
    if skip_without(IsolationMode::LandlockOnly) {
        return;
    }
    let output = Skill::new(IsolationMode::LandlockOnly)
        .tool("Bash")
        .python("import os, signal\ntry:\n    os.kill(os.getppid(), 0)\nexcept PermissionError: print('refused')")
        .await;
    assert_eq!(
        (output.stdout.text().as_str(), &output.termination),
        ("refused\n", &Termination::Exited { code: 0 })
    );
}
