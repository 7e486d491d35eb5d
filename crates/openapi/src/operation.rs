//! One operation as a tool: its name, its words, its schemas.

use std::collections::BTreeSet;

use model::{Finding, Severity};
use serde_json::{Map, Value, json};

use crate::error::OpenApiError;
use crate::name;
use crate::parameter::{self, Parameter};
use crate::path::Template;
use crate::refs::Refs;
use crate::schema::Lowering;

/// The argument that holds the request body.
pub(crate) const BODY_ARG: &str = "body";

#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    pub(crate) name: String,
    pub(crate) method: String,
    pub(crate) template: Template,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<Body>,
    path: String,
    title: Option<String>,
    description: Option<String>,
    output_schema: Option<Value>,
    findings: Vec<Finding>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Body {
    pub(crate) media_type: String,
    pub(crate) required: bool,
    schema: Value,
}

impl Operation {
    /// A legal MCP tool name, unique within the document.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// In capitals, as it is sent.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The template as the document writes it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What was left out or cut short while reading.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The operation in the shape of an MCP tool.
    pub fn definition(&self) -> Value {
        let mut tool = Map::new();
        tool.insert("name".into(), self.name.clone().into());
        if let Some(title) = &self.title {
            tool.insert("title".into(), title.clone().into());
        }
        if let Some(words) = self.description.as_ref().or(self.title.as_ref()) {
            tool.insert("description".into(), words.clone().into());
        }
        tool.insert("inputSchema".into(), self.input_schema());
        if let Some(schema) = &self.output_schema {
            tool.insert("outputSchema".into(), schema.clone());
        }
        tool.insert("annotations".into(), hints(&self.method));
        tool.into()
    }

    fn input_schema(&self) -> Value {
        let parameters = self.parameters.iter().map(|p| (p.arg.as_str(), p.required, &p.schema));
        let body = self.body.iter().map(|body| (BODY_ARG, body.required, &body.schema));
        let mut properties = Map::new();
        let mut required = Vec::new();
        for (arg, is_required, schema) in parameters.chain(body) {
            properties.insert(arg.to_owned(), schema.clone());
            required.extend(is_required.then(|| Value::from(arg)));
        }
        let mut schema = Map::new();
        schema.insert("type".into(), "object".into());
        schema.insert("properties".into(), properties.into());
        if !required.is_empty() {
            schema.insert("required".into(), required.into());
        }
        schema.insert("additionalProperties".into(), false.into());
        schema.into()
    }
}

/// Where an operation stands in its document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site<'a> {
    pub(crate) refs: Refs<'a>,
    pub(crate) path: &'a str,
    pub(crate) path_item: &'a Value,
    pub(crate) method: &'a str,
    pub(crate) raw: &'a Value,
}

/// Why an operation is not offered: on its own account, or because the document is broken.
#[derive(Debug)]
pub(crate) enum Unreadable {
    Skipped(Finding),
    Broken(OpenApiError),
}

impl From<OpenApiError> for Unreadable {
    fn from(error: OpenApiError) -> Self {
        Self::Broken(error)
    }
}

pub(crate) fn read(site: Site<'_>, names: &mut BTreeSet<String>) -> Result<Operation, Unreadable> {
    let skip = |rule: &str, why: &str| {
        let message = format!("`{} {}` is left out: {why}", site.method, site.path);
        Unreadable::Skipped(Finding::new(Severity::Warning, rule, message))
    };
    let Some(template) = Template::parse(site.path) else {
        return Err(skip("path_invalid", "its path is not a plain path"));
    };
    let mut lowering = Lowering::new(site.refs);
    let body = match body(site, &mut lowering)? {
        BodyKind::Absent => None,
        BodyKind::Json(body) => Some(body),
        BodyKind::Foreign => return Err(skip("body_unsupported", "its body is not JSON")),
    };
    let mut taken: BTreeSet<String> = body.iter().map(|_| BODY_ARG.to_owned()).collect();
    let lists = [site.path_item.get("parameters"), site.raw.get("parameters")];
    let (parameters, mut findings) =
        parameter::read(site.refs, lists, &template, &mut lowering, &mut taken)?;
    let output_schema = output(site, &mut lowering)?;
    findings.extend(remarks(site, &lowering, body.as_ref()));
    let words = |key: &str| site.raw.get(key).and_then(Value::as_str).map(str::to_owned);
    Ok(Operation {
        name: name::unique(&wanted_name(site), names),
        method: site.method.to_ascii_uppercase(),
        template,
        parameters,
        body,
        path: site.path.to_owned(),
        title: words("summary").filter(|text| !text.is_empty()),
        description: words("description").filter(|text| !text.is_empty()),
        output_schema,
        findings,
    })
}

fn wanted_name(site: Site<'_>) -> String {
    let id = site.raw.get("operationId").and_then(Value::as_str).unwrap_or_default();
    let name = name::legal(id);
    if name.is_empty() { name::legal(&format!("{}_{}", site.method, site.path)) } else { name }
}

enum BodyKind {
    Absent,
    Json(Body),
    Foreign,
}

fn body<'a>(site: Site<'a>, lowering: &mut Lowering<'a>) -> Result<BodyKind, OpenApiError> {
    let Some(raw) = site.raw.get("requestBody") else { return Ok(BodyKind::Absent) };
    let raw = site.refs.follow(raw)?;
    let required = raw.get("required") == Some(&Value::Bool(true));
    let Some((media_type, media)) = json_media(raw) else {
        let is_empty = raw.get("content").and_then(Value::as_object).is_none_or(Map::is_empty);
        return Ok(if is_empty || !required { BodyKind::Absent } else { BodyKind::Foreign });
    };
    let schema = media.get("schema").map_or(Ok(json!({})), |schema| lowering.schema(schema))?;
    // A range such as `*/*` says what is accepted; what we send has one type.
    let media_type = if media_type.contains('*') { "application/json" } else { media_type };
    Ok(BodyKind::Json(Body { media_type: media_type.to_owned(), required, schema }))
}

/// The answer's schema, if there is one way to succeed and it gives an object.
fn output<'a>(site: Site<'a>, lowering: &mut Lowering<'a>) -> Result<Option<Value>, OpenApiError> {
    let responses = site.raw.get("responses").and_then(Value::as_object);
    let mut good = responses.into_iter().flatten().filter(|(status, _)| status.starts_with('2'));
    let (Some((status, raw)), None) = (good.next(), good.next()) else { return Ok(None) };
    if !matches!(status.as_str(), "200" | "201") {
        return Ok(None);
    }
    let schema = json_media(site.refs.follow(raw)?).and_then(|(_, media)| media.get("schema"));
    let Some(schema) = schema else { return Ok(None) };
    let lowered = lowering.schema(schema)?;
    Ok(Some(lowered).filter(|schema| schema.get("type").is_some_and(|kind| kind == "object")))
}

fn json_media(holder: &Value) -> Option<(&str, &Value)> {
    let content = holder.get("content")?.as_object()?;
    let exact = content.get_key_value("application/json");
    let alike = || content.iter().find(|(media_type, _)| is_json(media_type));
    exact.or_else(alike).map(|(media_type, media)| (media_type.as_str(), media))
}

pub(crate) fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(essence.as_str(), "application/json" | "text/json" | "application/*" | "*/*")
        || essence.ends_with("+json")
}

fn remarks(site: Site<'_>, lowering: &Lowering<'_>, body: Option<&Body>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut note = |rule: &str, message: &str| {
        findings.push(Finding::new(Severity::Info, rule, message));
    };
    if lowering.cut {
        note("schema_cut", "a schema contains itself or is too big, and is shown in part");
    }
    if body.is_none() && site.raw.get("requestBody").is_some() {
        note("body_ignored", "the optional body has no JSON form and is never sent");
    }
    if site.raw.get("deprecated") == Some(&Value::Bool(true)) {
        note("deprecated", "the service calls this operation deprecated");
    }
    if site.raw.get("servers").is_some() || site.path_item.get("servers").is_some() {
        note("server_ignored", "a server of its own is ignored; the document's base is used");
    }
    findings
}

/// What HTTP promises about a method. Hints for display, as all annotations are.
fn hints(method: &str) -> Value {
    match method {
        "GET" | "HEAD" | "OPTIONS" => json!({"readOnlyHint": true, "idempotentHint": true}),
        "PUT" => json!({"readOnlyHint": false, "idempotentHint": true}),
        "DELETE" => {
            json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true})
        }
        _ => json!({"readOnlyHint": false}),
    }
}
