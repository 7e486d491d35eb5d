//! `toolgate session`: loads a recorded session, and makes a brief of it for a prompt.

use std::path::{Path, PathBuf};

use ::context::{BriefRules, ContextStore, Phase, Redactor, SessionItem, load_session};
use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use model::Class;
use model::fault::one_line;

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;

/// Text of an item, in a list.
const TEXT_CHARS: usize = 60;

#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// Read a session and list its items
    Load {
        /// A JSONL file, one event on each line
        file: PathBuf,
    },
    /// Choose what of a session goes into a prompt
    #[command(alias = "pack")]
    Brief {
        /// A JSONL file, one event on each line
        file: PathBuf,
        /// What the prompt is for
        #[arg(long, default_value = "answer", value_parser = phase_parser())]
        phase: Phase,
        /// What the prompt is about
        #[arg(long, default_value = "")]
        query: String,
        /// Tokens at most [default: 2000, 3000, 4000 or 6000, by phase]
        #[arg(long)]
        budget: Option<usize>,
    },
}

pub(super) fn run(context: &Context, command: &SessionCommand) -> Result<(), CliError> {
    match command {
        SessionCommand::Load { file } => list(context, &read(file)?),
        SessionCommand::Brief { file, phase, query, budget } => {
            let mut store = ContextStore::default();
            store.ingest_session(read(file)?).map_err(|error| wrong(file, &error.to_string()))?;
            let redactor = Redactor::default();
            let rules = BriefRules {
                phase: *phase,
                query,
                budget_tokens: budget.unwrap_or(phase.budget()),
                floor: Class::Confidential,
                redactor: &redactor,
            };
            let brief = ::context::brief(store.items(), &rules);
            if context.out.is_json() {
                return context.out.json(&brief);
            }
            let (shown, all) = (brief.included.len(), brief.candidates);
            context.out.note(&format!(
                "{shown} of {all} items, {} of {} tokens",
                brief.tokens, brief.budget_tokens
            ));
            context.out.text(&brief.prompt)
        }
    }
}

fn read(file: &Path) -> Result<Vec<SessionItem>, CliError> {
    let text = std::fs::read_to_string(file).map_err(|error| wrong(file, &error.to_string()))?;
    load_session(&text).map_err(|error| wrong(file, &error.to_string()))
}

fn wrong(file: &Path, problem: &str) -> CliError {
    CliError::new(Exit::Failure, format!("`{}`: {problem}", file.display()))
}

fn list(context: &Context, items: &[SessionItem]) -> Result<(), CliError> {
    if context.out.is_json() {
        return context.out.json(&items);
    }
    items.iter().try_for_each(|item| context.out.line(&line(item)))
}

fn line(item: &SessionItem) -> String {
    format!("{}: {}", item.kind.as_str(), one_line(&item.text, TEXT_CHARS))
}

fn phase_parser() -> impl clap::builder::TypedValueParser<Value = Phase> {
    let words = PossibleValuesParser::new(Phase::ALL.map(Phase::as_str));
    words.try_map(|word| {
        Phase::ALL.into_iter().find(|phase| phase.as_str() == word).ok_or("no such phase")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CW-31: the kind as its type string, the text cut to 60 characters.
    #[test]
    fn an_item_is_listed_by_kind_and_the_start_of_its_text() {
        let check = |text: &str, expected: &str| {
            let event = serde_json::json!({"id": "t", "type": "tool_result", "content": text});
            let items = load_session(&event.to_string()).unwrap();
            assert_eq!(line(&items[0]), expected);
        };
        check("status: paid", "tool_result: status: paid");
        check("two\nlines", "tool_result: two lines");
        let long = line(
            &load_session(
                &serde_json::json!({"id": "t", "type": "user_turn", "text": "x".repeat(90)})
                    .to_string(),
            )
            .unwrap()[0],
        );
        assert!(long.starts_with(&format!("user_turn: {}", "x".repeat(50))), "{long}");
        assert!(long.chars().count() <= "user_turn: ".len() + TEXT_CHARS, "{long}");
    }
}
