//! The figures of `list`, as JSON and as a table.

use serde_json::{Value, json};

use super::catalogue::TOOLS;
use crate::machine::Machine;
use crate::stats::Figures;

/// What was compared, on what, and how it came out.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) bytes: usize,
    pub(super) pages: usize,
    pub(super) lists: u32,
    pub(super) rounds: u32,
    pub(super) gate: Figures,
    pub(super) file: Figures,
    pub(super) machine: Machine,
}

impl Report {
    pub(super) fn json(&self) -> Value {
        let Machine { cores, processor, kernel, .. } = &self.machine;
        let ratio = |mine: f64, its: f64| (its > 0.0).then(|| rounded(mine / its));
        json!({
            "benchmark": "list",
            "tools": TOOLS,
            "bytes": self.bytes,
            "pages": self.pages,
            "lists": self.lists,
            "rounds": self.rounds,
            "toolgate": numbers(&self.gate),
            "file": numbers(&self.file),
            "ratios": {
                "p50_to_file": ratio(self.gate.p50_us, self.file.p50_us),
                "cpu_to_file": ratio(self.gate.cpu_us, self.file.cpu_us),
            },
            "machine": {"cores": cores, "processor": processor, "kernel": kernel},
        })
    }
}

pub(super) fn table(report: &Value) -> String {
    let show = |pointer: &str| report.pointer(pointer).map_or("-".to_owned(), Value::to_string);
    let line = |name: &str, cpu: &str, p50: &str| {
        let figure = |figure: &str| show(&format!("/{name}/{figure}"));
        let (cpu_us, p50_us, p99_us) = (figure("cpu_us"), figure("p50_us"), figure("p99_us"));
        format!("{name:<9} {cpu_us:>10} {p50_us:>10} {p99_us:>10} {cpu:>9} {p50:>9}\n")
    };
    format!(
        "{} tools, {} bytes, {} pages; {} lists per line\n\ntarget        cpu us     p50 us     p99 us  cpu/file  p50/file\n{}{}",
        show("/tools"),
        show("/bytes"),
        show("/pages"),
        show("/lists"),
        line("file", "1", "1"),
        line("toolgate", &show("/ratios/cpu_to_file"), &show("/ratios/p50_to_file")),
    )
}

fn numbers(figures: &Figures) -> Value {
    json!({
        "cpu_us": rounded(figures.cpu_us),
        "p50_us": rounded(figures.p50_us),
        "p99_us": rounded(figures.p99_us),
    })
}

fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_is_shown_as_so_many_times_the_file() {
        let figures = |us: f64| Figures {
            calls: 1,
            cpu_us: us,
            p50_us: us,
            p99_us: us,
            calls_per_second: 1.0,
        };
        let machine = crate::machine::look(std::path::Path::new("."));
        let (gate, file) = (figures(25.0), figures(10.0));
        let report = Report { bytes: 9, pages: 1, lists: 3, rounds: 1, gate, file, machine };
        let json = report.json();
        assert_eq!(json.pointer("/ratios/p50_to_file"), Some(&json!(2.5)));
        insta::assert_snapshot!(table(&json), @"
        1000 tools, 9 bytes, 1 pages; 3 lists per line

        target        cpu us     p50 us     p99 us  cpu/file  p50/file
        file            10.0       10.0       10.0         1         1
        toolgate        25.0       25.0       25.0       2.5       2.5
        ");
        let idle = Report { file: figures(0.0), ..report };
        assert_eq!(idle.json().pointer("/ratios/p50_to_file"), Some(&Value::Null));
    }
}
