//! Attempts on files.

use super::{
    CONTAINED, DENIED, NO_EFFECT, NOT_APPLICABLE, REJECTED, REPORTED, Row, SUCCEEDED, row,
};

pub(super) const FILES: &[Row] = &[
    row(
        1,
        "read-secrets",
        "Read the table of password hashes and a private key in a home directory.",
        [DENIED; 4],
    ),
    row(
        2,
        "read-public-files",
        "Read files outside the grants that every user of the machine may read.",
        [DENIED; 4],
    ),
    row(
        3,
        "list-outside",
        "List the root, a home directory and the directory above the skill.",
        [CONTAINED, DENIED, REPORTED, DENIED],
    ),
    row(
        4,
        "read-sibling-skill",
        "Read a file of the skill next door.",
        [DENIED; 4],
    ),
    row(
        5,
        "write-skill",
        "Change, replace, remove or add files of the skill itself.",
        [DENIED; 4],
    ),
    row(
        6,
        "write-system",
        "Create and overwrite files of the system and of a home directory.",
        [DENIED; 4],
    ),
    row(
        7,
        "truncate-outside",
        "Cut off a file outside by its path, without opening it.",
        [DENIED; 4],
    ),
    row(
        8,
        "metadata-outside",
        "Change mode, owner, times and attributes of a file outside.",
        [DENIED, NO_EFFECT, DENIED, DENIED],
    ),
    row(
        9,
        "stat-outside",
        "Ask for size and times of a file outside.",
        [DENIED, REPORTED, DENIED, DENIED],
    ),
    row(
        10,
        "write-read-only",
        "Write to a directory that was granted for reading.",
        [DENIED; 4],
    ),
    row(
        11,
        "write-granted",
        "Write to a directory that was granted for writing; the file is its host's own.",
        [SUCCEEDED; 4],
    ),
    row(
        12,
        "make-device",
        "Make devices in writable directories, and open what was made.",
        [DENIED, DENIED, DENIED, NOT_APPLICABLE],
    ),
    row(
        13,
        "open-device",
        "Open disks, memory, kernel log, virtualisation and graphics devices.",
        [DENIED; 4],
    ),
    row(
        14,
        "dot-dot",
        "Climb out by chains of `..`, from the working directory too.",
        [DENIED; 4],
    ),
    row(
        15,
        "shared-temporary",
        "Find the host's temporary files, leave some there, fill the disk.",
        [CONTAINED, DENIED, REPORTED, DENIED],
    ),
];

pub(super) const RACES: &[Row] = &[
    row(
        16,
        "planted-symlink",
        "Follow a symlink that lies in the skill and leads outside.",
        [DENIED; 4],
    ),
    row(
        17,
        "own-symlink",
        "Make symlinks to files outside, and follow them.",
        [DENIED; 4],
    ),
    row(
        18,
        "swapped-grant",
        "Exchange a granted directory for a symlink, over and over, while runs start.",
        [DENIED; 4],
    ),
    row(
        19,
        "hard-link",
        "Link a file outside, or a read-only one, into a writable directory.",
        [DENIED; 4],
    ),
    row(
        20,
        "rename-across",
        "Move files between a writable directory and others.",
        [DENIED; 4],
    ),
    row(
        21,
        "move-protected-away",
        "Change a protected file of a writable directory by moving it, or what is above it, away and back.",
        [DENIED, REPORTED, DENIED, DENIED],
    ),
    row(
        22,
        "symlinked-skill",
        "Give a run a skill by a path that leads through a symlink.",
        [REJECTED, REJECTED, SUCCEEDED, REJECTED],
    ),
    row(
        23,
        "hostile-artefact",
        "Leave symlinks, pipes, huge sparse files and setuid files for the host.",
        [CONTAINED; 4],
    ),
    row(
        24,
        "planted-temporary",
        "Lay symlinks where the next run's own temporary files might be.",
        [NO_EFFECT; 4],
    ),
    row(
        25,
        "odd-paths",
        "Grant paths with newlines, quotes, text of a policy, bytes that are no text, too many bytes.",
        [NO_EFFECT; 4],
    ),
];

pub(super) const KERNEL: &[Row] = &[
    row(
        26,
        "other-processes",
        "Read environment, arguments and memory of the host's processes.",
        [DENIED; 4],
    ),
    row(
        27,
        "links-of-processes",
        "Climb out through links to roots and directories, reopen descriptors with more rights.",
        [DENIED, DENIED, NOT_APPLICABLE, DENIED],
    ),
    row(
        28,
        "kernel-settings",
        "Set the host's name, its handler of core dumps, its emergency keys.",
        [DENIED; 4],
    ),
    row(
        29,
        "list-processes",
        "List all processes of the machine.",
        [CONTAINED, DENIED, DENIED, DENIED],
    ),
    row(
        30,
        "control-groups",
        "Leave the control group, or set what the kernel starts when it is empty.",
        [DENIED, DENIED, NOT_APPLICABLE, DENIED],
    ),
    row(
        31,
        "own-identity",
        "Map more users, allow groups, escape the killer of processes without memory.",
        [DENIED, DENIED, NOT_APPLICABLE, DENIED],
    ),
];
