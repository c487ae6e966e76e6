//! Tests of the usage ledger: what commands record, `skills usage` and `skills quality`.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;
use serde_json::Value;
use skills_runtime::ledger::scope_of_directory;

use crate::fixture::Fixture;
use crate::skills::{Done, command_with_state};

const DAY: u64 = 24 * 60 * 60;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    for name in ["pdf", "tax", "weather"] {
        fixture.skill(&format!("skills/{name}"), name);
    }
    fixture.file("skills/pdf/scripts/main.sh", "echo ran\n");
    fixture
}

/// A state directory, and commands that use it.
struct State<'f> {
    fixture: &'f Fixture,
    directory: tempfile::TempDir,
}

impl<'f> State<'f> {
    fn new(fixture: &'f Fixture) -> Self {
        Self {
            fixture,
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn run(&self, arguments: &[&str]) -> Done {
        let arguments = [&["--root", "skills"], arguments].concat();
        self.fixture
            .run_with_state("", &arguments, self.directory.path())
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join("skills/ledger").join(name)
    }

    /// Returns what was recorded, one line for each event.
    fn recorded(&self) -> Vec<String> {
        let lines = ["offers.jsonl", "uses.jsonl"].map(|name| {
            let text = fs::read_to_string(self.path(name)).unwrap_or_default();
            let lines = text.lines().map(|line| {
                let line: Value = serde_json::from_str(line).unwrap();
                let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
                let line = [text("skill"), text("event"), text("class")].join(" ");
                line.trim_end().to_owned()
            });
            lines.collect::<Vec<_>>()
        });
        lines.concat()
    }

    /// Returns the recorded digest of the present content of a skill.
    fn digest(&self, skill: &str) -> String {
        self.run(&["prompt", "load", skill]);
        let text = fs::read_to_string(self.path("uses.jsonl")).unwrap();
        let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!(last["skill"], skill);
        last["digest"].as_str().unwrap().to_owned()
    }

    /// Replaces the ledger by events some days ago: skill, event, class and day of each.
    fn plant(&self, events: &[(&str, &str, &str, u64)]) {
        let digests: Vec<(&str, String)> = ["pdf", "weather"]
            .into_iter()
            .filter(|skill| events.iter().any(|event| event.0 == *skill))
            .map(|skill| (skill, self.digest(skill)))
            .collect();
        fs::create_dir_all(self.path("")).unwrap();
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        let line = |(skill, event, class, days): &(&str, &str, &str, u64)| {
            // Half a day more, so that a slow test does not change the number of days.
            let time = now.as_millis() - u128::from(days * DAY + DAY / 2) * 1_000;
            let mut digests = digests.iter();
            let digest = digests.find(|(known, _)| known == skill);
            let digest = digest.map_or("", |(_, digest)| digest);
            let scope = self.scope(skill);
            format!(
                "{{\"t\":{time},\"skill\":\"{skill}\",\"scope\":\"{scope}\",\"event\":\"{event}\",\"class\":\"{class}\",\"digest\":\"{digest}\"}}\n"
            )
        };
        fs::write(
            self.path("uses.jsonl"),
            events.iter().map(line).collect::<String>(),
        )
        .unwrap();
    }

    /// Returns the scope of a skill in the ledger.
    fn scope(&self, skill: &str) -> String {
        let directory = self.fixture.path().join("skills").join(skill);
        let directory = directory.canonicalize().unwrap_or(directory);
        scope_of_directory("custom", &directory)
    }

    /// Makes a skill look as if it was installed some days ago.
    fn age(&self, skill: &str, days: u64) {
        let path = self.fixture.path().join(format!("skills/{skill}/SKILL.md"));
        let time = SystemTime::now() - Duration::from_secs(days * DAY);
        let file = File::options().append(true).open(path).unwrap();
        file.set_modified(time).unwrap();
    }
}

#[test]
fn commands_for_a_model_record_what_they_show() {
    let fixture = fixture();
    let state = State::new(&fixture);
    state.run(&["list"]);
    state.run(&["show", "pdf"]);
    state.run(&["prompt", "--explain"]);
    state.run(&["usage"]);
    state.run(&["quality"]);
    assert!(!state.path("").exists(), "nothing was shown to a model");
    state.run(&["search", "pdf"]);
    state.run(&["prompt"]);
    state.run(&["prompt", "load", "pdf"]);
    state.run(&["prompt", "mentions", "use $tax"]);
    state.run(&["prompt", "detect", "--", "cat skills/weather/SKILL.md"]);
    state.run(&["call", "load_skill", "{\"name\": \"pdf\"}"]);
    assert_snapshot!(state.recorded().join("\n"), @"
    pdf searched
    pdf offered
    tax offered
    weather offered
    pdf activated user
    tax mentioned
    weather activated implicit
    pdf activated model
    ");
}

#[test]
fn runs_are_recorded() {
    let fixture = fixture();
    let state = State::new(&fixture);
    let done = state.run(&["run", "pdf"]);
    // Whatever this host can do, one run is recorded, with an outcome.
    let recorded = state.recorded();
    let expected = if done.code == 0 {
        "succeeded"
    } else {
        "not_started"
    };
    assert_eq!(
        recorded,
        [format!("pdf script_run {expected}")],
        "{}",
        done.page()
    );
}

#[test]
fn recording_can_be_switched_off() {
    let fixture = fixture();
    let state = State::new(&fixture);
    let run_with = |value: &str| {
        let scratch = tempfile::tempdir().unwrap();
        let arguments = ["search", "pdf", "--root", "skills"];
        let mut command = command_with_state(&arguments, scratch.path(), state.directory.path());
        let command = command
            .current_dir(fixture.path())
            .env("SKILLS_LEDGER", value);
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    assert_eq!(run_with("off"), "");
    assert_snapshot!(run_with("no"), @"warning: invalid `SKILLS_LEDGER`: expected `on` or `off`; no use is recorded");
    fixture.file("home/.config/skills/config.toml", "usage-ledger = false\n");
    state.run(&["search", "pdf"]);
    assert_eq!(state.recorded(), [""; 0]);
    let page = state.run(&["usage"]).page();
    assert!(
        page.contains("note: the use of skills is not recorded"),
        "{page}"
    );
    // A project may switch it off as well.
    fixture
        .file("home/.config/skills/config.toml", "")
        .file(".skills/config.toml", "usage-ledger = false\n");
    state.run(&["search", "pdf"]);
    assert_eq!(state.recorded(), [""; 0]);
    fixture.file(".skills/config.toml", "");
    state.run(&["search", "pdf"]);
    assert_eq!(state.recorded(), ["pdf searched"]);
}

/// A ledger is never a reason to fail.
#[test]
fn a_state_directory_that_cannot_be_written_is_no_error() {
    let fixture = fixture();
    fixture.file("blocked", "");
    let done = fixture.run_with_state(
        "",
        &["search", "pdf", "--root", "skills"],
        &fixture.path().join("blocked"),
    );
    assert_snapshot!(done.page(), @"
    exit 0
    -- stdout
    pdf  About pdf.
    ");
}

#[test]
fn usage_lists_counts_and_the_last_use() {
    let fixture = fixture();
    let state = State::new(&fixture);
    assert_snapshot!(state.run(&["usage"]).page(), @"
    exit 0
    -- stdout
    OFFERED  FOUND  NAMED  USED  FAILED  LAST USED  SKILL
          0      0      0     0       -      never  pdf
          0      0      0     0       -      never  tax
          0      0      0     0       -      never  weather
    -- stderr
    no use of skills is recorded yet
    ");
    state.plant(&[
        ("pdf", "script_run", "failed", 3),
        ("pdf", "script_run", "succeeded", 2),
        ("gone", "activated", "model", 9),
    ]);
    let listed = state.run(&["usage", "--json"]).json();
    assert_eq!(listed["skills"][0]["name"], "pdf");
    assert_eq!(listed["skills"][0]["counts"]["runs_failed"], 1);
    assert_eq!(listed["events"], 3);
    let gone = &listed["skills"][1];
    assert!(gone["name"] == "gone" && gone["path"].is_null());
    let table = state.run(&["usage"]).stdout;
    assert!(table.contains(" 2     1/2  "), "{table}");
    assert!(table.contains("gone  (not found here)"), "{table}");
}

#[test]
fn unused_skills_are_listed_without_new_ones() {
    let fixture = fixture();
    for name in ["new", "quarter"] {
        fixture.skill(&format!("skills/{name}"), name);
    }
    let state = State::new(&fixture);
    for name in ["pdf", "quarter", "tax", "weather"] {
        state.age(name, 500);
    }
    state.plant(&[
        ("pdf", "activated", "model", 1),
        ("tax", "activated", "model", 480),
        ("tax", "activated", "model", 300),
        ("weather", "mentioned", "", 400),
        ("quarter", "activated", "model", 200),
        ("quarter", "activated", "model", 91),
    ]);
    let page = state.run(&["usage", "--unused", "90d"]).page();
    let words = page.split_inclusive([' ', ',']);
    let is_date = |word: &str| word.starts_with("20") && word.ends_with(',');
    let page: String = words
        .map(|word| if is_date(word) { "DATE," } else { word })
        .collect();
    assert_snapshot!(page, @"
    exit 0
    -- stdout
    quarter  last used DATE, offered 0 times
    tax  last used DATE, offered 0 times
    weather  never used, offered 0 times
    -- stderr
    6 events in 480 days
    not listed: 1 skill observed for less than 90 days
    ");
    assert_eq!(state.run(&["usage", "--unused", "soon"]).code, 2);
}

#[test]
fn quality_reports_planted_problems_and_changes_nothing() {
    let fixture = fixture();
    let body: String = (0..60).map(|number| format!("word{number} ")).collect();
    fixture
        .file(
            "skills/rotten/SKILL.md",
            "---\nname: rotten\ndescription: About rot.\nrequires: {bins: [no-such-program]}\n---\nSee [this](references/gone.md).\n",
        )
        .file("skills/twin-a/SKILL.md", &format!("---\nname: twin-a\ndescription: The first one of two.\n---\n{body}\n"))
        .file("skills/twin-b/SKILL.md", &format!("---\nname: twin-b\ndescription: The other one of them.\n---\n{body}\n"));
    let state = State::new(&fixture);
    state.age("tax", 400);
    let failed = ("pdf", "script_run", "failed", 1);
    let mut events = vec![failed; 8];
    events.push(("weather", "script_run", "succeeded", 300));
    events.extend([("weather", "script_run", "succeeded", 2); 9]);
    state.plant(&events);
    let before = tree_digest(&fixture.path().join("skills"));
    let page = state.run(&["quality"]).page();
    assert_eq!(tree_digest(&fixture.path().join("skills")), before);
    assert_snapshot!(page, @"
    exit 0
    -- stdout
    failing  pdf: failed 8 of 8 times in the last 90 days
    broken   rotten: program `no-such-program` not found
             rotten: links to `references/gone.md`, which the skill does not have
    stale    tax: never used, and never offered
    review   twin-a: 85 % of its text is that of `twin-b`
    review   twin-b: 85 % of its text is that of `twin-a`
    -- stderr
    18 events in 300 days
    1 healthy, 0 with too little evidence; see `--all`
    ");
    let judged = state.run(&["quality", "--json"]).json();
    let verdict = |name: &str| {
        let skills = judged["skills"].as_array().unwrap();
        let skill = skills.iter().find(|skill| skill["name"] == name).unwrap();
        skill["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        [verdict("pdf"), verdict("tax"), verdict("rotten")],
        ["failing", "stale", "broken"]
    );
    assert_eq!(
        [verdict("weather"), verdict("twin-a")],
        ["healthy", "review"]
    );
}

/// Returns the content of all files below a directory.
fn tree_digest(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for file in fs::read_dir(directory).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() {
            files.extend(tree_digest(&path));
        } else {
            files.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

#[test]
fn skills_of_one_name_in_two_places_are_counted_apart() {
    let fixture = fixture();
    let state = State::new(&fixture);
    for _ in 0..3 {
        state.run(&["prompt", "load", "pdf"]);
    }
    fixture.skill("other/pdf", "pdf");
    let used = |root: &str| {
        let arguments = ["--root", root, "usage", "--json"];
        let shown = fixture.run_with_state("", &arguments, state.directory.path());
        let shown = shown.json();
        let skills = shown["skills"].as_array().unwrap();
        let pdf = |skill: &&Value| skill["name"] == "pdf" && skill["path"].is_string();
        let pdf = skills.iter().find(pdf).unwrap();
        pdf["counts"]["activated_by_user"]
            .as_u64()
            .unwrap_or_default()
    };
    assert_eq!((used("skills"), used("other")), (3, 0));
}

#[test]
fn a_list_for_a_request_has_used_skills_first() {
    let fixture = fixture();
    let state = State::new(&fixture);
    let first = || {
        let list = state.run(&["prompt", "--query", "weather"]).stdout;
        let first = list.lines().find(|line| line.starts_with("- ")).unwrap();
        first.to_owned()
    };
    assert!(first().starts_with("- weather:"));
    state.plant(&[("tax", "activated", "model", 1)]);
    assert!(first().starts_with("- tax:"));
}

#[test]
fn use_changes_no_search() {
    let fixture = Fixture::new();
    for name in ["alpha", "beta"] {
        let text = format!("---\nname: {name}\ndescription: Edits tables of numbers.\n---\nBody\n");
        fixture.file(&format!("skills/{name}/SKILL.md"), &text);
    }
    let state = State::new(&fixture);
    let first = |state: &State<'_>| {
        let found = state.run(&["search", "edit", "tables", "--json"]).json();
        found["skills"][0]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(first(&state), "alpha");
    let state = State::new(&fixture);
    state.plant(&[
        ("beta", "activated", "model", 0),
        ("beta", "activated", "model", 1),
    ]);
    assert_eq!(first(&state), "alpha");
}
