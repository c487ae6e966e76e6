//! Attempts on privileges and the system call interface.

/// Privileges and system calls: cases 80, 82 to 86, 90 and 93. The prelude [`PRIVILEGES`] has functions
/// for them, and `SHARED` is a file of the host.
pub const SYSTEM_CALLS: &[(u8, &[&str])] = &[
    (
        80,
        &[
            "gains('su', '-c', 'id -u')",
            "gains('sudo', '-n', 'id', '-u')",
            "gains('mount', '-t', 'tmpfs', 'none', '/tmp')",
            "gains('umount', '/tmp')",
            "gains('ping', '-c', '1', '127.0.0.1')",
            "gains('fusermount3', '-u', '/tmp')",
            "gains('newgrp')",
            "gains('pkexec', 'id', '-u')",
            "os.setuid(12345)",
            "os.setgid(12345)",
            "os.setgroups([0])",
            "os.setresuid(12345, 12345, 12345)",
            "capable()",
        ],
    ),
    (
        82,
        &[
            "call(number('unshare'), 0x10000000)",
            "call(number('unshare'), 0x00020000)",
            "call(number('unshare'), 0x20000000)",
            "call(number('unshare'), 0x40000000)",
            "call(number('unshare'), 0x08000000)",
            "call(number('unshare'), 0x04000000)",
            "call(number('unshare'), 0x02000000)",
            "call(number('clone'), 0x10000000 | 17, 0, 0, 0, 0)",
            "call(number('clone'), 0x40000000 | 17, 0, 0, 0, 0)",
            "call(number('clone'), 0x8000 | 17, 0, 0, 0, 0)",
            "call(number('clone3'), (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17), 88)",
            "call(number('setns'), os.open('/proc/self/ns/user', os.O_RDONLY), 0)",
            "call(number('setns'), 0, 0)",
        ],
    ),
    (
        83,
        &[
            "named('mount', b'none', b'/tmp', b'tmpfs', 0, 0)",
            "named('mount', b'/', home.encode(), 0, 4096, 0)",
            "named('umount2', b'/tmp', 2)",
            "named('umount2', b'/', 2)",
            "call(number('pivot_root'), b'.', b'.')",
            "os.chroot('.')",
            "call(number('open_tree'), -100, b'/', 1)",
            "call(number('move_mount'), 0, b'', -100, b'/tmp', 4)",
            "call(number('mount_setattr'), -100, b'/', 0, (ctypes.c_uint64 * 4)(0, 1, 0, 0), 32)",
            "call(number('fsopen'), b'tmpfs', 0)",
            "call(number('fsconfig'), 0, 6, 0, 0, 0)",
            "call(number('fsmount'), 0, 0, 0)",
            "call(number('fspick'), -100, b'/', 0)",
        ],
    ),
    (
        84,
        &[
            "call(number('io_uring_setup'), 8, ctypes.create_string_buffer(120))",
            "call(number('io_uring_enter'), 0, 0, 0, 0, 0)",
            "call(number('io_uring_register'), -1, 8, 0, 0)",
        ],
    ),
    (
        85,
        &[
            "call(number('bpf'), 0, ctypes.create_string_buffer(64), 64)",
            "call(number('perf_event_open'), ctypes.create_string_buffer(128), 0, -1, -1, 0)",
            "call(number('userfaultfd'), 1)",
            "call(number('kexec_load'), 0, 0, 0, 0)",
            "call(number('init_module'), 0, 0, b'')",
            "call(number('finit_module'), 0, b'', 0)",
            "call(number('delete_module'), b'nothing', 0)",
            "call(number('reboot'), 0xfee1dead, 672274793, 0, 0)",
            "call(number('swapon'), b'/nowhere', 0)",
            "call(number('swapoff'), b'/nowhere')",
            "call(number('acct'), 0)",
            "call(number('quotactl'), 0, 0, 0, 0)",
            "call(number('syslog'), 3, ctypes.create_string_buffer(64), 64)",
            "call(number('settimeofday'), 0, 0)",
            "call(number('clock_settime'), 0, 0)",
            "call(number('adjtimex'), ctypes.create_string_buffer(256))",
            "call(number('vmsplice'), 1, 0, 0, 0)",
            "call(number('vhangup'))",
        ],
    ),
    (
        86,
        &[
            "[call(number('open_by_handle_at'), os.open('/', os.O_RDONLY), handle(inode), 0) for inode in range(2, 64)]",
            "call(number('open_by_handle_at'), os.open('.', os.O_RDONLY), handle(2), 0)",
            "call(number('name_to_handle_at'), -100, b'/', ctypes.create_string_buffer(b'\\x80\\0\\0\\0' + b'\\0' * 140), ctypes.byref(ctypes.c_int()), 0)",
            "call(number('fanotify_init'), 0, 0)",
        ],
    ),
    (
        90,
        &[
            "call(number('personality'), 0x0040000)",
            "call(number('personality'), 0x0400000)",
            "call(number('personality'), 0x0008)",
            "call(number('personality'), 0x0020000)",
        ],
    ),
    (
        93,
        &[
            "call(number('shmget'), 0, 4096, 0o1600)",
            "call(number('shmget'), 0x5111, 4096, 0)",
            "call(number('shmat'), 0, 0, 0)",
            "call(number('semget'), 0, 1, 0o1600)",
            "call(number('msgget'), 0, 0o1600)",
            "call(number('mq_open'), b'skills', 0o102, 0o600, 0)",
            "open(SHARED).read()",
        ],
    ),
];

/// Functions for [`SYSTEM_CALLS`].
pub const PRIVILEGES: &str = "def gains(*command):\n    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=5).stdout\n\
         def handle(inode):\n    return ctypes.create_string_buffer(inode.to_bytes(4, 'little').join([b'\\x08\\0\\0\\0\\x01\\0\\0\\0', b'\\0' * 4]), 136)\n\
         def capable():\n    head, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[1 << 21] * 6)\n    return named('capset', head, data)\n";

/// Files that run with the rights of their owner: case 81. `gains` runs a command.
pub const SETUID_FILES: &[(u8, &[&str])] = &[(
    81,
    &[
        "write(workspace + '/a'); os.chmod(workspace + '/a', 0o4755)",
        "os.fchmod(os.open(workspace + '/b', os.O_CREAT | os.O_WRONLY), 0o6755)",
        "os.open(workspace + '/c', os.O_CREAT | os.O_WRONLY, 0o4755)",
        "os.open(workspace, os.O_TMPFILE | os.O_WRONLY, 0o4755)",
        "os.mknod(workspace + '/d', 0o104755)",
        "os.chmod('a', 0o2755, dir_fd=os.open(workspace, os.O_RDONLY))",
        "call(452, -100, (workspace + '/a').encode(), 0o4755, 0)",
        "gains('chmod', 'u+s', workspace + '/a')",
        "gains('install', '-m', '4755', '/bin/cat', workspace + '/e')",
    ],
)];
