//! A document as a whole: which operations it offers, and where.

use std::collections::BTreeSet;

use model::{Finding, Severity};
use serde_json::Value;

use crate::error::OpenApiError;
use crate::limits::OPERATIONS_MAX;
use crate::operation::{self, Operation, Site, Unreadable};
use crate::refs::{Dialect, Refs};
use crate::server;

/// TRACE is missing on purpose: it echoes what was sent, credentials included.
const METHODS: &[&str] = &["get", "put", "post", "patch", "delete", "head", "options"];

#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    title: String,
    version: String,
    server: Option<String>,
    operations: Vec<Operation>,
    findings: Vec<Finding>,
}

impl Document {
    /// Reads a parsed document. An operation that cannot be offered is left out with a finding; a
    /// reference that cannot be followed refuses the whole.
    pub fn read(root: &Value) -> Result<Self, OpenApiError> {
        let refs = Refs { root, dialect: dialect(root)? };
        let mut operations = Vec::new();
        let mut findings = Vec::new();
        let mut names = BTreeSet::new();
        for site in sites(refs)? {
            match operation::read(site, &mut names) {
                Ok(operation) => operations.push(operation),
                Err(Unreadable::Skipped(finding)) => findings.push(finding),
                Err(Unreadable::Broken(error)) => return Err(error),
            }
        }
        let info = |key: &str| {
            let text = root.pointer(&format!("/info/{key}")).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        findings.extend(trace_findings(root));
        let server = server::first(root);
        Ok(Self { title: info("title"), version: info("version"), server, operations, findings })
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    /// The service's version, as `info` states it.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// In the order of the document.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    pub fn operation(&self, name: &str) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.name() == name)
    }

    /// What was left out as a whole. Each operation has its own findings besides.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The base address: the configured one, or else the document's first server.
    pub fn base_url(&self, configured: Option<&str>) -> Result<String, OpenApiError> {
        let base = configured.or(self.server.as_deref()).ok_or(OpenApiError::NoServer)?;
        server::check(base).map(str::to_owned)
    }
}

fn dialect(root: &Value) -> Result<Dialect, OpenApiError> {
    let version = root.get("openapi").and_then(Value::as_str).ok_or(OpenApiError::NotOpenApi)?;
    let mut numbers = version.split('.');
    match (numbers.next(), numbers.next()) {
        (Some("3"), Some("0")) => Ok(Dialect::V30),
        (Some("3"), Some("1")) => Ok(Dialect::V31),
        _ => Err(OpenApiError::Version(version.to_owned())),
    }
}

fn sites(refs: Refs<'_>) -> Result<Vec<Site<'_>>, OpenApiError> {
    let mut sites = Vec::new();
    let paths = refs.root.get("paths").and_then(Value::as_object);
    for (path, path_item) in paths.into_iter().flatten() {
        if path.starts_with("x-") {
            continue;
        }
        let path_item = refs.follow(path_item)?;
        for method in METHODS {
            let Some(raw) = path_item.get(method) else { continue };
            sites.push(Site { refs, path, path_item, method, raw });
        }
        if sites.len() > OPERATIONS_MAX {
            return Err(OpenApiError::TooManyOperations { max: OPERATIONS_MAX });
        }
    }
    Ok(sites)
}

fn trace_findings(root: &Value) -> Vec<Finding> {
    let paths = root.get("paths").and_then(Value::as_object);
    let traced = paths.into_iter().flatten().filter(|(_, item)| item.get("trace").is_some());
    let message = |path: &str| format!("`trace {path}` is left out: it echoes credentials");
    traced
        .map(|(path, _)| Finding::new(Severity::Warning, "method_unsupported", message(path)))
        .collect()
}
