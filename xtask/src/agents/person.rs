//! A scripted person at the terminal of an agent.

use std::time::{Duration, Instant};

use super::terminal::Terminal;

const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Keys that were typed before a prompt reads them are lost, so they are typed again.
const RETRY_INTERVAL: Duration = Duration::from_secs(3);
const MAX_TRIES: usize = 4;

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    /// The agent, about its own setup, such as whether it may work in this directory.
    Setup,
    /// The agent, whether it may call a tool.
    Agent,
    /// The server.
    Server,
}

/// What the person does at one prompt.
#[derive(Debug)]
pub(crate) struct Reaction {
    pub(crate) asker: Asker,
    /// Texts that are all on the screen.
    pub(crate) shows: &'static [&'static str],
    pub(crate) keys: &'static str,
}

/// A prompt that was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) asker: Asker,
    /// The screen at that moment.
    pub(crate) screen: String,
}

/// A prompt that is still on the screen.
struct Pending {
    reaction: usize,
    tries: usize,
    typed_at: Instant,
}

/// Answers prompts until `is_finished`, the program ends, or `deadline` passes.
///
/// Returns the answers in their order.
pub(crate) fn attend(
    terminal: &mut Terminal,
    reactions: &[Reaction],
    deadline: Instant,
    is_finished: impl Fn() -> bool,
) -> Vec<Answer> {
    let mut answers = Vec::new();
    let mut pending: Option<Pending> = None;
    while !is_finished() && Instant::now() < deadline && terminal.update(POLL_INTERVAL) {
        let screen = terminal.text();
        let Some(index) = reactions
            .iter()
            .position(|reaction| reaction.is_shown(&screen))
        else {
            pending = None;
            continue;
        };
        let tries = match &pending {
            Some(old) if old.reaction == index => {
                if old.typed_at.elapsed() < RETRY_INTERVAL || old.tries == MAX_TRIES {
                    continue;
                }
                old.tries
            }
            _ => 0,
        };
        let reaction = &reactions[index];
        terminal.type_keys(reaction.keys);
        if tries == 0 {
            answers.push(Answer {
                asker: reaction.asker,
                screen,
            });
        }
        pending = Some(Pending {
            reaction: index,
            tries: tries + 1,
            typed_at: Instant::now(),
        });
    }
    answers
}

impl Reaction {
    fn is_shown(&self, screen: &str) -> bool {
        self.shows.iter().all(|text| screen.contains(text))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn prompts_are_answered_once_each() {
        let mut command = Command::new("/bin/sh");
        command.args([
            "-c",
            r#"printf 'First? '; read a; printf '\033[2J\033[HSecond? '; read b; printf "\ngot $a $b\n"; read c"#,
        ]);
        let mut terminal = Terminal::start(&command).unwrap();
        let reaction = |asker, shows, keys| Reaction { asker, shows, keys };
        let reactions = [
            reaction(Asker::Setup, &["got one two"], "\n"),
            reaction(Asker::Agent, &["First?"], "one\n"),
            reaction(Asker::Server, &["Second?"], "two\n"),
        ];
        let deadline = Instant::now() + Duration::from_secs(20);
        let answers = attend(&mut terminal, &reactions, deadline, || false);
        let askers = answers.iter().map(|answer| answer.asker);
        assert_eq!(
            askers.collect::<Vec<_>>(),
            [Asker::Agent, Asker::Server, Asker::Setup]
        );
        terminal.close().unwrap();
    }
}
