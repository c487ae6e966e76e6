//! Connects the terminal of the user to that of a program.

use std::io;

use skills_runtime::ExecutionOptions;

use crate::process_environment::Environment;

#[cfg(unix)]
pub(super) use unix::RunTerminal;

/// Other systems have no terminals for programs.
#[cfg(not(unix))]
pub(super) struct RunTerminal;

#[cfg(not(unix))]
impl RunTerminal {
    pub(super) fn stop_keys(&self) {}

    pub(super) fn connect(
        _: &mut ExecutionOptions,
        _: bool,
        _: &Environment,
    ) -> io::Result<Option<Self>> {
        Ok(None)
    }
}

#[cfg(unix)]
mod unix {
    use std::io::IsTerminal;
    use std::os::fd::{AsFd, OwnedFd};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex, PoisonError};

    use skills_runtime::{InputStream, ProgramTerminal, TerminalStreams};

    use super::{Environment, ExecutionOptions, io};
    use crate::output::has_one_stream;
    use crate::terminal::{
        Keys, ModeChanges, StopKeys, UserModes, enter_program_modes, follow_window, window_size,
    };

    /// The terminal of a run. Dropping it keeps further keys from the program.
    pub(crate) struct RunTerminal {
        /// Stops the keys of the current attempt.
        keys: Arc<Mutex<Option<StopKeys>>>,
    }

    impl RunTerminal {
        /// Gives a program a terminal of its own. It gets the keys of the user if standard input is
        /// a terminal and `gets_keys` is set.
        ///
        /// # Errors
        /// Fails if no descriptor is left.
        pub(crate) fn connect(
            options: &mut ExecutionOptions,
            gets_keys: bool,
            environment: &Environment,
        ) -> io::Result<Option<Self>> {
            let changes = ModeChanges {
                keys: gets_keys && io::stdin().is_terminal(),
                output: io::stdout().is_terminal(),
            };
            let of_user = terminal_of_user(changes)?;
            let size = of_user.as_ref().and_then(window_size).unwrap_or_default();
            let is_open = Arc::<AtomicBool>::default();
            let mut terminal = ProgramTerminal::new(size)
                .streams(TerminalStreams {
                    input: changes.keys,
                    errors: has_one_stream(),
                })
                .variables(|name| Some(environment.variable(name)?.to_str()?.to_owned()));
            let keys = Arc::<Mutex<Option<StopKeys>>>::default();
            if changes.keys {
                let (stop_keys, is_wanted) = (Arc::clone(&keys), Arc::clone(&is_open));
                options.input_stream = Some(InputStream::opened(move || {
                    let terminal = io::stdin().as_fd().try_clone_to_owned()?;
                    let (keys, stop) = Keys::new(terminal, Arc::clone(&is_wanted))?;
                    *stop_keys.lock().unwrap_or_else(PoisonError::into_inner) = Some(stop);
                    Ok(keys)
                }));
            }
            if let Some(of_user) = of_user {
                let of_program = terminal.clone();
                let modes_of_user = UserModes::of(&of_user);
                terminal = terminal.on_open(move |slave| {
                    modes_of_user.iter().for_each(|modes| modes.set_for(slave));
                    let copies = (of_user.try_clone(), of_user.try_clone());
                    if let (Ok(modes), Ok(window)) = copies {
                        follow_window(window, of_program.clone());
                        // Without keys another command may ask meanwhile, such as one that prints
                        // the input of this one. It would wait for modes that change little.
                        if changes.keys {
                            enter_program_modes(modes, changes);
                        }
                    }
                    // With the modes: only then it is known whether this command has the keys.
                    is_open.store(true, Ordering::Relaxed);
                });
            }
            options.terminal = Some(terminal);
            Ok(Some(Self { keys }))
        }

        /// Keeps further keys from the program, which has ended.
        pub(crate) fn stop_keys(&self) {
            drop(
                self.keys
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take(),
            );
        }
    }

    impl Drop for RunTerminal {
        fn drop(&mut self) {
            self.stop_keys();
        }
    }

    /// Returns the terminal that shows the output or has the keys.
    fn terminal_of_user(changes: ModeChanges) -> io::Result<Option<OwnedFd>> {
        match changes {
            ModeChanges { output: true, .. } => io::stdout().as_fd().try_clone_to_owned().map(Some),
            ModeChanges { keys: true, .. } => io::stdin().as_fd().try_clone_to_owned().map(Some),
            _ => Ok(None),
        }
    }
}
