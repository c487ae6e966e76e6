//! The entries of `/proc` that programs see in addition to their own processes.
//!
//! Visible is what `sysinfo` and `uname` tell anyway, and the kinds of processors and file systems.
//! `/proc/stat` is replaced, since its counters of interrupts show when keys are pressed, and
//! `/proc/sys` by a few constants.

use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The directory with the covers, in the root file system of the run.
const COVERS: &str = "/dev/.proc";
/// Entries of the kernel that stay visible.
const VISIBLE: [&[u8]; 5] = [
    b"cpuinfo",
    b"filesystems",
    b"loadavg",
    b"meminfo",
    b"uptime",
];
/// Settings that programs read at their start. They are the same for all processes of the machine.
const SETTINGS: [&str; 6] = [
    "kernel/cap_last_cap",
    "kernel/ngroups_max",
    "kernel/osrelease",
    "kernel/ostype",
    "kernel/pid_max",
    "vm/overcommit_memory",
];

/// The paths of what covers entries of `/proc`.
#[derive(PartialEq, Eq)]
pub(crate) struct Covers {
    /// Their directory, relative to the root file system.
    pub(crate) location: CString,
    /// The empty file, relative to the root file system.
    pub(crate) unreadable: CString,
    /// An empty file. This and the following paths are relative to `/proc`.
    pub(crate) file: CString,
    /// An empty directory.
    pub(crate) directory: CString,
    /// Names of entries with their replacements.
    pub(crate) replaced: Vec<(CString, CString)>,
}

/// A file or directory that has to be created for the covers.
pub(crate) enum CoverFile {
    Directory(PathBuf),
    File(PathBuf, String),
}

/// Returns true for an entry that is not covered: a process, or one of [`VISIBLE`].
pub(crate) fn is_visible(name: &[u8]) -> bool {
    name.iter().all(u8::is_ascii_digit) || name == b"." || name == b".." || VISIBLE.contains(&name)
}

pub(crate) fn covers() -> Covers {
    Covers {
        location: c"dev/.proc".into(),
        unreadable: c"dev/.proc/file".into(),
        file: c"../dev/.proc/file".into(),
        directory: c"../dev/.proc/directory".into(),
        replaced: vec![
            (c"stat".into(), c"../dev/.proc/stat".into()),
            (c"sys".into(), c"../dev/.proc/sys".into()),
        ],
    }
}

/// Returns the files of the covers, each after its directory.
pub(crate) fn cover_files() -> Vec<CoverFile> {
    let path = |below: &str| Path::new(COVERS).join(below);
    let mut files = vec![
        CoverFile::Directory(path("directory")),
        CoverFile::File(path("file"), String::new()),
        CoverFile::File(path("stat"), stat().to_owned()),
        CoverFile::Directory(path("sys")),
        CoverFile::Directory(path("sys/kernel")),
        CoverFile::Directory(path("sys/vm")),
    ];
    files.extend(
        settings()
            .iter()
            .map(|(name, value)| CoverFile::File(path("sys").join(name), value.clone())),
    );
    files
}

/// Returns a `/proc/stat` with the processors of the machine and without activity.
#[expect(
    clippy::disallowed_methods,
    reason = "a file of the kernel, not of a skill"
)]
fn stat() -> &'static str {
    static STAT: OnceLock<String> = OnceLock::new();
    STAT.get_or_init(|| {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        static_stat(&text)
    })
}

fn static_stat(text: &str) -> String {
    let mut stat = String::new();
    for line in text.lines() {
        let name = line.split_whitespace().next().unwrap_or_default();
        if name.starts_with("cpu") {
            // Idle for a second, so that programs do not divide by zero.
            stat.push_str(&format!("{name} 0 0 0 100 0 0 0 0 0 0\n"));
        } else if name == "btime" {
            stat.push_str("intr 0\nctxt 0\n");
            stat.push_str(line);
            stat.push_str("\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n");
        }
    }
    stat
}

fn settings() -> &'static [(&'static str, String)] {
    static VALUES: OnceLock<Vec<(&str, String)>> = OnceLock::new();
    VALUES.get_or_init(|| SETTINGS.into_iter().filter_map(read_setting).collect())
}

#[expect(
    clippy::disallowed_methods,
    reason = "files of the kernel, not of a skill"
)]
fn read_setting(name: &'static str) -> Option<(&'static str, String)> {
    let value = fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?;
    Some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_and_facts_about_the_machine_are_visible() {
        for name in ["1", "4194304", "cpuinfo", "meminfo", "."] {
            assert!(is_visible(name.as_bytes()), "{name}");
        }
        for name in [
            "kcore",
            "keys",
            "sysrq-trigger",
            "interrupts",
            "sys",
            "stat",
            "1x",
        ] {
            assert!(!is_visible(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn stat_has_processors_and_no_activity() {
        let text = "cpu  12 3 4 5\ncpu0 6 7 8 9\ncpu3 1 1 1 1\nintr 99 1 2\nctxt 77\nbtime 1700000000\nprocesses 5\nsoftirq 1 2\n";
        insta::assert_snapshot!(static_stat(text), @r"
        cpu 0 0 0 100 0 0 0 0 0 0
        cpu0 0 0 0 100 0 0 0 0 0 0
        cpu3 0 0 0 100 0 0 0 0 0 0
        intr 0
        ctxt 0
        btime 1700000000
        processes 1
        procs_running 1
        procs_blocked 0
        ");
    }
}
