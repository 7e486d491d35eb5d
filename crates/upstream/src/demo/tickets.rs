//! The `tickets` namespace: a support desk. Numbers are never used twice, deleted tickets included.

mod contract;

use model::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::refusal::{Outcome, Refusal, done};
use super::state::State;

pub(super) use contract::definitions;

const LIST: &str = "tickets_list_tickets";
/// Open tickets and closed ones together.
const TICKETS_MAX: usize = 2_000;
const COMMENTS_MAX: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Open,
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Priority {
    Low,
    Normal,
    High,
    Urgent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Resolution {
    Solved,
    Duplicate,
    WontFix,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Comment {
    pub(super) author: String,
    pub(super) text: String,
    pub(super) at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Ticket {
    #[serde(rename = "ticket_id")]
    pub(super) id: String,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) status: Status,
    pub(super) priority: Priority,
    pub(super) requester: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) assignee: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resolution: Option<Resolution>,
    pub(super) comments: Vec<Comment>,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    title: String,
    body: String,
    requester: String,
    priority: Option<Priority>,
}

pub(super) fn create(state: &mut State, args: &Create, now: Timestamp) -> Outcome {
    if state.tickets.len() >= TICKETS_MAX {
        let text = format!("the desk holds {TICKETS_MAX} tickets already; delete old ones first");
        return Err(Refusal::new("DESK_FULL", text));
    }
    state.ticket_last += 1;
    let ticket = Ticket {
        id: format!("tkt_{}", state.ticket_last),
        title: args.title.clone(),
        body: args.body.clone(),
        status: Status::Open,
        priority: args.priority.unwrap_or(Priority::Normal),
        requester: args.requester.clone(),
        assignee: None,
        resolution: None,
        comments: Vec::new(),
        created_at: now,
        updated_at: now,
    };
    let told = json!(ticket);
    state.tickets.insert(ticket.id.clone(), ticket);
    done(told)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Select {
    status: Option<Status>,
    priority: Option<Priority>,
    assignee: Option<String>,
    limit: Option<usize>,
}

pub(super) fn list(state: &State, args: &Select, _: Timestamp) -> Outcome {
    listed(state, args.limit, |ticket| {
        args.status.is_none_or(|status| status == ticket.status)
            && args.priority.is_none_or(|priority| priority == ticket.priority)
            && (args.assignee.is_none() || args.assignee == ticket.assignee)
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    query: String,
    limit: Option<usize>,
}

pub(super) fn search(state: &State, args: &Search, _: Timestamp) -> Outcome {
    let query = args.query.to_lowercase();
    listed(state, args.limit, |ticket| {
        let comments = ticket.comments.iter().map(|comment| &comment.text);
        let mut texts = [&ticket.title, &ticket.body].into_iter().chain(comments);
        texts.any(|text| text.to_lowercase().contains(&query))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    ticket_id: String,
}

pub(super) fn get(state: &State, args: &Which, _: Timestamp) -> Outcome {
    let ticket = state.tickets.get(&args.ticket_id);
    ticket.map_or_else(|| Err(unknown(&args.ticket_id)), |ticket| done(json!(ticket)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AddComment {
    ticket_id: String,
    author: String,
    text: String,
}

pub(super) fn comment(state: &mut State, args: &AddComment, now: Timestamp) -> Outcome {
    let ticket = find(state, &args.ticket_id)?;
    if ticket.comments.len() >= COMMENTS_MAX {
        let text =
            format!("`{}` has {COMMENTS_MAX} comments already; open a new ticket", args.ticket_id);
        return Err(Refusal::new("TICKET_FULL", text));
    }
    let comment = Comment { author: args.author.clone(), text: args.text.clone(), at: now };
    ticket.comments.push(comment);
    ticket.updated_at = now;
    done(json!(ticket))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Assign {
    ticket_id: String,
    assignee: String,
}

pub(super) fn assign(state: &mut State, args: &Assign, now: Timestamp) -> Outcome {
    let ticket = open(state, &args.ticket_id)?;
    ticket.assignee = Some(args.assignee.clone());
    ticket.updated_at = now;
    done(json!(ticket))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Close {
    ticket_id: String,
    resolution: Resolution,
}

pub(super) fn close(state: &mut State, args: &Close, now: Timestamp) -> Outcome {
    let ticket = open(state, &args.ticket_id)?;
    ticket.status = Status::Closed;
    ticket.resolution = Some(args.resolution);
    ticket.updated_at = now;
    done(json!(ticket))
}

pub(super) fn delete(state: &mut State, args: &Which, _: Timestamp) -> Outcome {
    state.tickets.remove(&args.ticket_id).ok_or_else(|| unknown(&args.ticket_id))?;
    done(json!({"ticket_id": args.ticket_id, "deleted": true}))
}

fn listed(state: &State, limit: Option<usize>, wanted: impl Fn(&Ticket) -> bool) -> Outcome {
    let tickets: Vec<&Ticket> = state.tickets.values().filter(|ticket| wanted(ticket)).collect();
    let shown: Vec<Value> =
        tickets.iter().take(limit.unwrap_or(20)).map(|ticket| in_short(ticket)).collect();
    done(json!({"tickets": shown, "total": tickets.len()}))
}

fn in_short(ticket: &Ticket) -> Value {
    json!({
        "ticket_id": ticket.id,
        "title": ticket.title,
        "status": ticket.status,
        "priority": ticket.priority,
        "requester": ticket.requester,
        "comment_count": ticket.comments.len(),
        "updated_at": ticket.updated_at,
    })
}

fn find<'a>(state: &'a mut State, id: &str) -> Result<&'a mut Ticket, Refusal> {
    state.tickets.get_mut(id).ok_or_else(|| unknown(id))
}

fn open<'a>(state: &'a mut State, id: &str) -> Result<&'a mut Ticket, Refusal> {
    let ticket = find(state, id)?;
    if ticket.status == Status::Closed {
        let text = format!("`{id}` is closed; create a new ticket that refers to it");
        return Err(Refusal::new("TICKET_CLOSED", text));
    }
    Ok(ticket)
}

fn unknown(id: &str) -> Refusal {
    Refusal::unknown("ticket", id, LIST)
}
