//! The `calendar` namespace: one team calendar in UTC. Working hours are nine to five, every day;
//! weekends and time zones are left out.

mod contract;

use model::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::days::{self, HOUR_MS};
use super::refusal::{Outcome, Refusal, done};
use super::state::State;

pub(super) use contract::definitions;

const LIST: &str = "calendar_list_events";
const EVENTS_MAX: usize = 2_000;
const ATTENDEES_MAX: usize = 50;
const MINUTE_MS: i64 = 60_000;
const WORK_START_MS: i64 = 9 * HOUR_MS;
const WORK_END_MS: i64 = 17 * HOUR_MS;
/// Slots begin on the quarter of an hour.
const SLOT_STEP_MS: i64 = 15 * MINUTE_MS;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Confirmed,
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Event {
    #[serde(rename = "event_id")]
    pub(super) id: String,
    pub(super) title: String,
    pub(super) starts_at: Timestamp,
    pub(super) ends_at: Timestamp,
    pub(super) attendees: Vec<String>,
    pub(super) status: Status,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Range {
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    #[serde(default)]
    include_cancelled: bool,
}

pub(super) fn list(state: &State, args: &Range, _: Timestamp) -> Outcome {
    let mut events: Vec<&Event> = state
        .events
        .values()
        .filter(|event| args.include_cancelled || event.status == Status::Confirmed)
        .filter(|event| args.from.is_none_or(|from| event.ends_at > from))
        .filter(|event| args.to.is_none_or(|to| event.starts_at < to))
        .collect();
    events.sort_by_key(|event| event.starts_at);
    done(json!({"events": events, "total": events.len()}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    event_id: String,
}

pub(super) fn get(state: &State, args: &Which, _: Timestamp) -> Outcome {
    let event = state.events.get(&args.event_id);
    event.map_or_else(|| Err(unknown(&args.event_id)), |event| done(json!(event)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FindSlot {
    date: String,
    duration_minutes: i64,
    #[serde(default)]
    attendees: Vec<String>,
    limit: Option<usize>,
}

pub(super) fn find_slot(state: &State, args: &FindSlot, _: Timestamp) -> Outcome {
    let Some(midnight) = days::parse(&args.date) else {
        let text =
            format!("`{}` is no day of the calendar; write one such as `2026-11-16`", args.date);
        return Err(Refusal::new("DATE_INVALID", text));
    };
    let length = args.duration_minutes.clamp(15, 480) * MINUTE_MS;
    let step = usize::try_from(SLOT_STEP_MS).unwrap_or(usize::MAX);
    let slots: Vec<Value> = (WORK_START_MS..=WORK_END_MS - length)
        .step_by(step)
        .map(|offset| (days::shifted(midnight, offset), days::shifted(midnight, offset + length)))
        .filter(|(from, to)| busy(state, *from, *to, &args.attendees).is_empty())
        .take(args.limit.unwrap_or(3))
        .map(|(from, to)| json!({"starts_at": from, "ends_at": to}))
        .collect();
    done(json!({"date": args.date, "slots": slots}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    title: String,
    starts_at: Timestamp,
    ends_at: Timestamp,
    #[serde(default)]
    attendees: Vec<String>,
}

pub(super) fn create(state: &mut State, args: &Create, _: Timestamp) -> Outcome {
    check_span(args.starts_at, args.ends_at)?;
    check_attendees(args.attendees.len())?;
    if state.events.len() >= EVENTS_MAX {
        let text = format!("the calendar holds {EVENTS_MAX} events already and takes no more");
        return Err(Refusal::new("CALENDAR_FULL", text));
    }
    let conflicts = busy(state, args.starts_at, args.ends_at, &args.attendees);
    state.event_last += 1;
    let event = Event {
        id: format!("evt_{}", state.event_last),
        title: args.title.clone(),
        starts_at: args.starts_at,
        ends_at: args.ends_at,
        attendees: args.attendees.clone(),
        status: Status::Confirmed,
    };
    let told = json!({"event": event, "conflicts": conflicts});
    state.events.insert(event.id.clone(), event);
    done(told)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reschedule {
    event_id: String,
    starts_at: Timestamp,
    ends_at: Timestamp,
}

pub(super) fn reschedule(state: &mut State, args: &Reschedule, _: Timestamp) -> Outcome {
    check_span(args.starts_at, args.ends_at)?;
    let attendees = confirmed(state, &args.event_id)?.attendees.clone();
    let mut conflicts = busy(state, args.starts_at, args.ends_at, &attendees);
    conflicts.retain(|id| *id != args.event_id);
    let event = confirmed(state, &args.event_id)?;
    event.starts_at = args.starts_at;
    event.ends_at = args.ends_at;
    done(json!({"event": event, "conflicts": conflicts}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AddAttendee {
    event_id: String,
    attendee: String,
}

pub(super) fn add_attendee(state: &mut State, args: &AddAttendee, _: Timestamp) -> Outcome {
    let event = confirmed(state, &args.event_id)?;
    if !event.attendees.contains(&args.attendee) {
        check_attendees(event.attendees.len() + 1)?;
        event.attendees.push(args.attendee.clone());
    }
    done(json!(event))
}

pub(super) fn cancel(state: &mut State, args: &Which, _: Timestamp) -> Outcome {
    let event = confirmed(state, &args.event_id)?;
    event.status = Status::Cancelled;
    done(json!(event))
}

/// Confirmed events in that span which share an attendee; all of them when nobody is named.
fn busy(state: &State, from: Timestamp, to: Timestamp, attendees: &[String]) -> Vec<String> {
    let shares = |event: &Event| {
        attendees.is_empty() || event.attendees.iter().any(|one| attendees.contains(one))
    };
    let overlaps = |event: &Event| event.starts_at < to && event.ends_at > from;
    let confirmed = state.events.values().filter(|event| event.status == Status::Confirmed);
    confirmed
        .filter(|event| overlaps(event) && shares(event))
        .map(|event| event.id.clone())
        .collect()
}

fn check_span(from: Timestamp, to: Timestamp) -> Result<(), Refusal> {
    if from < to {
        return Ok(());
    }
    let text =
        format!("an event cannot end at `{to}` when it starts at `{from}`; give a later end");
    Err(Refusal::new("SPAN_INVALID", text))
}

fn check_attendees(count: usize) -> Result<(), Refusal> {
    if count <= ATTENDEES_MAX {
        return Ok(());
    }
    let text = format!("an event has at most {ATTENDEES_MAX} attendees; split it");
    Err(Refusal::new("TOO_MANY_ATTENDEES", text))
}

fn confirmed<'a>(state: &'a mut State, id: &str) -> Result<&'a mut Event, Refusal> {
    let event = state.events.get_mut(id).ok_or_else(|| unknown(id))?;
    if event.status == Status::Cancelled {
        let text = format!("`{id}` is cancelled; create a new event with `calendar_create_event`");
        return Err(Refusal::new("EVENT_CANCELLED", text));
    }
    Ok(event)
}

fn unknown(id: &str) -> Refusal {
    Refusal::unknown("event", id, LIST)
}
