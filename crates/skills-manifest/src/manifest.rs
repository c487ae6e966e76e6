//! The typed frontmatter.

use serde_json::{Map, Value};

use crate::error::{ManifestError, Repr};
use crate::field_reader::{FieldReader, Flag, has_visible_text, is_spelling_of, yaml_type_name};
use crate::frontmatter::Frontmatter;
use crate::position::Position;
use crate::repair::{recover_by_line, repair};
use crate::warning::{Warning, WarningKind};
use crate::yaml::{self, ParseError, Parsed};
use crate::{Extensions, SkillName, ToolPattern};

/// The most characters the specification allows in `description`.
const DESCRIPTION_MAX_CHARACTERS: usize = 1024;
/// The most characters the specification allows in `compatibility`.
const COMPATIBILITY_MAX_CHARACTERS: usize = 500;
/// The fields that restrict a skill; one that cannot be read restricts it entirely.
pub(crate) const RESTRICTION_FIELDS: [&str; 6] = [
    "allowed-tools",
    "disallowed-tools",
    "disable-model-invocation",
    "user-invocable",
    "context",
    "hooks",
];

/// The typed frontmatter of a skill.
///
/// The fields of the Agent Skills specification are here; those that clients added are in
/// [`extensions`](Self::extensions), and all fields but the specification's are kept as written in
/// [`extra`](Self::extra).
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    name: Option<SkillName>,
    description: String,
    license: Option<String>,
    compatibility: Option<String>,
    metadata: Map<String, Value>,
    allowed_tools: Vec<ToolPattern>,
    user_invocable: bool,
    model_invocable: bool,
    unparsed: Vec<&'static str>,
    extensions: Option<Box<Extensions>>,
    extra: Map<String, Value>,
}

impl Manifest {
    /// Reads the fields; a field that cannot be read is dropped with a warning and never grants
    /// anything.
    ///
    /// Frontmatter that is no YAML is repaired where that is possible: values that do not parse are
    /// put in quotes, and else the lines of `name` and `description` are read. Each step is a
    /// warning with line and column.
    ///
    /// # Errors
    /// When not even a description can be made out, when bounds are exceeded, or when a key that
    /// decides something stands twice. The error carries the warnings so far.
    pub fn from_frontmatter(
        frontmatter: &Frontmatter<'_>,
    ) -> Result<(Self, Vec<Warning>), ManifestError> {
        let mut warnings = frontmatter.warnings.clone();
        let (map, unread) = parse_mapping(frontmatter, &mut warnings)
            .map_err(|error| error.with_warnings(frontmatter.warnings.clone()))?;
        let is_odd = warnings
            .iter()
            .any(|warning| warning.kind().may_have_lost_fields());
        let mut fields = FieldReader::new(map, frontmatter, warnings);
        unread
            .into_iter()
            .for_each(|field| fields.mark_unparsed(field));
        if is_odd {
            mark_missed_restrictions(&mut fields, frontmatter);
        }
        if let Some(Value::Object(merged)) = fields.map.get("<<").cloned() {
            fields.warn("<<", WarningKind::MergeKey);
            RESTRICTION_FIELDS
                .iter()
                .filter(|field| merged.keys().any(|key| is_spelling_of(key, field)))
                .for_each(|field| fields.mark_unparsed(field));
        }
        let name = parse_name(&mut fields);
        let description = fields
            .take_text("description")
            .filter(|text| has_visible_text(text));
        let Some(description) = description else {
            let line = frontmatter
                .position_of("description", 0)
                .map_or(frontmatter.first_line(), |at| at.line);
            return Err(ManifestError::from(Repr::MissingDescription { line })
                .with_warnings(fields.warnings));
        };
        fields.check_text("description", &description, DESCRIPTION_MAX_CHARACTERS);
        let license = fields.take_text("license");
        let compatibility = fields.take_text("compatibility");
        if let Some(text) = &compatibility {
            fields.check_text("compatibility", text, COMPATIBILITY_MAX_CHARACTERS);
        }
        let metadata = parse_metadata(&mut fields);
        let allowed_tools = fields.parse_allowed_tools();
        let user_invocable = parse_restricting_flag(&mut fields, "user-invocable", Flag::False);
        let disabled = parse_restricting_flag(&mut fields, "disable-model-invocation", Flag::True);
        let extensions = Extensions::parse(&mut fields, &metadata);
        fields.check_invisible(frontmatter.yaml());
        let FieldReader {
            map,
            warnings,
            unparsed: unread,
            ..
        } = fields;
        // Room for fields that are taken out by now is not kept.
        let extra: Map<String, Value> = map.into_iter().collect();
        let manifest = Self {
            name,
            description,
            license,
            compatibility,
            metadata,
            allowed_tools,
            user_invocable: !user_invocable,
            model_invocable: !disabled && unread.is_empty(),
            unparsed: unread,
            extensions,
            extra,
        };
        Ok((manifest, warnings))
    }

    /// Says whether [`from_frontmatter`](Self::from_frontmatter) will certainly succeed, and what
    /// it will find as `name`; nothing when only it can tell.
    ///
    /// Ten times faster, since nothing is kept: nearly all frontmatter is written in a form of
    /// which a glance is enough.
    #[must_use]
    pub fn peek_name(frontmatter: &Frontmatter<'_>) -> Option<Peek> {
        let written = yaml::peek_name(frontmatter.yaml())?;
        Some(Peek {
            name: written.and_then(|name| SkillName::new(name).ok()),
        })
    }

    /// Returns what is known of a skill of which nothing can be read: no field, and every
    /// restriction.
    #[must_use]
    pub fn unreadable() -> Self {
        Self {
            name: None,
            description: String::new(),
            license: None,
            compatibility: None,
            metadata: Map::new(),
            allowed_tools: Vec::new(),
            user_invocable: false,
            model_invocable: false,
            unparsed: RESTRICTION_FIELDS.to_vec(),
            extensions: None,
            extra: Map::new(),
        }
    }

    /// Returns `name`, or nothing when it is missing or unusable; the directory's name then serves.
    #[must_use]
    pub fn name(&self) -> Option<&SkillName> {
        self.name.as_ref()
    }

    /// Returns `description`: never blank, perhaps of several lines, as written.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns `license`.
    #[must_use]
    pub fn license(&self) -> Option<&str> {
        self.license.as_deref()
    }

    /// Returns `compatibility`.
    #[must_use]
    pub fn compatibility(&self) -> Option<&str> {
        self.compatibility.as_deref()
    }

    /// Returns `metadata`; the specification wants text values, many skills nest, so values are
    /// kept as they are.
    #[must_use]
    pub fn metadata(&self) -> &Map<String, Value> {
        &self.metadata
    }

    /// Returns `allowed-tools`: what the skill asks for. Empty when missing, empty or unreadable.
    #[must_use]
    pub fn allowed_tools(&self) -> &[ToolPattern] {
        &self.allowed_tools
    }

    /// Returns `user-invocable`; true when missing, false when unreadable.
    #[must_use]
    pub fn user_invocable(&self) -> bool {
        self.user_invocable
    }

    /// Says whether the model may choose the skill by itself: `disable-model-invocation` is not
    /// true, and every declared restriction could be read.
    #[must_use]
    pub fn model_invocable(&self) -> bool {
        self.model_invocable
    }

    /// Returns the declared restrictions that could not be read. Programs of a skill that has any
    /// must not run.
    #[must_use]
    pub fn unparsed_restrictions(&self) -> &[&'static str] {
        &self.unparsed
    }

    /// Returns the fields that clients added, typed.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        static EMPTY: Extensions = Extensions::EMPTY;
        self.extensions.as_deref().unwrap_or(&EMPTY)
    }

    /// Returns all fields but the specification's as written, in the order of the file: nothing is
    /// lost on a round trip.
    #[must_use]
    pub fn extra(&self) -> &Map<String, Value> {
        &self.extra
    }
}

/// What a glance at a frontmatter tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peek {
    /// What [`Manifest::name`] will be.
    pub name: Option<SkillName>,
}

type ParsedMapping = (Map<String, Value>, Vec<&'static str>);

/// Reads the mapping, by the library when the fast reader gives up, by repair when the library
/// does.
fn parse_mapping(
    frontmatter: &Frontmatter<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<ParsedMapping, ManifestError> {
    let text = frontmatter.yaml();
    if let Some(map) = yaml::simple(text) {
        return Ok((map, Vec::new()));
    }
    if let Some(index) = text.find('\0') {
        let line = frontmatter.first_line() + text[..index].matches('\n').count();
        return Err(Repr::NulCharacter { line }.into());
    }
    let (read, unread) = match yaml::parse(text) {
        Ok(read) => (read, Vec::new()),
        Err(ParseError::BudgetExceeded { message, line }) => {
            return Err(Repr::BudgetExceeded {
                message,
                line: frontmatter.file_position(line, 1).line,
            }
            .into());
        }
        Err(ParseError::Syntax {
            message,
            line,
            column,
        }) => {
            let at = frontmatter.file_position(line, column);
            let problem = WarningKind::YamlRepaired {
                problem: message.clone(),
            };
            parse_repaired(frontmatter, problem, at, warnings).ok_or(Repr::Yaml { message, at })?
        }
        Err(ParseError::KeyNotScalar {
            found,
            line,
            column,
        }) => {
            let at = frontmatter.file_position(line, column);
            parse_repaired(
                frontmatter,
                WarningKind::KeyNotScalar { found },
                at,
                warnings,
            )
            .ok_or(Repr::KeyNotScalar { found, at })?
        }
    };
    if !read.value.is_object()
        && let Some(repaired) = recover_by_line(frontmatter, Vec::new())
    {
        warnings.extend(repaired.warnings);
        return check_duplicate_keys(frontmatter, repaired.parsed, warnings)
            .map(|map| (map, repaired.unparsed));
    }
    check_duplicate_keys(frontmatter, read, warnings).map(|map| (map, unread))
}

/// Repairs the text, and adds what was done to the warnings.
fn parse_repaired(
    frontmatter: &Frontmatter<'_>,
    problem: WarningKind,
    at: Position,
    warnings: &mut Vec<Warning>,
) -> Option<(Parsed, Vec<&'static str>)> {
    let repaired = repair(frontmatter, problem, at)?;
    warnings.extend(repaired.warnings);
    Some((repaired.parsed, repaired.unparsed))
}

/// Takes the mapping out of what was read; a key that decides something may not stand twice.
fn check_duplicate_keys(
    frontmatter: &Frontmatter<'_>,
    read: Parsed,
    warnings: &mut Vec<Warning>,
) -> Result<Map<String, Value>, ManifestError> {
    for repeated in read.duplicate_keys {
        let position: Option<Position> = frontmatter.position_of(&repeated.key, 1);
        let decides = ["name", "description"]
            .iter()
            .chain(&RESTRICTION_FIELDS)
            .any(|field| is_spelling_of(&repeated.key, field));
        if repeated.is_top_level && decides {
            let line = position.map_or(frontmatter.first_line(), |at| at.line);
            return Err(Repr::DuplicateKey {
                key: repeated.key,
                line,
            }
            .into());
        }
        warnings.push(Warning::new(
            WarningKind::DuplicateKey(repeated.key),
            position,
        ));
    }
    if read.has_tags {
        warnings.push(Warning::new(WarningKind::TagDropped, None));
    }
    match read.value {
        Value::Object(map) => Ok(map),
        other => Err(Repr::NotMapping {
            found: yaml_type_name(&other),
            line: frontmatter.first_line(),
        }
        .into()),
    }
}

/// Where the text had to be mended or its end had to be guessed, a restriction that stands in it
/// and was not read restricts.
fn mark_missed_restrictions(fields: &mut FieldReader<'_>, frontmatter: &Frontmatter<'_>) {
    for field in crate::repair::declared_restrictions(frontmatter.yaml())
        .into_iter()
        .chain(crate::repair::declared_restrictions(&frontmatter.trailing))
    {
        if !fields.map.contains_key(field) {
            fields.mark_unparsed(field);
        }
    }
}

fn parse_name(fields: &mut FieldReader<'_>) -> Option<SkillName> {
    let text = fields.take_text("name")?;
    match SkillName::new(&text) {
        Ok(name) => {
            for problem in name.spec_violations() {
                fields.warn("name", WarningKind::NameViolatesSpec(problem));
            }
            Some(name)
        }
        Err(error) => {
            fields.warn("name", WarningKind::InvalidName(error));
            None
        }
    }
}

/// Takes `metadata`: a mapping, or the text of one as JSON5, which some hubs write.
fn parse_metadata(fields: &mut FieldReader<'_>) -> Map<String, Value> {
    match fields.take("metadata") {
        None => Map::new(),
        Some(Value::Object(map)) => map,
        Some(Value::String(text)) => match crate::json5::parse(&text) {
            Some(Value::Object(map)) => map,
            _ => {
                fields.warn(
                    "metadata",
                    WarningKind::InvalidMetadataJson { key: String::new() },
                );
                Map::new()
            }
        },
        Some(value) => {
            fields.warn_wrong_type("metadata", "a mapping", &value);
            Map::new()
        }
    }
}

/// Reads a flag that restricts when it is `restricting`; says whether it does. One that cannot be
/// read restricts entirely.
fn parse_restricting_flag(
    fields: &mut FieldReader<'_>,
    key: &'static str,
    restricting: Flag,
) -> bool {
    match fields.parse_flag(key) {
        None => false,
        Some(Flag::Unparsed) => {
            fields.mark_unparsed(key);
            true
        }
        Some(flag) => flag == restricting,
    }
}
