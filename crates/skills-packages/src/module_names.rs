//! The packages of modules that scripts import.

use crate::listed::{ListedPackage, Registry};

/// Modules of Python whose packages have other names. A dotted name is a module in a namespace that
/// packages share.
const PYTHON_PACKAGES: [(&str, &str); 26] = [
    ("Crypto", "pycryptodome"),
    ("OpenSSL", "pyopenssl"),
    ("PIL", "pillow"),
    ("attr", "attrs"),
    ("bs4", "beautifulsoup4"),
    // Runs have no display, for which the other build needs libraries of the system.
    ("cv2", "opencv-python-headless"),
    ("dateutil", "python-dateutil"),
    ("discord", "discord.py"),
    ("docx", "python-docx"),
    ("dotenv", "python-dotenv"),
    ("fitz", "pymupdf"),
    ("git", "gitpython"),
    ("github", "pygithub"),
    ("google.protobuf", "protobuf"),
    ("jwt", "pyjwt"),
    ("magic", "python-magic"),
    ("markdown_it", "markdown-it-py"),
    ("pptx", "python-pptx"),
    ("serial", "pyserial"),
    ("skimage", "scikit-image"),
    ("sklearn", "scikit-learn"),
    ("slugify", "python-slugify"),
    ("telegram", "python-telegram-bot"),
    ("usb", "pyusb"),
    ("yaml", "pyyaml"),
    ("zmq", "pyzmq"),
];
/// Modules that many packages of Python share, so that none can be named.
const SHARED_NAMESPACES: [&str; 3] = ["azure", "google", "pip"];
/// The modules of Python itself, of all versions that are in use.
const PYTHON_MODULES: &str = "abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit \
    audioop base64 bdb binascii bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd \
    code codecs codeop collections colorsys compileall compression concurrent configparser \
    contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal \
    difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl \
    filecmp fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext \
    glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib \
    inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox \
    mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis \
    nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev pathlib pdb \
    pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile \
    pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline \
    reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal \
    site smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants \
    sre_parse ssl stat statistics string stringprep struct subprocess sunau symtable sys \
    sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap this threading time \
    timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle turtledemo \
    types typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser \
    winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo";
/// The modules of Node itself.
const NODE_MODULES: &str = "assert async_hooks buffer child_process cluster console constants crypto dgram \
    diagnostics_channel dns domain events fs http http2 https inspector module net os path \
    perf_hooks process punycode querystring readline repl stream string_decoder sys timers tls \
    trace_events tty url util v8 vm wasi worker_threads zlib";

/// Returns true if the package of a module is a well-known one, whatever program names the module.
#[must_use]
pub fn is_known_module(registry: Registry, module: &str) -> bool {
    registry == Registry::Pypi && known_package(module).is_some()
}

/// Returns the package to which a module belongs that an interpreter did not find, such as
/// `PIL.Image` or `@scope/name/file`; `None` if no package can be named. A program wrote the name,
/// so it is a hint for a person, who sees the package before it is installed.
#[must_use]
pub fn package_of_module(registry: Registry, module: &str) -> Option<ListedPackage> {
    let name = match registry {
        Registry::Pypi => {
            if let Some(package) = known_package(module) {
                return ListedPackage::of_registry(registry, package, "settings").ok();
            }
            let top = module.split('.').next().unwrap_or(module);
            if top.starts_with('_')
                || SHARED_NAMESPACES.contains(&top)
                || contains(PYTHON_MODULES, top)
            {
                return None;
            }
            top
        }
        Registry::Npm => {
            let parts = if module.starts_with('@') { 2 } else { 1 };
            let end = module.match_indices('/').nth(parts - 1);
            let name = &module[..end.map_or(module.len(), |(index, _)| index)];
            if contains(NODE_MODULES, name) {
                return None;
            }
            name
        }
    };
    ListedPackage::of_registry(registry, name, "settings").ok()
}

/// Returns the well-known package of a Python module that has another name.
fn known_package(module: &str) -> Option<&'static str> {
    let known = PYTHON_PACKAGES
        .iter()
        .find(|(known, _)| is_at_or_below(module, known));
    known.map(|(_, package)| *package)
}

/// Returns true for a module and for what is in it.
fn is_at_or_below(module: &str, known: &str) -> bool {
    let rest = module.strip_prefix(known);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn contains(names: &str, name: &str) -> bool {
    names.split(' ').any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_belong_to_packages() {
        let python = |module| Some(package_of_module(Registry::Pypi, module)?.to_string());
        assert_eq!(python("PIL.Image").as_deref(), Some("pillow"));
        assert_eq!(python("pypdf").as_deref(), Some("pypdf"));
        assert_eq!(python("git.cmd").as_deref(), Some("gitpython"));
        assert_eq!(python("gitlab").as_deref(), Some("gitlab"));
        let protobuf = python("google.protobuf.message");
        assert_eq!(protobuf.as_deref(), Some("protobuf"));
        assert_eq!(python("python-pptx").as_deref(), Some("python-pptx"));
        for module in ["google.cloud", "_ctypes", "tkinter", "", "a b", "-x"] {
            assert_eq!(python(module), None, "{module}");
        }
        let node = |module| Some(package_of_module(Registry::Npm, module)?.to_string());
        assert_eq!(node("docx/build").as_deref(), Some("npm:docx"));
        assert_eq!(node("@a/b/c").as_deref(), Some("npm:@a/b"));
        assert_eq!(node("@a"), None);
        assert_eq!(node("/x"), None);
        assert_eq!(node("fs/promises"), None);
        assert_eq!(node("node:fs"), None);
    }
}
