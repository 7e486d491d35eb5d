//! How fast texts are cleaned, in megabytes a second. Run with `--release`; it judges nothing.

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::hint::black_box;
use std::time::Instant;

use model::result::Provenance;
use model::{Answer, Secret};
use serde_json::json;
use toolgate_context::{Profile, Redactor, Rules, Size, clear, normalise};

const ROUNDS: u32 = 50;

fn main() {
    let texts = [("prose", prose()), ("log", log()), ("json", json()), ("unicode", unicode())];
    let redactor = Redactor::knowing([&Secret::new("correct horse battery")]);
    for (name, text) in &texts {
        let rate = |work: &dyn Fn()| megabytes(text.len(), work);
        let plain = rate(&|| drop(black_box(Profile::Plain.clean(text))));
        let strict = rate(&|| drop(black_box(Profile::Strict.clean(text))));
        let secrets = rate(&|| drop(black_box(redactor.redact(text))));
        let both = rate(&|| drop(black_box(redactor.redact(&Profile::Strict.clean(text)))));
        println!(
            "{name:8} plain {plain:7.0}  strict {strict:7.0}  secrets {secrets:7.0}  both {both:7.0} MB/s"
        );
    }
    whole_road(&prose(), &redactor);
}

/// Normalising alone, and one whole `clear`, hash and digest included.
fn whole_road(text: &str, redactor: &Redactor) {
    let result = json!({"content": [{"type": "text", "text": text}]});
    let rate = megabytes(text.len(), &|| drop(black_box(normalise(&result, "tool"))));
    println!("normalise {rate:.0} MB/s");
    let source = Provenance::default();
    let rules = Rules { source: &source, profile: Profile::Strict, size: Size::Whole, redactor };
    let started = Instant::now();
    for _ in 0..ROUNDS {
        drop(black_box(clear(Answer::text(text), &rules)));
    }
    println!("clear of 1 MB: {:.2} ms", started.elapsed().as_secs_f64() * 1e3 / f64::from(ROUNDS));
}

fn megabytes(bytes: usize, work: &dyn Fn()) -> f64 {
    work();
    let started = Instant::now();
    (0..ROUNDS).for_each(|_| work());
    let bytes = u32::try_from(bytes).map_or(0.0, f64::from);
    bytes * f64::from(ROUNDS) / 1e6 / started.elapsed().as_secs_f64()
}

fn fill(part: &str) -> String {
    part.repeat(1_000_000 / part.len())
}

fn prose() -> String {
    fill("The invoice was sent on Monday, and the customer asked whether it had been paid yet. ")
}

fn log() -> String {
    fill("2026-11-16T01:27:16Z INFO order_id=48213 state=shipped carrier=dhl took_ms=12\n")
}

fn json() -> String {
    fill(r#"{"id":48213,"name":"Ann Example","tags":["a","b_c"],"note":"<b>fine</b> & well"},"#)
}

fn unicode() -> String {
    fill("Größe “passt” — naïve café, 漢字かな交じり文, emoji 👩\u{200d}💻 und mehr. ")
}
