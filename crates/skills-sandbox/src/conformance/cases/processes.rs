//! Attempts on processes, resources and what is inherited.

use super::{
    CONTAINED, CONTAINED_OR_REPORTED, DENIED, NO_EFFECT, NO_EFFECT_OR_REPORTED, NOT_APPLICABLE,
    REPORTED, Row, SUCCEEDED, row,
};

pub(super) const PROCESSES: &[Row] = &[
    row(
        50,
        "signals",
        "Send signals to the host, to others of its processes and to all at once.",
        [NO_EFFECT, NO_EFFECT_OR_REPORTED, NO_EFFECT, NOT_APPLICABLE],
    ),
    row(
        51,
        "debug-host",
        "Trace the host, read its memory, take its descriptors.",
        [DENIED, DENIED, DENIED, NOT_APPLICABLE],
    ),
    row(
        52,
        "daemon-outlives-deadline",
        "Leave a daemon in a session of its own, and run into the deadline.",
        [CONTAINED, CONTAINED, CONTAINED_OR_REPORTED, NOT_APPLICABLE],
    ),
    row(
        53,
        "daemon-outlives-exit",
        "Leave a daemon in a session of its own, and end well.",
        [CONTAINED, CONTAINED, CONTAINED_OR_REPORTED, NOT_APPLICABLE],
    ),
    row(
        54,
        "pipe-kept-open",
        "Leave a process that holds the output open, and end.",
        [CONTAINED, CONTAINED, CONTAINED, NOT_APPLICABLE],
    ),
    row(
        55,
        "host-killed",
        "Live on after the host was killed without warning.",
        [CONTAINED, CONTAINED_OR_REPORTED, REPORTED, CONTAINED],
    ),
    row(
        56,
        "number-reused",
        "Be killed when the number already belongs to another process.",
        [NO_EFFECT, NO_EFFECT, NO_EFFECT, NOT_APPLICABLE],
    ),
    row(
        57,
        "deaf-script",
        "Ignore requests to end, or stop oneself, until the deadline.",
        [CONTAINED, CONTAINED, CONTAINED, NOT_APPLICABLE],
    ),
    row(
        58,
        "spawn-without-grant",
        "Start a second process without a grant, in all ways there are.",
        [DENIED; 4],
    ),
    row(
        59,
        "shed-walls",
        "Do in a thread or in another program what was denied before.",
        [DENIED; 4],
    ),
];

pub(super) const RESOURCES: &[Row] = &[
    row(
        60,
        "fork-bomb",
        "Make processes without end.",
        [
            CONTAINED_OR_REPORTED,
            CONTAINED_OR_REPORTED,
            REPORTED,
            NOT_APPLICABLE,
        ],
    ),
    row(
        61,
        "memory-hog",
        "Take more memory than is allowed: private, shared, of devices and files, hidden from the limits.",
        [CONTAINED, CONTAINED, REPORTED, CONTAINED],
    ),
    row(
        62,
        "memory-of-many",
        "Take more memory than is allowed with several processes together.",
        [
            CONTAINED_OR_REPORTED,
            CONTAINED_OR_REPORTED,
            REPORTED,
            NOT_APPLICABLE,
        ],
    ),
    row(
        63,
        "disk-fill",
        "Fill the scratch space with bytes, and with a great many files.",
        [CONTAINED, CONTAINED, REPORTED, CONTAINED],
    ),
    row(
        64,
        "raise-limits",
        "Write a file that is too large, open too many, raise the limits.",
        [DENIED, DENIED, REPORTED, DENIED],
    ),
    row(
        65,
        "spin",
        "Compute without end in several threads.",
        [CONTAINED; 4],
    ),
    row(66, "sleep", "Sleep past the deadline.", [CONTAINED; 4]),
    row(
        67,
        "core-dump",
        "Crash, so that the kernel writes memory to a file or hands it to a program.",
        [NO_EFFECT; 4],
    ),
    row(
        101,
        "pools-of-all",
        "Use up what the kernel has once for the machine or the user: contexts of asynchronous I/O, watches, buffers of pipes, timers.",
        [DENIED, DENIED, NOT_APPLICABLE, NOT_APPLICABLE],
    ),
];

pub(super) const ENVIRONMENT: &[Row] = &[
    row(
        68,
        "host-variables",
        "Find keys, sockets and settings of the host among the variables.",
        [DENIED; 4],
    ),
    row(
        69,
        "own-variables",
        "Bring variables that decide what is loaded or run.",
        [DENIED; 4],
    ),
    row(
        70,
        "inherited-descriptors",
        "Find descriptors that the host left open.",
        [DENIED; 4],
    ),
    row(
        71,
        "terminal",
        "Find a terminal, among the streams or by its name.",
        [DENIED; 4],
    ),
    row(
        72,
        "type-into-terminal",
        "Put characters into the input of a terminal, change what drives it.",
        [DENIED, DENIED, DENIED, NOT_APPLICABLE],
    ),
    row(
        73,
        "escape-sequences",
        "Write sequences that steer a terminal; they arrive as bytes like others.",
        [SUCCEEDED; 4],
    ),
    row(
        74,
        "keyring",
        "Read keys that the kernel keeps for the host's session.",
        [DENIED, DENIED, NOT_APPLICABLE, NOT_APPLICABLE],
    ),
];
