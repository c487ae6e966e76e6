//! Limits the dependencies and the lines of each crate.

use super::members::{Member, WITHOUT_FEATURES};
use super::source::Crate;

/// The path of this file, for messages.
const FILE: &str = "xtask/src/tidy/crates.rs";

/// The crates, each with its budget of lines and the other crates that it may depend on.
///
/// [`Crate`] says which lines count. A budget is raised with a comment beside it that says what for.
const CRATES: &[(&str, usize, &[&str])] = &[
    // Comments that cut a description, and JSON5 in the first column.
    ("skills-manifest", 9_050, &[]),
    // Values and errors of strict validation have modules, so that no modules import each other.
    ("skills-ref-compat", 2_940, &["skills-manifest"]),
    ("skills-script", 7_600, &["skills-manifest"]),
    // Data without dependencies: discovery, policy and the command need the same table of clients,
    // and none of them may depend on another.
    // The forms of the entries of servers, which were in the command.
    ("skills-clients", 1_200, &[]),
    // A skill file is read without its directory, for the search index.
    (
        "skills-discovery",
        // The paths of files of a skill, which were in `skills-install`; skills of sources that are
        // not directories, and failures of these sources. Skills that are trusted by their content.
        // Starts of files.
        11_760,
        &[
            "skills-clients",
            "skills-manifest",
            "skills-store",
            "skills-threads",
        ],
    ),
    (
        "skills-client-config",
        2_600,
        &["skills-clients", "skills-manifest"],
    ),
    ("skills-lint", 3_850, &["skills-manifest"]),
    (
        "skills-install",
        // Recovery of a change at each of its steps; skills of a live server, and skills in memory.
        // Submodules, which are named in a message.
        // Addresses of pages and short forms of sources; zips of Windows and macOS; a skill that is
        // left out of its source; the removal of a lock that was not used.
        13_760,
        &[
            // Of the other column, but without features it is a table of addresses.
            "skills-egress without features",
            "skills-manifest",
            "skills-discovery",
            "skills-packages",
            "skills-signature",
            "skills-store",
            "skills-threads",
        ],
    ),
    ("skills-signature", 1_000, &[]),
    (
        "skills-prompt",
        // Command lines as trees, with parts that run without a shell. Variables, conditions, loops over
        // lines and here-documents in them.
        9_650,
        // The types of a catalog, not what opens files.
        &["skills-manifest", "skills-discovery without features"],
    ),
    // Lookups of characters and words by small keys. Classes of eight bytes at once, and the pairs of
    // words apart from the words, for a third of the time of an index.
    ("skills-search", 2_720, &["skills-manifest"]),
    // Private directories, replaced files, locks and files that decide what runs have one way each;
    // below all crates that have some. Its lines replace copies of nine crates. The temporary
    // directories of runs, installations and setups, which were in three crates, added 400.
    ("skills-store", 1_500, &[]),
    // The calls that start threads panic if the system refuses; this crate wraps them for all.
    ("skills-threads", 300, &[]),
    // Kinds of errors, so that a caller can try again after a lock; a check before a run that reads no
    // record.
    ("skills-audit", 1_810, &["skills-store"]),
    ("skills-ledger", 2_250, &["skills-store"]),
    ("skills-build", 2_280, &["skills-store"]),
    // Questions as values, what a further attempt of a run takes over, and what a run goes without.
    // Limits that the user raises. Whether records are optional. Programs that are free while confined.
    // An answer that allows any program for one run, and questions about named skills of a project.
    // Packages that a skill imports and does not declare, which take their exact name.
    ("skills-policy", 9_450, &["skills-clients"]),
    // Events of runs, the grace of a cancellation and of a deadline, the language and time zone of
    // the user. Input that further attempts read again. Backends that confine commands.
    // The first lines of scripts, which were in `skills-process`.
    ("skills-sandbox", 3_900, &["skills-policy"]),
    (
        "skills-sandbox-conformance",
        2_700,
        &["skills-policy", "skills-sandbox"],
    ),
    // The table of modules with other package names, and which file imports a module.
    ("skills-packages", 3_060, &["skills-manifest"]),
    // What an index says about the origin of a package, also of a stored plan, and which modules one
    // has.
    (
        "skills-deps",
        2_800,
        &[
            "skills-packages",
            "skills-policy",
            "skills-sandbox",
            "skills-store",
        ],
    ),
    // The grace of a cancellation. What has to be left of disks. Versions that version managers
    // installed. Changed files are found without examining each before a run. Runtimes of TypeScript.
    (
        "skills-process",
        7_140,
        &["skills-policy", "skills-sandbox", "skills-threads"],
    ),
    // The table of addresses, which was a crate. The proxies of the user.
    ("skills-egress", 3_520, &["skills-policy", "skills-threads"]),
    // The words of each family of denied calls, and the rules for local sockets.
    ("skills-seccomp", 1_390, &[]),
    (
        "skills-sandbox-wasm",
        9_900,
        &[
            "skills-egress",
            "skills-policy",
            "skills-process",
            "skills-sandbox",
            "skills-store",
            "skills-threads",
        ],
    ),
    // The first process passes a signal on. Settings that are denied without namespaces.
    // Connections to local sockets, which the host process makes, with their resolution of paths.
    // The memory of all processes of a run is measured together, and what they share without a file
    // is counted. A layer for what a program writes beside itself.
    (
        "skills-sandbox-linux",
        11_700,
        &[
            "skills-egress",
            "skills-policy",
            "skills-process",
            "skills-sandbox",
            "skills-seccomp",
            "skills-store",
            "skills-threads",
        ],
    ),
    (
        "skills-sandbox-container",
        3_600,
        &[
            "skills-egress",
            "skills-policy",
            "skills-process",
            "skills-sandbox",
            "skills-seccomp",
            "skills-store",
            "skills-threads",
        ],
    ),
    (
        "skills-sandbox-seatbelt",
        2_400,
        &[
            "skills-egress",
            "skills-policy",
            "skills-process",
            "skills-sandbox",
            "skills-store",
            "skills-threads",
        ],
    ),
    (
        // Reading a skill of a source before it is planned. What runs a script, why a file is not
        // one, and what makes a script fail.
        "skills-library",
        4_220,
        &[
            "skills-discovery",
            "skills-ledger",
            "skills-manifest",
            "skills-policy",
            "skills-process",
            "skills-prompt",
            "skills-sandbox",
            "skills-search",
            "skills-store",
            "skills-threads",
        ],
    ),
    (
        // Causes of failures that had no words, and the remedies, which tools and the command had.
        // Runs that callers plan and start later, with an interpreter of their own, which the command
        // planned twice.
        "skills-executor",
        // Further attempts: what one was refused, and what it has done. Which output is only shown.
        // Commands that are confined, and so need no question. Lines of a program that show progress.
        // Scripts that a program of the host runs, and scripts that are repaired in their copy.
        // The package of a failed import.
        14_300,
        &[
            "skills-audit",
            "skills-deps",
            "skills-discovery",
            // The proxies of the user, for all backends.
            "skills-egress",
            "skills-ledger",
            "skills-library",
            "skills-manifest",
            "skills-packages",
            "skills-policy",
            "skills-process",
            "skills-prompt",
            "skills-sandbox",
            "skills-sandbox-linux",
            "skills-sandbox-seatbelt",
            "skills-sandbox-wasm",
            "skills-store",
            "skills-threads",
        ],
    ),
    (
        "skills-runtime",
        2_500,
        &[
            "skills-executor",
            "skills-library",
            "skills-manifest",
            "skills-discovery",
            "skills-prompt",
            "skills-search",
            "skills-audit",
            "skills-ledger",
            "skills-packages",
            "skills-policy",
            "skills-process",
            "skills-deps",
            "skills-egress",
            "skills-sandbox",
            "skills-sandbox-container",
            "skills-sandbox-wasm",
            // In tests.
            "skills-sandbox-linux",
        ],
    ),
    (
        "skills-tools",
        // Scripts of sources are read once. The state of a tool set and what may run have modules, so
        // that few modules import each other. Command lines with parts that run without a shell. Texts for
        // models: what was cut, which files a run made, which skills wait for trust, and what a wrong
        // name means. Limits of what a line does itself, and results of lines that an error ended.
        // Arguments that clients send as text, and the rest of output that was shown in part.
        // Files that a line makes, copies, moves and removes itself.
        // Its variables, conditions and loops.
        17_450,
        &["skills-runtime", "skills-script", "skills-threads"],
    ),
    (
        "skills-mcp",
        // Pages of published skills, and which of them were read. How much of a text each client shows, and
        // calls that wait for a permit. The question about skills of a project, and the last line of a
        // program as progress.
        7_750,
        &[
            "skills-clients",
            "skills-store",
            "skills-tools",
            "skills-threads",
        ],
    ),
    // Exit codes of programs and of the command, in one table.
    // Output is printed while a program runs. Of the command line only what the arguments name is defined.
    (
        "skills-cli",
        // One command at a time asks, or has a program with the keys, on a terminal.
        // The working directory is offered for a file that an argument names, and a limit has an option.
        // Questions after the output of a program. Skills of a project that are trusted by their content.
        // Skills that are named by a path anywhere, and other skills of their name.
        23_300,
        &[
            "skills-build",
            "skills-client-config",
            "skills-install",
            "skills-lint",
            "skills-mcp",
            "skills-ref-compat",
            "skills-runtime",
            "skills-signature",
            "skills-store",
            "skills-tools",
            "skills-threads",
        ],
    ),
    (
        "host-text-only",
        100,
        &["skills-discovery", "skills-prompt"],
    ),
    ("host-wasm-only", 100, &["skills-runtime"]),
    // It shows each part of a runtime, the hooks of a session too.
    ("host-everything", 110, &["skills-runtime"]),
    ("host-middleware", 100, &["skills-runtime", "skills-tools"]),
    ("host-streaming", 70, &["skills-runtime"]),
    ("host-turn", 200, &["skills-runtime"]),
    (
        "host-policy-and-sandbox",
        100,
        &["skills-policy", "skills-sandbox", "skills-sandbox-linux"],
    ),
    // The clock of a thread, for tests of hostile text. File systems of one test.
    ("skills-test-support", 1_150, &[]),
    // The check of the crates that programs in WebAssembly can use. The processor time of small runs.
    // Jobs of real programs.
    // Agents as installed: their starts, a person at a terminal, deferred tools, the table.
    ("xtask", 10_750, &["skills-test-support"]),
];

/// Returns the problems of a crate, of which `sources` are the sources.
pub(super) fn problems(member: &Member, sources: &Crate) -> Vec<String> {
    let name = &member.name;
    let Some((_, max_lines, allowed)) = CRATES.iter().find(|row| row.0 == name) else {
        return vec![format!("{name}: crate missing from CRATES ({FILE})")];
    };
    let is_allowed = |dependency: &str| {
        let name = dependency.strip_suffix(WITHOUT_FEATURES);
        allowed.contains(&dependency) || name.is_some_and(|name| allowed.contains(&name))
    };
    let forbidden = member
        .dependencies
        .iter()
        .filter(|dependency| !is_allowed(dependency))
        .map(|dependency| format!("{name} must not depend on {dependency}"));
    forbidden
        .chain(over_budget(name, sources.lines, *max_lines))
        .collect()
}

fn over_budget(name: &str, lines: usize, max_lines: usize) -> Option<String> {
    (lines > max_lines).then(|| {
        format!(
            "{name}: {lines} lines of source, its budget is {max_lines}; remove some, or raise the \
             budget in {FILE} with a comment that says what for"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_over_its_budget_is_a_problem() {
        assert_eq!(over_budget("a", 100, 100), None);
        let problem = over_budget("a", 101, 100).expect("a problem");
        assert!(problem.starts_with("a: 101 lines of source, its budget is 100; "));
        assert!(problem.ends_with("what for"));
    }

    #[test]
    fn dependencies_and_crates_that_are_not_listed_are_problems() {
        let problems_of = |name: &str, dependency: &str| {
            let member = Member {
                name: name.to_owned(),
                features: Vec::new(),
                dependencies: vec![dependency.to_owned()],
                roots: Vec::new(),
            };
            problems(&member, &Crate::default())
        };
        assert_eq!(problems_of("skills-sandbox", "skills-policy"), [""; 0]);
        assert_eq!(
            problems_of("skills-policy", "skills-manifest"),
            ["skills-policy must not depend on skills-manifest"]
        );
        assert_eq!(
            problems_of("skills-install", "skills-egress without features"),
            [""; 0]
        );
        assert_eq!(problems_of("skills-install", "skills-egress").len(), 1);
        assert_eq!(problems_of("skills-new", "skills-policy").len(), 1);
    }
}
