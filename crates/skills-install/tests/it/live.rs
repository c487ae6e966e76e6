//! Skills of a live MCP server, and of archives, as sources of a scan.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use skills_discovery::{
    Catalog, Discovery, DiscoveryErrorKind, MemorySource, Scope, SkillFiles, SkillSource,
    SourceRoot, Trust,
};
use skills_install::{FetchLimits, Fetcher, InstallErrorKind, LiveSource};
use tar::EntryType;

use crate::fixture::{Fixture, TarEntry, skill_text};
use crate::mcp::{File, entry, respond};
use crate::web::loopback;
use crate::web_server::{Pace, Reply, Request, WebServer};

/// What a server answers from now on.
#[derive(Default)]
struct Served {
    entries: Vec<Value>,
    files: Vec<File>,
    pace: Pace,
}

struct Scene {
    fixture: Fixture,
    served: Arc<Mutex<Served>>,
    server: WebServer,
}

impl Scene {
    fn new(entries: Vec<Value>, files: &[File]) -> Self {
        let files = files.to_vec();
        let pace = Pace::AtOnce;
        let served = Arc::new(Mutex::new(Served {
            entries,
            files,
            pace,
        }));
        let shared = Arc::clone(&served);
        let server = WebServer::start(move |request: &Request| -> Reply {
            let served = shared.lock().unwrap();
            respond(request, &served.entries, &served.files).pace(served.pace)
        });
        Self {
            fixture: Fixture::new(),
            served,
            server,
        }
    }

    /// Returns a source that asks for each listing.
    fn source(&self, fetcher: &Fetcher) -> Arc<LiveSource> {
        Arc::new(self.lasting_source(fetcher).refresh_after(Duration::ZERO))
    }

    fn lasting_source(&self, fetcher: &Fetcher) -> LiveSource {
        let spec = format!("mcp+{}", self.server.url("/mcp"));
        fetcher.live_source(&self.fixture.spec(&spec)).unwrap()
    }

    fn discovery(&self, source: Arc<dyn SkillSource>) -> Discovery {
        let root = SourceRoot::new(source, Scope::User, self.fixture.path(""));
        Discovery::new([]).source(root.lock_directory(self.fixture.path("")))
    }

    fn scan(&self) -> Catalog {
        self.discovery(self.source(&loopback())).scan()
    }

    /// Writes a lock file with the digests that the server lists now.
    fn agree(&self, catalog: &Catalog) {
        let mut text = "version = 1\n".to_owned();
        for entry in catalog.all_entries() {
            let digest = entry.locked_digest().unwrap();
            text.push_str(&format!(
                "[[skill]]\nname = \"{}\"\nsource = \"mcp+https://host/mcp\"\ncontent = \"{digest}\"\nfiles = 1\nbytes = 1\nsigner = \"unsigned\"\n",
                entry.name()
            ));
        }
        std::fs::write(self.fixture.path("skills.lock"), text).unwrap();
    }
}

fn states(catalog: &Catalog) -> Vec<String> {
    let active = catalog.entries().iter();
    let active = active.map(|entry| entry.name().to_string());
    let inactive = catalog.inactive().iter();
    let inactive = inactive.map(|one| format!("{} {}", one.entry().name(), one.reason().code()));
    let skipped = catalog.skipped().iter().map(|one| one.reason().to_string());
    active.chain(inactive).chain(skipped).collect()
}

fn pdf() -> Vec<File> {
    vec![
        File::new("skill://acme/pdf/SKILL.md", skill_text("pdf", "")),
        File::new("skill://acme/pdf/scripts/run.py", "print(1)"),
    ]
}

#[test]
fn skills_of_a_server_are_listed_and_only_opened_ones_are_read() {
    let docx = File::new("skill://docx/SKILL.md", skill_text("docx", ""));
    let large = File::new("skill://docx/data.bin", vec![0xff; 100_000]);
    let docx = [docx, large];
    let entries = vec![entry("pdf", &pdf()), entry("docx", &docx)];
    let scene = Scene::new(entries, &[&pdf()[..], &docx].concat());
    let catalog = scene.scan();
    assert_eq!(states(&catalog), ["docx untrusted", "pdf untrusted"]);
    // One discovery, two pages, two files.
    assert_eq!(scene.server.paths().len(), 5);
    let entry = catalog.inactive()[1].entry();
    assert!(entry.location().starts_with("/skill-sources"));
    assert!(entry.location().ends_with("acme/pdf/SKILL.md"));

    // The digest of an installation of the same skill.
    let spec = format!("mcp+{}//acme/pdf", scene.server.url("/mcp"));
    scene.fixture.add_with(&loopback(), &spec).unwrap();
    let installed = SkillFiles::open_directory(&scene.fixture.path("skills/pdf")).unwrap();
    let digest = installed.digest(&mut Default::default()).unwrap();
    assert_eq!(entry.locked_digest(), Some(digest));

    let requests = scene.server.paths().len();
    let files = entry.open().unwrap();
    assert_eq!(files.read("scripts/run.py", 99).unwrap(), b"print(1)");
    entry.open().unwrap();
    assert_eq!(scene.server.paths().len() - requests, 2, "each file once");
}

#[test]
fn a_skill_is_active_while_the_server_lists_the_digest_that_was_agreed_to() {
    let scene = Scene::new(vec![entry("pdf", &pdf())], &pdf());
    scene.agree(&scene.scan());
    assert_eq!(states(&scene.scan()), ["pdf"]);
    let other = File::new("skill://acme/pdf/scripts/run.py", "print(2)");
    let changed = [pdf()[0].clone(), other];
    *scene.served.lock().unwrap() = Served {
        entries: vec![entry("pdf", &changed)],
        files: changed.to_vec(),
        pace: Pace::AtOnce,
    };
    assert_eq!(states(&scene.scan()), ["pdf changed"]);
}

#[test]
fn content_that_changes_after_the_listing_is_not_opened() {
    let scene = Scene::new(vec![entry("pdf", &pdf())], &pdf());
    let source = scene.source(&loopback());
    let discovery = scene.discovery(source.clone());
    let catalog = discovery.scan();
    let opened = |files: Vec<File>| {
        scene.served.lock().unwrap().files = files;
        catalog.inactive()[0].entry().open().map(|_| ())
    };
    let changed = |text: &str| {
        vec![
            pdf()[0].clone(),
            File::new("skill://acme/pdf/scripts/run.py", text),
        ]
    };
    for (files, message) in [
        (changed("print(2)"), "has the digest"),
        (changed("more than before"), "has 16 bytes"),
        (vec![pdf()[0].clone()], "no content"),
        (vec![], "no content"),
    ] {
        let error = opened(files).unwrap_err();
        assert_eq!(error.kind(), DiscoveryErrorKind::Source, "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
    // Listed again with the new content: the earlier catalog has the earlier digest.
    let files = changed("print(2)");
    scene.served.lock().unwrap().entries = vec![entry("pdf", &files)];
    scene.served.lock().unwrap().files = files;
    source.list().unwrap();
    let error = catalog.inactive()[0].entry().open().unwrap_err();
    assert_eq!(error.kind(), DiscoveryErrorKind::Changed, "{error}");
    scene.served.lock().unwrap().entries = vec![];
    source.list().unwrap();
    let error = catalog.inactive()[0].entry().open().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server does not list the skill any more"
    );
}

#[test]
fn entries_that_are_not_skills_hide_no_other() {
    let with = |name: &str, more: &str| {
        let own = File::new(&format!("skill://{name}/SKILL.md"), skill_text(name, ""));
        vec![own, File::new(&format!("skill://{name}/{more}"), "x")]
    };
    let upper = [with("upper", "a"), vec![File::new("skill://upper/A", "x")]].concat();
    let listed: Vec<(&str, Vec<File>)> = vec![
        ("up", with("up", "..%2fx")),
        ("dots", with("dots", "%2e%2e/x")),
        ("back", with("back", "a%5cb")),
        ("null", with("null", "a%00")),
        ("deep", with("deep", &("d/".repeat(33) + "x"))),
        ("upper", upper),
        ("pdf", with("pdf", "x")),
    ];
    let mut entries: Vec<Value> = listed
        .iter()
        .map(|(name, files)| entry(name, files))
        .collect();
    let mut large = entry("large", &with("large", "x"));
    large["resources"][1]["size"] = json!(u64::MAX);
    let mut claims = entry("claims", &with("claims", "x"));
    claims["scope"] = json!("system");
    claims["frontmatter"]["trusted"] = json!(true);
    let mut long = entry("long", &with("long", "x"));
    long["resources"][0]["size"] = json!(2 << 20);
    entries.extend([large, claims, long]);
    let files: Vec<File> = listed.into_iter().flat_map(|(_, files)| files).collect();
    let files = [files, with("large", "x"), with("claims", "x")].concat();
    let states = states(&Scene::new(entries, &files).scan());
    assert_eq!(states[0], "pdf untrusted", "{states:#?}");
    assert_eq!(states.len(), 10);
    for problem in [
        "frontmatter",
        "more than 268435456 bytes",
        "more than 32 directory levels",
        "more than 1048576 bytes in a `SKILL.md`",
        "`a` and `A` are the same path",
        "contains '/'",
        "contains '\\\\'",
        "contains '\\0'",
    ] {
        let found = states.iter().any(|state| state.contains(problem));
        assert!(found, "{problem}: {states:#?}");
    }
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    let scene = Scene::new(vec![entry("pdf", &pdf())], &pdf());
    let mut limits = FetchLimits::default();
    limits.timeout = Duration::from_millis(300);
    let discovery = scene.discovery(scene.source(&loopback().limits(limits)));
    let catalog = discovery.scan();
    assert_eq!(states(&catalog), ["pdf untrusted"]);
    for pace in [Pace::Never, Pace::ByteByByte] {
        scene.served.lock().unwrap().pace = pace;
        let start = Instant::now();
        assert!(catalog.inactive()[0].entry().open().is_err());
        let states = states(&discovery.scan());
        assert!(
            matches!(&*states, [reason] if reason.contains("seconds")),
            "{states:?}"
        );
        assert!(start.elapsed() < Duration::from_secs(20), "{pace:?}");
    }
}

/// A server that is fetched from at each start can change them at any time.
#[test]
fn skills_that_are_fetched_into_memory_can_need_an_agreement() {
    let scene = Scene::new(vec![entry("pdf", &pdf())], &pdf());
    let scan = || {
        let spec = format!("mcp+{}", scene.server.url("/mcp"));
        let spec = scene.fixture.spec(&spec);
        let fetched = loopback().fetch_into_memory(&spec, &scene.fixture.path(""));
        let source = Arc::new(MemorySource::new("fetched", fetched.unwrap()));
        let root = SourceRoot::new(source, Scope::User, scene.fixture.path(""))
            .trust(Trust::Untrusted)
            .lock_directory(scene.fixture.path(""));
        Discovery::new([]).source(root).scan()
    };
    let catalog = scan();
    assert_eq!(states(&catalog), ["pdf untrusted"]);
    scene.agree(&catalog);
    assert_eq!(states(&scan()), ["pdf"]);
    let mut other = pdf();
    other[1] = File::new("skill://acme/pdf/scripts/run.py", "print(2)");
    {
        let mut served = scene.served.lock().unwrap();
        served.entries = vec![entry("pdf", &other)];
        served.files = other;
    }
    assert_eq!(states(&scan()), ["pdf changed"]);
}

/// Returns a server that calls `before` when it is asked for its skills.
fn serve_pdf(before: impl Fn() + Send + Sync + 'static) -> WebServer {
    let (entries, files) = (vec![entry("pdf", &pdf())], pdf());
    WebServer::start(move |request: &Request| -> Reply {
        if request.header("mcp-method") == Some("skills/list") {
            before();
        }
        respond(request, &entries, &files)
    })
}

#[test]
fn an_open_does_not_wait_for_a_listing() {
    let (asked, is_asked) = mpsc::channel();
    let (answer, may_answer) = mpsc::channel::<()>();
    let may_answer = Mutex::new(may_answer);
    let is_first = AtomicBool::new(true);
    let server = serve_pdf(move || {
        if !is_first.swap(false, Ordering::SeqCst) {
            asked.send(()).unwrap();
            let _ = may_answer.lock().unwrap().recv();
        }
    });
    let fixture = Fixture::new();
    let spec = fixture.spec(&format!("mcp+{}", server.url("/mcp")));
    let mut limits = FetchLimits::default();
    limits.timeout = Duration::from_secs(10);
    let source = loopback().limits(limits).live_source(&spec).unwrap();
    let source = Arc::new(source.refresh_after(Duration::ZERO));
    let root = SourceRoot::new(source.clone(), Scope::User, fixture.path(""));
    let catalog = Discovery::new([]).source(root).scan();
    let listing = thread::spawn(move || source.list().map(drop).is_ok());
    is_asked.recv().unwrap();
    assert!(catalog.inactive()[0].entry().open().is_ok());
    assert!(!listing.is_finished());
    drop(answer);
    assert!(listing.join().unwrap());
}

#[test]
fn callers_that_wait_for_a_listing_share_the_next_one() {
    let listings = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&listings);
    let server = serve_pdf(move || {
        count.fetch_add(1, Ordering::SeqCst);
        // Much longer than the other callers take to arrive.
        thread::sleep(Duration::from_millis(500));
    });
    let spec = Fixture::new().spec(&format!("mcp+{}", server.url("/mcp")));
    let source = loopback().live_source(&spec).unwrap();
    let source = source.refresh_after(Duration::ZERO);
    thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| assert_eq!(source.list().unwrap().len(), 1));
        }
    });
    assert_eq!(
        listings.load(Ordering::SeqCst),
        2,
        "of the first, and of the others"
    );
}

#[test]
fn a_listing_and_a_failure_are_used_for_a_while() {
    let scene = Scene::new(vec![entry("pdf", &pdf())], &pdf());
    let source = Arc::new(scene.lasting_source(&loopback()));
    let discovery = scene.discovery(source.clone());
    let catalog = discovery.scan();
    let requests = scene.server.paths().len();
    // Also by a scan for another reason.
    assert!(discovery.rescan(&catalog).is_none());
    assert_eq!(states(&discovery.scan()), ["pdf untrusted"]);
    assert_eq!(scene.server.paths().len(), requests);
    // Files that did not change are not read again.
    let asking = scene.discovery(scene.source(&loopback()));
    let _ = (asking.scan(), asking.scan());
    assert_eq!(scene.server.paths().len(), requests + 3 + 2);

    let failing = WebServer::start(|_| Reply::status(500));
    let spec = scene.fixture.spec(&format!("mcp+{}", failing.url("/mcp")));
    let source = loopback().live_source(&spec).unwrap();
    let discovery = scene.discovery(Arc::new(source));
    for _ in 0..2 {
        assert!(states(&discovery.scan())[0].contains("status 500"));
    }
    assert_eq!(failing.paths().len(), 1);
}

#[test]
fn the_rules_for_sources_apply_to_live_ones() {
    let fixture = Fixture::new();
    let kind = |fetcher: Fetcher, spec: &str| {
        let source = fetcher.live_source(&fixture.spec(spec));
        source.unwrap_err().kind()
    };
    let spec = "mcp+https://host.example/mcp";
    assert_eq!(
        kind(loopback().allowed_sources([]), spec),
        InstallErrorKind::NotAllowed
    );
    assert_eq!(
        kind(loopback().require_signature(), spec),
        InstallErrorKind::Signature
    );
    // A model sees the address.
    let secret = "mcp+https://host.example/mcp?key=secret";
    assert_eq!(kind(loopback(), secret), InstallErrorKind::Fetch);
    assert_eq!(
        kind(loopback(), "https://host.example"),
        InstallErrorKind::Fetch
    );
    // The addresses of a private network are not reached, as in an installation.
    let source = Fetcher::new(skills_install::GitOptions::new("/usr/bin/git"));
    let source = source.live_source(&fixture.spec("mcp+http://127.0.0.1:1/mcp"));
    assert!(source.unwrap().list().is_err());
}

#[test]
fn skills_of_an_archive_are_those_of_a_directory() {
    let fixture = Fixture::new();
    fixture.file("in/pdf/SKILL.md", skill_text("pdf", ""));
    fixture.file("in/pdf/a/b.txt", "b");
    let text = skill_text("pdf", "");
    let files = [
        TarEntry::file("skills/pdf/SKILL.md", &text),
        TarEntry::file("skills/pdf/a/b.txt", "b"),
    ];
    fixture.tar_gz("skills.tar.gz", &files);
    let read = || {
        let spec = fixture.spec("./skills.tar.gz");
        loopback().fetch_into_memory(&spec, &fixture.path(""))
    };
    let source = Arc::new(MemorySource::new("archive", read().unwrap()));
    let root = SourceRoot::new(source, Scope::User, fixture.path(""));
    let catalog = Discovery::new([]).source(root).scan();
    let entry = &catalog.entries()[0];
    let directory = SkillFiles::open_directory(&fixture.path("in/pdf")).unwrap();
    let digest = directory.digest(&mut Default::default()).unwrap();
    assert_eq!(entry.locked_digest(), Some(digest));
    assert!(entry.location().ends_with("skills/pdf/SKILL.md"));
    let files = entry.open().unwrap();
    assert_eq!(files.list("").unwrap(), directory.list("").unwrap());

    for (kind, target, message) in [
        (
            EntryType::Symlink,
            "a/b.txt",
            "a skill in memory cannot have",
        ),
        (EntryType::Symlink, "../../x", "out of the skill"),
        (EntryType::Symlink, "/etc/passwd", "out of the skill"),
        (EntryType::Fifo, "", "FIFO"),
    ] {
        let text = skill_text("pdf", "");
        let other = TarEntry::of_kind("skills/pdf/other", kind, target);
        let skill = TarEntry::file("skills/pdf/SKILL.md", &text);
        fixture.tar_gz("skills.tar.gz", &[skill, other]);
        let error = read().unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Unsafe, "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
}
