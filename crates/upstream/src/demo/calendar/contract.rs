//! What the `calendar` tools say of themselves.

use serde_json::{Value, json};

use super::LIST;
use crate::demo::schema::{
    Label, Manner, count, day, flag, full, instant, list, moment, object, one_of, pattern, string,
    text, tool, whole,
};

pub(in crate::demo) fn definitions() -> Vec<Value> {
    let mut all = reading();
    all.extend(writing());
    all
}

fn reading() -> Vec<Value> {
    let slot = full(json!({"starts_at": moment(), "ends_at": moment()}));
    vec![
        tool(
            &Label {
                name: LIST,
                title: "List Events",
                description: "List the events of the team calendar that fall into a span of time.",
            },
            Manner::Read,
            object(
                &[],
                json!({
                    "from": instant("Leave out what ends before."),
                    "to": instant("Leave out what starts after."),
                    "include_cancelled": flag("Show cancelled events as well."),
                }),
            ),
            Some(full(json!({"events": list("By start.", event()), "total": count()}))),
        ),
        tool(
            &Label {
                name: "calendar_get_event",
                title: "Get Event",
                description: "Read one event of the team calendar.",
            },
            Manner::Read,
            object(&["event_id"], json!({"event_id": id()})),
            Some(event()),
        ),
        tool(
            &Label {
                name: "calendar_find_slot",
                title: "Find Free Slot",
                description: "Find times on one day, between 09:00 and 17:00 UTC, at which all \
                              named people are free.",
            },
            Manner::Read,
            object(
                &["date", "duration_minutes"],
                json!({
                    "date": day("The day to look at."),
                    "duration_minutes": whole("How long the slot must be.", 15, 480),
                    "attendees": people("Who must be free; the whole team if absent."),
                    "limit": whole("Slots to return at most; 3 if absent.", 1, 32),
                }),
            ),
            Some(full(json!({"date": string(), "slots": list("Earliest first.", slot)}))),
        ),
    ]
}

fn writing() -> Vec<Value> {
    vec![
        tool(
            &Label {
                name: "calendar_create_event",
                title: "Create Event",
                description: "Put a new event into the team calendar. Overlapping events are \
                              reported, not refused.",
            },
            Manner::Write,
            object(
                &["title", "starts_at", "ends_at"],
                json!({
                    "title": text("What it is about.", 120),
                    "starts_at": instant("Start, such as `2026-11-16T09:30:00Z`."),
                    "ends_at": instant("End, after the start."),
                    "attendees": people("Who takes part."),
                }),
            ),
            Some(placed()),
        ),
        tool(
            &Label {
                name: "calendar_reschedule_event",
                title: "Reschedule Event",
                description: "Move a confirmed event to another time. Overlapping events are \
                              reported, not refused.",
            },
            Manner::Write,
            object(
                &["event_id", "starts_at", "ends_at"],
                json!({
                    "event_id": id(),
                    "starts_at": instant("New start."),
                    "ends_at": instant("New end, after the start."),
                }),
            ),
            Some(placed()),
        ),
        tool(
            &Label {
                name: "calendar_add_attendee",
                title: "Add Attendee",
                description: "Invite one more person to a confirmed event.",
            },
            Manner::Write,
            object(&["event_id", "attendee"], json!({"event_id": id(), "attendee": person()})),
            Some(event()),
        ),
        tool(
            &Label {
                name: "calendar_cancel_event",
                title: "Cancel Event",
                description: "Cancel a confirmed event for everybody. It cannot be brought back.",
            },
            Manner::Destroy,
            object(&["event_id"], json!({"event_id": id()})),
            Some(event()),
        ),
    ]
}

fn id() -> Value {
    pattern("Number of the event, such as `evt_2001`.", "^evt_[0-9]+$")
}

fn person() -> Value {
    pattern("Mail address.", "^[A-Za-z0-9._+-]+@[A-Za-z0-9.-]+$")
}

fn people(description: &str) -> Value {
    json!({
        "type": "array", "description": description, "items": person(), "maxItems": 50,
        "uniqueItems": true,
    })
}

fn event() -> Value {
    full(json!({
        "event_id": string(), "title": string(), "starts_at": moment(), "ends_at": moment(),
        "attendees": {"type": "array", "items": string()},
        "status": one_of(&["confirmed", "cancelled"]),
    }))
}

fn placed() -> Value {
    full(json!({"event": event(), "conflicts": list("Ids of events at the same time.", string())}))
}
