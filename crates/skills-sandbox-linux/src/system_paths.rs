//! The paths of the system that runs get.

use crate::path_rule::PathAccess;

/// System paths with libraries and data that every interpreter needs. Symlinks such as `/bin` are
/// followed, missing paths are skipped.
///
/// Node exits at startup if the configuration of OpenSSL exists and cannot be read.
pub(crate) const SYSTEM_DIRS: [&str; 8] = [
    "/usr",
    "/bin",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/alternatives",
    "/etc/ssl/openssl.cnf",
];
/// The dynamic loaders. The kernel executes them together with any program, so Landlock has to
/// allow it for them too.
pub(crate) const DYNAMIC_LOADERS: [&str; 4] = [
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
];
/// Settings that programs of the system read: fonts, types of files, names of ports, the time zone.
/// `/etc` as a whole contains keys and passwords.
pub(crate) const SYSTEM_SETTINGS: [&str; 24] = [
    "/etc/chromium.d",
    "/etc/fonts",
    "/etc/host.conf",
    "/etc/ImageMagick-6",
    "/etc/ImageMagick-7",
    "/etc/java-11-openjdk",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
    "/etc/libreoffice",
    "/etc/magic",
    "/etc/magic.mime",
    "/etc/matplotlibrc",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/papersize",
    "/etc/perl",
    "/etc/php",
    "/etc/protocols",
    "/etc/python3",
    "/etc/R",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/terminfo",
    "/etc/timezone",
];
/// Harmless devices. A writable `/dev/zero` can be mapped as shared memory, which `RLIMIT_DATA`
/// does not count, so that one is read-only.
pub(crate) const DEVICES: [(&str, PathAccess); 5] = [
    ("/dev/null", PathAccess::Device),
    ("/dev/zero", PathAccess::ReadDevice),
    ("/dev/full", PathAccess::Device),
    ("/dev/random", PathAccess::Device),
    ("/dev/urandom", PathAccess::Device),
];
