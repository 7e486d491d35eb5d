//! JSON Schemas, compiled once and asked many times. The only file that knows the validator.
//!
//! A schema is judged when a generation is built, so that a tool whose schema is broken is left out
//! of lists from the start. It is compiled then only if nothing less can tell, and not kept: a
//! compiled schema is many times the size of its text, and most tools are never called.

mod budget;
mod load;
mod outline;
mod sure;

use std::cmp::Ordering;

use jsonschema::{PatternOptions, ValidationError, ValidationOptions, Validator};
use model::fault::one_line;
use model::limits::VIOLATIONS_MAX;
use model::{Code, Fault, Violation};
use serde_json::Value;

use crate::limits;
use load::{Load, Size};

pub use outline::outline;

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    #[error("it is not an object")]
    NotAnObject,
    #[error("it is larger than {max} bytes", max = limits::SCHEMA_BYTES_MAX)]
    TooLarge,
    #[error("it nests deeper than {max} levels", max = limits::SCHEMA_DEPTH_MAX)]
    TooDeep,
    #[error("it has more than {max} subschemas", max = limits::SUBSCHEMAS_MAX)]
    TooManySubschemas,
    #[error("its references unfold into too many subschemas")]
    TooEntangled,
    #[error("it refers to itself without an end")]
    Endless,
    #[error("the reference `{0}` leads outside the schema and is never fetched")]
    ForeignReference(String),
    #[error("the dialect `{0}` is unknown; use `https://json-schema.org/draft/2020-12/schema`")]
    UnknownDialect(String),
    #[error("{0}")]
    Broken(String),
}

/// A schema that holds together and stays within the budget.
#[derive(Debug)]
pub struct Schema {
    validator: Validator,
    load: Load,
}

impl Schema {
    /// Checks the budget first, so that a hostile schema costs little.
    ///
    /// `$schema` is honoured where it is known, 2020-12 holds where it is absent.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let dialect = Self::dialect(schema, schema.to_string().len())?;
        let load = budget::load(schema, dialect)?;
        Ok(Self { validator: build(schema)?, load })
    }

    /// Whether `compile` will take a schema of so many bytes. Compiles only if nothing less tells.
    pub fn judge(schema: &Value, bytes: usize) -> Result<(), SchemaError> {
        budget::check(schema, Self::dialect(schema, bytes)?)?;
        if sure::is_sure(schema) { Ok(()) } else { build(schema).map(drop) }
    }

    /// What it is written in, if it is short enough to be looked at.
    fn dialect(schema: &Value, bytes: usize) -> Result<&str, SchemaError> {
        if bytes > limits::SCHEMA_BYTES_MAX {
            return Err(SchemaError::TooLarge);
        }
        let root = schema.as_object().ok_or(SchemaError::NotAnObject)?;
        let dialect = root.get("$schema").and_then(Value::as_str).unwrap_or(DIALECT_DEFAULT);
        if !is_known(dialect) {
            return Err(SchemaError::UnknownDialect(one_line(dialect, 80)));
        }
        Ok(dialect)
    }

    /// Every way in which the value breaks the schema, up to the limit, in order of its place:
    /// numbers before names, numbers by size, names by bytes, then by the rule broken.
    pub fn check(&self, value: &Value) -> Vec<Violation> {
        self.check_counting(value).0
    }

    /// What is wrong with arguments of what goes by this name, if anything is.
    pub(crate) fn misfit(&self, name: &str, args: &Value) -> Option<Fault> {
        let (violations, more) = self.check_counting(args);
        let first = violations.first()?;
        let place = if first.instance_path.is_empty() { "/" } else { &first.instance_path };
        let message = format!("arguments do not fit at `{place}`: {}", first.message);
        let fault = Fault::new(Code::ArgsInvalid, message).at(name).violating(violations);
        Some(if more > 0 { fault.with("more_violations", more) } else { fault })
    }

    /// The same, and how many are beyond the limit.
    fn check_counting(&self, value: &Value) -> (Vec<Violation>, usize) {
        let size = Size::of(value);
        if !self.load.can_judge(&size) {
            return (vec![coarse("the value is too large to be held against this schema")], 0);
        }
        if self.validator.is_valid(value) {
            return (Vec::new(), 0);
        }
        // The validator gathers every error before it gives the first.
        if !self.load.can_tell(&size) {
            return (vec![coarse("the value does not fit, and is too large to say where")], 0);
        }
        let mut errors: Vec<ValidationError<'_>> = self.validator.iter_errors(value).collect();
        errors.sort_by(|a, b| {
            let place = by_place(a.instance_path().as_str(), b.instance_path().as_str());
            place.then_with(|| by_place(a.schema_path().as_str(), b.schema_path().as_str()))
        });
        let told = errors.iter().take(VIOLATIONS_MAX).map(violation).collect();
        (told, errors.len().saturating_sub(VIOLATIONS_MAX))
    }
}

const DIALECT_DEFAULT: &str = "https://json-schema.org/draft/2020-12/schema";
const DIALECTS: &[&str] = &[
    DIALECT_DEFAULT,
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
];

fn is_known(dialect: &str) -> bool {
    fn bare(uri: &str) -> &str {
        let uri = uri.trim_end_matches('#');
        uri.trim_start_matches("https://").trim_start_matches("http://")
    }
    DIALECTS.iter().any(|known| bare(known) == bare(dialect))
}

fn offline() -> ValidationOptions<'static> {
    jsonschema::options().offline()
}

fn build(schema: &Value) -> Result<Validator, SchemaError> {
    let linear = PatternOptions::regex().size_limit(limits::PATTERN_BYTES_MAX);
    let bounded = PatternOptions::fancy_regex()
        .backtrack_limit(limits::PATTERN_STEPS_MAX)
        .size_limit(limits::PATTERN_BYTES_MAX);
    // Patterns with look-around are common (zod writes them for addresses); the linear matcher
    // cannot express them, the backtracking one can within a fixed number of steps.
    let built = offline().with_pattern_options(linear).build(schema);
    built.or_else(|_| offline().with_pattern_options(bounded).build(schema)).map_err(|error| {
        let place = error.instance_path().as_str();
        let place = if place.is_empty() { String::new() } else { format!("at `{place}`: ") };
        SchemaError::Broken(one_line(&format!("{place}{error}"), limits::VIOLATION_CHARS_MAX))
    })
}

/// A violation that names no place.
fn coarse(message: &str) -> Violation {
    let (instance_path, schema_path) = (String::new(), String::new());
    Violation { instance_path, schema_path, message: message.to_owned() }
}

/// The value itself stays out of the message: it may be huge, secret or an instruction.
fn violation(error: &ValidationError<'_>) -> Violation {
    Violation {
        instance_path: error.instance_path().as_str().to_owned(),
        schema_path: error.schema_path().as_str().to_owned(),
        message: one_line(&error.masked().to_string(), limits::VIOLATION_CHARS_MAX),
    }
}

fn by_place(a: &str, b: &str) -> Ordering {
    let mut left = a.split('/');
    let mut right = b.split('/');
    loop {
        match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(a), Some(b)) => match by_segment(a, b) {
                Ordering::Equal => {}
                order => return order,
            },
        }
    }
}

fn by_segment(a: &str, b: &str) -> Ordering {
    match (a.parse::<u64>(), b.parse::<u64>()) {
        (Ok(a), Ok(b)) => a.cmp(&b),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => a.as_bytes().cmp(b.as_bytes()),
    }
}

#[cfg(test)]
mod tests;
