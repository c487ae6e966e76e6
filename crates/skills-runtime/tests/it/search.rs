//! Search for skills and sections, and the list for a request.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use skills_runtime::discovery::Selector;
use skills_runtime::ledger::{Activity, Event, Ledger, Timestamp};
use skills_runtime::prompt::{Budget, ListingMode, ListingModes, SkillListRenderer};
use skills_runtime::search::SearchIndex;
use skills_runtime::{
    Builder, ListRequest, ReferenceSearch, Root, Scope, SkillRuntime, ledger_scope,
};

/// Skills below a temporary directory, with a directory for indexes beside them.
struct Host {
    directory: tempfile::TempDir,
}

impl Host {
    fn new(skills: &[(&str, &str, &str)]) -> Self {
        let host = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        for (name, description, body) in skills {
            host.skill(name, description, body);
        }
        host
    }

    fn skill(&self, name: &str, description: &str, body: &str) {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n{body}\n");
        self.file(&format!("skills/{name}/SKILL.md"), &text);
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn cache(&self) -> PathBuf {
        self.directory.path().join("cache")
    }

    fn builder(&self) -> Builder {
        let root = Root::new(self.directory.path().join("skills"), Scope::Custom);
        SkillRuntime::builder()
            .root(root)
            .search_cache(self.cache())
    }
}

fn pdf_and_others() -> Host {
    Host::new(&[
        ("amap", "地点搜索和路线规划", ""),
        ("pdf", "Fills forms.", "Merges documents and rotates pages."),
        ("weather", "Tells the forecast.", ""),
    ])
}

fn find(runtime: &SkillRuntime, query: &str) -> String {
    let index = runtime.library().search_index();
    let found = index.search(query, |_| true);
    let names: Vec<&str> = found
        .skills
        .iter()
        .map(|entry| entry.name().as_str())
        .collect();
    names.join(" ")
}

/// Returns the only index file.
fn index_file(cache: &Path) -> PathBuf {
    let mut files = cache_files(cache, "index-");
    assert_eq!(files.len(), 1);
    files.remove(0)
}

/// Returns the files of one kind.
fn cache_files(cache: &Path, kind: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(cache).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        path.extension().is_none() && name.starts_with(kind)
    });
    files
}

#[test]
fn skills_are_found_by_their_instructions_and_nothing_by_small_talk() {
    let host = pdf_and_others();
    let runtime = host.builder().build();
    assert_eq!(find(&runtime, "please rotate a page"), "pdf");
    assert_eq!(find(&runtime, "路线怎么规划"), "amap");
    assert_eq!(find(&runtime, "thanks, that was great"), "");
    assert!(
        runtime
            .library()
            .search_index()
            .advice()
            .contains("several")
    );
}

#[test]
fn changes_of_skills_are_noticed() {
    let host = pdf_and_others();
    let runtime = host.builder().build();
    assert_eq!(find(&runtime, "sing a song"), "");
    host.skill("music", "Sings a song.", "");
    host.skill("pdf", "Fills forms.", "Nothing else.");
    assert_eq!(find(&runtime, "sing a song"), "music");
    assert_eq!(find(&runtime, "rotate a page"), "");
}

#[test]
fn an_index_on_disk_is_reused_and_never_trusted() {
    let host = pdf_and_others();
    assert_eq!(find(&host.builder().build(), "rotate a page"), "pdf");
    let file = index_file(&host.cache());
    let bytes = fs::read(&file).unwrap();
    assert_eq!(find(&host.builder().build(), "rotate a page"), "pdf");
    for damaged in [&b""[..], b"garbage", &bytes[..bytes.len() / 2]] {
        fs::write(&file, damaged).unwrap();
        assert_eq!(find(&host.builder().build(), "rotate a page"), "pdf");
        let written = fs::read(&file).unwrap();
        assert_eq!(
            SearchIndex::from_bytes(&written).map(|index| index.len()),
            Ok(3)
        );
    }
    host.skill("pdf", "Fills forms.", "Sings.");
    assert_eq!(find(&host.builder().build(), "rotate a page"), "");
}

#[cfg(unix)]
#[test]
fn an_index_on_disk_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let host = pdf_and_others();
    find(&host.builder().build(), "rotate a page");
    for path in [host.cache(), index_file(&host.cache())] {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
}

#[test]
fn a_list_for_a_request_has_named_pinned_and_recent_skills_first() {
    let host = pdf_and_others();
    host.skill("zebra", "Counts stripes.", "");
    host.skill("yak", "Counts hairs.", "");
    host.skill(
        "secret",
        "Rotates pages.\ndisable-model-invocation: true",
        "",
    );
    let modes =
        ListingModes::default().with_rule(Selector::Name("yak".to_owned()), ListingMode::Pinned);
    let runtime = host.builder().modes(modes).build();
    let renderer = SkillListRenderer::new(Budget::Characters(8_000));
    let names = |query: &str, recent: &[&str]| {
        let request = ListRequest {
            query,
            recent,
            ..ListRequest::default()
        };
        let list = runtime.prompt().render_section_for(&renderer, &request);
        let body = list.body();
        let lines = body.lines().filter_map(|line| line.strip_prefix("- "));
        let names: Vec<&str> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, _)| name)
            .take(5)
            .collect();
        names.join(" ")
    };
    assert_eq!(names("rotate a page", &[]), "yak pdf amap weather zebra");
    assert_eq!(
        names("rotate a page", &["zebra", "weather"]),
        "yak zebra weather pdf amap"
    );
    assert_eq!(
        names("$weather rotate a page", &["zebra"]),
        "weather yak zebra pdf amap"
    );
}

#[test]
fn sections_are_found_by_their_headings_and_text() {
    let host = pdf_and_others();
    host.file(
        "skills/pdf/references/forms.md",
        "# Forms\n## Check boxes\nTick them.\n## Text\nType.\n",
    );
    host.file("skills/pdf/references/logo.png", "\u{0}");
    host.file(
        "skills/weather/references/rain.md",
        "# Rain\nTick the box of rain.\n",
    );
    let runtime = host.builder().build();
    let library = runtime.library();
    let catalog = library.catalog();
    let pdf = catalog
        .entries()
        .iter()
        .find(|entry| entry.name().as_str() == "pdf");
    let found = library.search_references(ReferenceSearch {
        query: "tick a check box",
        skill: pdf,
        limit: 5,
    });
    let (skill, span) = &found[0];
    assert_eq!(
        (skill.as_str(), span.path.as_str()),
        ("pdf", "references/forms.md")
    );
    assert_eq!(
        (span.first_line, span.last_line, span.trail.join("/")),
        (2, 3, "Forms/Check boxes".to_owned())
    );
    let body = library.search_references(ReferenceSearch {
        query: "rotate",
        skill: pdf,
        limit: 5,
    });
    assert_eq!(
        (body[0].1.path.as_str(), body[0].1.first_line),
        ("SKILL.md", 5)
    );
    let all = library.search_references(ReferenceSearch {
        query: "tick box",
        skill: None,
        limit: 5,
    });
    assert_eq!(all.len(), 2);
}

#[test]
fn changes_of_references_are_noticed() {
    let host = pdf_and_others();
    host.file("skills/pdf/references/deep/a.md", "# A\nTick a box.\n");
    let runtime = host.builder().build();
    let found = |query: &str| -> Vec<String> {
        let found = runtime.library().search_references(ReferenceSearch {
            query,
            skill: None,
            limit: 5,
        });
        let path = |(skill, span): (String, _)| {
            let span: skills_runtime::search::Span = span;
            format!("{skill}/{}", span.path)
        };
        found.into_iter().map(path).collect()
    };
    assert_eq!(found("tick a box"), ["pdf/references/deep/a.md"]);
    // Another length: within one tick of the clock, the time of the file need not change.
    host.file("skills/pdf/references/deep/a.md", "# A\nPress a button.\n");
    assert!(found("tick a box").is_empty());
    assert_eq!(found("press the button"), ["pdf/references/deep/a.md"]);
    host.file("skills/pdf/references/deep/b.md", "# B\nTick a box.\n");
    host.file("skills/weather/references/c.md", "# C\nTick a box.\n");
    assert_eq!(found("tick a box").len(), 2);
    fs::remove_file(
        host.directory
            .path()
            .join("skills/pdf/references/deep/b.md"),
    )
    .unwrap();
    assert_eq!(found("tick a box"), ["weather/references/c.md"]);
    assert_eq!(found("press the button"), ["pdf/references/deep/a.md"]);
}

/// The time of ledgers in these tests.
fn clock() -> std::time::SystemTime {
    std::time::UNIX_EPOCH + std::time::Duration::from_secs(2_000 * 24 * 60 * 60)
}

const TABLES: [(&str, &str, &str); 4] = [
    ("tables", "Edits tables of numbers.", "Edits tables, too."),
    ("sheets", "Edits tables of numbers.", ""),
    ("reports", "Writes reports.", "A report can have tables."),
    ("numbers", "Explains numbers.", ""),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever a ledger contains, use decides between almost equal skills only.
    #[test]
    fn use_never_moves_a_skill_over_one_that_fits_much_better(
        events in proptest::collection::vec((0..TABLES.len(), 0_u64..1_999, 0_usize..19), 0..60),
    ) {
        let host = Host::new(&TABLES);
        let ledger = Ledger::new(host.directory.path().join("ledger"));
        let library = host.builder().build().library().clone();
        let catalog = library.catalog();
        let activities: Vec<Activity> = Activity::all().collect();
        let event = |(skill, days, activity): &(usize, u64, usize)| {
            let time = clock() - std::time::Duration::from_secs(days * 24 * 60 * 60);
            let time = Timestamp::from(time);
            let name = TABLES[*skill].0;
            let mut entries = catalog.entries().iter();
            let entry = entries.find(|entry| entry.name().as_str() == name).unwrap();
            Event::new(name, ledger_scope(entry), activities[*activity], time)
        };
        let events: Vec<Event<'_>> = events.iter().map(event).collect();
        ledger.append(&events).unwrap();
        let query = "edit tables of numbers";
        let plain = host.builder().build();
        let plain = plain.library().search_index();
        let plain = plain.search(query, |_| true);
        let used = host.builder().usage_ledger(ledger).clock(clock).build();
        let used = used.library().search_index();
        let ranked: Vec<&str> = used.search(query, |_| true).skills.iter().map(|entry| entry.name().as_str()).collect();
        let place = |name: &str| ranked.iter().position(|known| *known == name).unwrap();
        prop_assert_eq!(ranked.len(), plain.skills.len());
        let scored: Vec<(&str, f32)> = plain.skills.iter().map(|entry| entry.name().as_str()).zip(plain.scores).collect();
        for (position, (better, score)) in scored.iter().enumerate() {
            for (worse, other) in &scored[position + 1..] {
                if *score > other * 1.101 {
                    prop_assert!(place(better) < place(worse), "{:?}", ranked);
                }
            }
        }
    }
}
