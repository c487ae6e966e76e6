//! Attempts on processes, resources and inherited state.

use super::row::{
    CONTAINED, CONTAINED_OR_REPORTED, DENIED, NO_EFFECT, NO_EFFECT_OR_REPORTED, NOT_APPLICABLE,
    REPORTED, Row, SUCCEEDED, row,
};

pub(super) const PROCESSES: &[Row] = &[
    row(
        50,
        "signals",
        "Send signals to the host, to others of its processes and to all at once.",
        [
            NO_EFFECT,
            NO_EFFECT_OR_REPORTED,
            NO_EFFECT,
            NOT_APPLICABLE,
            NO_EFFECT,
        ],
    ),
    row(
        51,
        "debug-host",
        "Trace the host, read its memory, copy its descriptors.",
        [DENIED, DENIED, DENIED, NOT_APPLICABLE, DENIED],
    ),
    row(
        52,
        "daemon-outlives-deadline",
        "Start a daemon in a new session, and exceed the deadline.",
        [
            CONTAINED,
            CONTAINED,
            CONTAINED_OR_REPORTED,
            NOT_APPLICABLE,
            CONTAINED,
        ],
    ),
    row(
        53,
        "daemon-outlives-exit",
        "Start a daemon in a new session, and exit successfully.",
        [
            CONTAINED,
            CONTAINED,
            CONTAINED_OR_REPORTED,
            NOT_APPLICABLE,
            CONTAINED,
        ],
    ),
    row(
        54,
        "pipe-kept-open",
        "Leave a process that keeps the output open, and exit.",
        [CONTAINED, CONTAINED, CONTAINED, NOT_APPLICABLE, CONTAINED],
    ),
    row(
        55,
        "host-killed",
        "Survive after the host was killed.",
        [
            CONTAINED,
            CONTAINED_OR_REPORTED,
            REPORTED,
            CONTAINED,
            REPORTED,
        ],
    ),
    row(
        56,
        "number-reused",
        "Get another process killed by reusing a process id.",
        [NO_EFFECT, NO_EFFECT, NO_EFFECT, NOT_APPLICABLE, NO_EFFECT],
    ),
    row(
        57,
        "ignored-signals",
        "Ignore termination signals, or stop itself, until the deadline.",
        [CONTAINED, CONTAINED, CONTAINED, NOT_APPLICABLE, CONTAINED],
    ),
    row(
        58,
        "spawn-without-grant",
        "Start a second process without a grant, with every system call that can.",
        [DENIED, DENIED, DENIED, DENIED, REPORTED],
    ),
    row(
        59,
        "inherited-restrictions",
        "Retry denied actions in a thread or another program.",
        [DENIED; 5],
    ),
];

pub(super) const RESOURCES: &[Row] = &[
    row(
        60,
        "fork-bomb",
        "Create processes without bound.",
        [
            CONTAINED_OR_REPORTED,
            CONTAINED_OR_REPORTED,
            REPORTED,
            NOT_APPLICABLE,
            CONTAINED,
        ],
    ),
    row(
        61,
        "memory-hog",
        "Allocate more memory than allowed: private, shared, from devices and files, hidden from limits.",
        [CONTAINED, CONTAINED, REPORTED, CONTAINED, CONTAINED],
    ),
    row(
        62,
        "memory-of-process-group",
        "Allocate more memory than allowed with several processes together.",
        [
            CONTAINED_OR_REPORTED,
            CONTAINED_OR_REPORTED,
            REPORTED,
            NOT_APPLICABLE,
            CONTAINED,
        ],
    ),
    row(
        63,
        "disk-fill",
        "Fill the scratch directory with bytes, and with many files.",
        [CONTAINED, CONTAINED, REPORTED, CONTAINED, CONTAINED],
    ),
    row(
        64,
        "raise-limits",
        "Write a file that is too large, open too many, raise the limits.",
        [DENIED, DENIED, REPORTED, DENIED, DENIED],
    ),
    row(
        65,
        "spin",
        "Loop forever in several threads.",
        [CONTAINED; 5],
    ),
    row(66, "sleep", "Sleep past the deadline.", [CONTAINED; 5]),
    row(
        67,
        "core-dump",
        "Crash, so that the kernel writes a core dump or passes it to a handler.",
        [NO_EFFECT; 5],
    ),
    row(
        101,
        "kernel-pools",
        "Exhaust kernel resources of the machine or user: asynchronous I/O contexts, watches, pipe buffers, timers.",
        [DENIED, DENIED, NOT_APPLICABLE, NOT_APPLICABLE, DENIED],
    ),
];

pub(super) const ENVIRONMENT: &[Row] = &[
    row(
        68,
        "host-variables",
        "Find keys, sockets and settings of the host among the variables.",
        [DENIED; 5],
    ),
    row(
        69,
        "own-variables",
        "Set variables that change which code is loaded or run.",
        [DENIED; 5],
    ),
    row(
        70,
        "inherited-descriptors",
        "Find descriptors that the host left open.",
        [DENIED; 5],
    ),
    row(
        71,
        "terminal",
        "Find a terminal, among the streams or by its name.",
        [DENIED; 5],
    ),
    row(
        72,
        "type-into-terminal",
        "Inject characters into a terminal, change its line discipline.",
        [DENIED, DENIED, DENIED, NOT_APPLICABLE, DENIED],
    ),
    row(
        73,
        "escape-sequences",
        "Write terminal escape sequences; they arrive as ordinary bytes.",
        [SUCCEEDED; 5],
    ),
    row(
        74,
        "keyring",
        "Read keys that the kernel keeps for the host's session.",
        [DENIED, DENIED, NOT_APPLICABLE, NOT_APPLICABLE, DENIED],
    ),
];
