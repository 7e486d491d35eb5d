//! What the `payments` tools say of themselves. The refund's definition is the one ContextOS
//! publishes, to the letter: it has no annotations, so a client must expect the worst of it.

use serde_json::{Value, json};

use super::LIST;
use crate::demo::schema::{
    Label, Manner, choice, count, full, list, moment, number, object, one_of, pattern, string,
    text, tool, whole,
};

pub(in crate::demo) fn definitions() -> Vec<Value> {
    let mut all = vec![lookup_transaction(), issue_refund()];
    all.extend(lists());
    all
}

fn lookup_transaction() -> Value {
    tool(
        &Label {
            name: "payments_lookup_transaction",
            title: "Look Up Transaction",
            description: "Look up one transaction: its status, its settlement, and how much of it \
                          can be refunded.",
        },
        Manner::Read,
        object(&["transaction_id"], json!({"transaction_id": id()})),
        Some(transaction()),
    )
}

fn issue_refund() -> Value {
    json!({
        "name": "payments_issue_refund",
        "title": "Issue Refund",
        "description": "Issue a refund against an existing settled transaction.",
        "inputSchema": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "transaction_id": { "type": "string", "pattern": "^txn_[a-z0-9]+$" },
                "amount_inr": { "type": "number", "minimum": 1, "maximum": 50000 },
                "currency": { "type": "string", "enum": ["INR"] },
                "reason_code": {
                    "type": "string",
                    "enum": ["duplicate", "customer_request", "service_failure"]
                },
                "idempotency_key": { "type": "string", "pattern": "^ik_[a-z0-9]{16}$" }
            },
            "required": [
                "transaction_id", "amount_inr", "currency", "reason_code", "idempotency_key"
            ]
        },
        "outputSchema": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "refund_id": { "type": "string" },
                "status": { "type": "string", "enum": ["accepted", "queued", "rejected"] },
                "transaction_id": { "type": "string" },
                "reversal_token": { "type": "string" },
                "evidence_refs": { "type": "array", "items": { "type": "string" } }
            },
            "required": ["refund_id", "status", "transaction_id", "evidence_refs"]
        },
        "icons": [
            {
                "src": "https://payments.example.com/icons/refund.png",
                "mimeType": "image/png",
                "sizes": ["48x48"]
            }
        ]
    })
}

fn lists() -> Vec<Value> {
    vec![
        tool(
            &Label {
                name: LIST,
                title: "List Transactions",
                description: "List transactions, filtered by status or by customer.",
            },
            Manner::Read,
            object(
                &[],
                json!({
                    "status": choice("Only these.", &["settled", "pending", "failed"]),
                    "customer": text("Only of this customer, by mail address.", 200),
                    "limit": whole("Transactions to return at most; 20 if absent.", 1, 200),
                }),
            ),
            Some(full(
                json!({"transactions": list("In order of id.", transaction()), "total": count()}),
            )),
        ),
        tool(
            &Label {
                name: "payments_list_refunds",
                title: "List Refunds",
                description: "List the refunds that were issued, newest first.",
            },
            Manner::Read,
            object(
                &[],
                json!({
                    "transaction_id": id(),
                    "limit": whole("Refunds to return at most; 20 if absent.", 1, 200),
                }),
            ),
            Some(full(json!({"refunds": list("Newest first.", refund()), "total": count()}))),
        ),
        tool(
            &Label {
                name: "payments_list_ledger",
                title: "List Ledger",
                description: "List the entries of the ledger, newest first: settlements and \
                              refunds.",
            },
            Manner::Read,
            object(
                &[],
                json!({"limit": whole("Entries to return at most; 50 if absent.", 1, 500)}),
            ),
            Some(full(json!({
                "entries": list("Newest first.", entry()), "total": count(), "net_inr": number(),
            }))),
        ),
        tool(
            &Label {
                name: "payments_check_balance",
                title: "Check Balance",
                description: "Tell how much was settled, how much was refunded, and what is left.",
            },
            Manner::Read,
            object(&[], json!({})),
            Some(full(json!({
                "settled_inr": number(), "refunded_inr": number(), "net_inr": number(),
                "as_of": moment(),
            }))),
        ),
    ]
}

fn id() -> Value {
    pattern("Id of the transaction, such as `txn_8f3k2a`.", "^txn_[a-z0-9]+$")
}

fn transaction() -> Value {
    let always = [
        "transaction_id",
        "status",
        "amount_inr",
        "refunded_inr",
        "refundable_inr",
        "currency",
        "customer",
        "order_id",
        "at",
        "evidence_refs",
    ];
    object(
        &always,
        json!({
            "transaction_id": string(), "status": one_of(&["settled", "pending", "failed"]),
            "settlement_ref": string(), "amount_inr": number(), "refunded_inr": number(),
            "refundable_inr": number(), "currency": one_of(&["INR"]), "customer": string(),
            "order_id": string(), "at": moment(),
            "evidence_refs": {"type": "array", "items": string()},
        }),
    )
}

fn refund() -> Value {
    full(json!({
        "refund_id": string(), "status": one_of(&["accepted", "queued"]),
        "transaction_id": string(), "amount_inr": number(),
        "reason_code": one_of(&["duplicate", "customer_request", "service_failure"]),
        "at": moment(),
    }))
}

fn entry() -> Value {
    full(json!({
        "entry_id": string(), "at": moment(), "kind": one_of(&["settlement", "refund"]),
        "transaction_id": string(), "customer": string(), "amount_inr": number(),
    }))
}
