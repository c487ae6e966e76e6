//! The scripts of one skill that a model can run.

use skills_runtime::{Entry, SkillPrograms};
use skills_script::{
    MAX_SCRIPT_BYTES, ScriptSelection, ScriptSkipReason, ScriptText, find_modules, find_spec,
    may_be_script, names_command, select_scripts,
};

/// The files below `scripts/` with their sizes, or the reason why they cannot be listed.
pub(super) type ListedScripts = Result<Vec<(String, u64)>, String>;

/// Returns the paths of the programs of a skill that a model can run: the scripts that become tools,
/// and those in other languages; then the WebAssembly modules.
pub(crate) fn runnable_programs(entry: &Entry) -> SkillPrograms {
    let Ok(files) = entry.open() else {
        return SkillPrograms::default();
    };
    let mut programs = SkillPrograms::list(&files);
    let selection = select(entry, &list_scripts(entry).unwrap_or_default());
    let is_other = |path: &String| !may_be_script(path);
    let tools = selection
        .scripts
        .iter()
        .map(|file| format!("scripts/{file}"));
    programs.scripts = programs
        .scripts
        .into_iter()
        .filter(is_other)
        .chain(tools)
        .collect();
    programs.scripts.sort_unstable();
    programs
}

pub(super) fn list_scripts(entry: &Entry) -> ListedScripts {
    let listed = entry
        .open()
        .and_then(|files| files.list("scripts"))
        .map_err(|error| error.to_string())?;
    let listed = listed.resources.iter();
    let listed = listed.map(|file| (SkillPrograms::short_name(&file.path).to_owned(), file.bytes));
    Ok(listed.collect())
}

/// Returns warnings about files in `scripts/` that no run can start.
pub(super) fn omitted_scripts(entry: &Entry) -> Vec<String> {
    let listed = entry.open().and_then(|files| files.list("scripts"));
    // An error is reported by the list of the scripts.
    let omitted = listed.unwrap_or_default().omitted.into_iter();
    omitted
        .map(|file| format!("skill `{}`: {file}", entry.name()))
        .collect()
}

/// Selects the scripts that become tools.
pub(super) fn select(entry: &Entry, files: &[(String, u64)]) -> ScriptSelection {
    let mut selection = select_scripts(files);
    restore_named(entry, &mut selection);
    skip_modules(entry, &mut selection);
    selection
}

/// Adds the scripts that were skipped for their name, and that the skill declares or its
/// instructions name as commands.
fn restore_named(entry: &Entry, selection: &mut ScriptSelection) {
    let skipped = selection.skipped.iter();
    let skipped: Vec<String> = skipped
        .filter(|skipped| skipped.reason.is_convention())
        .map(|skipped| skipped.file.clone())
        .collect();
    if skipped.is_empty() {
        return;
    }
    let specs = &entry.manifest().extensions().scripts;
    let document = entry.open().and_then(|files| files.document());
    // A skill whose text cannot be read names nothing.
    let instructions =
        document.map_or_else(|_| String::new(), |document| document.body().to_owned());
    for file in skipped {
        if find_spec(specs, &file).is_some() || names_command(&instructions, &file) {
            selection.restore(&file);
        }
    }
}

/// Removes the scripts that have only definitions, unless the skill declares them.
fn skip_modules(entry: &Entry, selection: &mut ScriptSelection) {
    let specs = &entry.manifest().extensions().scripts;
    let Ok(files) = entry.open() else {
        return;
    };
    // A script that cannot be read is reported when its tool is made.
    let texts: Vec<(String, String)> = selection
        .scripts
        .iter()
        .filter_map(|file| {
            let text = files
                .read(&format!("scripts/{file}"), MAX_SCRIPT_BYTES)
                .ok()?;
            Some((file.clone(), String::from_utf8_lossy(&text).into_owned()))
        })
        .collect();
    let scripts: Vec<ScriptText<'_>> = texts
        .iter()
        .map(|(file, text)| ScriptText { file, text })
        .collect();
    for (script, is_module) in scripts.iter().zip(find_modules(&scripts)) {
        if is_module && find_spec(specs, script.file).is_none() {
            selection.skip(script.file, ScriptSkipReason::Module);
        }
    }
}
