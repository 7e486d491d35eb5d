//! How many secrets of known shapes are found, measured on strings made from a scanner's rules.

use std::collections::BTreeMap;
use std::fs;

use regex::bytes::Regex;
use toolgate_context::Redactor;

use crate::catalogues::{catalogues, each_text};
use crate::generate::Generator;
use crate::shared::shared;

const SAMPLES: usize = 12;

/// E7: at least 95 of 100, over all rules alike.
#[test]
fn secrets_made_from_gitleaks_rules_are_redacted() {
    let Some(file) = shared("corpora/gitleaks-rules/config/gitleaks.toml") else { return };
    let mut missed = BTreeMap::new();
    let (mut found, mut total, mut rules) = (0, 0, 0);
    for rule in rules_of(&fs::read_to_string(file).unwrap()) {
        let samples = rule.samples();
        rules += usize::from(!samples.is_empty());
        for (text, secret) in samples {
            total += 1;
            if Redactor::default().redact(&text).contains(&secret) {
                missed.entry(rule.id.clone()).or_insert_with(Vec::new).push(text);
            } else {
                found += 1;
            }
        }
    }
    let recall = 100.0 * f64::from(found) / f64::from(total);
    let listed: Vec<_> =
        missed.iter().map(|(id, texts)| format!("{id} {}: {:?}", texts.len(), texts[0])).collect();
    println!(
        "{found} of {total} samples from {rules} rules, {recall:.1} %; missed:\n{}",
        listed.join("\n")
    );
    assert!(rules >= 200, "only {rules} rules gave samples");
    assert!(recall >= 95.0, "{recall:.1} %, missed:\n{}", listed.join("\n"));
}

/// E7: the catalogues hold no secrets, so whatever is found there is a false alarm.
#[test]
fn catalogues_raise_no_alarm() {
    let Some(catalogues) = catalogues() else { return };
    let (mut texts, mut bytes) = (0, 0);
    let mut alarms = Vec::new();
    for (_, catalogue) in catalogues {
        each_text(&catalogue, &mut |text| {
            texts += 1;
            bytes += text.len();
            let clean = Redactor::default().redact(text);
            if clean != text {
                alarms.push(clean.into_owned());
            }
        });
    }
    println!("{} alarms in {texts} texts, {bytes} bytes", alarms.len());
    assert!(alarms.is_empty(), "{alarms:#?}");
}

struct Rule {
    id: String,
    regex: String,
    entropy: f64,
    keywords: Vec<String>,
}

impl Rule {
    /// Texts that the rule itself would report, each with the secret in it.
    fn samples(&self) -> Vec<(String, String)> {
        let Ok(regex) = Regex::new(&format!("(?-u){}", self.regex)) else { return Vec::new() };
        let Some(mut generator) = Generator::new(&self.regex, &self.id) else { return Vec::new() };
        let drawn = std::iter::repeat_with(|| generator.draw()).take(SAMPLES * 20);
        let mut samples = Vec::new();
        for text in drawn {
            let Some(groups) = regex.captures(text.as_bytes()) else { continue };
            let group = (1..groups.len())
                .filter_map(|n| groups.get(n))
                .max_by_key(regex::bytes::Match::len);
            let Some(secret) = group.or_else(|| groups.get(0)) else { continue };
            let secret = String::from_utf8_lossy(secret.as_bytes()).into_owned();
            let lower = text.to_lowercase();
            if entropy(&secret) >= self.entropy
                && self.keywords.iter().any(|word| lower.contains(word))
            {
                samples.push((text, secret));
            }
            if samples.len() == SAMPLES {
                break;
            }
        }
        samples
    }
}

fn entropy(text: &str) -> f64 {
    let mut counts = BTreeMap::new();
    for c in text.chars() {
        *counts.entry(c).or_insert(0.0) += 1.0;
    }
    let total: f64 = counts.values().sum();
    counts.values().map(|count: &f64| -(count / total) * (count / total).log2()).sum()
}

/// The few fields needed, read line by line: the file is regular, and nothing else here is TOML.
fn rules_of(toml: &str) -> Vec<Rule> {
    let blocks = toml.split("[[rules]]").skip(1);
    blocks
        .filter_map(|block| {
            let own = block.split("[[rules.").next()?;
            let field = |name: &str| {
                own.lines()
                    .find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix('='))
                    .map(str::trim)
            };
            let keywords = own
                .split_once("keywords = [")
                .map(|(_, rest)| rest.split(']').next().unwrap_or_default());
            Some(Rule {
                id: field("id")?.trim_matches('"').to_owned(),
                regex: field("regex")?.trim_start_matches("'''").trim_end_matches("'''").to_owned(),
                entropy: field("entropy").and_then(|text| text.parse().ok()).unwrap_or(0.0),
                keywords: keywords?
                    .split(',')
                    .map(|word| word.trim().trim_matches('"').to_lowercase())
                    .filter(|word| !word.is_empty())
                    .collect(),
            })
        })
        .collect()
}
