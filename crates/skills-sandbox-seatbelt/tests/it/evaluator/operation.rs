//! The hierarchy of operations.

/// Operations with their parents.
const TREE: &[(&str, &str)] = &[
    ("file*", "default"),
    ("file-ioctl", "file*"),
    ("file-link", "file*"),
    ("file-map-executable", "file*"),
    ("file-mknod", "file*"),
    ("file-test-existence", "file*"),
    ("file-read*", "file*"),
    ("file-read-data", "file-read*"),
    ("file-read-metadata", "file-read*"),
    ("file-read-xattr", "file-read*"),
    ("file-write*", "file*"),
    ("file-write-create", "file-write*"),
    ("file-write-data", "file-write*"),
    ("file-write-flags", "file-write*"),
    ("file-write-mode", "file-write*"),
    ("file-write-owner", "file-write*"),
    ("file-write-setugid", "file-write*"),
    ("file-write-times", "file-write*"),
    ("file-write-unlink", "file-write*"),
    ("file-write-xattr", "file-write*"),
    ("iokit-open", "default"),
    ("ipc-posix*", "default"),
    ("ipc-posix-sem", "ipc-posix*"),
    ("ipc-posix-shm", "ipc-posix*"),
    ("mach*", "default"),
    ("mach-lookup", "mach*"),
    ("mach-register", "mach*"),
    ("network*", "default"),
    ("network-bind", "network*"),
    ("network-inbound", "network*"),
    ("network-outbound", "network*"),
    ("process*", "default"),
    ("process-exec", "process*"),
    ("process-fork", "process*"),
    ("process-info*", "process*"),
    ("process-info-pidinfo", "process-info*"),
    ("signal", "default"),
    ("sysctl*", "default"),
    ("sysctl-read", "sysctl*"),
    ("sysctl-write", "sysctl*"),
    ("system-socket", "default"),
];

/// Panics for an unknown operation.
pub(super) fn check(operation: &str) {
    assert!(
        operation == "default" || parent(operation).is_some(),
        "unknown operation {operation}"
    );
}

/// Returns true if a rule for one operation also applies to another.
pub(super) fn covers(rule: &str, operation: &str) -> bool {
    std::iter::successors(Some(operation), |operation| parent(operation))
        .any(|operation| operation == rule)
}

fn parent(operation: &str) -> Option<&'static str> {
    TREE.iter()
        .find(|(name, _)| *name == operation)
        .map(|(_, parent)| *parent)
}
