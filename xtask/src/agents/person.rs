//! A scripted person at the terminal of an agent.

use std::time::{Duration, Instant};

use super::terminal::Terminal;

const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Agents ignore keys that come before a person can have read the prompt.
const REACTION_TIME: Duration = Duration::from_millis(700);
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

/// A person at a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Person {
    /// What the person types once the agent has the tools of the server; `None` if an argument of the
    /// agent says it.
    pub(crate) prompt: Option<&'static str>,
    pub(crate) reactions: &'static [Reaction],
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
    screen: String,
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
    let mut answers = Vec::<Answer>::new();
    let mut pending: Option<Pending> = None;
    let mut noticed = None;
    while !is_finished() && Instant::now() < deadline && terminal.update(POLL_INTERVAL) {
        let screen = terminal.text();
        let Some(index) = reactions
            .iter()
            .position(|reaction| reaction.is_shown(&screen))
        else {
            (pending, noticed) = (None, None);
            continue;
        };
        let tries = match &pending {
            Some(old) if old.reaction == index => {
                let has_moved = reactions[index].is_movement() && old.screen != screen;
                let is_due = old.typed_at.elapsed() >= RETRY_INTERVAL && old.tries < MAX_TRIES;
                if !has_moved && !is_due {
                    continue;
                }
                if has_moved { 0 } else { old.tries }
            }
            _ => {
                let since = match noticed {
                    Some((old, time)) if old == index => time,
                    _ => Instant::now(),
                };
                noticed = Some((index, since));
                if since.elapsed() < REACTION_TIME {
                    continue;
                }
                0
            }
        };
        let reaction = &reactions[index];
        terminal.type_keys(reaction.keys);
        // An agent that draws its prompt anew, or ignores keys that come too early, asks once.
        if answers.iter().all(|answer| answer.screen != screen) {
            answers.push(Answer {
                asker: reaction.asker,
                screen: screen.clone(),
            });
        }
        pending = Some(Pending {
            reaction: index,
            screen,
            tries: tries + 1,
            typed_at: Instant::now(),
        });
    }
    answers
}

/// Types `prompt`, and Enter until `is_sent`.
pub(crate) fn type_prompt(
    terminal: &mut Terminal,
    prompt: &str,
    deadline: Instant,
    is_sent: impl Fn() -> bool,
) {
    terminal.type_keys(prompt);
    let mut typed_at = None::<Instant>;
    while !is_sent() && Instant::now() < deadline && terminal.update(POLL_INTERVAL) {
        // In one piece with the text, agents take Enter for a line break.
        let is_due = typed_at.is_none_or(|time| time.elapsed() > RETRY_INTERVAL);
        if is_due && terminal.text().contains(prompt) {
            terminal.type_keys("\r");
            typed_at = Some(Instant::now());
        }
    }
}

impl Reaction {
    /// Returns whether the keys only move between choices, so that they may be typed many times.
    fn is_movement(&self) -> bool {
        self.keys.starts_with("\x1b[")
    }

    fn is_shown(&self, screen: &str) -> bool {
        self.shows.iter().all(|text| screen.contains(text))
    }
}

#[cfg(all(test, unix))]
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
