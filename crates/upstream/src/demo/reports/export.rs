//! The export that is too large to read at once: the ledger of today, then an archive that is
//! invented row by row and the same every time.

use model::{Answer, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::demo::days::HOUR_MS;
use crate::demo::dice;
use crate::demo::payments::{self, Entry, Paise};
use crate::demo::refusal::{Outcome, done};
use crate::demo::state::State;

pub(super) const ROWS_DEFAULT: usize = 500;
pub(super) const ROWS_MAX: usize = 5_000;
/// The archive ends with the year 2024 and goes back from there.
const ARCHIVE_END: Timestamp = Timestamp::from_millis(1_735_689_600_000);

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Format {
    #[default]
    Csv,
    Json,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::demo) struct ExportLedger {
    rows: Option<usize>,
    #[serde(default)]
    format: Format,
}

pub(in crate::demo) fn export_ledger(state: &State, args: &ExportLedger, _: Timestamp) -> Outcome {
    let rows = args.rows.unwrap_or(ROWS_DEFAULT).clamp(1, ROWS_MAX);
    let recent = payments::ledger(state).into_iter().rev();
    let entries: Vec<Entry> = recent.chain((1..).map(archived)).take(rows).collect();
    match args.format {
        Format::Json => done(json!({"format": "json", "row_count": rows, "rows": entries})),
        Format::Csv => Ok(as_csv(&entries)),
    }
}

/// The text is the table itself rather than JSON around it.
fn as_csv(entries: &[Entry]) -> Answer {
    let head = "entry_id,at,kind,transaction_id,customer,amount_inr\n".to_owned();
    let csv: String = std::iter::once(head).chain(entries.iter().map(line)).collect();
    let structured: Value = json!({"format": "csv", "row_count": entries.len(), "csv": csv});
    Answer { structured: Some(structured), ..Answer::text(csv) }
}

/// No field holds a comma, a quote or a line break: ids, times and mail addresses have none.
fn line(entry: &Entry) -> String {
    let Entry { id, at, kind, transaction_id, customer, amount_inr } = entry;
    format!("{id},{at},{kind},{transaction_id},{customer},{amount_inr:.2}\n")
}

fn archived(number: i64) -> Entry {
    let seed = format!("archive {number}");
    let amount = Paise(9_900 + dice::roll(&seed, 4_000_000)).inr();
    let is_refund = dice::roll(&format!("{seed} kind"), 20) == 0;
    Entry {
        id: format!("led_a{number:06}"),
        at: Timestamp::from_millis(ARCHIVE_END.as_millis() - number * HOUR_MS),
        kind: if is_refund { "refund" } else { "settlement" },
        transaction_id: format!("txn_{}", dice::token(&seed, 6)),
        customer: format!("customer{:03}@example.com", dice::roll(&format!("{seed} who"), 400)),
        amount_inr: if is_refund { -amount } else { amount },
    }
}
