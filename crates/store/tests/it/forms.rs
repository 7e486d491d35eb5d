//! What calls of a tool have in common is kept once, found again, and proof against change.

use std::time::Duration;

use model::Record;
use serde_json::Value;
use toolgate_store::{Damage, RecordFilter, Store};

use crate::home::{Home, closing, completed, opening, record};

/// Three entries: the first has its form in it, the others name it.
async fn filled(home: &Home) -> Store {
    let store = home.open().await;
    write(&store, &["1", "2", "3"]).await;
    store
}

async fn write(store: &Store, ids: &[&str]) {
    for id in ids {
        store.close_record(&closing(completed(id))).await.unwrap();
    }
}

async fn forms(home: &Home) -> i64 {
    let count = sqlx::query_scalar("SELECT COUNT(*) FROM lineage WHERE kind = 'form'");
    count.fetch_one(&mut home.raw().await).await.unwrap()
}

/// What an entry says of its form: the form itself, its name, or nothing.
async fn said(store: &Store) -> Vec<Value> {
    let entries = store.export(&RecordFilter::default(), 0).await.unwrap();
    let form = |entry: &Value| entry.get("form").cloned().unwrap_or_default();
    entries.iter().map(|entry| form(&serde_json::from_str(entry.entry.get()).unwrap())).collect()
}

/// CO-8, CO-52: nothing is lost by it.
#[tokio::test]
async fn a_record_reads_back_whole() {
    let home = Home::new();
    let store = filled(&home).await;
    let said = said(&store).await;
    assert!(said[0].is_object() && said[1].is_string() && said[1] == said[2], "{said:?}");
    assert_eq!(forms(&home).await, 1);
    for id in ["1", "2", "3"] {
        assert_eq!(store.record(&format!("rec_{id}")).await.unwrap(), Some(completed(id)));
    }
    let lines = store.records(&RecordFilter::default()).await.unwrap();
    let summaries: Vec<_> = lines.iter().map(|line| line.summary.as_deref()).collect();
    assert_eq!(summaries, [Some("12.50 refunded"); 3]);
    assert_eq!(store.verify_chain().await.unwrap().entries, 3);
}

/// An opening and a closing have a form each; so have calls that went otherwise.
#[tokio::test]
async fn each_kind_of_entry_has_its_own() {
    let home = Home::new();
    let store = home.open().await;
    for id in ["1", "2", "3"] {
        store.open_record(opening(record(id))).await.unwrap();
        store.close_record(&closing(completed(id))).await.unwrap();
    }
    assert_eq!(forms(&home).await, 2);
    assert_eq!(store.record("rec_3").await.unwrap(), Some(completed("3")));
    assert_eq!(store.verify_chain().await.unwrap().damage, None);
}

/// Whoever has an export needs no database to check and to read it.
#[tokio::test]
async fn an_export_carries_its_forms() {
    let home = Home::new();
    let store = filled(&home).await;
    let entries = store.export(&RecordFilter::default(), 0).await.unwrap();
    let named: Vec<bool> = entries.iter().map(|entry| entry.form.is_some()).collect();
    assert_eq!(named, [false, true, true]);
    let read: Vec<Record> = entries.iter().map(|entry| entry.read().unwrap().1).collect();
    assert_eq!(read, ["1", "2", "3"].map(completed));
    let line: Value = serde_json::to_value(&entries[2]).unwrap();
    let form = entries[2].form.as_ref().unwrap().get();
    assert_eq!(line["entry"]["form"], model::canonical::hash_bytes(form.as_bytes()));
}

/// The name of a form is its hash, and the name is in the chain.
#[tokio::test]
async fn a_changed_form_shows() {
    let check = async |tampering: &'static str| {
        let home = Home::new();
        let store = filled(&home).await;
        sqlx::raw_sql(tampering).execute(&mut home.raw().await).await.unwrap();
        let report = store.verify_chain().await.unwrap();
        let damage = (report.first_bad, report.damage);
        assert_eq!(damage, (Some(2), Some(Damage::Changed)), "{tampering}");
        let unread = store.record("rec_2").await.unwrap_err();
        assert_eq!(unread.code, model::Code::Internal, "{tampering}");
        assert_eq!(store.record("rec_1").await.unwrap(), Some(completed("1")), "{tampering}");
    };
    check("UPDATE lineage SET body = replace(body, 'completed', 'failed') WHERE kind = 'form'")
        .await;
    check("UPDATE lineage SET body = body || ' ' WHERE kind = 'form'").await;
    check("DELETE FROM lineage WHERE kind = 'form'").await;
}

#[tokio::test]
async fn a_new_process_finds_what_an_earlier_one_kept() {
    let home = Home::new();
    filled(&home).await.close().await;
    let store = home.open().await;
    assert_eq!(store.record("rec_3").await.unwrap(), Some(completed("3")));
    write(&store, &["4", "5"]).await;
    let said = said(&store).await;
    assert!(said[3].is_object() && said[4] == said[1], "it begins anew, and comes to the same");
    assert_eq!(forms(&home).await, 1);
    assert_eq!(store.verify_chain().await.unwrap().damage, None);
}

/// Two gates on one database, each with its own idea of what is known.
#[tokio::test]
async fn two_stores_share_a_form() {
    let home = Home::new();
    let (one, other) = (filled(&home).await, home.open().await);
    write(&other, &["4", "5"]).await;
    assert_eq!(forms(&home).await, 1);
    assert_eq!(one.record("rec_5").await.unwrap(), Some(completed("5")));
    assert_eq!(other.record("rec_2").await.unwrap(), Some(completed("2")));
}

/// A form goes with the last entry that names it, and not before, however long it is in use.
#[tokio::test]
async fn a_form_stays_as_long_as_an_entry_names_it() {
    let home = Home::new();
    let store = filled(&home).await;
    for day in 0..3 {
        home.clock.advance(Duration::from_hours(24));
        write(&store, &[&format!("on {day}")]).await;
        let old = store.older_than(store_now(&home)).await.unwrap().unwrap();
        store.purge(old).await.unwrap();
        assert_eq!(store.prune_lineage().await, Ok(0), "{day}");
        assert_eq!(store.verify_chain().await.unwrap().damage, None, "{day}");
    }
    home.clock.advance(Duration::from_hours(49));
    let mut other = completed("other");
    other.call.item_key = None;
    store.close_record(&closing(other)).await.unwrap();
    let old = store.older_than(store_now(&home)).await.unwrap().unwrap();
    store.purge(old).await.unwrap();
    assert_eq!(store.prune_lineage().await, Ok(1));
    // The writer has not heard of it, and still no entry is without its form.
    write(&store, &["later"]).await;
    assert_eq!(store.record("rec_later").await.unwrap(), Some(completed("later")));
    assert_eq!(store.verify_chain().await.unwrap().damage, None);
}

fn store_now(home: &Home) -> model::Timestamp {
    home.clock.now()
}

/// After a failure nobody knows which forms are there.
#[tokio::test]
async fn a_form_that_went_with_a_failure_comes_again() {
    let home = Home::in_folder();
    let store = filled(&home).await;
    let away = home.dir().join("elsewhere.db");
    std::fs::rename(home.database(), &away).unwrap();
    assert!(store.close_record(&closing(completed("4"))).await.is_err());
    std::fs::rename(&away, home.database()).unwrap();
    assert_eq!(store.catch_up().await, 0);
    write(&store, &["5"]).await;
    for id in ["4", "5"] {
        let found = store.record(&format!("rec_{id}")).await.unwrap();
        assert_eq!(found, Some(completed(id)));
    }
    assert_eq!(store.verify_chain().await.unwrap().damage, None);
}
