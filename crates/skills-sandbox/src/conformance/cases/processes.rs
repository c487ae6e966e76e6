//! Attempts on processes, resources and what is inherited.

use super::{ABSENT, CONTAINED, COUNTED, DENIED, NO_EFFECT, Row, SCOPED, VISIBLE, WORKS, row};

pub(super) const PROCESSES: &[Row] = &[
    row(
        50,
        "signals",
        "Send signals to the host, to others of its processes and to all at once.",
        [NO_EFFECT, SCOPED, NO_EFFECT, ABSENT],
    ),
    row(
        51,
        "debug-host",
        "Trace the host, read its memory, take its descriptors.",
        [DENIED, DENIED, DENIED, ABSENT],
    ),
    row(
        52,
        "daemon-outlives-deadline",
        "Leave a daemon in a session of its own, and run into the deadline.",
        [CONTAINED, CONTAINED, COUNTED, ABSENT],
    ),
    row(
        53,
        "daemon-outlives-exit",
        "Leave a daemon in a session of its own, and end well.",
        [CONTAINED, CONTAINED, COUNTED, ABSENT],
    ),
    row(
        54,
        "pipe-kept-open",
        "Leave a process that holds the output open, and end.",
        [CONTAINED, CONTAINED, CONTAINED, ABSENT],
    ),
    row(
        55,
        "host-killed",
        "Live on after the host was killed without warning.",
        [CONTAINED, COUNTED, VISIBLE, CONTAINED],
    ),
    row(
        56,
        "number-reused",
        "Be killed when the number already belongs to another process.",
        [NO_EFFECT, NO_EFFECT, NO_EFFECT, ABSENT],
    ),
    row(
        57,
        "deaf-script",
        "Ignore requests to end, or stop oneself, until the deadline.",
        [CONTAINED, CONTAINED, CONTAINED, ABSENT],
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
        [COUNTED, COUNTED, VISIBLE, ABSENT],
    ),
    row(
        61,
        "memory-hog",
        "Take more memory than is allowed: private, shared, of devices and files, hidden from the limits.",
        [CONTAINED, CONTAINED, VISIBLE, CONTAINED],
    ),
    row(
        62,
        "memory-of-many",
        "Take more memory than is allowed with several processes together.",
        [COUNTED, COUNTED, VISIBLE, ABSENT],
    ),
    row(
        63,
        "disk-fill",
        "Fill the scratch space with bytes, and with a great many files.",
        [CONTAINED, CONTAINED, VISIBLE, CONTAINED],
    ),
    row(
        64,
        "raise-limits",
        "Write a file that is too large, open too many, raise the limits.",
        [DENIED, DENIED, VISIBLE, DENIED],
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
        [DENIED, DENIED, ABSENT, ABSENT],
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
        [DENIED, DENIED, DENIED, ABSENT],
    ),
    row(
        73,
        "escape-sequences",
        "Write sequences that steer a terminal; they arrive as bytes like others.",
        [WORKS; 4],
    ),
    row(
        74,
        "keyring",
        "Read keys that the kernel keeps for the host's session.",
        [DENIED, DENIED, ABSENT, ABSENT],
    ),
];
