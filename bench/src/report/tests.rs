//! The report of made-up figures, as a reader would see it.

use std::time::Duration;

use super::*;
use crate::stats::Round;

fn row(kind: Kind, concurrency: usize, cpu_us: u64, latency_us: u64) -> Row {
    let round = |slower: u64| Round {
        latencies: [1, 1, 3].map(|times| Duration::from_micros(latency_us * times + slower)).into(),
        wall: Duration::from_micros(latency_us * 5),
        cpu: Duration::from_micros(cpu_us * 3),
    };
    Row { kind, concurrency, rounds: vec![round(0), round(10)] }
}

fn report(rows: Vec<Row>) -> Report {
    let machine = Machine {
        cores: 2,
        processor: "Some Processor".to_owned(),
        kernel: "6.18".to_owned(),
        records_on: "ext4".to_owned(),
    };
    Report { calls: 6, rounds: 2, warmup_calls: 1, machine, rows }
}

#[test]
fn the_table_is_aligned_and_has_a_block_for_each_concurrency() {
    let rows = vec![
        row(Kind::Echo, 1, 20, 100),
        row(Kind::Proxy, 1, 50, 200),
        row(Kind::ToolgateRead, 1, 125, 900),
        row(Kind::ToolgateWrite, 1, 300, 12_000),
        row(Kind::Echo, 32, 10, 1_000),
        row(Kind::Proxy, 32, 30, 2_000),
    ];
    insta::assert_snapshot!(report(rows).table(), @r#"
    6 calls per line in 2 rounds; 2 cores of Some Processor, Linux 6.18, records on ext4

    target                           at once  cpu us   p50 us   p99 us  calls/s  cpu/proxy  p50/proxy  p50/echo
    echo                                   1    20.0    110.0    310.0     6000       0.40       0.52      1.00
    proxy                                  1    50.0    210.0    610.0     3000       1.00       1.00      1.91
    toolgate (declared read)               1   125.0    910.0   2710.0      667       2.50       4.33      8.27
    toolgate (undeclared, so write)        1   300.0  12010.0  36010.0       50       6.00      57.19    109.18

    echo                                  32    10.0   1010.0   3010.0      600       0.33       0.50      1.00
    proxy                                 32    30.0   2010.0   6010.0      300       1.00       1.00      1.99
    "#);
}

#[test]
fn a_ratio_without_its_peer_is_a_dash() {
    insta::assert_snapshot!(report(vec![row(Kind::ToolgateRead, 1, 125, 900)]).table(), @r#"
    6 calls per line in 2 rounds; 2 cores of Some Processor, Linux 6.18, records on ext4

    target                    at once  cpu us  p50 us  p99 us  calls/s  cpu/proxy  p50/proxy  p50/echo
    toolgate (declared read)        1   125.0   910.0  2710.0      667          -          -         -
    "#);
}

#[test]
fn the_json_has_every_round() {
    insta::assert_json_snapshot!(report(vec![row(Kind::Echo, 1, 20, 100)]).json(), @r#"
    {
      "benchmark": "call",
      "calls": 6,
      "rounds": 2,
      "warmup_calls": 1,
      "machine": {
        "cores": 2,
        "processor": "Some Processor",
        "kernel": "6.18",
        "records_on": "ext4"
      },
      "rows": [
        {
          "target": "echo",
          "concurrency": 1,
          "total": {
            "calls": 6,
            "cpu_us_per_call": 20.0,
            "p50_us": 110.0,
            "p99_us": 310.0,
            "calls_per_second": 6000.0
          },
          "ratios": {
            "cpu_to_proxy": null,
            "p50_to_proxy": null,
            "p50_to_echo": 1.0
          },
          "rounds": [
            {
              "calls": 3,
              "cpu_us_per_call": 20.0,
              "p50_us": 100.0,
              "p99_us": 300.0,
              "calls_per_second": 6000.0
            },
            {
              "calls": 3,
              "cpu_us_per_call": 20.0,
              "p50_us": 110.0,
              "p99_us": 310.0,
              "calls_per_second": 6000.0
            }
          ]
        }
      ]
    }
    "#);
}
