//! How the demo's company looks when it is new: a few documents, tickets, payments and meetings.

use std::collections::BTreeMap;

use model::Timestamp;

use super::calendar::{self, Event};
use super::days::{self, DAY_MS, HOUR_MS};
use super::dice;
use super::files::Document;
use super::payments::{Paise, Transaction, TransactionStatus};
use super::tickets::{Comment, Priority, Resolution, Status, Ticket};

const DOCUMENTS: [(&str, &str); 6] = [
    ("/handbook/refunds.md", include_str!("seed/refunds.md")),
    ("/handbook/on-call.md", include_str!("seed/on-call.md")),
    ("/handbook/travel.md", include_str!("seed/travel.md")),
    ("/projects/apollo/plan.md", include_str!("seed/plan.md")),
    ("/projects/apollo/risks.csv", include_str!("seed/risks.csv")),
    ("/readme.md", include_str!("seed/readme.md")),
];

/// As a mail gateway delivered it: terminal colours, a bell, a zero-width space and a direction
/// override. The gate's cleaning has something real to do here.
const MAIL_BODY: &str = "\u{1b}[31;1mURGENT\u{1b}[0m my card was charged twice\u{7}\r\n\
    for order\u{200b} ORD-5512.\u{0}\r\n\
    \u{202e}.em llac esaelP\u{202c}\r\n-- \r\nSent from my phone";

pub(super) fn files(now: Timestamp) -> BTreeMap<String, Document> {
    let updated_at = days::midnight(now);
    let document = |text: &str| Document { text: text.to_owned(), version: 1, updated_at };
    DOCUMENTS.iter().map(|(path, text)| ((*path).to_owned(), document(text))).collect()
}

pub(super) fn tickets(now: Timestamp) -> BTreeMap<String, Ticket> {
    let rows = [
        (
            Priority::High,
            "meera@example.com",
            "Checkout shows a blank page",
            "Since this morning the last step of the checkout stays blank in Firefox.",
        ),
        (
            Priority::Normal,
            "jonas@example.com",
            "Invoice has the old address",
            "We moved in March. Please send the invoice again with the new address.",
        ),
        (Priority::Urgent, "ravi@example.com", "Fwd: charged twice!!", MAIL_BODY),
        (
            Priority::Low,
            "aiko@example.com",
            "Dark mode for the console",
            "A dark theme would help during night shifts.",
        ),
        (
            Priority::Normal,
            "sam@example.com",
            "Cannot reset my password",
            "The link in the mail says that it has expired, at once.",
        ),
        (
            Priority::High,
            "meera@example.com",
            "Export stops at 10,000 rows",
            "The ledger export is cut off without any warning.",
        ),
    ];
    let numbered = (1_001..).zip(rows).map(|(number, (priority, requester, title, body))| {
        let at = days::shifted(days::midnight(now), (number - 1_010) * DAY_MS + 10 * HOUR_MS);
        let id = format!("tkt_{number}");
        let ticket = Ticket {
            id: id.clone(),
            title: title.to_owned(),
            body: body.to_owned(),
            status: Status::Open,
            priority,
            requester: requester.to_owned(),
            assignee: None,
            resolution: None,
            comments: Vec::new(),
            created_at: at,
            updated_at: at,
        };
        (id, ticket)
    });
    let mut tickets: BTreeMap<String, Ticket> = numbered.collect();
    if let Some(ticket) = tickets.get_mut("tkt_1005") {
        let at = days::shifted(ticket.created_at, HOUR_MS);
        let text = "Our clock was wrong. Links work again.".to_owned();
        ticket.comments.push(Comment { author: "lena@example.com".to_owned(), text, at });
        ticket.status = Status::Closed;
        ticket.resolution = Some(Resolution::Solved);
        ticket.assignee = Some("lena@example.com".to_owned());
        ticket.updated_at = at;
    }
    tickets
}

pub(super) fn transactions(now: Timestamp) -> BTreeMap<String, Transaction> {
    use TransactionStatus::{Failed, Pending, Settled};
    let rows = [
        ("txn_8f3k2a", Settled, 149_900, "meera@example.com", "ORD-5509"),
        ("txn_2b7q9d", Settled, 2_499_900, "jonas@example.com", "ORD-5510"),
        ("txn_5m1x0c", Pending, 79_900, "aiko@example.com", "ORD-5514"),
        ("txn_9z4w7e", Failed, 129_900, "sam@example.com", "ORD-5515"),
        ("txn_3h6t8n", Settled, 6_200_000, "ravi@example.com", "ORD-5511"),
        ("txn_7p2r5v", Settled, 34_950, "ravi@example.com", "ORD-5512"),
        ("txn_4c9y1b", Settled, 34_950, "ravi@example.com", "ORD-5512"),
        ("txn_6d8u3g", Settled, 899_000, "aiko@example.com", "ORD-5513"),
    ];
    let dated = (1..).zip(rows).map(|(age, (id, status, paise, customer, order))| {
        let settlement = || format!("stl_{}", dice::token(id, 8));
        let transaction = Transaction {
            id: id.to_owned(),
            status,
            amount: Paise(paise),
            customer: customer.to_owned(),
            order_id: order.to_owned(),
            settlement_ref: (status == Settled).then(settlement),
            at: days::shifted(days::midnight(now), 14 * HOUR_MS - age * DAY_MS),
        };
        (id.to_owned(), transaction)
    });
    dated.collect()
}

pub(super) fn events(now: Timestamp) -> BTreeMap<String, Event> {
    let rows = [
        ("Stand-up", 0, 9, 1, vec!["lena@example.com", "omar@example.com", "priya@example.com"]),
        ("Refund review", 0, 11, 1, vec!["priya@example.com"]),
        ("Planning Apollo", 1, 10, 2, vec!["lena@example.com", "omar@example.com"]),
        ("Interview", 1, 14, 1, vec!["lena@example.com"]),
        ("Quarter close", 2, 13, 3, vec!["omar@example.com", "priya@example.com"]),
    ];
    let numbered = (2_001..).zip(rows).map(|(number, (title, day, hour, hours, attendees))| {
        let starts_at = days::shifted(days::midnight(now), day * DAY_MS + hour * HOUR_MS);
        let id = format!("evt_{number}");
        let event = Event {
            id: id.clone(),
            title: title.to_owned(),
            starts_at,
            ends_at: days::shifted(starts_at, hours * HOUR_MS),
            attendees: attendees.into_iter().map(str::to_owned).collect(),
            status: calendar::Status::Confirmed,
        };
        (id, event)
    });
    numbered.collect()
}
