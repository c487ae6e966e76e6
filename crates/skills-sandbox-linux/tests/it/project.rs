//! A skill in the project that it works on: the project is writable, the skill is not.

use std::fs;
use std::path::Path;

use skills_policy::{Authorization, Capability, Grants, Policy, Request, RuleSource};
use skills_sandbox::{Job, Program, Sandbox, ScriptType};
use skills_sandbox_linux::{IsolationMode, LinuxSandbox};

use crate::skill::skip_without;

const SKILL: &str = "skills/pdf";

fn create_project() -> tempfile::TempDir {
    let parent = std::env::temp_dir().canonicalize().unwrap();
    let directory = tempfile::tempdir_in(parent).unwrap();
    let skill = directory.path().join("project").join(SKILL);
    fs::create_dir_all(skill.join("scripts")).unwrap();
    fs::write(skill.join("SKILL.md"), "original").unwrap();
    fs::write(skill.join("scripts/main.py"), "original").unwrap();
    fs::create_dir_all(directory.path().join("project/src")).unwrap();
    directory
}

fn grants(project: &Path, copy: Option<&Path>) -> Grants {
    let request = Request::new(project.join(SKILL))
        .workspace(project)
        .write(project)
        .spawn("mv");
    let request = copy.into_iter().fold(request, Request::copy);
    let policy = Policy::default()
        .allow(RuleSource::User, Capability::Write)
        .allow(RuleSource::User, Capability::Spawn);
    let Authorization::Granted(grants) = policy.authorize(&request) else {
        panic!("rules allow it")
    };
    grants
}

const ATTEMPTS: &str = r"
import os, shutil, subprocess, ctypes
skill = os.environ['SKILL']
project = os.path.dirname(os.path.dirname(skill))
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    if getattr(libc, name)(*args) != 0: raise OSError(ctypes.get_errno(), name)
def outside(name):
    return os.path.join(project, name)
attempts = [
    lambda: open(skill + '/SKILL.md', 'w').write('changed'),
    lambda: open(skill + '/scripts/main.py', 'a').write('changed'),
    lambda: open(skill + '/new.txt', 'w').write('changed'),
    lambda: os.unlink(skill + '/SKILL.md'),
    lambda: os.replace(outside('evil.md'), skill + '/SKILL.md'),
    lambda: os.rename(skill, outside('moved')),
    lambda: os.rename(os.path.dirname(skill), outside('moved')),
    lambda: os.rename(outside('evil'), skill),
    lambda: os.rename(outside('evil'), os.path.dirname(skill)),
    lambda: shutil.rmtree(skill),
    lambda: subprocess.run(['mv', os.path.dirname(skill), outside('moved')], check=True, stderr=subprocess.DEVNULL),
    lambda: os.link(skill + '/SKILL.md', outside('link.md')),
    lambda: os.chmod(skill + '/SKILL.md', 0o666),
    lambda: os.truncate(skill + '/SKILL.md', 0),
    lambda: call('renameat2', -100, skill.encode(), -100, outside('evil').encode(), 2),
    lambda: call('umount2', skill.encode(), 2),
    lambda: open('/workspace/skills/pdf/SKILL.md', 'w').write('changed'),
    lambda: open(outside('through') + '/SKILL.md', 'w').write('changed'),
    lambda: open('/proc/self/cwd/skills/pdf/SKILL.md', 'w').write('changed'),
]
os.makedirs(outside('evil/scripts'), exist_ok=True)
for name in ['evil/SKILL.md', 'evil.md']: open(outside(name), 'w').write('changed')
os.symlink(skill, outside('through'))
for number, attempt in enumerate(attempts):
    try:
        attempt()
        print('done', number)
    except (OSError, subprocess.CalledProcessError): pass
open(outside('src/result.txt'), 'w').write('result')
os.makedirs(outside('skills/other'), exist_ok=True)
print(open(skill + '/SKILL.md').read())
";

async fn attempt(project: &Path, copy: Option<&Path>) -> String {
    let script = copy.map_or_else(|| project.join(SKILL), Path::to_owned);
    fs::write(script.join("scripts/main.py"), ATTEMPTS).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let program = Program::script(
        ScriptType::Python,
        project.join(SKILL).join("scripts/main.py"),
    );
    let job = Job::new(grants(project, copy), program)
        .env("SKILL", project.join(SKILL).display().to_string());
    let sandbox = LinuxSandbox::new(scratch.path()).isolation_mode(IsolationMode::Namespaces);
    let output = sandbox.run(job).await.unwrap();
    assert_eq!(output.stderr.text(), "");
    output.stdout.text()
}

#[tokio::test]
async fn a_skill_in_a_writable_project_stays_as_it_is() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let directory = create_project();
    let project = directory.path().join("project");
    assert_eq!(attempt(&project, None).await, "original\n");
    let skill = project.join(SKILL);
    let read = |name: &str| fs::read_to_string(skill.join(name)).unwrap();
    assert_eq!(read("SKILL.md"), "original");
    assert_eq!(read("scripts/main.py"), ATTEMPTS);
    assert!(!skill.join("new.txt").exists());
    assert!(project.join("src/result.txt").exists());
    assert!(project.join("skills/other").exists());
}

#[tokio::test]
async fn a_copied_skill_in_a_writable_project_is_used_and_the_original_kept() {
    if skip_without(IsolationMode::Namespaces) {
        return;
    }
    let directory = create_project();
    let (project, copy) = (
        directory.path().join("project"),
        directory.path().join("copy"),
    );
    fs::create_dir_all(copy.join("scripts")).unwrap();
    fs::write(copy.join("SKILL.md"), "copied").unwrap();
    assert_eq!(attempt(&project, Some(&copy)).await, "copied\n");
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    assert_eq!(read(&project.join(SKILL).join("SKILL.md")), "original");
    assert_eq!(
        read(&project.join(SKILL).join("scripts/main.py")),
        "original"
    );
    assert_eq!(read(&copy.join("SKILL.md")), "copied");
    assert!(project.join("src/result.txt").exists());
}

#[tokio::test]
async fn landlock_alone_rejects_a_writable_project_around_the_skill() {
    if skip_without(IsolationMode::LandlockOnly) {
        return;
    }
    let directory = create_project();
    let project = directory.path().join("project");
    let scratch = tempfile::tempdir().unwrap();
    let program = Program::script(
        ScriptType::Python,
        project.join(SKILL).join("scripts/main.py"),
    );
    let sandbox = LinuxSandbox::new(scratch.path()).isolation_mode(IsolationMode::LandlockOnly);
    let error = sandbox
        .run(Job::new(grants(&project, None), program))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("Landlock cannot exclude"), "{error}");
}
