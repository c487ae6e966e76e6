//! Whether programs run without an audit record.

use skills_policy::{Policy, PolicyFile, RecordMode, RuleSource};

/// The user chooses, else the administrator; the administrator and projects only make it stricter.
#[test]
fn records_are_optional_only_for_user_and_administrator() {
    let record = |files: &[(RuleSource, &str)]| {
        let parse = |(source, value): &(RuleSource, &str)| {
            PolicyFile::parse(&format!("record = \"{value}\""), *source, "file").unwrap()
        };
        let files: Vec<PolicyFile> = files.iter().map(parse).collect();
        Policy::from_files(&files).record()
    };
    let (admin, user) = (RuleSource::Admin, RuleSource::User);
    assert_eq!(record(&[]), RecordMode::Required);
    assert_eq!(record(&[(admin, "optional")]), RecordMode::Optional);
    assert_eq!(record(&[(user, "optional")]), RecordMode::Optional);
    let project = (RuleSource::Project, "optional");
    assert_eq!(record(&[project]), RecordMode::Required);
    for files in [
        [(admin, "required"), (user, "optional"), project],
        [(admin, "optional"), (user, "required"), project],
        [
            (user, "optional"),
            (RuleSource::Project, "required"),
            project,
        ],
    ] {
        assert_eq!(record(&files), RecordMode::Required, "{files:?}");
    }
}
