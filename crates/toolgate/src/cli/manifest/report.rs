//! What a check says of one file, for people and as JSON.

use std::path::Path;

use manifest::{Question, Remark, Skill, is_answered};
use model::Severity;
use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::config::{BindingFile, ManifestFile, Unbound};

/// One file that was looked at.
pub(super) struct Report {
    file: String,
    /// What it is of: `manifest`, `binding` or `skill`.
    kind: &'static str,
    label: String,
    answers: Vec<(Question, bool)>,
    told: Vec<Told>,
}

/// A remark and where it belongs.
struct Told {
    remark: Remark,
    place: String,
    line: Option<usize>,
}

impl Report {
    pub(super) fn of_manifest(file: &Path, read: &ManifestFile, remarks: Vec<Remark>) -> Self {
        let file = file.display().to_string();
        let answer = |question| (question, is_answered(question, &remarks));
        let answers = Question::ALL.map(answer).to_vec();
        let told = remarks.into_iter().map(|remark| {
            let line = read.line(&remark.at);
            Told { remark, place: format!("{file}:{line}"), line: Some(line) }
        });
        let told = told.collect();
        Self { label: read.manifest.label(), kind: "manifest", answers, told, file }
    }

    pub(super) fn of_binding(file: &Path, read: &BindingFile, unbound: Vec<Unbound>) -> Self {
        let file = file.display().to_string();
        let told = unbound.into_iter().map(|Unbound { rule, problem }| {
            let (severity, at) = (Severity::Error, String::new());
            let message = problem.message;
            let line = problem.line;
            let place = line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"));
            let remark = Remark { rule, severity, question: None, at, message };
            Told { remark, place, line }
        });
        let told = told.collect();
        let label = read.binding.capability_id.to_string();
        Self { label, kind: "binding", answers: Vec::new(), told, file }
    }

    pub(super) fn of_skill(file: &Path, skill: &Skill, remarks: Vec<Remark>) -> Self {
        let file = file.display().to_string();
        let told = remarks.into_iter().map(|remark| {
            let place = format!("{file}: {}", remark.at);
            Told { remark, place, line: None }
        });
        let told = told.collect();
        let label = format!("{}@{}", skill.skill_id, skill.version);
        Self { label, kind: "skill", answers: Vec::new(), told, file }
    }

    pub(super) fn errors(&self) -> usize {
        self.told.iter().filter(|told| told.remark.severity == Severity::Error).count()
    }

    pub(super) fn show(&self, context: &Context) -> Result<(), CliError> {
        context.out.line(&format!("{}: {}", self.file, self.label))?;
        for (question, answered) in &self.answers {
            let answer = if *answered { "yes" } else { "no " };
            context.out.line(&format!("  {answer}  {}", question.as_str()))?;
        }
        for Told { remark, place, .. } in &self.told {
            let Remark { rule, severity, message, .. } = remark;
            let severity = match severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Info => "info",
            };
            context.out.line(&format!("{place}: {severity}: {message} ({rule})"))?;
        }
        Ok(())
    }

    pub(super) fn json(&self) -> Value {
        let remarks: Vec<Value> = self.told.iter().map(Told::json).collect();
        let answer = |(question, answered): &(Question, bool)| json!({"question": question, "asks": question.as_str(), "answered": answered});
        let answers: Vec<Value> = self.answers.iter().map(answer).collect();
        let (file, kind, label) = (&self.file, self.kind, &self.label);
        match answers.as_slice() {
            [] => json!({"file": file, kind: label, "remarks": remarks}),
            answers => {
                json!({"file": file, kind: label, "answers": answers, "remarks": remarks})
            }
        }
    }
}

impl Told {
    fn json(&self) -> Value {
        let mut fields = json!(self.remark);
        if let (Some(fields), Some(line)) = (fields.as_object_mut(), self.line) {
            fields.insert("line".to_owned(), line.into());
        }
        fields
    }
}
