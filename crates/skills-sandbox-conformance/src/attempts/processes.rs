//! Attempts on processes, resources and inherited state.

/// Signals and debugging: cases 50 and 51. `HOST` and `OTHER` are processes of the host.
pub const SIGNALS: &[(u8, &[&str])] = &[
    (
        50,
        &[
            "os.kill(HOST, 0)",
            "os.kill(OTHER, signal.SIGTERM)",
            "os.kill(OTHER, signal.SIGKILL)",
            "os.killpg(os.getpgid(OTHER), signal.SIGKILL)",
            "call(number('tgkill'), OTHER, OTHER, 9)",
            "call(number('tkill'), OTHER, 9)",
            "signal.pidfd_send_signal(os.pidfd_open(OTHER), 9)",
            "named('sigqueue', OTHER, 9, 0)",
            "fcntl.fcntl(0, fcntl.F_SETOWN, OTHER); fcntl.fcntl(0, 10, 9); os.stat('/nowhere')",
            // To all at once, only after it is known that one cannot be reached.
            "all_at_once()",
        ],
    ),
    (
        51,
        &[
            "call(number('ptrace'), 16, HOST, 0, 0)",
            "call(number('ptrace'), 0x4206, OTHER, 0, 0)",
            "call(number('process_vm_readv'), OTHER, 0, 0, 0, 0, 0)",
            "call(number('process_vm_writev'), HOST, 0, 0, 0, 0, 0)",
            "call(438, os.pidfd_open(HOST), 1, 0)",
            "call(438, 0, 1, 0)",
            "call(434, OTHER, 0)",
            "call(number('kcmp'), HOST, OTHER, 0, 0, 0)",
            "resource.prlimit(OTHER, resource.RLIMIT_NOFILE, (64, 64))",
            "os.setpriority(os.PRIO_PROCESS, OTHER, 19)",
            "os.sched_setaffinity(OTHER, {0})",
            "named('setpgid', OTHER, OTHER)",
        ],
    ),
];

/// A function for [`SIGNALS`].
pub const ALL_AT_ONCE: &str = "def all_at_once():\n    try: os.kill(OTHER, 0)\n    except OSError: os.kill(-1, signal.SIGKILL)\n    else: return 'it would reach all processes'\n";

/// New processes: case 58. `failing` raises an error for a status other than 0.
pub const SPAWNING: &[(u8, &[&str])] = &[(
    58,
    &[
        "os.fork()",
        "os.forkpty()",
        "subprocess.run(['/bin/true'])",
        "subprocess.run('true', shell=True, check=True)",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "os.execv('/bin/true', ['true'])",
        "os.execv('/bin/sh', ['sh', '-c', ':'])",
        "failing(os.system('true'))",
        "named('vfork')",
        "os.popen('echo x').read() or os.stat('/nowhere')",
        "__import__('multiprocessing').get_context('fork').Process(target=print).start()",
    ],
)];

/// Leaves a daemon that holds the pipe `alive` open, in its own session if possible.
pub const DAEMON: &str = "import os, signal, time\nif os.fork() == 0:\n    try: os.setsid()\n    except OSError: pass\n    if os.fork() == 0:\n        \
                      os.write(os.open('../workspace/alive', os.O_WRONLY), b'beat')\n        open('../workspace/up', 'w')\n        \
                      while True: signal.pause()\n    os._exit(0)\n\
                      while not os.path.exists('../workspace/up'): time.sleep(0.01)\nprint('started', flush=True)\n";

/// Uses memory in one way, keeps it until the test has measured it, and prints the error that
/// stopped it.
pub const HOG: &str = r#"import ctypes, errno, mmap, os, sys, time
way, workspace, total = sys.argv[2], sys.argv[3], int(sys.argv[4])
step, held = 16 << 20, []
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
def mapped(flags, file=-1):
    address = libc.mmap(None, step, 3, flags, file, 0)
    if address == ctypes.c_void_p(-1).value: raise OSError(ctypes.get_errno(), '')
    ctypes.memset(address, 1, step)
    return address
def sized(file):
    os.posix_fallocate(file, 0, step)
    return file
def hidden():
    if libc.mprotect(ctypes.c_void_p(mapped(0x22)), ctypes.c_size_t(step), 1) < 0: raise OSError(ctypes.get_errno(), '')
ways = {
    'bytes': lambda number: held.append(bytearray(step)),
    'private': lambda number: mapped(0x22),
    'shared': lambda number: mapped(0x21),
    'zeros': lambda number: mapped(0x01, os.open('/dev/zero', os.O_RDWR)),
    'memory-file': lambda number: mapped(0x01, sized(os.memfd_create('x'))),
    'scratch-file': lambda number: mapped(0x01, sized(os.open('%s/%d' % (os.environ['TMPDIR'], number), os.O_CREAT | os.O_RDWR))),
    'stack': lambda number: mapped(0x122),
    'read-only': lambda number: hidden(),
}
why = 'nothing'
try:
    for number in range(total // step): ways[way](number)
except MemoryError: why = 'ENOMEM'
except OSError as error: why = errno.errorcode[error.errno]
open(workspace + '/held', 'w')
while not os.path.exists(workspace + '/measured'): time.sleep(0.005)
print('stopped by', why)
"#;

/// The ways in which [`HOG`] uses memory.
pub const WAYS_OF_HOG: [&str; 8] = [
    "bytes",
    "private",
    "shared",
    "zeros",
    "memory-file",
    "scratch-file",
    "stack",
    "read-only",
];

/// Prints how many of four processes had 70 MiB each at the same time. The kernel may kill all of
/// them, or one.
pub const TOGETHER: &str = "import os, time
ready, go, ended = os.pipe(), os.pipe(), {}
for _ in range(4):
    if os.fork() == 0:
        held = bytearray(b'x') * (70 << 20)
        os.write(ready[1], b'x')
        os.read(go[0], 1)
        os._exit(0)
os.set_blocking(ready[0], False)
held = 0
while held + len(ended) < 4:
    try: held += len(os.read(ready[0], 4))
    except BlockingIOError: time.sleep(0.005)
    child, status = os.waitpid(-1, os.WNOHANG)
    if child: ended[child] = status
os.write(go[1], b'xxxx')
while len(ended) < 4:
    child, status = os.wait()
    ended[child] = status
print(list(ended.values()).count(0), flush=True)
";

/// Limits: case 64. The prelude [`SET_LIMIT`] has a function for them.
pub const LIMITS: &[(u8, &[&str])] = &[(
    64,
    &[
        "open(home + '/big', 'wb').write(b'x' * (2 << 20))",
        "os.truncate(home + '/big', 2 << 20)",
        "[os.open('/dev/null', os.O_RDONLY) for _ in range(1100)]",
        "os.posix_fallocate(os.open(home + '/other', os.O_CREAT | os.O_WRONLY), 0, 2 << 20)",
        "limit(resource.RLIMIT_FSIZE, 1 << 30, 1 << 30)",
        "limit(resource.RLIMIT_NOFILE, 4096, 4096)",
        "limit(resource.RLIMIT_CPU, 1 << 40, 1 << 40)",
        "limit(resource.RLIMIT_CORE, 1 << 30, 1 << 30)",
        "limit(resource.RLIMIT_MEMLOCK, 1 << 20, 1 << 20)",
        "limit(resource.RLIMIT_RTPRIO, 1, 1)",
        "named('prlimit', 0, resource.RLIMIT_NOFILE, (ctypes.c_ulong * 2)(4096, 4096), None)",
        "named('mlockall', 1)",
    ],
)];

/// A function for [`LIMITS`].
pub const SET_LIMIT: &str = "def limit(resource, soft, hard):\n    return named('setrlimit', resource, (ctypes.c_ulong * 2)(soft, hard))\n";

/// Resources that are counted for the user or the machine: case 101.
pub const POOLS: &[(u8, &[&str])] = &[(
    101,
    &[
        "call(number('io_setup'), 1, ctypes.byref(ctypes.c_ulong()))",
        "call(number('inotify_init1'), 0)",
        "call(number('fanotify_init'), 0, 0)",
        "fcntl.fcntl(os.pipe()[1], 1031, 1 << 20)",
        "timers()",
    ],
)];

/// A function for [`POOLS`].
pub const TIMERS: &str = "def timers():\n    for _ in range(20_000): call(number('timer_create'), 1, 0, ctypes.byref(ctypes.c_int()))\n";

/// Terminals and keyrings: cases 71, 72 and 74. The prelude is [`DESCRIPTORS`].
pub const TERMINALS: &[(u8, &[&str])] = &[
    (
        71,
        &[
            "os.ttyname(0)",
            "os.ttyname(1)",
            "os.ttyname(2)",
            "open('/dev/tty', 'r+b', buffering=0)",
            "os.tcgetpgrp(0)",
            "pipes() or os.stat('/nowhere')",
            "fcntl.ioctl(0, 0x540e, 1)",
        ],
    ),
    (
        72,
        &[
            "everywhere(0x5412, b'x')",
            "everywhere(0x5412 | 1 << 32, b'x')",
            "everywhere(0x541c, b'\\x02')",
            "everywhere(0x5423, b'\\x01\\0\\0\\0')",
            "everywhere(0x541d, b'\\0')",
        ],
    ),
    (
        74,
        &[
            "call(number('keyctl'), 6, -3, 0, 0)",
            "call(number('keyctl'), 0, -3, 0)",
            "call(number('keyctl'), 11, -3, 0, 0)",
            "call(number('add_key'), b'user', b'x', b'y', 1, -3)",
            "call(number('request_key'), b'user', b'x', 0, -3)",
            "open('/proc/keys').read()",
        ],
    ),
];

/// Functions for [`TERMINALS`].
pub const DESCRIPTORS: &str = "def pipes(): return not all(stat.S_ISFIFO(os.fstat(fd).st_mode) or fd == 0 and stat.S_ISREG(os.fstat(0).st_mode) for fd in range(3))\n\
         def everywhere(command, data):\n    buffer = ctypes.create_string_buffer(data)\n    for fd in range(1024):\n        \
         if libc.ioctl(fd, ctypes.c_ulong(command), buffer) >= 0: return fd\n        if fd < 3 and ctypes.get_errno() != errno.EPERM: return ctypes.get_errno()\n    raise OSError(errno.EPERM, '')\n";

/// Variables of a host, which no program may get.
pub const HOST_VARIABLES: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GITHUB_TOKEN",
    "SSH_AUTH_SOCK",
    "LD_LIBRARY_PATH",
    "LD_BIND_NOW",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "NODE_OPTIONS",
    "NODE_PATH",
    "BASH_ENV",
    "ENV",
    "GIT_SSH_COMMAND",
    "GIT_DIR",
    "HTTPS_PROXY",
    "DOCKER_HOST",
    "DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
];

/// The documented variables, and those that shells set themselves.
pub const DOCUMENTED_VARIABLES: &[&str] = &[
    "DEBIAN_FRONTEND",
    // Without namespaces.
    "GIT_CONFIG_NOSYSTEM",
    "GIT_PAGER",
    "GIT_TERMINAL_PROMPT",
    "HOME",
    "LANG",
    "LOGNAME",
    "NPM_CONFIG_GLOBALCONFIG",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "PAGER",
    "PATH",
    "PIP_DISABLE_PIP_VERSION_CHECK",
    "PIP_NO_INPUT",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONNOUSERSITE",
    "PYTHONUNBUFFERED",
    "SHELL",
    "TERM",
    "TMPDIR",
    "USER",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
];
