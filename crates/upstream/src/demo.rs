//! The built-in upstream: a small invented company with files, tickets, payments, a calendar,
//! weather and reports. It runs in this process, keeps real state, and opens no connection.
//!
//! Each namespace has a file with its tools; its `contract.rs` holds what they say of themselves.
//! Arguments are expected to have passed the schema; what slips through is refused, not guessed.

mod calendar;
mod company;
mod days;
mod dice;
mod files;
mod payments;
mod png;
mod refusal;
mod reports;
mod schema;
mod seed;
mod state;
mod tickets;
mod weather;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use model::{Answer, Clock, Code, Fault, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use state::DemoError;

use crate::errand::Errand;
use company::{Ask, Company, Retry};
use refusal::Outcome;
use state::State;

/// The demo with its state. Cloning shares the state.
#[derive(Clone, Debug)]
pub struct Demo {
    company: Arc<Company>,
}

type Reader<A> = fn(&State, &A, Timestamp) -> Outcome;
type Writer<A> = fn(&mut State, &A, Timestamp) -> Outcome;

impl Demo {
    /// Goes on from the state file if there is one, else begins with the seeds. Without a state
    /// file everything is forgotten at the end.
    pub fn new(clock: Clock, state_file: Option<PathBuf>) -> Result<Self, DemoError> {
        Company::open(clock, state_file).map(|company| Self { company: Arc::new(company) })
    }

    /// What the demo answers to `tools/list`, by namespace.
    pub fn definitions() -> Vec<Value> {
        let namespaces = [
            files::definitions(),
            tickets::definitions(),
            payments::definitions(),
            calendar::definitions(),
            weather::definitions(),
            reports::definitions(),
        ];
        namespaces.into_iter().flatten().collect()
    }

    /// The adapter manifest that declares a capability for every tool.
    pub fn manifest() -> &'static str {
        include_str!("demo/manifest.json")
    }

    /// Does what the tool says. A tool's own "no" is an answer, not a fault.
    ///
    /// Dropping the future leaves a write either done whole or not done.
    pub async fn call(&self, tool: &str, args: &Value, errand: &Errand) -> Result<Answer, Fault> {
        let ask = Ask { tool, args };
        match tool {
            "files_list_folder" => self.read(ask, files::list_folder),
            "files_read_document" => self.read(ask, files::read),
            "files_describe_document" => self.read(ask, files::describe),
            "files_search_text" => self.read(ask, files::search),
            "files_write_document" => self.write(ask, files::write).await,
            "files_replace_document" => self.write(ask, files::replace).await,
            "files_move_document" => self.write(ask, files::rename).await,
            "files_delete_document" => self.write(ask, files::delete).await,
            "tickets_list_tickets" => self.read(ask, tickets::list),
            "tickets_search_tickets" => self.read(ask, tickets::search),
            "tickets_get_ticket" => self.read(ask, tickets::get),
            "tickets_create_ticket" => self.write(ask, tickets::create).await,
            "tickets_add_comment" => self.write(ask, tickets::comment).await,
            "tickets_assign_ticket" => self.write(ask, tickets::assign).await,
            "tickets_close_ticket" => self.write(ask, tickets::close).await,
            "tickets_delete_ticket" => self.write(ask, tickets::delete).await,
            "payments_lookup_transaction" => self.read(ask, payments::lookup),
            "payments_issue_refund" => self.change(ask, None, payments::issue_refund).await,
            "payments_list_transactions" => self.read(ask, payments::list),
            "payments_list_refunds" => self.read(ask, payments::list_refunds),
            "payments_list_ledger" => self.read(ask, payments::list_ledger),
            "payments_check_balance" => self.read(ask, payments::check_balance),
            "calendar_list_events" => self.read(ask, calendar::list),
            "calendar_get_event" => self.read(ask, calendar::get),
            "calendar_find_slot" => self.read(ask, calendar::find_slot),
            "calendar_create_event" => self.write(ask, calendar::create).await,
            "calendar_reschedule_event" => self.write(ask, calendar::reschedule).await,
            "calendar_add_attendee" => self.write(ask, calendar::add_attendee).await,
            "calendar_cancel_event" => self.write(ask, calendar::cancel).await,
            "weather_list_cities" => self.read(ask, weather::list_cities),
            "weather_get_current" => self.read(ask, weather::current),
            "weather_get_forecast" => self.read(ask, weather::forecast),
            "weather_compare_cities" => self.read(ask, weather::compare),
            "weather_get_alerts" => self.read(ask, weather::alerts),
            "weather_render_map" => self.read(ask, weather::render_map),
            "reports_export_ledger" => self.read(ask, reports::export_ledger),
            "reports_build_annual" => self.build_annual(ask, errand).await,
            "reports_compare_warehouse" => self.read(ask, reports::compare_warehouse),
            "reports_summarize_revenue" => self.read(ask, reports::summarize_revenue),
            "reports_summarize_tickets" => self.read(ask, reports::summarize_tickets),
            "reports_list_reports" => self.read(ask, reports::list),
            "reports_get_report" => self.read(ask, reports::get),
            "reports_delete_report" => self.write(ask, reports::delete).await,
            _ => {
                Err(Fault::new(Code::ToolNotFound, format!("the demo has no tool `{tool}`"))
                    .at(tool))
            }
        }
    }

    fn read<A: DeserializeOwned>(&self, ask: Ask<'_>, reader: Reader<A>) -> Result<Answer, Fault> {
        let args = ask.typed()?;
        Ok(self.company.read(|state, now| reader(state, &args, now)))
    }

    /// A change that the caller may make harmless to repeat by giving a key.
    async fn write<A>(&self, ask: Ask<'_>, writer: Writer<A>) -> Result<Answer, Fault>
    where
        A: DeserializeOwned + Send + 'static,
    {
        let (args, retry) = ask.without_key();
        self.change(Ask { args: &args, ..ask }, retry, writer).await
    }

    async fn build_annual(&self, ask: Ask<'_>, errand: &Errand) -> Result<Answer, Fault> {
        let (args, _) = ask.without_key();
        reports::work_through(&Ask { args: &args, ..ask }.typed()?, errand).await;
        self.write(ask, reports::build_annual).await
    }

    /// Saving waits for the disk, so it happens where waiting harms nobody.
    async fn change<A>(
        &self,
        ask: Ask<'_>,
        retry: Option<Retry>,
        writer: Writer<A>,
    ) -> Result<Answer, Fault>
    where
        A: DeserializeOwned + Send + 'static,
    {
        let args: A = ask.typed()?;
        let company = Arc::clone(&self.company);
        let work = move || company.change(retry, |state, now| writer(state, &args, now));
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|error| Err(Fault::internal(error))).map_err(|fault| fault.at(ask.tool))
    }
}
