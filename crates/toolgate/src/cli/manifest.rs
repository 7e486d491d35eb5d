//! `toolgate manifest`: whether manifests are fit for production, decided from files alone, and a
//! draft of one for what an upstream lists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use manifest::{AdapterManifest, Question, Remark, Skill, is_answered, lint, lint_bindings};
use model::{Severity, UpstreamName};
use policy::Rules;
use serde_json::{Value, json};

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use crate::assemble;
use crate::config::{LogLevel, ManifestFile, Overrides};

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
    let (mut reports, mut errors, mut manifests) = (Vec::new(), 0, Vec::new());
    for file in &args.files {
        let shown = file.display().to_string();
        let read = ManifestFile::read(&shown, &text(file)?)
            .map_err(|problem| CliError::new(Exit::Config, problem.to_string()))?;
        let mut remarks = lint(&read.manifest, &tools);
        if let Some(rules) = &rules {
            remarks.extend(bindings(&read.manifest, rules));
        }
        errors += remarks.iter().filter(|remark| remark.severity == Severity::Error).count();
        if context.out.is_json() {
            reports.push(report(&shown, &read, &remarks));
        } else {
            show(context, &shown, &read, &remarks)?;
        }
        manifests.push(read.manifest);
    }
    for file in &args.skills {
        let (skill, remarks) = skill(file, &manifests)?;
        errors += remarks.iter().filter(|remark| remark.severity == Severity::Error).count();
        let shown = file.display().to_string();
        if context.out.is_json() {
            let label = format!("{}@{}", skill.skill_id, skill.version);
            reports.push(json!({"file": shown, "skill": label, "remarks": remarks}));
        } else {
            context.out.line(&format!("{shown}: {}@{}", skill.skill_id, skill.version))?;
            tell(context, &remarks, |at| format!("{shown}: {at}"))?;
        }
    }
    if context.out.is_json() {
        context.out.json(&reports)?;
    }
    if errors == 0 {
        return Ok(());
    }
    let things = if errors == 1 { "1 thing is" } else { &format!("{errors} things are") };
    let message = format!("not ready for production: {things} missing or wrong");
    Err(CliError::new(Exit::Config, message).hint("each line above says what to write"))
}

fn show(
    context: &Context,
    shown: &str,
    read: &ManifestFile,
    remarks: &[Remark],
) -> Result<(), CliError> {
    context.out.line(&format!("{shown}: {}", read.manifest.label()))?;
    for question in Question::ALL {
        let answer = if is_answered(question, remarks) { "yes" } else { "no " };
        context.out.line(&format!("  {answer}  {}", question.as_str()))?;
    }
    tell(context, remarks, |at| format!("{shown}:{}", read.line(at)))
}

fn tell(
    context: &Context,
    remarks: &[Remark],
    place: impl Fn(&str) -> String,
) -> Result<(), CliError> {
    for Remark { rule, severity, at, message, .. } in remarks {
        let severity = match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        };
        context.out.line(&format!("{}: {severity}: {message} ({rule})", place(at)))?;
    }
    Ok(())
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
fn skill(file: &Path, manifests: &[AdapterManifest]) -> Result<(Skill, Vec<Remark>), CliError> {
    let read = Skill::parse(&text(file)?);
    let skill = read.map_err(|why| {
        CliError::new(Exit::Config, format!("{}: {why}", file.display()))
            .hint("a skill names capabilities and grants none; it has no other keys")
    })?;
    let remarks = skill.lint(manifests);
    Ok((skill, remarks))
}

fn report(shown: &str, read: &ManifestFile, remarks: &[Remark]) -> Value {
    let answers = Question::ALL.map(|question| {
        json!({"question": question, "asks": question.as_str(), "answered": is_answered(question, remarks)})
    });
    let remarks = remarks.iter().map(|remark| {
        let mut fields = json!(remark);
        if let Some(fields) = fields.as_object_mut() {
            fields.insert("line".to_owned(), read.line(&remark.at).into());
        }
        fields
    });
    json!({
        "file": shown,
        "manifest": read.manifest.label(),
        "answers": answers,
        "remarks": remarks.collect::<Vec<_>>(),
    })
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
