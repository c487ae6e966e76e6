//! The result of several runs as one.

use serde_json::{Value, json};
use skills_runtime::{ExecutionStatus, Termination};

use super::{ExitKind, MAX_NOTES, ProgramOutput, sandbox_data};
use crate::run::MAX_OUTPUT_BYTES;

/// The lists of a result that the runs have in common.
const LISTS: [&str; 4] = ["files_changed", "notes", "help", "refused"];

impl ProgramOutput {
    /// Returns the result of a call that has started no program: exit code 0 and no output.
    pub(crate) fn without_program() -> Self {
        let data = json!({
            "exit_code": 0,
            "signal": null,
            "stdout": "",
            "stderr": "",
            "stdout_truncated": false,
            "stderr_truncated": false,
            "timed_out": false,
            "duration_ms": 0,
            "sandbox": sandbox_data(None),
            "files_changed": [],
            "notes": [],
            "refused": [],
            "explanation": null,
        });
        Self {
            stdout: String::new(),
            stderr: String::new(),
            exit: ExitKind::Exited(0),
            status: ExecutionStatus::Success,
            printed_bytes: 0,
            data: data.as_object().cloned().unwrap_or_default(),
            files: Vec::new(),
            notes: Vec::new(),
            explanation: Vec::new(),
            lacks_package: false,
        }
    }

    /// Adds the result of an earlier run of the same call. How this one ended stays.
    pub(crate) fn after(mut self, earlier: Self) -> Self {
        self.explanation = joined(earlier.explanation, self.explanation);
        self.notes = joined(earlier.notes, self.notes);
        self.notes.truncate(MAX_NOTES);
        self.files = joined(earlier.files, self.files);
        self.lacks_package |= earlier.lacks_package;
        self.printed_bytes = self.printed_bytes.saturating_add(earlier.printed_bytes);
        for name in LISTS {
            let list = |data: &Value| data.as_array().cloned().unwrap_or_default();
            let before = earlier.data.get(name).map(list).unwrap_or_default();
            let after = self.data.get(name).map(list).unwrap_or_default();
            if !before.is_empty() {
                let all = match name {
                    "files_changed" => joined_files(before, after),
                    _ => joined(before, after),
                };
                self.data.insert(name.to_owned(), json!(all));
            }
        }
        let duration = |data: &serde_json::Map<String, Value>| {
            data.get("duration_ms")
                .and_then(Value::as_u64)
                .unwrap_or_default()
        };
        let total = duration(&earlier.data).saturating_add(duration(&self.data));
        self.data.insert("duration_ms".to_owned(), json!(total));
        for name in ["stdout_truncated", "stderr_truncated"] {
            if earlier.data.get(name) == Some(&json!(true)) {
                self.data.insert(name.to_owned(), json!(true));
            }
        }
        self
    }

    /// Replaces what was printed, of which a result has at most 256 KiB of each stream: three
    /// quarters from the beginning, the rest from the end.
    pub(crate) fn with_streams(mut self, stdout: String, stderr: String) -> Self {
        self.stdout = self.limited("stdout", stdout);
        self.stderr = self.limited("stderr", stderr);
        self
    }

    fn limited(&mut self, name: &str, mut text: String) -> String {
        if text.len() > MAX_OUTPUT_BYTES {
            let head = text.floor_char_boundary(MAX_OUTPUT_BYTES / 4 * 3);
            let tail = text.ceil_char_boundary(text.len() - MAX_OUTPUT_BYTES / 4);
            let omitted = format!("\n[{} more bytes are omitted]\n", tail - head);
            text.replace_range(head..tail, &omitted);
            self.data.insert(format!("{name}_truncated"), json!(true));
        }
        self.data.insert(name.to_owned(), json!(text));
        text
    }

    /// Adds files that redirections wrote, by their virtual paths.
    pub(crate) fn with_written_files(
        mut self,
        written: impl IntoIterator<Item = (String, Value)>,
    ) -> Self {
        for (path, data) in written {
            let changed = self
                .data
                .entry("files_changed")
                .or_insert_with(|| json!([]));
            if let Some(changed) = changed.as_array_mut() {
                changed.retain(|known| known["path"] != json!(path));
                changed.push(data);
            }
            self.files.retain(|known| *known != path);
            self.files.push(path);
        }
        self
    }

    /// Sets the exit code of the call, which is not always that of its last program.
    pub(crate) fn with_exit_code(mut self, code: i32) -> Self {
        if self.exit == ExitKind::Exited(code) {
            return self;
        }
        self.exit = ExitKind::Exited(code);
        self.status = if code == 0 {
            ExecutionStatus::Success
        } else {
            let termination = Termination::Exited { code };
            ExecutionStatus::Failed { termination }
        };
        self.data.insert("exit_code".to_owned(), json!(code));
        self
    }
}

fn joined<T: PartialEq>(mut before: Vec<T>, after: Vec<T>) -> Vec<T> {
    for one in after {
        if !before.contains(&one) {
            before.push(one);
        }
    }
    before
}

/// Joins changed files. One of both is listed once, as it is now.
fn joined_files(mut files: Vec<Value>, after: Vec<Value>) -> Vec<Value> {
    for mut file in after {
        if let Some(known) = files.iter().position(|one| one["path"] == file["path"]) {
            // It did not exist before the call.
            if files.remove(known)["created"] == json!(true) {
                file["created"] = json!(true);
            }
        }
        files.push(file);
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_two_runs_change_is_listed_once() {
        let file = |path, size, created| json!({"path": path, "size": size, "created": created});
        let before = vec![file("a", 1, true), file("b", 1, false)];
        let after = vec![file("a", 2, false), file("c", 1, true)];
        let expected = [file("b", 1, false), file("a", 2, true), file("c", 1, true)];
        assert_eq!(joined_files(before, after), expected);
    }
}
