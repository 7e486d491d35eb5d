//! `toolgate manifest`: whether manifests are fit for production, decided from files alone, and a
//! draft of one for what an upstream lists.

mod report;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use manifest::{AdapterManifest, Remark, SchemaLook, SchemaUse, Skill};
use manifest::{lint, lint_bindings, lint_schemas};
use model::UpstreamName;
use policy::Rules;
use serde_json::{Value, json};

use self::report::Report;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use crate::assemble::{self, schemas::Schemas};
use crate::config::{BindingFile, LogLevel, ManifestFile, Overrides};

#[derive(Debug, Subcommand)]
pub enum ManifestCommand {
    /// Answer the five questions of production, and name what is wrong with the tools' design
    Check(CheckArgs),
    /// Draft a manifest of what an upstream lists now, for people to review
    New {
        /// The upstream, as the configuration names it
        upstream: String,
    },
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Manifests, as JSON or YAML
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The tools' definitions, as `tools/list` gives them, to look at their schemas, too
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// The policy in force, to see that gates and policies named in manifests are there
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Bindings written apart from their manifests, which they must not contradict
    #[arg(long, value_name = "FILE")]
    binding: Vec<PathBuf>,
    /// Where references of the form `schema://NAME` lead; without it, `schemas` beside each manifest
    #[arg(long, value_name = "DIR")]
    schemas: Option<PathBuf>,
    /// Skills, as JSON, that must compose only what these manifests declare
    #[arg(long, value_name = "FILE")]
    skills: Vec<PathBuf>,
}

pub(super) fn run(context: &Context, command: &ManifestCommand) -> Result<(), CliError> {
    match command {
        ManifestCommand::Check(args) => check(context, args),
        ManifestCommand::New { upstream } => new(context, upstream),
    }
}

fn check(context: &Context, args: &CheckArgs) -> Result<(), CliError> {
    let tools = args.tools.as_deref().map(tools).transpose()?.unwrap_or_default();
    let rules = args.policy.as_deref().map(policy).transpose()?;
    let mut manifests = Vec::new();
    for file in &args.files {
        let read = ManifestFile::read(&file.display().to_string(), &text(file)?);
        manifests.push(read.map_err(wrong)?);
    }
    let bound = args.binding.iter().map(|file| bind(file, &mut manifests));
    let bound = bound.collect::<Result<Vec<Report>, _>>()?;
    let mut reports = Vec::new();
    for (file, read) in args.files.iter().zip(&mut manifests) {
        let mut remarks = lint(&read.manifest, &tools);
        remarks.extend(schemas(file, read, args.schemas.as_deref(), &tools)?);
        if let Some(rules) = &rules {
            remarks.extend(bindings(&read.manifest, rules));
        }
        reports.push(Report::of_manifest(file, read, remarks));
    }
    reports.extend(bound);
    let manifests: Vec<AdapterManifest> = manifests.into_iter().map(|read| read.manifest).collect();
    for file in &args.skills {
        reports.push(skill(file, &manifests)?);
    }
    if context.out.is_json() {
        let reports: Vec<Value> = reports.iter().map(Report::json).collect();
        context.out.json(&reports)?;
    } else {
        reports.iter().try_for_each(|report| report.show(context))?;
    }
    let errors: usize = reports.iter().map(Report::errors).sum();
    if errors == 0 {
        return Ok(());
    }
    let things = if errors == 1 { "1 thing is" } else { &format!("{errors} things are") };
    let message = format!("not ready for production: {things} missing or wrong");
    Err(CliError::new(Exit::Config, message).hint("each line above says what to write"))
}

fn wrong(problem: impl std::fmt::Display) -> CliError {
    CliError::new(Exit::Config, problem.to_string())
}

/// Takes a binding into the manifest of its adapter, or says in what they differ.
fn bind(file: &Path, manifests: &mut [ManifestFile]) -> Result<Report, CliError> {
    let read = BindingFile::read(&file.display().to_string(), &text(file)?).map_err(wrong)?;
    let is_own = |one: &ManifestFile| one.manifest.adapter_id == read.binding.adapter_id;
    let own = manifests.iter().position(is_own).unwrap_or_default();
    let bound = manifests.get_mut(own).map(|manifest| manifest.bind(&read));
    let unbound = bound.and_then(Result::err).unwrap_or_default();
    Ok(Report::of_binding(file, &read, unbound))
}

/// Follows the references of a manifest to schemas.
fn schemas(
    file: &Path,
    read: &mut ManifestFile,
    folder: Option<&Path>,
    tools: &[Value],
) -> Result<Vec<Remark>, CliError> {
    let schemas = Schemas::of(file, &file.display().to_string(), folder);
    // What is missing is one remark among the others, where a gate would stop at it.
    let there = |reference: &str| {
        let looked = schemas.look(reference)?;
        Ok(if let SchemaLook::Missing { file } = looked {
            SchemaLook::Nowhere(file)
        } else {
            looked
        })
    };
    read.pin(there).map_err(wrong)?;
    let look =
        |used: &SchemaUse<'_>| schemas.look(used.reference).unwrap_or_else(SchemaLook::Nowhere);
    Ok(lint_schemas(&read.manifest, tools, &look))
}

fn policy(file: &Path) -> Result<Rules, CliError> {
    let read = Rules::parse(&file.display().to_string(), &text(file)?);
    read.map_err(|error| CliError::new(Exit::Config, error.to_string()))
}

fn bindings(manifest: &AdapterManifest, rules: &Rules) -> Vec<Remark> {
    let (ids, gates) = (rules.ids(), rules.gates());
    lint_bindings(manifest, &|name| ids.contains(name), &|gate| gates.contains(gate))
}

/// A skill and what is wrong with it.
fn skill(file: &Path, manifests: &[AdapterManifest]) -> Result<Report, CliError> {
    let read = Skill::parse(&text(file)?);
    let skill = read.map_err(|why| {
        CliError::new(Exit::Config, format!("{}: {why}", file.display()))
            .hint("a skill names capabilities and grants none; it has no other keys")
    })?;
    let remarks = skill.lint(manifests);
    Ok(Report::of_skill(file, &skill, remarks))
}

/// A list of definitions, whether bare, in a `tools` key, or a whole answer.
fn tools(file: &Path) -> Result<Vec<Value>, CliError> {
    let wrong = |why: String| CliError::new(Exit::Config, format!("{}: {why}", file.display()));
    let value: Value =
        serde_json::from_str(&text(file)?).map_err(|error| wrong(error.to_string()))?;
    let places = ["", "/tools", "/result/tools"];
    let list = places.iter().find_map(|place| value.pointer(place)?.as_array());
    list.cloned().ok_or_else(|| wrong("there is no list of tools in it".to_owned()))
}

fn text(file: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(file).map_err(|error| {
        CliError::new(Exit::Config, format!("`{}` cannot be read: {error}", file.display()))
    })
}

fn new(context: &Context, upstream: &str) -> Result<(), CliError> {
    let loaded = context.start_upstreams(LogLevel::Error, Overrides::default())?;
    let seen = context.block_on(assemble::listed::look(&loaded.config))?;
    let (listed, name) = (seen.listed, UpstreamName::from_string(upstream));
    if let Some((_, fault)) = seen.failures.iter().find(|(failed, _)| *failed == name) {
        let message = format!("upstream `{name}`: {}", fault.message);
        return Err(CliError::new(Exit::Unavailable, message));
    }
    let Some((tools, extras)) = listed.get(&name) else {
        let known: Vec<&str> = listed.keys().map(UpstreamName::as_str).collect();
        let hint = format!("upstreams are: {}", known.join(", "));
        return Err(CliError::usage(format!("there is no upstream `{upstream}`")).hint(hint));
    };
    context.out.json(&draft(upstream, tools, &extras.prompts))
}

/// The worst is assumed where a tool does not claim to read only; people must look at all of it.
fn draft(upstream: &str, tools: &[Value], prompts: &[Value]) -> Value {
    let adapter = word(upstream);
    let mut taken = BTreeSet::new();
    let capabilities = tools.iter().filter_map(|tool| {
        let name = tool.get("name")?.as_str()?;
        let reads = tool.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true));
        let mut id = format!("{adapter}.{}", word(name));
        while !taken.insert(id.clone()) {
            id.push('x');
        }
        let mut capability = json!({
            "capability_id": id,
            "tool": name,
            "class": if reads { "observe" } else { "act" },
            "approval_mode": if reads { "read_only" } else { "destructive" },
            "permissions": [format!("{adapter}.{}", if reads { "read" } else { "write" })],
        });
        if let Some(fields) = capability.as_object_mut().filter(|_| !reads) {
            fields.insert("idempotency".to_owned(), json!({"required": true}));
        }
        Some(capability)
    });
    let prompts = prompts.iter().filter_map(|prompt| {
        Some(json!({"name": prompt.get("name")?.as_str()?, "version": "0.1.0"}))
    });
    json!({
        "manifest_version": manifest::MANIFEST_VERSION,
        "adapter_id": adapter,
        "version": "0.1.0",
        "name": upstream,
        "owner_role": "unknown",
        "protocol": "mcp",
        "capabilities": capabilities.collect::<Vec<_>>(),
        "prompts": prompts.collect::<Vec<_>>(),
    })
}

/// A word as ids of manifests take it: a lower-case letter, then letters, digits and `_`.
fn word(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let word: String = plain.collect::<String>().to_ascii_lowercase();
    if word.starts_with(|c: char| c.is_ascii_lowercase()) { word } else { format!("x{word}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_a_manifest_that_assumes_the_worst() {
        let tools = [
            json!({"name": "Find-It", "annotations": {"readOnlyHint": true}}),
            json!({"name": "9wipe", "annotations": {"destructiveHint": false}}),
        ];
        let drafted = draft("My CRM", &tools, &[json!({"name": "greet"})]);
        let manifest = manifest::from_value(drafted).unwrap();
        let modes: Vec<(&str, &str, bool)> = manifest
            .capabilities
            .iter()
            .map(|c| (c.capability_id.as_str(), c.approval_mode.as_str(), c.is_write()))
            .collect();
        assert_eq!(
            modes,
            [("my_crm.find_it", "read_only", false), ("my_crm.x9wipe", "destructive", true)]
        );
        assert_eq!(manifest.prompts[0].name, "greet");
    }
}
