//! Attempts on files, links and procfs.

/// Files and directories that are read: cases 1, 2, 4, 13 and 14.
pub const READS: &[(u8, &[&str])] = &[
    (
        1,
        &[
            "open('/etc/shadow').read()",
            "open('/etc/gshadow').read()",
            "open(outside + '/home/.ssh/id_rsa').read()",
            "open('/root/.ssh/id_rsa').read()",
        ],
    ),
    (
        2,
        &[
            "open(outside + '/public.txt').read()",
            "open('../outside/public.txt').read()",
            "open('/var/lib/dpkg/status').read()",
            "open('/etc/machine-id').read()",
            "os.open(outside, os.O_RDONLY | os.O_DIRECTORY)",
            "mmap.mmap(os.open(outside + '/public.txt', os.O_RDONLY), 0, prot=mmap.PROT_READ)",
            "subprocess.os.execv(outside + '/public.txt', ['x'])",
        ],
    ),
    (
        4,
        &[
            "open(root + '/sibling/SKILL.md').read()",
            "open('../sibling/SKILL.md').read()",
            "os.listdir('../sibling')",
        ],
    ),
    (
        13,
        &[
            "os.open('/dev/sda', os.O_RDONLY)",
            "os.open('/dev/vda', os.O_RDONLY)",
            "os.open('/dev/mem', os.O_RDONLY)",
            "os.open('/dev/kmsg', os.O_RDONLY)",
            "os.open('/dev/kvm', os.O_RDWR)",
            "os.open('/dev/fuse', os.O_RDWR)",
            "os.open('/dev/dri/card0', os.O_RDWR)",
            "os.open('/dev/loop-control', os.O_RDWR)",
            "os.open('/dev/net/tun', os.O_RDWR)",
            "os.open('/dev/ptmx', os.O_RDWR)",
            "os.open('/dev/console', os.O_RDWR)",
        ],
    ),
    (
        14,
        &[
            "open('../' * 60 + 'etc/shadow').read()",
            "open('../' * 60 + outside.lstrip('/') + '/public.txt').read()",
            "open('/proc/self/cwd/../outside/public.txt').read()",
            "open(os.getcwd() + '/./../outside/public.txt').read()",
            "open('/usr/../' + outside + '/public.txt').read()",
            "os.open('../outside/public.txt', os.O_RDONLY, dir_fd=os.open('.', os.O_RDONLY))",
            "os.open('outside/public.txt', os.O_RDONLY, dir_fd=os.open('..', os.O_PATH))",
        ],
    ),
];

/// Changes of the skill, the system and a file outside: cases 5 to 7.
pub const CHANGES: &[(u8, &[&str])] = &[
    (
        5,
        &[
            "write('SKILL.md')",
            "open('main.py', 'a')",
            "open('main.py', 'r+')",
            "os.unlink('SKILL.md')",
            "os.mkdir('new')",
            "os.rename('SKILL.md', 'other')",
            "os.symlink('a', 'b')",
            "os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600)",
            "os.truncate('SKILL.md', 0)",
            "write(home + '/mine'); os.rename(home + '/mine', 'SKILL.md')",
            "os.rmdir('.')",
            "os.rename(root + '/skill', root + '/elsewhere')",
        ],
    ),
    (
        6,
        &[
            "write('/usr/lib/planted')",
            "write('/usr/local/bin/planted')",
            "write('/etc/planted')",
            "open('/etc/passwd', 'a')",
            "open('/etc/hosts', 'w')",
            "write('/root/planted')",
            "write(outside + '/home/.bashrc')",
            "write(outside + '/public.txt')",
            "os.mkdir('/planted')",
            "os.unlink(outside + '/public.txt')",
            "os.rmdir(root + '/sibling')",
            "write('/dev/planted')",
        ],
    ),
    (
        7,
        &[
            "os.truncate(outside + '/victim.txt', 0)",
            "os.open(outside + '/victim.txt', os.O_RDONLY | os.O_TRUNC)",
        ],
    ),
];

/// Changes of metadata, and its reading: cases 8 and 9.
pub const METADATA: &[(u8, &[&str])] = &[
    (
        8,
        &[
            "os.chmod(outside + '/victim.txt', 0o777)",
            "os.chmod('../outside/victim.txt', 0o4755)",
            "os.chown(outside + '/victim.txt', os.getuid(), os.getgid())",
            "os.lchown(outside + '/victim.txt', os.getuid(), -1)",
            "os.utime(outside + '/victim.txt', (0, 0))",
            "os.utime(outside + '/victim.txt')",
            "os.setxattr(outside + '/victim.txt', 'user.a', b'b')",
            "os.removexattr(outside + '/victim.txt', 'user.a')",
            "os.chmod('SKILL.md', 0o777)",
            "os.fchmod(os.open('SKILL.md', os.O_RDONLY), 0o777)",
            "os.utime(os.open('SKILL.md', os.O_RDONLY), (0, 0))",
            "fcntl.ioctl(os.open('SKILL.md', os.O_RDONLY), 0x40086602, b'\\0' * 8)",
        ],
    ),
    (
        9,
        &[
            "os.stat(outside + '/victim.txt').st_size",
            "os.lstat('../outside').st_mtime",
            "os.access(outside + '/victim.txt', os.R_OK) or os.stat('/nowhere')",
        ],
    ),
];

/// Changes of a directory that is granted for reading: case 10.
pub const READ_ONLY: &[(u8, &[&str])] = &[(
    10,
    &[
        "write(workspace + '/new')",
        "write(workspace + '/known.txt')",
        "os.unlink(workspace + '/known.txt')",
        "os.mkdir(workspace + '/new')",
        "os.truncate(workspace + '/known.txt', 0)",
        "os.symlink('a', workspace + '/new')",
        "os.mkfifo(workspace + '/new')",
    ],
)];

/// A file and devices in writable directories: cases 11 and 12.
pub const GRANTED: &[(u8, &[&str])] = &[
    (11, &["write(workspace + '/made.txt', 'made')"]),
    (
        12,
        &[
            "os.mknod(workspace + '/c', 0o20666, os.makedev(1, 3))",
            "os.mknod(workspace + '/b', 0o60666, os.makedev(8, 0))",
            "os.mknod(workspace + '/zero', 0o20666, 0)",
            "os.mknod(home + '/c', 0o20666, os.makedev(1, 1)); os.open(home + '/c', os.O_RDONLY)",
            "os.open(workspace + '/c', os.O_RDONLY)",
            "os.open(home + '/c', os.O_RDONLY)",
        ],
    ),
];

/// Links and renames: cases 16, 17, 19 and 20.
pub const LINKS: &[(u8, &[&str])] = &[
    (
        16,
        &[
            "open('link').read()",
            "open('shadow').read()",
            "open('directory/public.txt').read()",
            "os.listdir('directory')",
            "write('directory/planted')",
        ],
    ),
    (
        17,
        &[
            "follow(outside + '/public.txt', workspace + '/l1')",
            "follow(outside + '/public.txt', home + '/l2')",
            "follow('/etc/shadow', workspace + '/l3')",
            "os.symlink(outside, workspace + '/l4'); write(workspace + '/l4/planted')",
            "os.symlink('/proc/self/root', workspace + '/l5'); open(workspace + '/l5' + outside + '/public.txt')",
            "os.symlink(outside + '/victim.txt', home + '/l6'); os.truncate(home + '/l6', 0)",
        ],
    ),
    (
        19,
        &[
            "os.link(outside + '/public.txt', workspace + '/h1')",
            "os.link(outside + '/public.txt', home + '/h2')",
            "os.link('SKILL.md', workspace + '/h3')",
            "os.link('/usr/bin/env', workspace + '/h4')",
            "os.link('/usr/bin/env', home + '/h5')",
            "os.link('/proc/self/fd/%d' % os.open('SKILL.md', os.O_RDONLY), workspace + '/h6', follow_symlinks=True)",
        ],
    ),
    (
        20,
        &[
            "os.rename(outside + '/public.txt', workspace + '/r1')",
            "os.rename('SKILL.md', workspace + '/r2')",
            "write(workspace + '/mine'); os.rename(workspace + '/mine', outside + '/r3')",
            "os.rename(workspace + '/mine', 'r4')",
            "os.rename(outside, workspace + '/r5')",
            "named('renameat2', -100, (outside + '/public.txt').encode(), -100, (workspace + '/known.txt').encode(), 2)",
        ],
    ),
];

/// Changes of protected files by moves: case 21.
pub const PROTECTED: &[(u8, &[&str])] = &[(
    21,
    &[
        "write(workspace + '/.git/config')",
        "write(workspace + '/.git/hooks/post-commit')",
        "os.rename(workspace + '/.git', workspace + '/.moved')",
        "os.rename(workspace + '/.git/hooks', workspace + '/.git/moved')",
        "os.rename(workspace + '/.git/config', workspace + '/.git/moved')",
        "write(workspace + '/evil'); os.rename(workspace + '/evil', workspace + '/.git/config')",
        "os.mkdir(workspace + '/other'); named('renameat2', -100, (workspace + '/other').encode(), -100, (workspace + '/.git').encode(), 2)",
        "named('renameat2', -100, (workspace + '/other').encode(), -100, (workspace + '/.git/hooks').encode(), 2)",
        "os.unlink(workspace + '/.git/config')",
        "os.truncate(workspace + '/.git/config', 0)",
    ],
)];

/// Files that may hold keys, in a writable directory that also has a hard link and a symlink to `.env`:
/// case 102.
pub const KEYS: &[(u8, &[&str])] = &[(
    102,
    &[
        "open(workspace + '/.env').read()",
        "open(workspace + '/keys/../.env', 'r+')",
        "open(workspace + '/keys/hard.txt').read()",
        "open(workspace + '/keys/symbolic.txt').read()",
        "open(workspace + '/keys/.aws/credentials').read()",
        "os.open('.env', os.O_RDONLY, dir_fd=os.open(workspace, os.O_RDONLY | os.O_DIRECTORY))",
        "os.rename(workspace + '/.env', workspace + '/moved')",
        "os.rename(workspace + '/keys', workspace + '/elsewhere')",
        "os.unlink(workspace + '/.env')",
        "os.mkdir(workspace + '/inner'); os.rename(workspace + '/.env', workspace + '/inner/moved')",
        "os.link(workspace + '/.env', workspace + '/linked')",
        "os.link(workspace + '/.env', workspace + '/inner/linked'); open(workspace + '/inner/linked').read()",
        "open('/proc/self/root' + workspace + '/.env').read()",
    ],
)];

/// The first process of the sandbox, and links of processes: cases 26 and 27.
pub const PROCESS_FILES: &[(u8, &[&str])] = &[
    (
        26,
        &[
            "mine(open('/proc/1/environ', 'rb').read())",
            "os.open('/proc/1/mem', os.O_RDONLY)",
            "os.open('/proc/1/mem', os.O_RDWR)",
            "os.open('/proc/1/fd/0', os.O_WRONLY)",
            "os.readlink('/proc/1/fd/0')",
            "os.readlink('/proc/1/exe')",
            "open('/proc/1/maps').read(1) or open('/none')",
        ],
    ),
    (
        27,
        &[
            "open('/proc/self/root/etc/shadow').read()",
            "open('/proc/self/root' + outside + '/public.txt').read()",
            "open('/proc/self/root/../../' + outside + '/public.txt').read()",
            "open('/proc/1/root' + outside + '/public.txt').read()",
            "open('/proc/self/task/1/root' + outside + '/public.txt').read()",
            "open('/proc/self/cwd/../outside/public.txt').read()",
            "os.open('/proc/self/fd/%d' % os.open('SKILL.md', os.O_RDONLY), os.O_RDWR)",
            "os.open('/dev/fd/%d' % os.open('SKILL.md', os.O_RDONLY), os.O_WRONLY | os.O_TRUNC)",
            "os.open('/proc/self/exe', os.O_WRONLY)",
            "os.open('/proc/self/mem', os.O_RDWR)",
        ],
    ),
];

/// Settings of the kernel, control groups and the own identity: cases 28, 30 and 31. Current values are
/// written, or nothing: a missing restriction must not harm the host that detects it.
pub const KERNEL_FILES: &[(u8, &[&str])] = &[
    (
        28,
        &[
            "write('/proc/sys/kernel/core_pattern', 'core')",
            "write('/proc/sys/kernel/hostname', os.uname().nodename)",
            "write('/proc/sysrq-trigger', 'h')",
            "write('/proc/sys/vm/drop_caches', '1')",
            "open('/proc/sys/kernel/core_pattern').read()",
            "socket.sethostname(os.uname().nodename)",
            "write('/proc/self/root/proc/sys/kernel/hostname', os.uname().nodename)",
        ],
    ),
    (
        30,
        &[
            "write('/sys/fs/cgroup/cgroup.procs', '0')",
            "write('/sys/fs/cgroup/unified/cgroup.procs', '0')",
            "write('/sys/fs/cgroup/pids/tasks', '0')",
            "write('/sys/fs/cgroup/memory/release_agent', '')",
            "write('/sys/fs/cgroup/systemd/release_agent', '')",
            "os.mkdir('/sys/fs/cgroup/evil')",
            "os.listdir('/sys')",
        ],
    ),
    (
        31,
        &[
            "write('/proc/self/uid_map', '0 0 1')",
            "write('/proc/self/gid_map', '0 0 1')",
            "write('/proc/self/setgroups', 'allow')",
            "write('/proc/self/oom_score_adj', '-1000')",
            "write('/proc/self/loginuid', '0')",
            "write('/proc/self/attr/current', 'unconfined')",
            "write('/proc/self/coredump_filter', '0xff')",
        ],
    ),
];
