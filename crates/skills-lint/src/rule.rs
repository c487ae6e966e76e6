//! Rules: their names, why they matter, and what to do.

/// A kind of passage that is found.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    name: &'static str,
    reason: &'static str,
    action: &'static str,
}

impl Rule {
    /// Returns the name, in lower case with hyphens.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns why it matters, as one sentence without a full stop.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        self.reason
    }

    /// Returns what to do, as one sentence without a full stop.
    #[must_use]
    pub fn action(&self) -> &'static str {
        self.action
    }
}

/// Returns all rules, sorted by name.
#[must_use]
pub fn rules() -> &'static [&'static Rule] {
    ALL
}

macro_rules! rules {
    ($($constant:ident $name:literal $reason:literal $action:literal)*) => {
        $(pub(crate) static $constant: Rule = Rule { name: $name, reason: $reason, action: $action };)*
        static ALL: &[&Rule] = &[$(&$constant),*];
    };
}

rules! {
    AGENT_MEMORY "agent-memory"
        "what is written into the files that agents read at each start holds long after the skill is removed"
        "remove the instruction, or let the user write the file"
    CONCEALMENT "concealment"
        "a skill that hides from the user what it does is the clearest sign of an attack"
        "remove the instruction; report what is done"
    DECODE_TO_SHELL "decode-to-shell"
        "encoded text that is executed hides the command from readers"
        "write the command in plain text"
    DESTRUCTIVE_COMMAND "destructive-command"
        "the command destroys files that are not the skill's"
        "delete only files that the skill created, by their path"
    DOWNLOAD_AND_RUN "download-and-run"
        "a downloaded program runs without any check of what it is"
        "name a package of a package manager, or a version with its digest"
    DROP_SITE "drop-site"
        "anyone can put content on this site, or read what is sent to it, and it can change at any time"
        "use a site of the author, or ship the file with the skill"
    FALSE_AUTHORITY "false-authority"
        "a skill cannot agree in the name of the user, and claims to be verified are worth nothing"
        "remove the claim; let the user decide"
    HIDDEN_TEXT "hidden-text"
        "a model reads text that a person does not see"
        "remove the hidden characters or the hidden passage"
    LOOKALIKE_NAME "lookalike-name"
        "the name looks like that of a popular skill, by which people are made to install another one"
        "check the author, and choose a name that differs clearly"
    OPAQUE_FILE "opaque-file"
        "compiled or packed code cannot be reviewed"
        "ship the source instead"
    OVERRIDE_INSTRUCTIONS "override-instructions"
        "a skill that cancels other instructions takes control of the agent"
        "remove the instruction"
    PASSWORD_ARCHIVE "password-archive"
        "a password on an archive keeps virus scanners from reading it"
        "ship the files without a password"
    PERSISTENCE "persistence"
        "what starts with the machine or the shell runs long after the skill is removed"
        "let the user set it up, and say how to remove it"
    PIPE_TO_SHELL "pipe-to-shell"
        "whatever the server sends at that moment is executed, unseen"
        "name a package of a package manager, or download, check and then run"
    RAW_ADDRESS "raw-address"
        "a bare IP address says nothing of who runs the server, and has no certificate of a name"
        "use the name of a host of the author"
    REMOTE_INSTRUCTIONS "remote-instructions"
        "instructions from a server can change after the skill was reviewed"
        "put the instructions into the skill"
    REVERSE_SHELL "reverse-shell"
        "the command gives control of the machine to another one"
        "remove the command"
    SECRET_EXFILTRATION "secret-exfiltration"
        "keys and passwords are read and sent away"
        "remove the access; ask for a key of the service itself"
    SENDS_CONVERSATION "sends-conversation"
        "the conversation and its data leave the machine"
        "send only what the task needs, and say so to the user"
    SHORT_LINK "short-link"
        "a shortened address hides where it leads, and can be changed"
        "write the full address"
    SYSTEM_PROTECTION "system-protection"
        "a protection of the system is switched off"
        "remove the command; sign or package the program instead"
    UNTRUSTED_PACKAGES "untrusted-packages"
        "packages come from a server that is not the usual registry"
        "use the usual registry, or pin versions with digests"
    WIDE_PERMISSIONS "wide-permissions"
        "the agent or the file gets more rights than the task needs"
        "name the rights that the task needs"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_sorted_and_say_what_to_do() {
        assert!(rules().is_sorted_by_key(|rule| rule.name));
        for rule in rules() {
            assert!(!rule.reason.ends_with('.') && !rule.action.ends_with('.'));
        }
    }
}
