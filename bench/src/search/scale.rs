//! What building and asking cost: processor time of this thread, and memory of the process.

use std::sync::Arc;
use std::time::Duration;

use search::{Doc, Index, Part};
use serde_json::{Value, json};

use super::figures::real;
use super::sets::Tool;
use crate::cpu::timed;

pub(super) struct Scale {
    tools: usize,
    build_ms: f64,
    /// Building again when one upstream in a hundred changed.
    rebuild_ms: f64,
    p50_us: f64,
    p99_us: f64,
    memory_mib: f64,
}

impl Scale {
    pub(super) fn json(&self) -> Value {
        json!({
            "tools": self.tools, "build_ms": self.build_ms, "rebuild_ms": self.rebuild_ms,
            "query_cpu_p50_us": self.p50_us, "query_cpu_p99_us": self.p99_us,
            "memory_mib": self.memory_mib,
        })
    }
}

pub(super) fn measure(pool: &[Tool], tools: usize, queries: &[&str]) -> Scale {
    let variants: Vec<Tool> = (0..tools)
        .filter_map(|number| Some(pool.get(number % pool.len())?.variant(number / pool.len())))
        .collect();
    let docs: Vec<Doc<'_>> = variants.iter().map(Tool::doc).collect();
    // The table is read once in a process's life, not once an index.
    Index::build(docs.get(..1).unwrap_or_default()).rank(
        queries.first().unwrap_or(&""),
        1,
        &|_| true,
    );
    let (build, index) = timed(|| Index::build(&docs));
    // Many copies of a small index, so that memory freed before does not hide it.
    let before = resident_mib();
    let copies: Vec<Index> =
        (0..(50_000 / tools).clamp(1, 100)).map(|_| Index::build(&docs)).collect();
    let memory_mib = (resident_mib() - before) / real(copies.len());
    drop(copies);
    let upstreams: Vec<&[Doc<'_>]> = docs.chunks(docs.len().div_ceil(100).max(1)).collect();
    let mut parts: Vec<Arc<Part>> =
        upstreams.iter().map(|upstream| Arc::new(Part::build(upstream))).collect();
    let (rebuild, _) = timed(|| {
        if let Some((part, upstream)) = parts.first_mut().zip(upstreams.first()) {
            *part = Arc::new(Part::build(upstream));
        }
        Index::of(parts)
    });
    let mut times: Vec<Duration> =
        queries.iter().map(|query| timed(|| index.rank(query, 10, &|_| true)).0).collect();
    times.sort_unstable();
    let at = |percent: usize| {
        let place = (times.len() * percent / 100).min(times.len().saturating_sub(1));
        times.get(place).map_or(0.0, |time| round(time.as_secs_f64() * 1e6))
    };
    let ms = |time: Duration| round(time.as_secs_f64() * 1e3);
    Scale {
        tools,
        build_ms: ms(build),
        rebuild_ms: ms(rebuild),
        p50_us: at(50),
        p99_us: at(99),
        memory_mib: round(memory_mib),
    }
}

/// Zero where the system does not tell.
fn resident_mib() -> f64 {
    const PAGE_BYTES: f64 = 4096.0;
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok());
    real(pages.unwrap_or_default()) * PAGE_BYTES / 1_048_576.0
}

fn round(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
}
