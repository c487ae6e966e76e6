//! Attempts on files.

use super::row::{
    CONTAINED, DENIED, DENIED_OR_CONTAINED, NO_EFFECT, NOT_APPLICABLE, REJECTED, REPORTED, Row,
    SUCCEEDED, row,
};

pub(super) const FILES: &[Row] = &[
    row(
        1,
        "read-secrets",
        "Read the table of password hashes and a private key in a home directory.",
        [DENIED; 5],
    ),
    row(
        2,
        "read-public-files",
        "Read files outside the grants that every user of the machine may read.",
        [DENIED; 5],
    ),
    row(
        3,
        "list-outside",
        "List the root, a home directory and the directory above the skill.",
        [CONTAINED, DENIED, REPORTED, DENIED, CONTAINED],
    ),
    row(
        4,
        "read-sibling-skill",
        "Read a file of a sibling skill.",
        [DENIED; 5],
    ),
    row(
        5,
        "write-skill",
        "Change, replace, remove or add files of the skill itself.",
        [DENIED; 5],
    ),
    row(
        6,
        "write-system",
        "Create and overwrite files of the system and of a home directory.",
        [DENIED, DENIED, DENIED, DENIED, DENIED_OR_CONTAINED],
    ),
    row(
        7,
        "truncate-outside",
        "Truncate a file outside by path, without opening it.",
        [DENIED; 5],
    ),
    row(
        8,
        "metadata-outside",
        "Change mode, owner, times and attributes of a file outside.",
        [DENIED, NO_EFFECT, DENIED, DENIED, DENIED],
    ),
    row(
        9,
        "stat-outside",
        "Query size and times of a file outside.",
        [DENIED, REPORTED, DENIED, DENIED, DENIED],
    ),
    row(
        10,
        "write-read-only",
        "Write to a directory that was granted for reading.",
        [DENIED; 5],
    ),
    row(
        11,
        "write-granted",
        "Write to a directory that was granted for writing; the file is owned by the host's user.",
        [SUCCEEDED; 5],
    ),
    row(
        12,
        "make-device",
        "Create device nodes in writable directories, and open them.",
        [DENIED, DENIED, DENIED, NOT_APPLICABLE, DENIED],
    ),
    row(
        13,
        "open-device",
        "Open disks, memory, kernel log, virtualization and graphics devices.",
        [CONTAINED, DENIED, DENIED, DENIED, CONTAINED],
    ),
    row(
        14,
        "dot-dot",
        "Traverse out with chains of `..`, also from the working directory.",
        [DENIED; 5],
    ),
    row(
        15,
        "shared-temporary",
        "Find temporary files of the host, leave files there, fill the disk.",
        [CONTAINED, DENIED, REPORTED, DENIED, CONTAINED],
    ),
];

pub(super) const RACES: &[Row] = &[
    row(
        16,
        "planted-symlink",
        "Follow a symlink in the skill that leads outside.",
        [DENIED; 5],
    ),
    row(
        17,
        "own-symlink",
        "Create symlinks to files outside, and follow them.",
        [DENIED; 5],
    ),
    row(
        18,
        "swapped-grant",
        "Replace a granted directory with a symlink, repeatedly, while runs start.",
        [DENIED; 5],
    ),
    row(
        19,
        "hard-link",
        "Link a file outside, or a read-only one, into a writable directory.",
        [DENIED; 5],
    ),
    row(
        20,
        "rename-across",
        "Move files between a writable directory and others.",
        [DENIED; 5],
    ),
    row(
        21,
        "move-protected-away",
        "Change a protected file of a writable directory by moving it, or a parent, away and back.",
        [DENIED, REPORTED, DENIED, DENIED, DENIED],
    ),
    row(
        102,
        "read-keys",
        "Read a file that may hold keys in a granted directory by any of its names, or rename it.",
        [DENIED; 5],
    ),
    row(
        22,
        "symlinked-skill",
        "Give a run a skill by a path that leads through a symlink.",
        [REJECTED, REJECTED, SUCCEEDED, REJECTED, REJECTED],
    ),
    row(
        23,
        "hostile-output-files",
        "Leave symlinks, pipes, huge sparse files and setuid files for the host.",
        [CONTAINED; 5],
    ),
    row(
        24,
        "planted-temporary",
        "Place symlinks where the next run may create temporary files.",
        [NO_EFFECT; 5],
    ),
    row(
        25,
        "unusual-paths",
        "Grant paths with newlines, quotes, policy syntax, bytes that are not text, too many bytes.",
        [NO_EFFECT; 5],
    ),
];

pub(super) const KERNEL: &[Row] = &[
    row(
        26,
        "other-processes",
        "Read environment, arguments and memory of the host's processes.",
        [DENIED; 5],
    ),
    row(
        27,
        "links-of-processes",
        "Escape through `root` and `cwd` links, reopen descriptors with more access.",
        [DENIED, DENIED, NOT_APPLICABLE, DENIED, DENIED],
    ),
    row(
        28,
        "kernel-settings",
        "Set host name, core dump handler, SysRq keys.",
        [DENIED; 5],
    ),
    row(
        29,
        "list-processes",
        "List all processes of the machine.",
        [CONTAINED, DENIED, DENIED, DENIED, CONTAINED],
    ),
    row(
        30,
        "control-groups",
        "Leave the cgroup, or set its release agent.",
        [DENIED, DENIED, NOT_APPLICABLE, DENIED, DENIED],
    ),
    row(
        31,
        "own-identity",
        "Map more users, allow setgroups, change the OOM score.",
        [DENIED, DENIED, NOT_APPLICABLE, DENIED, CONTAINED],
    ),
];
