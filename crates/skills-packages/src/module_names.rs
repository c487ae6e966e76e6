//! The packages of modules that scripts import.

use crate::listed::{ListedPackage, Registry};

/// Modules of Python whose packages have other names. A dotted name is a module in a namespace that
/// packages share.
const PYTHON_PACKAGES: [(&str, &str); 153] = [
    ("AppKit", "pyobjc-framework-cocoa"),
    ("Bio", "biopython"),
    ("Crypto", "pycryptodome"),
    ("Cryptodome", "pycryptodomex"),
    ("Foundation", "pyobjc-framework-cocoa"),
    ("MeCab", "mecab-python3"),
    ("MySQLdb", "mysqlclient"),
    ("OpenGL", "pyopengl"),
    ("OpenSSL", "pyopenssl"),
    ("PIL", "pillow"),
    ("Quartz", "pyobjc-framework-quartz"),
    ("RPi", "rpi.gpio"),
    ("Xlib", "python-xlib"),
    ("absl", "absl-py"),
    ("allauth", "django-allauth"),
    ("apiclient", "google-api-python-client"),
    ("attr", "attrs"),
    ("azure.core", "azure-core"),
    ("azure.cosmos", "azure-cosmos"),
    ("azure.identity", "azure-identity"),
    ("azure.keyvault.secrets", "azure-keyvault-secrets"),
    ("azure.storage.blob", "azure-storage-blob"),
    ("barcode", "python-barcode"),
    ("bidi", "python-bidi"),
    ("bluetooth", "pybluez"),
    ("box", "python-box"),
    ("bs4", "beautifulsoup4"),
    ("bson", "pymongo"),
    ("cairo", "pycairo"),
    ("camelot", "camelot-py"),
    ("can", "python-can"),
    ("cassandra", "cassandra-driver"),
    ("community", "python-louvain"),
    ("corsheaders", "django-cors-headers"),
    ("crispy_forms", "django-crispy-forms"),
    // Runs have no display, for which the other build needs libraries of the system.
    ("cv2", "opencv-python-headless"),
    ("daemon", "python-daemon"),
    ("dateutil", "python-dateutil"),
    ("dbus", "dbus-python"),
    ("debian", "python-debian"),
    ("decouple", "python-decouple"),
    ("delta", "delta-spark"),
    ("digitalocean", "python-digitalocean"),
    ("discord", "discord.py"),
    ("django_filters", "django-filter"),
    ("dns", "dnspython"),
    ("docx", "python-docx"),
    ("dotenv", "python-dotenv"),
    ("elftools", "pyelftools"),
    ("enchant", "pyenchant"),
    ("engineio", "python-engineio"),
    ("environ", "django-environ"),
    ("facebook", "facebook-sdk"),
    ("faiss", "faiss-cpu"),
    ("ffmpeg", "ffmpeg-python"),
    ("fitz", "pymupdf"),
    ("fpdf", "fpdf2"),
    ("frontmatter", "python-frontmatter"),
    ("gi", "pygobject"),
    ("git", "gitpython"),
    ("github", "pygithub"),
    ("gitlab", "python-gitlab"),
    ("gnupg", "python-gnupg"),
    ("google.api_core", "google-api-core"),
    ("google.auth", "google-auth"),
    ("google.cloud.bigquery", "google-cloud-bigquery"),
    ("google.cloud.firestore", "google-cloud-firestore"),
    ("google.cloud.pubsub", "google-cloud-pubsub"),
    ("google.cloud.secretmanager", "google-cloud-secret-manager"),
    ("google.cloud.speech", "google-cloud-speech"),
    ("google.cloud.storage", "google-cloud-storage"),
    ("google.cloud.texttospeech", "google-cloud-texttospeech"),
    ("google.cloud.translate", "google-cloud-translate"),
    ("google.cloud.vision", "google-cloud-vision"),
    ("google.genai", "google-genai"),
    ("google.generativeai", "google-generativeai"),
    ("google.oauth2", "google-auth"),
    ("google.protobuf", "protobuf"),
    ("googleapiclient", "google-api-python-client"),
    ("gridfs", "pymongo"),
    ("grpc", "grpcio"),
    ("grpc_tools", "grpcio-tools"),
    ("hcl2", "python-hcl2"),
    ("hydra", "hydra-core"),
    ("imblearn", "imbalanced-learn"),
    ("impala", "impyla"),
    ("jenkins", "python-jenkins"),
    ("jks", "pyjks"),
    ("jose", "python-jose"),
    ("jsonrpc", "json-rpc"),
    ("jwt", "pyjwt"),
    ("kafka", "kafka-python"),
    ("ldap", "python-ldap"),
    ("linkify_it", "linkify-it-py"),
    ("llama_cpp", "llama-cpp-python"),
    ("lzo", "python-lzo"),
    ("magic", "python-magic"),
    ("markdown_it", "markdown-it-py"),
    ("memcache", "python-memcached"),
    ("mpl_toolkits", "matplotlib"),
    ("mysql.connector", "mysql-connector-python"),
    ("nacl", "pynacl"),
    ("newspaper", "newspaper3k"),
    ("nmap", "python-nmap"),
    ("objc", "pyobjc-core"),
    ("odf", "odfpy"),
    ("openstack", "openstacksdk"),
    ("osgeo", "gdal"),
    ("pdfminer", "pdfminer.six"),
    ("pkg_resources", "setuptools"),
    ("pptx", "python-pptx"),
    ("psycopg2", "psycopg2-binary"),
    ("pylab", "matplotlib"),
    ("pynvml", "nvidia-ml-py"),
    ("pythonjsonlogger", "python-json-logger"),
    ("pywt", "pywavelets"),
    ("rapidjson", "python-rapidjson"),
    ("readability", "readability-lxml"),
    ("rest_framework", "djangorestframework"),
    ("rtmidi", "python-rtmidi"),
    ("ruamel.yaml", "ruamel.yaml"),
    ("serial", "pyserial"),
    ("shapefile", "pyshp"),
    ("skbio", "scikit-bio"),
    ("skfuzzy", "scikit-fuzzy"),
    ("skimage", "scikit-image"),
    ("sklearn", "scikit-learn"),
    ("skopt", "scikit-optimize"),
    ("sksurv", "scikit-survival"),
    ("slugify", "python-slugify"),
    ("smartcard", "pyscard"),
    ("snappy", "python-snappy"),
    ("snowflake.connector", "snowflake-connector-python"),
    ("snowflake.snowpark", "snowflake-snowpark-python"),
    ("socketio", "python-socketio"),
    ("socks", "pysocks"),
    ("speech_recognition", "speechrecognition"),
    ("stdnum", "python-stdnum"),
    ("surprise", "scikit-surprise"),
    ("tabula", "tabula-py"),
    ("talib", "ta-lib"),
    ("telegram", "python-telegram-bot"),
    ("tlz", "toolz"),
    ("twitter", "python-twitter"),
    ("umap", "umap-learn"),
    ("usb", "pyusb"),
    ("vlc", "python-vlc"),
    ("websocket", "websocket-client"),
    ("webview", "pywebview"),
    ("whisper", "openai-whisper"),
    ("wx", "wxpython"),
    ("yaml", "pyyaml"),
    ("zmq", "pyzmq"),
];
/// Modules that many packages of Python share, so that none can be named.
const SHARED_NAMESPACES: [&str; 6] = ["azure", "google", "mysql", "pip", "ruamel", "snowflake"];
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
            if let Some((_, package)) = known_package(module) {
                return ListedPackage::of_registry(registry, package, "settings").ok();
            }
            let top = module.split('.').next().unwrap_or(module);
            if top.starts_with('_') || is_shared_namespace(top) || contains(PYTHON_MODULES, top) {
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

/// Returns the part of an imported Python module that its package has to contain. What follows can be
/// a class or a function.
pub(crate) fn module_of_package(module: &str) -> &str {
    match known_package(module) {
        Some((known, _)) => known,
        None => module.split('.').next().unwrap_or(module),
    }
}

/// Returns the well-known package of a Python module that has another name, after its own module.
fn known_package(module: &str) -> Option<(&'static str, &'static str)> {
    let mut known = PYTHON_PACKAGES.iter().copied();
    known.find(|(known, _)| is_at_or_below(module, known))
}

/// Returns true for a module and for what is in it.
pub(crate) fn is_at_or_below(module: &str, known: &str) -> bool {
    let rest = module.strip_prefix(known);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns true for a module in which other packages have theirs, such as `google`.
pub(crate) fn is_shared_namespace(module: &str) -> bool {
    let top = module.split('.').next().unwrap_or(module);
    SHARED_NAMESPACES.contains(&top)
}

fn contains(names: &str, name: &str) -> bool {
    names.split(' ').any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_has_names_that_differ() {
        assert!(PYTHON_PACKAGES.len() <= 300 && PYTHON_PACKAGES.is_sorted());
        for (module, package) in PYTHON_PACKAGES {
            let is_equal = !module.contains('.') && module.eq_ignore_ascii_case(package);
            assert!(!is_equal, "{module}");
            assert!(
                package_of_module(Registry::Pypi, module).is_some(),
                "{module}"
            );
        }
    }

    #[test]
    fn modules_belong_to_packages() {
        let python = |module| Some(package_of_module(Registry::Pypi, module)?.to_string());
        assert_eq!(python("PIL.Image").as_deref(), Some("pillow"));
        assert_eq!(python("pypdf").as_deref(), Some("pypdf"));
        assert_eq!(python("git.cmd").as_deref(), Some("gitpython"));
        assert_eq!(python("gitlab").as_deref(), Some("python-gitlab"));
        assert_eq!(python("gitlabs").as_deref(), Some("gitlabs"));
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
