//! Parses a text as a file of settings, with the module of the command: it is in no library.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/skills-cli/src/settings/keys.rs"]
#[expect(dead_code, reason = "the command uses the rest of it")]
mod keys;

/// What the module uses of the command.
mod interpreters {
    use std::path::PathBuf;

    pub(crate) struct InterpreterArg {
        pub(crate) skill: Option<String>,
        pub(crate) kind: skills_runtime::ScriptType,
        #[expect(dead_code, reason = "the command reads it")]
        pub(crate) path: PathBuf,
    }
}

mod containers {
    pub(crate) fn check_image(_: &str) -> Result<(), String> {
        Ok(())
    }
}

mod permission {
    pub(crate) fn similar(name: &str, known: &[&'static str]) -> Option<&'static str> {
        known.iter().copied().find(|known| known.starts_with(name))
    }
}

fuzz_target!(|text: &str| {
    let directories = keys::BaseDirs {
        base: "/base".as_ref(),
        home: Some("/home/user".as_ref()),
    };
    let Ok(settings) = keys::FileSettings::parse(text, "settings.toml".as_ref(), directories)
    else {
        return;
    };
    for (key, _) in &settings.values {
        let path = key.path();
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        assert_eq!(keys::SettingKey::parse(&parts).as_ref(), Ok(key));
    }
    let lines = text.lines().count().max(1);
    for problem in &settings.problems {
        let line = problem.message.strip_prefix("settings.toml:");
        let line = line.and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
        assert!(
            line.is_some_and(|line| (1..=lines).contains(&line)),
            "{}",
            problem.message
        );
    }
});
