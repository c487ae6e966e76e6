//! Attempts on sockets.

/// Sockets without granted hosts: cases 32, 33, 35, 36, 37 and 44. `TCP`, `UDP` and `SIX` are ports of
/// listeners of the host.
pub const SOCKETS: &[(u8, &[&str])] = &[
    (
        32,
        &[
            "socket.create_connection(('127.0.0.1', TCP), 2)",
            "socket.create_connection(('0.0.0.0', TCP), 2)",
            "socket.create_connection(('localhost', TCP), 2)",
        ],
    ),
    (
        33,
        &[
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', UDP))",
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)",
            "socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)",
            "socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)",
            "socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58)",
            "socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 768)",
            "socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 768)",
            "socket.socket(socket.AF_INET, socket.SOCK_SEQPACKET, 132)",
            "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)",
        ],
    ),
    (
        35,
        &[
            "socket.getaddrinfo('skills.invalid', 80)",
            "socket.gethostbyname('skills.invalid')",
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.53', 53))",
            "socket.create_connection(('127.0.0.53', 53), 1)",
            "socket.socket(socket.AF_UNIX).connect('/run/nscd/socket')",
            "socket.socket(socket.AF_UNIX).connect('/run/systemd/resolve/io.systemd.Resolve')",
        ],
    ),
    (
        36,
        &[
            "socket.create_connection(('::1', SIX), 2)",
            "socket.socket(socket.AF_INET6).connect(('::ffff:127.0.0.1', TCP))",
            "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b'x', ('::ffff:127.0.0.1', UDP))",
        ],
    ),
    (
        37,
        &[
            "socket.create_connection(('169.254.169.254', 80), 1)",
            "socket.create_connection(('fd00:ec2::254', 80), 1)",
        ],
    ),
    (44, FAMILIES),
];

/// Sockets of other families.
pub const FAMILIES: &[&str] = &[
    "socket.socket(40, socket.SOCK_STREAM)",
    "socket.socket(40, socket.SOCK_DGRAM)",
    "socket.socket(16, socket.SOCK_RAW, 0)",
    "socket.socket(16, socket.SOCK_DGRAM, 9)",
    "socket.socket(38, socket.SOCK_SEQPACKET)",
    "socket.socket(31, socket.SOCK_RAW, 1)",
    "socket.socket(44, socket.SOCK_RAW)",
    "socket.socket(15, socket.SOCK_RAW, 2)",
    "socket.socket(29, socket.SOCK_RAW, 1)",
    "socket.socket(30, socket.SOCK_STREAM)",
    "socket.socket(33, socket.SOCK_DGRAM)",
    "socket.socket(43, socket.SOCK_STREAM)",
    "socket.socket(17, socket.SOCK_RAW, 768)",
    "socket.socket(1, socket.SOCK_DGRAM)",
    "socket.socket(1, socket.SOCK_RAW)",
];

/// Sockets next to the proxy: cases 43 to 45.
pub const NEXT_TO_PROXY: &[(u8, &[&str])] = &[
    (
        43,
        &[
            "socket.create_connection(('127.0.0.1', TCP), 2)",
            "socket.create_connection(('192.0.2.1', 80), 2)",
            "socket.create_connection(('2001:db8::1', 80), 2)",
            "socket.create_connection(('169.254.169.254', 80), 2)",
            "urllib.request.urlopen('http://127.0.0.1:%d/' % TCP, timeout=2)",
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
            "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
            "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)",
        ],
    ),
    (44, FAMILIES),
    (
        45,
        &[
            "socket.create_connection(('127.0.0.2', 3128), 2)",
            "socket.create_connection(('0.0.0.0', 3129), 2)",
            "socket.create_connection(('::1', 3128), 2)",
            "socket.create_connection(('192.0.2.1', 3128), 2)",
        ],
    ),
];

/// Makes programs forget the proxy, for [`NEXT_TO_PROXY`].
pub const FORGET_PROXY: &str = "import urllib.request\nfor name in list(os.environ):\n    if name.lower().endswith('_proxy'): del os.environ[name]\nos.environ['NO_PROXY'] = '*'\n";

/// Functions that send bytes to the proxy, for [`HIDDEN_HOSTS`] and others. What it forwards counts as
/// reached.
pub const TO_PROXY: &str = r"import urllib.request, urllib.error
def page(url):
    try: return urllib.request.urlopen(url, timeout=5).read()
    except urllib.error.HTTPError as e: raise OSError(errno.EPERM, str(e.code))
def say(*parts):
    s = socket.create_connection(('127.0.0.1', 3128), 5)
    received = b''
    for part in parts:
        try: s.sendall(part)
        except OSError: pass
        try: received = s.recv(4096)
        except OSError: received = b''
    s.close()
    if not received.startswith(b'HTTP/1.1 200') and b'hello' not in received: raise OSError(errno.EPERM, '')
    return received
def tunnel(target): return say(b'CONNECT ' + target + b' HTTP/1.1\r\nHost: ' + target + b'\r\n\r\n')
def get(host): return say(b'GET http://' + host + b'/ HTTP/1.1\r\nHost: ' + host + b'\r\n\r\n')
def both(host):
    for way in [lambda: tunnel(host + b':443'), lambda: tunnel(host + b':80'), lambda: get(host), lambda: socks(host)]:
        try: return way()
        except OSError: pass
    raise OSError(errno.EPERM, '')
def socks(host, port=80):
    s = socket.create_connection(('127.0.0.1', 3128), 5)
    s.sendall(b'\x05\x01\x00')
    s.recv(2)
    s.sendall(b'\x05\x01\x00\x03' + bytes([len(host)]) + host + port.to_bytes(2, 'big'))
    received = s.recv(10)
    s.close()
    if received[:2] != b'\x05\x00': raise OSError(errno.EPERM, '')
    return received
";

/// Ways to the listed host `allowed.test`: case 38.
pub const REACHED_HOSTS: &[(u8, &[&str])] = &[(
    38,
    &[
        "page('http://allowed.test/')",
        "page('http://ALLOWED.test./')",
        "get(b'allowed.test')",
        "both(b'allowed.test')",
        "tunnel(b'allowed.test:443')",
        "socks(b'allowed.test')",
    ],
)];

/// Names and requests that lead to other hosts: cases 38, 39, 41 and 42.
pub const HIDDEN_HOSTS: &[(u8, &[&str])] = &[
    (
        38,
        &[
            "page('http://other.test/')",
            "tunnel(b'other.test:443')",
            "socks(b'other.test')",
            "socket.create_connection(('93.184.215.14', 80), 2)",
            "socket.create_connection(SERVER, 2)",
        ],
    ),
    (
        39,
        &[
            r"both(b'other.test\0.allowed.test')",
            r"both(b'allowed.test\0.other.test')",
            r"both(b'other.test\r\nHost: allowed.test')",
            r"both(b'other.test\r\n\r\nGET http://allowed.test')",
            "both(b'allowed.test@other.test')",
            "both(b'allowed.test:80@other.test')",
            "both(b'other.test#allowed.test')",
            "both(b'other.test?.allowed.test')",
            "both(b'other.test/.allowed.test')",
            r"both(b'other.test\\.allowed.test')",
            "both(b'other.test%00.allowed.test')",
            "both(b'allowed%2etest')",
            "both(b'allowed.test.other.test')",
            "both(b'otherallowed.test')",
            "both(b'x.allowed.test')",
            "both(b'.allowed.test')",
            "both(b'allowed.test..')",
            "both(b' allowed.test')",
            "both(b'allowed.test ')",
            "both('\u{430}llowed.test'.encode())",
            "both('allowed\u{3002}test'.encode())",
            "both(b'xn--llowed-8ve.test')",
            "both(b'test')",
            "both(b'*')",
            "both(b'')",
        ],
    ),
    (
        41,
        &[
            "both(b'127.0.0.1')",
            "both(b'2130706433')",
            "both(b'0177.0.0.1')",
            "both(b'0x7f000001')",
            "both(b'0x7f.1')",
            "both(b'127.1')",
            "both(b'0')",
            "both(b'127.0.0.1.')",
            "both(b'[::1]')",
            "both(b'[::ffff:127.0.0.1]')",
            "both(b'[::ffff:7f00:1]')",
            "both(b'::1')",
            "both(b'93.184.215.14')",
            "both(b'1572395022')",
        ],
    ),
    (
        42,
        &[
            r"say(b'GET http://allowed.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n')",
            r"say(b'GET http://allowed.test/ HTTP/1.1\r\n\r\n')",
            r"say(b'GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nHost: other.test\r\n\r\n')",
            r"say(b'GET http://other.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n')",
            r"say(b'GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n')",
            r"say(b'GET https://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n')",
            r"say(b'POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n')",
            r"say(b'POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n')",
            r"say(b'POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab')",
            r"say(b'GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n folded: x\r\n\r\n')",
            r"say(b'GET http://allowed.test/ HTTP/1.1\nHost: allowed.test\n\n')",
            "tunnel(b'allowed.test:22')",
            "tunnel(b'allowed.test:25')",
            "tunnel(b'allowed.test:8080')",
            "tunnel(b'allowed.test:65979')",
            "tunnel(b'allowed.test')",
            "get(b'allowed.test:22')",
            "socks(b'allowed.test', 22)",
            r"say(b'CONNECT allowed.test:80 HTTP/1.1\r\nHost: allowed.test:80\r\n\r\n', b'GET / HTTP/1.1\r\nHost: other.test\r\n\r\n')",
            r"say(b'CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n', b'GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n')",
            r"say(b'CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n', b'SSH-2.0-x\r\n')",
        ],
    ),
];

/// Listed names below `inside.test` that resolve to private addresses: case 40.
pub const PRIVATE_HOSTS: &[(u8, &[&str])] = &[(
    40,
    &[
        "page('http://loopback.inside.test/')",
        "page('http://private.inside.test/')",
        "page('http://metadata.inside.test/')",
        "page('http://six.inside.test/')",
        "page('http://mapped.inside.test/')",
    ],
)];

/// Unix sockets: cases 46 to 49, 103 and 104. `NAME` is an abstract socket of the host. The prelude
/// is [`LOCAL_SOCKET_FUNCTIONS`].
pub const LOCAL_SOCKETS: &[(u8, &[&str])] = &[
    (
        46,
        &[
            "connect('\\0' + NAME)",
            "connect('\\0' + NAME, socket.SOCK_DGRAM)",
            "connect('\\0' + NAME, socket.SOCK_SEQPACKET)",
            "connect('\\0/tmp/.X11-unix/X0')",
        ],
    ),
    (
        47,
        &[
            "connect(outside + '/agent')",
            "connect('../outside/agent')",
            "connect('/run/docker.sock')",
            "connect('/var/run/docker.sock')",
            "connect('/run/containerd/containerd.sock')",
            "connect('/run/dbus/system_bus_socket')",
            "connect('/run/user/%d/bus' % os.getuid())",
            "connect('/run/systemd/private')",
            "connect('/run/systemd/journal/socket', socket.SOCK_DGRAM)",
            "connect('/tmp/.X11-unix/X0')",
            "connect('/tmp/.X11-unix/X0', socket.SOCK_SEQPACKET)",
            "connect('/run/user/%d/wayland-0' % os.getuid())",
            "connect('/run/user/%d/gnupg/S.gpg-agent' % os.getuid())",
            "connect('/run/postgresql/.s.PGSQL.5432')",
            "connect('/proc/1/root' + outside + '/agent')",
            "connect('/proc/self/root' + outside + '/agent')",
        ],
    ),
    (
        48,
        &[
            "connect(workspace + '/helper')",
            "connect(workspace + '/helper', socket.SOCK_DGRAM)",
            "connect(workspace + '/helper', socket.SOCK_SEQPACKET)",
            "pair().connect(workspace + '/helper')",
            "connect(linked(workspace + '/helper'))",
            "connect(os.path.relpath(workspace + '/helper'))",
            "connect('/proc/self/root' + workspace + '/helper')",
            "connect('/proc/self/fd/%d/helper' % os.open(workspace, os.O_PATH))",
            "connect('/proc/self/fd/%d' % os.open(workspace + '/helper', os.O_PATH))",
            "os.link(workspace + '/helper', home + '/hard'); connect(home + '/hard')",
            "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', workspace + '/helper')",
        ],
    ),
    (49, &["talk()"]),
    (
        103,
        &["own(home + '/own')", "own(os.environ['TMPDIR'] + '/own')"],
    ),
    (
        104,
        &[
            "socket.socket(socket.AF_UNIX).bind(workspace + '/bound')",
            "socket.socket(socket.AF_UNIX).bind(linked(workspace) + '/bound')",
            "socket.socket(socket.AF_UNIX).bind(os.path.relpath(workspace + '/bound'))",
            "socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind(workspace + '/bound')",
        ],
    ),
];

/// Functions for [`LOCAL_SOCKETS`].
pub const LOCAL_SOCKET_FUNCTIONS: &str = r"def connect(path, kind=socket.SOCK_STREAM): socket.socket(socket.AF_UNIX, kind).connect(path)
def pair(): return socket.socketpair()[0]
def linked(target):
    path = home + '/link-%d' % len(os.listdir(home))
    os.symlink(target, path)
    return path
def talk():
    mine, theirs = socket.socketpair()
    if os.fork() == 0:
        theirs.sendall(b'hello')
        os._exit(0)
    return mine.recv(5)
def own(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    if os.fork() == 0:
        client = socket.socket(socket.AF_UNIX)
        client.connect(path)
        client.sendall(b'hello')
        os._exit(0)
    listener.settimeout(5)
    return listener.accept()[0].recv(5)
";
