//! What the `reports` tools say of themselves.

use serde_json::{Value, json};

use super::export::ROWS_MAX;
use super::{LIST, STEP_MS_MAX, STEPS_MAX};
use crate::demo::schema::{
    Label, Manner, boolean, choice, count, full, list, moment, number, object, one_of, pattern,
    string, tool, whole,
};

pub(in crate::demo) fn definitions() -> Vec<Value> {
    let mut all = vec![export_ledger(), build_annual(), compare_warehouse()];
    all.extend(summaries());
    all.extend(shelf());
    all
}

fn export_ledger() -> Value {
    let entry = full(json!({
        "entry_id": string(), "at": moment(), "kind": one_of(&["settlement", "refund"]),
        "transaction_id": string(), "customer": string(), "amount_inr": number(),
    }));
    tool(
        &Label {
            name: "reports_export_ledger",
            title: "Export Ledger",
            description: "Export the ledger with its archive as CSV or JSON rows, newest first. \
                          The result is very large.",
        },
        Manner::Read,
        object(
            &[],
            json!({
                "rows": {
                    "type": "integer", "description": "How many rows; 500 if absent.", "minimum": 1,
                    "maximum": ROWS_MAX,
                },
                "format": choice("Form of the rows; `csv` if absent.", &["csv", "json"]),
            }),
        ),
        Some(object(
            &["format", "row_count"],
            json!({
                "format": one_of(&["csv", "json"]), "row_count": count(), "csv": string(),
                "rows": list("Newest first.", entry),
            }),
        )),
    )
}

fn build_annual() -> Value {
    tool(
        &Label {
            name: "reports_build_annual",
            title: "Build Annual Report",
            description: "Build and keep the report of one year. Slow: it works in steps and \
                          reports progress after each.",
        },
        Manner::Write,
        object(
            &["year"],
            json!({
                "year": whole("The year to report on.", 2000, 2100),
                "steps": whole("How many steps the work has; 5 if absent.", 1, STEPS_MAX),
                "step_ms": {
                    "type": "integer", "description": "Length of a step; 200 if absent.",
                    "minimum": 0, "maximum": STEP_MS_MAX,
                },
            }),
        ),
        Some(report()),
    )
}

fn compare_warehouse() -> Value {
    tool(
        &Label {
            name: "reports_compare_warehouse",
            title: "Compare With Warehouse",
            description: "Compare our figures with those in the data warehouse and list what \
                          differs.",
        },
        Manner::Read,
        object(
            &["dataset"],
            json!({"dataset": choice("What to compare.", &["ledger", "tickets"])}),
        ),
        Some(full(json!({"dataset": string(), "differences": list("By id.", string())}))),
    )
}

fn summaries() -> Vec<Value> {
    let by_priority =
        full(json!({"low": count(), "normal": count(), "high": count(), "urgent": count()}));
    vec![
        tool(
            &Label {
                name: "reports_summarize_revenue",
                title: "Summarize Revenue",
                description: "Sum up what was settled and what was refunded.",
            },
            Manner::Read,
            object(&[], json!({})),
            Some(full(json!({
                "settled_inr": number(), "refunded_inr": number(), "net_inr": number(),
                "entry_count": count(), "refund_count": count(), "as_of": moment(),
            }))),
        ),
        tool(
            &Label {
                name: "reports_summarize_tickets",
                title: "Summarize Tickets",
                description: "Count open and closed support tickets, the open ones by priority.",
            },
            Manner::Read,
            object(&[], json!({})),
            Some(object(
                &["open", "closed", "open_by_priority", "as_of"],
                json!({
                    "open": count(), "closed": count(), "open_by_priority": by_priority,
                    "oldest_open": string(), "as_of": moment(),
                }),
            )),
        ),
    ]
}

fn shelf() -> Vec<Value> {
    let short = full(json!({"report_id": string(), "title": string(), "built_at": moment()}));
    vec![
        tool(
            &Label {
                name: LIST,
                title: "List Reports",
                description: "List the annual reports that were built and kept.",
            },
            Manner::Read,
            object(&[], json!({})),
            Some(full(json!({"reports": list("By year.", short), "total": count()}))),
        ),
        tool(
            &Label {
                name: "reports_get_report",
                title: "Get Report",
                description: "Read one annual report that was built before.",
            },
            Manner::Read,
            object(&["report_id"], json!({"report_id": id()})),
            Some(report()),
        ),
        tool(
            &Label {
                name: "reports_delete_report",
                title: "Delete Report",
                description: "Delete one annual report. It can be built again from the ledger.",
            },
            Manner::Destroy,
            object(&["report_id"], json!({"report_id": id()})),
            Some(full(json!({"report_id": string(), "deleted": boolean()}))),
        ),
    ]
}

fn id() -> Value {
    pattern("Id of the report, such as `rpt_2026`.", "^rpt_[0-9]{4}$")
}

fn report() -> Value {
    full(json!({
        "report_id": string(), "title": string(), "built_at": moment(), "settled_inr": number(),
        "refunded_inr": number(), "net_inr": number(), "tickets_opened": count(),
    }))
}
