//! Reports and weather: the slow one, the huge one, the broken one, and figures that add up.

use tokio::sync::mpsc;

use super::*;
use crate::errand::{Listener, News, Progress};

fn watched() -> (Errand, mpsc::Receiver<Progress>) {
    let (news, listener) = mpsc::channel(64);
    let tell = move |said| match said {
        News::Progress(progress) => news.try_send(progress).is_ok(),
        _ => false,
    };
    (Errand { news: Some(Listener::new(tell)), ..Errand::quiet() }, listener)
}

#[tokio::test(start_paused = true)]
async fn the_slow_report_tells_of_every_step() {
    let world = World::new();
    let (errand, mut listener) = watched();
    let args = json!({"year": 2026, "steps": 3, "step_ms": 1000});
    let began = tokio::time::Instant::now();
    let answer = world.demo.call("reports_build_annual", &args, &errand).await.unwrap();
    assert!(!answer.is_error && began.elapsed() >= Duration::from_secs(3));
    drop(errand);
    let mut steps = Vec::new();
    while let Some(news) = listener.recv().await {
        steps.push((
            news.progress.to_string(),
            news.total.unwrap().to_string(),
            news.message.unwrap(),
        ));
    }
    let expected = |step: &str, phase: &str| {
        (step.to_owned(), "3".to_owned(), format!("step {step} of 3: {phase}"))
    };
    assert_eq!(
        steps,
        [
            expected("1", "reading settlements"),
            expected("2", "matching refunds"),
            expected("3", "counting tickets"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_report_stops_and_is_not_kept() {
    let world = World::new();
    let (errand, mut listener) = watched();
    let args = json!({"year": 2026, "steps": 50, "step_ms": 1000});
    let call = errand.bound(world.demo.call("reports_build_annual", &args, &errand));
    let stop = async {
        listener.recv().await.unwrap();
        errand.cancel.cancel();
    };
    let (ended, ()) = tokio::join!(call, stop);
    assert_eq!(ended.unwrap_err().code, model::Code::Cancelled);
    assert_eq!(world.good("reports_list_reports", json!({})).await["total"], 0);
}

#[tokio::test(start_paused = true)]
async fn an_annual_report_is_kept_until_deleted() {
    let world = World::new();
    world.good("payments_issue_refund", refund_args()).await;
    let built = world.good("reports_build_annual", json!({"year": 2026})).await;
    assert_eq!((&built["report_id"], &built["refunded_inr"]), (&json!("rpt_2026"), &json!(499.0)));
    assert_eq!(built["tickets_opened"], 6);
    let id = json!({"report_id": "rpt_2026"});
    assert_eq!(world.good("reports_get_report", id.clone()).await, built);
    world.good("reports_delete_report", id.clone()).await;
    assert_eq!(world.refused("reports_get_report", id).await.0, "NOT_FOUND");
    let empty = world.good("reports_build_annual", json!({"year": 2001})).await;
    assert_eq!(empty["net_inr"], 0.0);
}

#[tokio::test]
async fn the_export_is_as_large_as_asked_and_always_the_same() {
    let world = World::new();
    let export = async |args| world.ask("reports_export_ledger", args).await.unwrap();
    let usual = export(json!({})).await;
    assert!(usual.full_text().len() > 30_000, "{}", usual.full_text().len());
    assert_eq!(usual.full_text().lines().count(), 501);
    assert_eq!(usual, export(json!({"format": "csv"})).await);
    let few = export(json!({"rows": 3, "format": "json"})).await.structured.unwrap();
    assert_eq!((&few["row_count"], few["rows"].as_array().unwrap().len()), (&json!(3), 3));
    let most = export(json!({"rows": 5_000})).await;
    assert!(most.full_text().starts_with(usual.full_text().as_str()));
}

/// CO-105.
#[tokio::test]
async fn the_warehouse_comparison_always_refuses_and_names_a_way_out() {
    let check = async |dataset: &str, instead: &str| {
        let args = json!({"dataset": dataset});
        let (code, text) = World::new().refused("reports_compare_warehouse", args).await;
        assert_eq!(code, "WAREHOUSE_LOCKED_OUT");
        assert!(text.contains(instead), "{text}");
    };
    check("ledger", "reports_export_ledger").await;
    check("tickets", "reports_summarize_tickets").await;
}

#[tokio::test]
async fn the_summaries_follow_the_state() {
    let world = World::new();
    let before = world.good("reports_summarize_tickets", json!({})).await;
    assert_eq!((&before["open"], &before["closed"]), (&json!(5), &json!(1)));
    assert_eq!(before["oldest_open"], "tkt_1001");
    world.good("tickets_delete_ticket", json!({"ticket_id": "tkt_1001"})).await;
    let after = world.good("reports_summarize_tickets", json!({})).await;
    assert_eq!((&after["open"], &after["oldest_open"]), (&json!(4), &json!("tkt_1002")));
    world.good("payments_issue_refund", refund_args()).await;
    let revenue = world.good("reports_summarize_revenue", json!({})).await;
    assert_eq!((&revenue["refund_count"], &revenue["refunded_inr"]), (&json!(1), &json!(499.0)));
}

#[tokio::test]
async fn the_weather_depends_on_city_and_day_alone() {
    let world = World::new();
    let args = json!({"city": "Mumbai", "from": "2026-11-16", "days": 2});
    let forecast = world.good("weather_get_forecast", args.clone()).await;
    assert_eq!(
        world.good("weather_get_current", json!({"city": "Mumbai"})).await,
        forecast["days"][0]
    );
    world.wait(Duration::from_hours(24));
    assert_eq!(world.good("weather_get_forecast", args).await, forecast);
    assert_eq!(
        world.good("weather_get_current", json!({"city": "Mumbai"})).await,
        forecast["days"][1]
    );
    assert_eq!(
        world.refused("weather_get_current", json!({"city": "Atlantis"})).await.0,
        "NOT_FOUND"
    );
    let never = json!({"city": "Mumbai", "date": "2026-13-01"});
    assert_eq!(world.refused("weather_render_map", never).await.0, "DATE_INVALID");
}
