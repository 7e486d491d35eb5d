//! How fast what a model reads is cleaned, against copying memory and parsing JSON in the same run.
//!
//! Figures are processor time of one thread, the least of many rounds: what others do on the machine
//! at the same time costs rounds, not figures.

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{self, Write as _};

use context::{Profile, Redactor, Rules, Size, clear};
use model::result::Provenance;
use model::{Answer, Handle, Secret};
use serde_json::{Value, json};

use crate::Outcome;
use crate::cpu::timed;

const ROUNDS: u32 = 60;
/// Of a small answer, which the clock alone could not time.
const SMALL_ROUNDS: u32 = 2_000;
const BYTES: usize = 1_000_000;

pub(crate) fn run() -> Outcome<()> {
    let mut table =
        String::from("1 MB each, processor time of one thread, least of many rounds\n\n");
    let redactor = Redactor::knowing([&Secret::new("correct horse battery")]);
    let copy = {
        let text = prose();
        rate(text.len(), || drop(black_box(black_box(&text).to_owned())))
    };
    writeln!(
        table,
        "{:<10} {:>13} {:>16} {:>14}",
        "input", "strict MB/s", "+ secrets MB/s", "memcpy/strict"
    )?;
    for (name, text) in inputs() {
        let strict = rate(text.len(), || drop(black_box(Profile::Strict.clean(&text))));
        let both = rate(text.len(), || {
            drop(black_box(redactor.redact(&Profile::Strict.clean(&text))));
        });
        writeln!(table, "{name:<10} {strict:>13.0} {both:>16.0} {:>14.1}", copy / strict)?;
    }
    writeln!(
        table,
        "\n{:<10} {:>10} {:>13} {:>12}",
        "answer", "whole ms", "firewall ms", "parse ms"
    )?;
    let handle = Handle::from_string("art_1");
    let firewall = Size::Firewall { inline_chars: 2_000, budget_tokens: 800, handle };
    for (name, answer) in answers() {
        let wire = serde_json::to_string(&answer)?;
        let parse = least(|| spent(|| drop(black_box(serde_json::from_str::<Value>(&wire)))));
        let whole = least(|| clearing(&answer, &Size::Whole, &redactor));
        let firewall = least(|| clearing(&answer, &firewall, &redactor));
        writeln!(table, "{name:<10} {whole:>10.2} {firewall:>13.2} {parse:>12.2}")?;
    }
    let small = Answer::text(prose().chars().take(100).collect::<String>());
    let small_us = least(|| 1e3 * many(SMALL_ROUNDS, || clearing(&small, &firewall, &redactor)));
    writeln!(table, "\nan answer of 100 bytes: {small_us:.1} µs")?;
    Ok(io::stdout().write_all(table.as_bytes())?)
}

/// Milliseconds to clear one answer: hash, digest, shape, clean, redact. Freeing it is not counted.
fn clearing(answer: &Answer, size: &Size, redactor: &Redactor) -> f64 {
    let source = Provenance::default();
    let rules = Rules { source: &source, profile: Profile::Strict, size: size.clone(), redactor };
    let answer = answer.clone();
    let mut cleared = None;
    let spent = spent(|| cleared = Some(black_box(clear(answer, &rules))));
    drop(cleared);
    spent
}

fn rate(bytes: usize, mut work: impl FnMut()) -> f64 {
    let bytes = u32::try_from(bytes).map_or(0.0, f64::from);
    bytes / 1e3 / least(|| spent(&mut work))
}

fn least(mut once: impl FnMut() -> f64) -> f64 {
    (0..ROUNDS).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// The mean of so many.
fn many(rounds: u32, mut once: impl FnMut() -> f64) -> f64 {
    (0..rounds).map(|_| once()).sum::<f64>() / f64::from(rounds)
}

/// Milliseconds of one round.
fn spent(work: impl FnOnce()) -> f64 {
    timed(work).0.as_secs_f64() * 1e3
}

fn inputs() -> [(&'static str, String); 8] {
    [
        ("prose", prose()),
        (
            "log",
            fill("2026-11-16T01:27:16Z INFO order_id=48213 state=shipped carrier=dhl took_ms=12\n"),
        ),
        (
            "json",
            fill(
                r#"{"id":48213,"name":"Ann Example","tags":["a","b_c"],"note":"<b>fine</b> & well"},"#,
            ),
        ),
        (
            "unicode",
            fill("Größe “passt” — naïve café, 漢字かな交じり文, emoji 👩\u{200d}💻 und mehr. "),
        ),
        ("kana", fill("かな交じり文の漢字とカタカナ。")),
        (
            "ansi",
            fill("\u{1b}[32mINFO\u{1b}[0m order 48213 was shipped by dhl to Oslo, took 12 ms\n"),
        ),
        ("html", fill("<p>&lt;b&gt;a &amp; b&lt;/b&gt; __init__ <|x|></p>")),
        (
            "secrets",
            fill(
                "the token of Ann: api_key=9f8a7b6c5d4e3f2a1b0c, password is unknown; author https://example.com/a ok. ",
            ),
        ),
    ]
}

fn answers() -> [(&'static str, Answer); 3] {
    let row = |n: u32| json!({"id": n, "name": "Ann Example", "tags": ["a", "b_c"], "at": "2026-11-16T01:27:16Z", "note": "<b>fine</b> & well"});
    let rows: Value = (0..8_500).map(row).collect();
    [
        ("text", Answer::text(prose())),
        ("json text", Answer::text(rows.to_string())),
        ("structured", Answer { structured: Some(rows), ..Answer::default() }),
    ]
}

fn prose() -> String {
    fill("The invoice was sent on Monday, and the customer asked whether it had been paid yet. ")
}

fn fill(part: &str) -> String {
    part.repeat(BYTES / part.len())
}
