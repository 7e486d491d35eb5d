//! Parameters outside the body: where each goes, what it is called as an argument, how it is
//! written. What a model must not set (cookies, reserved headers) is left out with a finding.

use std::collections::BTreeSet;

use model::{Finding, Severity};
use serde_json::{Value, json};

use crate::error::OpenApiError;
use crate::name;
use crate::path::Template;
use crate::refs::Refs;
use crate::schema::Lowering;
use crate::write::Style;

/// Headers that belong to the connection, to credentials or to us, or that turn one request into
/// another.
const HEADERS_RESERVED: &[&str] = &[
    "accept",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Path,
    Query,
    Header,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parameter {
    /// What the caller calls it.
    pub(crate) arg: String,
    /// What the service calls it.
    pub(crate) wire: String,
    pub(crate) place: Place,
    pub(crate) required: bool,
    pub(crate) style: Style,
    pub(crate) schema: Value,
}

/// Reads the parameters of one operation; `taken` holds the argument names already in use.
pub(crate) fn read<'a>(
    refs: Refs<'a>,
    lists: [Option<&'a Value>; 2],
    template: &Template,
    lowering: &mut Lowering<'a>,
    taken: &mut BTreeSet<String>,
) -> Result<(Vec<Parameter>, Vec<Finding>), OpenApiError> {
    let mut parameters: Vec<Parameter> = Vec::new();
    let mut findings = Vec::new();
    for raw in merged(refs, lists)? {
        match read_one(raw, template, lowering)? {
            Ok(parameter) => parameters.push(parameter),
            Err(finding) => findings.push(finding),
        }
    }
    for variable in template.variables() {
        let known = |p: &Parameter| p.place == Place::Path && p.wire == variable;
        if !parameters.iter().any(known) {
            findings.push(left_out("path_undeclared", variable, "is not declared; taken as text"));
            parameters.push(undeclared(variable));
        }
    }
    for parameter in &mut parameters {
        let wanted = name::legal(&parameter.wire);
        let wanted = if wanted.is_empty() { "arg" } else { &wanted };
        parameter.arg = name::unique(wanted, taken);
    }
    Ok((parameters, findings))
}

/// The path's parameters, then the operation's; the later one of a name and place holds.
fn merged<'a>(
    refs: Refs<'a>,
    lists: [Option<&'a Value>; 2],
) -> Result<Vec<&'a Value>, OpenApiError> {
    let mut merged: Vec<&Value> = Vec::new();
    for raw in lists.into_iter().flatten().filter_map(Value::as_array).flatten() {
        let raw = refs.follow(raw)?;
        let key = |value: &Value| (value.get("name").cloned(), value.get("in").cloned());
        match merged.iter_mut().find(|known| key(known) == key(raw)) {
            Some(known) => *known = raw,
            None => merged.push(raw),
        }
    }
    Ok(merged)
}

fn read_one<'a>(
    raw: &'a Value,
    template: &Template,
    lowering: &mut Lowering<'a>,
) -> Result<Result<Parameter, Finding>, OpenApiError> {
    let text = |key: &str| raw.get(key).and_then(Value::as_str).unwrap_or_default();
    let wire = text("name").to_owned();
    let place = match place(&wire, text("in"), template) {
        Ok(place) => place,
        Err(finding) => return Ok(Err(finding)),
    };
    let content = raw.get("content").and_then(Value::as_object).and_then(|map| map.values().next());
    let Some(style) = style(raw, place, content.is_some()) else {
        let message = "has a style this gate does not write";
        return Ok(Err(left_out("parameter_style", &wire, message)));
    };
    let holder = content.unwrap_or(raw);
    let mut schema = holder.get("schema").map_or(Ok(json!({})), |s| lowering.schema(s))?;
    if let (Some(object), Some(words)) = (schema.as_object_mut(), raw.get("description")) {
        object.entry("description").or_insert_with(|| words.clone());
    }
    let required = place == Place::Path || raw.get("required") == Some(&Value::Bool(true));
    Ok(Ok(Parameter { arg: String::new(), wire, place, required, style, schema }))
}

fn place(wire: &str, word: &str, template: &Template) -> Result<Place, Finding> {
    match word {
        "query" if !wire.is_empty() => Ok(Place::Query),
        "path" if template.variables().any(|variable| variable == wire) => Ok(Place::Path),
        "path" => Err(left_out("path_unused", wire, "does not occur in the path")),
        "header" if is_reserved(wire) => {
            Err(left_out("header_reserved", wire, "is a header only the gate may set"))
        }
        "header" if is_token(wire) => Ok(Place::Header),
        "cookie" => {
            Err(left_out("cookie_skipped", wire, "is a cookie, which the gate never sends"))
        }
        _ => Err(left_out("parameter_invalid", wire, "has no usable name or place")),
    }
}

fn style(raw: &Value, place: Place, has_content: bool) -> Option<Style> {
    let explode = raw.get("explode").and_then(Value::as_bool);
    let word = raw.get("style").and_then(Value::as_str);
    match (place, word) {
        _ if has_content => Some(Style::Json),
        (Place::Query, None | Some("form")) if explode.unwrap_or(true) => Some(Style::FormExplode),
        (Place::Query, None | Some("form")) => Some(Style::Joined(",")),
        (Place::Query, Some("spaceDelimited")) => Some(Style::Joined("%20")),
        (Place::Query, Some("pipeDelimited")) => Some(Style::Joined("%7C")),
        (Place::Query, Some("deepObject")) => Some(Style::DeepObject),
        (Place::Path | Place::Header, None | Some("simple")) => Some(Style::Simple),
        _ => None,
    }
}

fn undeclared(variable: &str) -> Parameter {
    Parameter {
        arg: String::new(),
        wire: variable.to_owned(),
        place: Place::Path,
        required: true,
        style: Style::Simple,
        schema: json!({"type": "string"}),
    }
}

fn left_out(rule: &str, wire: &str, message: &str) -> Finding {
    Finding::new(Severity::Warning, rule, format!("parameter `{wire}` {message}"))
}

fn is_reserved(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let prefixes = ["proxy-", "sec-", "x-forwarded-", "mcp-"];
    HEADERS_RESERVED.contains(&name.as_str()) || prefixes.iter().any(|p| name.starts_with(p))
}

fn is_token(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty() && name.chars().all(legal)
}
