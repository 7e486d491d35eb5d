//! What the `tickets` tools say of themselves.

use serde_json::{Value, json};

use super::LIST;
use crate::demo::schema::{
    Label, Manner, boolean, choice, count, full, list, moment, object, pattern, string, text, tool,
    whole,
};

pub(in crate::demo) fn definitions() -> Vec<Value> {
    let mut all = reading();
    all.extend(writing());
    all.extend(ending());
    all
}

fn reading() -> Vec<Value> {
    vec![
        tool(
            &Label {
                name: LIST,
                title: "List Tickets",
                description: "List support tickets in order of number, filtered by status, \
                              priority or assignee.",
            },
            Manner::Read,
            object(
                &[],
                json!({
                    "status": status(),
                    "priority": priority(),
                    "assignee": person("Only tickets of this colleague."),
                    "limit": limit(),
                }),
            ),
            Some(page()),
        ),
        tool(
            &Label {
                name: "tickets_search_tickets",
                title: "Search Tickets",
                description: "Find tickets whose title, text or comments contain a phrase.",
            },
            Manner::Read,
            object(
                &["query"],
                json!({"query": text("Phrase, in any case.", 200), "limit": limit()}),
            ),
            Some(page()),
        ),
        tool(
            &Label {
                name: "tickets_get_ticket",
                title: "Get Ticket",
                description: "Read one support ticket with its whole text and all comments.",
            },
            Manner::Read,
            object(&["ticket_id"], json!({"ticket_id": id()})),
            Some(ticket()),
        ),
    ]
}

fn writing() -> Vec<Value> {
    vec![
        tool(
            &Label {
                name: "tickets_create_ticket",
                title: "Create Ticket",
                description: "Open a new support ticket on behalf of a requester.",
            },
            Manner::Write,
            object(
                &["title", "body", "requester"],
                json!({
                    "title": text("One line that says what is wrong.", 120),
                    "body": text("The whole story.", 8_000),
                    "requester": person("Who asks for help."),
                    "priority": priority(),
                }),
            ),
            Some(ticket()),
        ),
        tool(
            &Label {
                name: "tickets_add_comment",
                title: "Add Comment",
                description: "Add a comment to a support ticket, open or closed.",
            },
            Manner::Write,
            object(
                &["ticket_id", "author", "text"],
                json!({
                    "ticket_id": id(),
                    "author": person("Who comments."),
                    "text": text("The comment.", 4_000),
                }),
            ),
            Some(ticket()),
        ),
        tool(
            &Label {
                name: "tickets_assign_ticket",
                title: "Assign Ticket",
                description: "Hand an open ticket to a colleague, replacing whoever had it.",
            },
            Manner::Write,
            object(
                &["ticket_id", "assignee"],
                json!({
                    "ticket_id": id(),
                    "assignee": person("Who takes over."),
                }),
            ),
            Some(ticket()),
        ),
    ]
}

fn ending() -> Vec<Value> {
    vec![
        tool(
            &Label {
                name: "tickets_close_ticket",
                title: "Close Ticket",
                description: "Close an open ticket and say how it ended.",
            },
            Manner::Write,
            object(
                &["ticket_id", "resolution"],
                json!({"ticket_id": id(), "resolution": resolution()}),
            ),
            Some(ticket()),
        ),
        tool(
            &Label {
                name: "tickets_delete_ticket",
                title: "Delete Ticket",
                description: "Delete one ticket with its comments for good. Prefer \
                              tickets_close_ticket.",
            },
            Manner::Destroy,
            object(&["ticket_id"], json!({"ticket_id": id()})),
            Some(full(json!({"ticket_id": string(), "deleted": boolean()}))),
        ),
    ]
}

fn id() -> Value {
    pattern("Number of the ticket, such as `tkt_1001`.", "^tkt_[0-9]+$")
}

fn person(description: &str) -> Value {
    pattern(description, "^[A-Za-z0-9._+-]+@[A-Za-z0-9.-]+$")
}

fn status() -> Value {
    choice("Whether work is left to do.", &["open", "closed"])
}

fn priority() -> Value {
    choice("How pressing it is; `normal` for new tickets.", &["low", "normal", "high", "urgent"])
}

fn resolution() -> Value {
    choice("How it ended.", &["solved", "duplicate", "wont_fix"])
}

fn limit() -> Value {
    whole("Tickets to return at most; 20 if absent.", 1, 200)
}

fn page() -> Value {
    let short = full(json!({
        "ticket_id": string(), "title": string(), "status": status(), "priority": priority(),
        "requester": string(), "comment_count": count(), "updated_at": moment(),
    }));
    full(json!({"tickets": list("In order of number.", short), "total": count()}))
}

fn ticket() -> Value {
    let comment = full(json!({"author": string(), "text": string(), "at": moment()}));
    let always = [
        "ticket_id",
        "title",
        "body",
        "status",
        "priority",
        "requester",
        "comments",
        "created_at",
        "updated_at",
    ];
    object(
        &always,
        json!({
            "ticket_id": string(), "title": string(), "body": string(), "status": status(),
            "priority": priority(), "requester": string(), "assignee": string(),
            "resolution": resolution(), "comments": list("Oldest first.", comment),
            "created_at": moment(), "updated_at": moment(),
        }),
    )
}
