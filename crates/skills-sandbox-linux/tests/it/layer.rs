//! The writable layer over the directory of a program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use skills_policy::{Authorization, Capability, Effect, Policy, Request, Rule, RuleSource};
use skills_sandbox::{Job, Program, RunOutput, ScriptType};
use skills_sandbox_linux::IsolationMode;

use crate::skill::{Skill, supported_modes};

/// A skill of which a copy runs.
struct Copied {
    skill: Skill,
    live: PathBuf,
    copy: PathBuf,
}

impl Copied {
    fn new(mode: IsolationMode, script: &str) -> Self {
        let skill = Skill::new(mode);
        let (live, copy) = (skill.path("project/skill"), skill.path("copy"));
        for directory in [&live, &copy] {
            fs::create_dir_all(directory.join("lib")).unwrap();
            fs::write(directory.join("main.py"), script).unwrap();
            fs::write(directory.join("lib/old"), "old").unwrap();
            let tool = directory.join("lib/tool");
            fs::write(&tool, "#!/bin/sh\necho of the skill\n").unwrap();
            fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { skill, live, copy }
    }

    /// Runs the script, which may start any program.
    async fn run(&self) -> RunOutput {
        let policy = Policy::default().allow(RuleSource::User, Capability::Spawn);
        self.run_with(policy, self.request()).await
    }

    fn request(&self) -> Request {
        Request::new(&self.live)
            .copy(&self.copy)
            .limits(self.skill.limits.clone())
    }

    async fn run_with(&self, policy: Policy, request: Request) -> RunOutput {
        let Authorization::Granted(grants) = policy.authorize(&request) else {
            panic!("rules allow what is requested")
        };
        let script = Program::script(ScriptType::Python, self.live.join("main.py"));
        self.skill.run(Job::new(grants, script).layer()).await
    }

    /// Returns the files of the copy with their texts.
    fn files(&self) -> Vec<(String, String)> {
        ["main.py", "lib/old", "lib/tool", "new", "lib/new"]
            .iter()
            .filter_map(|name| {
                let text = fs::read_to_string(self.copy.join(name)).ok()?;
                Some(((*name).to_owned(), text))
            })
            .collect()
    }
}

/// Runs with namespaces, where layers are mounted.
fn with_namespaces(script: &str) -> Option<Copied> {
    let mut modes = supported_modes().into_iter();
    let mode = modes.find(|mode| *mode == IsolationMode::Namespaces)?;
    Some(Copied::new(mode, script))
}

#[tokio::test]
async fn a_layer_ends_with_the_run() {
    let script = "import os\nos.chdir(os.path.dirname(__file__))\n\
        print(sorted(os.listdir()), sorted(os.listdir('lib')), open('lib/old').read())\n\
        open('new', 'w').write('new')\nopen('lib/new', 'w').write('new')\n\
        open('main.py', 'a').write('# more')\nopen('lib/old', 'w').write('other')\n\
        os.rename('lib/old', 'older')\nos.mkdir('made')\n\
        print(open('new').read(), open('older').read(), os.path.exists('lib/old'))\n";
    let Some(skill) = with_namespaces(script) else {
        return;
    };
    let before = skill.files();
    // The second run sees nothing of the first.
    for _ in 0..2 {
        let output = skill.run().await;
        assert_eq!(
            output.stdout.text(),
            "['lib', 'main.py'] ['old', 'tool'] old\nnew other False\n",
            "{}",
            output.stderr.text()
        );
        assert_eq!(skill.files(), before);
        let mut written = output.discarded.unwrap().files;
        written.sort();
        assert_eq!(written, ["lib/new", "main.py", "new", "older"]);
    }
}

#[tokio::test]
async fn nothing_of_a_layer_is_executed() {
    let script = r"
import errno, os, shutil, subprocess
os.chdir(os.path.dirname(__file__))
def attempt(name, action):
    try: print(name, action())
    except OSError as error: print(name, errno.errorcode[error.errno])
def start(name):
    return subprocess.run([name], capture_output=True, text=True).stdout.strip()
attempt('tool', lambda: start('lib/tool'))
open('new', 'w').write('#!/bin/sh\necho new\n')
os.chmod('new', 0o755)
attempt('new', lambda: start('./new'))
shutil.copy('lib/tool', 'copy')
attempt('copy', lambda: start('./copy'))
attempt('write', lambda: open('lib/tool', 'w'))
attempt('rename', lambda: os.rename('lib/tool', 'lib/x'))
attempt('remove', lambda: os.remove('lib/tool'))
attempt('replace', lambda: os.rename('new', 'lib/tool'))
attempt('move directory', lambda: os.rename('lib', 'lib2'))
attempt('link', lambda: os.link('new', 'linked') or start('./linked'))
attempt('tool', lambda: start('lib/tool'))
";
    let Some(skill) = with_namespaces(script) else {
        return;
    };
    let policy = Policy::default()
        .allow(RuleSource::User, Capability::Spawn)
        .allow(RuleSource::User, Capability::Write);
    // A skill can be in the project on which it works.
    let in_workspace = skill.request().write(skill.live.parent().unwrap());
    for request in [skill.request(), in_workspace] {
        let output = skill.run_with(policy.clone(), request).await;
        assert_eq!(
            output.stdout.text(),
            "tool of the skill\nnew EACCES\ncopy EACCES\nwrite EROFS\nrename EBUSY\n\
             remove EBUSY\nreplace EBUSY\nmove directory EXDEV\nlink EACCES\n\
             tool of the skill\n",
            "{}",
            output.stderr.text()
        );
    }
}

/// No answer allows to start a file of the layer, so the user is not asked for any program.
#[tokio::test]
async fn a_refused_file_of_a_layer_is_not_one_that_a_rule_allows() {
    let script = r"
import os, subprocess
os.chdir(os.path.dirname(__file__))
open('step', 'w').write('#!/bin/sh\necho step\n')
os.chmod('step', 0o755)
for name in ['./step', 'lib/tool']:
    try: subprocess.run([name])
    except OSError: pass
";
    let Some(skill) = with_namespaces(script) else {
        return;
    };
    let rule = Rule::parse(Effect::Allow, RuleSource::User, "spawn:ls").unwrap();
    let output = skill
        .run_with(Policy::default().rule(rule), skill.request())
        .await;
    let refused: Vec<(String, Option<String>)> = output
        .refusals
        .list()
        .iter()
        .map(|refusal| {
            let target = refusal.operation.target();
            let target = target.map(|target| target.to_string());
            (refusal.operation.to_string(), target)
        })
        .collect();
    let any = ("spawn another program".to_owned(), Some("spawn".to_owned()));
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert_eq!(refused[0].1, None, "{refused:?}");
    assert_eq!(refused[1], any);
}

#[tokio::test]
async fn a_layer_is_bounded() {
    let script = r"
import errno, os
os.chdir(os.path.dirname(__file__))
def fill(write):
    try:
        for number in range(5000): write(number)
    except OSError as error: print(errno.errorcode[error.errno], number > 60)
def write(number):
    with open(f'big{number % 2}', 'ab') as file: file.write(b'x' * (1 << 20))
fill(write)
os.remove('big0')
os.remove('big1')
fill(lambda number: open(f'{number}', 'w').close())
print([name for name in os.listdir('/') if name.startswith('.')])
";
    let Some(skill) = with_namespaces(script) else {
        return;
    };
    let output = skill.run().await;
    assert_eq!(
        output.stdout.text(),
        "ENOSPC True\nENOSPC True\n[]\n",
        "{}",
        output.stderr.text()
    );
}

/// Where no layer can be mounted, the copy is read-only.
#[tokio::test]
async fn without_a_layer_the_copy_is_read_only() {
    let script = "import os\ntry: open(os.path.dirname(__file__) + '/new', 'w')\nexcept OSError as error: print('refused')\n";
    for mode in supported_modes() {
        let skill = Copied::new(mode, script);
        if mode == IsolationMode::Namespaces {
            // Each would be a mount.
            for number in 0..64 {
                let tool = skill.copy.join(format!("lib/{number}"));
                fs::copy(skill.copy.join("lib/tool"), tool).unwrap();
            }
        }
        let output = skill.run().await;
        assert_eq!(output.stdout.text(), "refused\n", "{mode:?}");
        assert_eq!(skill.files().len(), 3);
    }
}
