//! Tickets and calendar keep what they are told.

use super::*;

fn new_ticket() -> Value {
    json!({"title": "Printer on fire", "body": "It burns.", "requester": "sam@example.com"})
}

#[tokio::test]
async fn a_ticket_lives_from_creation_to_deletion() {
    let world = World::new();
    let ticket = world.good("tickets_create_ticket", new_ticket()).await;
    assert_eq!((&ticket["ticket_id"], &ticket["status"]), (&json!("tkt_1007"), &json!("open")));
    let id = || json!({"ticket_id": "tkt_1007"});
    let found = world.good("tickets_search_tickets", json!({"query": "PRINTER"})).await;
    assert_eq!(found["tickets"][0]["ticket_id"], "tkt_1007");
    let comment =
        with(with(id(), "author", json!("lena@example.com")), "text", json!("On my way."));
    world.wait(Duration::from_mins(5));
    world.good("tickets_add_comment", comment).await;
    world.good("tickets_assign_ticket", with(id(), "assignee", json!("lena@example.com"))).await;
    world.good("tickets_close_ticket", with(id(), "resolution", json!("solved"))).await;
    let ticket = world.good("tickets_get_ticket", id()).await;
    assert_eq!((&ticket["status"], &ticket["resolution"]), (&json!("closed"), &json!("solved")));
    assert_eq!(ticket["comments"][0]["at"], "2026-11-16T08:05:00.000Z");
    world.good("tickets_delete_ticket", id()).await;
    assert_eq!(world.refused("tickets_get_ticket", id()).await.0, "NOT_FOUND");
    let next = world.good("tickets_create_ticket", new_ticket()).await;
    assert_eq!(next["ticket_id"], "tkt_1008", "a number is never used twice");
}

#[tokio::test]
async fn tickets_are_listed_by_what_is_asked() {
    let world = World::new();
    let check = async |args: Value, expected: &[&str]| {
        let page = world.good("tickets_list_tickets", args).await;
        let tickets = page["tickets"].as_array().unwrap();
        let ids: Vec<&str> = tickets.iter().map(|one| one["ticket_id"].as_str().unwrap()).collect();
        assert_eq!(ids, expected);
    };
    check(json!({"status": "closed"}), &["tkt_1005"]).await;
    check(json!({"priority": "high"}), &["tkt_1001", "tkt_1006"]).await;
    check(json!({"assignee": "lena@example.com"}), &["tkt_1005"]).await;
    check(json!({"limit": 2}), &["tkt_1001", "tkt_1002"]).await;
}

#[tokio::test]
async fn a_closed_ticket_takes_comments_and_nothing_else() {
    let world = World::new();
    let id = json!({"ticket_id": "tkt_1005"});
    let (code, text) = world
        .refused("tickets_close_ticket", with(id.clone(), "resolution", json!("solved")))
        .await;
    assert_eq!(code, "TICKET_CLOSED");
    assert!(text.contains("create a new ticket"), "{text}");
    let assign = with(id.clone(), "assignee", json!("a@example.com"));
    assert_eq!(world.refused("tickets_assign_ticket", assign).await.0, "TICKET_CLOSED");
    let comment = with(with(id, "author", json!("a@example.com")), "text", json!("Thanks!"));
    world.good("tickets_add_comment", comment).await;
}

/// What the gate's cleaning is for.
#[tokio::test]
async fn one_ticket_came_by_mail_with_control_characters() {
    let ticket = World::new().good("tickets_get_ticket", json!({"ticket_id": "tkt_1003"})).await;
    let body = ticket["body"].as_str().unwrap();
    for dirt in ["\u{1b}[31;1m", "\u{7}", "\u{0}", "\u{200b}", "\u{202e}"] {
        assert!(body.contains(dirt), "{dirt:?}");
    }
}

/// CO-106, CO-219: any change can be repeated without harm.
#[tokio::test]
async fn a_repeated_key_gives_the_first_answer_for_a_day() {
    let world = World::new();
    let keyed = with(new_ticket(), "idempotency_key", json!("morning-1"));
    let first = world.good("tickets_create_ticket", keyed.clone()).await;
    assert_eq!(world.good("tickets_create_ticket", keyed.clone()).await, first);
    let other = with(keyed.clone(), "title", json!("Another"));
    assert_eq!(world.refused("tickets_create_ticket", other).await.0, "IDEMPOTENCY_CONFLICT");
    world.wait(Duration::from_hours(24));
    let later = world.good("tickets_create_ticket", keyed).await;
    assert_eq!(later["ticket_id"], "tkt_1008");
}

#[tokio::test]
async fn an_event_can_be_made_moved_and_cancelled() {
    let world = World::new();
    let span = |from: &str, to: &str| json!({"starts_at": from, "ends_at": to});
    let at_ten = span("2026-11-16T10:00:00Z", "2026-11-16T11:30:00Z");
    let made =
        world.good("calendar_create_event", with(at_ten.clone(), "title", json!("Demo"))).await;
    assert_eq!(
        (&made["event"]["event_id"], &made["conflicts"]),
        (&json!("evt_2006"), &json!(["evt_2002"]))
    );
    let at_noon =
        with(span("2026-11-16T12:00:00Z", "2026-11-16T13:00:00Z"), "event_id", json!("evt_2006"));
    let moved = world.good("calendar_reschedule_event", at_noon.clone()).await;
    assert_eq!(moved["conflicts"], json!([]));
    world.good("calendar_cancel_event", json!({"event_id": "evt_2006"})).await;
    let (code, text) = world.refused("calendar_reschedule_event", at_noon).await;
    assert_eq!(code, "EVENT_CANCELLED");
    assert!(text.contains("calendar_create_event"), "{text}");
    let backwards = span("2026-11-16T11:00:00Z", "2026-11-16T10:00:00Z");
    let backwards = with(backwards, "title", json!("Never"));
    assert_eq!(world.refused("calendar_create_event", backwards).await.0, "SPAN_INVALID");
    let listed = world.good("calendar_list_events", json!({})).await;
    let with_cancelled =
        world.good("calendar_list_events", json!({"include_cancelled": true})).await;
    assert_eq!((&listed["total"], &with_cancelled["total"]), (&json!(5), &json!(6)));
}

#[tokio::test]
async fn a_free_slot_is_free_for_everybody_named() {
    let world = World::new();
    let check = async |attendees: Value, expected: &str| {
        let args = json!({"date": "2026-11-16", "duration_minutes": 60, "attendees": attendees});
        let found = world.good("calendar_find_slot", args).await;
        assert_eq!(found["slots"][0]["starts_at"], expected);
    };
    check(json!([]), "2026-11-16T10:00:00.000Z").await;
    check(json!(["priya@example.com"]), "2026-11-16T10:00:00.000Z").await;
    check(json!(["sam@example.com"]), "2026-11-16T09:00:00.000Z").await;
    let nowhere = json!({"date": "2026-02-30", "duration_minutes": 60});
    assert_eq!(world.refused("calendar_find_slot", nowhere).await.0, "DATE_INVALID");
}
