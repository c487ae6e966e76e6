//! Parses bytes as `agents/openai.yaml`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use skills_manifest::OpenAiMetadata;

fuzz_target!(|bytes: &[u8]| {
    let (alone, warnings) = OpenAiMetadata::parse(bytes, None);
    let (in_plugin, _) = OpenAiMetadata::parse(bytes, Some("skills/a"));
    // The directory of the skill affects icons only.
    assert_eq!(alone.policy, in_plugin.policy);
    assert_eq!(alone.tools, in_plugin.tools);
    assert!(!alone.policy.unparsed || !alone.policy.allows_implicit_invocation());
    assert!(warnings.iter().all(|warning| !warning.reason.is_empty()));
});
