//! `toolgate cost`: what the tools cost a model, server by server, natively and in each mode.

use catalog::cost::{Cost, cost};
use clap::Args;
use serde_json::{Value, json};

use super::context::Context;
use super::error::CliError;
use crate::assemble;
use crate::config::{Config, LogLevel, Mode, Overrides};

#[derive(Debug, Args)]
pub struct CostArgs {
    /// Also show every tool
    #[arg(long)]
    pub tools: bool,
    /// Also show what a turn costs whose prompt begins like the one before, if the provider takes
    /// so many percent off
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub discount: Option<u8>,
}

pub(super) fn run(context: &Context, args: &CostArgs) -> Result<(), CliError> {
    let loaded = context.start_upstreams(LogLevel::Warn, Overrides::default())?;
    let config = &loaded.config;
    let catalogue = context.block_on(assemble::catalogue(config))?;
    let redactor = assemble::redactor(config);
    let clean = |list: Vec<Value>| context::menu(list, &redactor).into_inner();
    let cost = cost(&catalogue, assemble::menu(config), &clean);
    let choice = catalog::cost::choose(&catalogue, config.exposure.auto_tokens, &clean);
    if context.out.is_json() {
        let again = args.discount.map(|percent| {
            json!({
                "discount": percent,
                "native": discounted(cost.native, percent),
                "transparent": discounted(cost.transparent, percent),
                "gateway": discounted(cost.gateway, percent),
            })
        });
        return context
            .out
            .json(&json!({"cost": cost, "auto": choice, "mode": config.mode, "again": again}));
    }
    let columns = ["server", "tools", "native", "transparent", "cards (gateway)"];
    context.out.table(&columns, &rows(&cost, args.tools))?;
    totals(context, config, &cost)?;
    if let Some(percent) = args.discount {
        let [native, transparent, gateway] =
            [cost.native, cost.transparent, cost.gateway].map(|whole| discounted(whole, percent));
        context.out.line(&format!(
            "each later turn, {percent} % off: native {native}, transparent {transparent}, gateway {gateway}"
        ))?;
    }
    context.out.line(&format!("auto shows mode {}: {}", choice.mode, choice.why))
}

/// What is charged of tokens that the provider finds in its cache, rounded up.
fn discounted(tokens: usize, percent: u8) -> usize {
    (tokens * (100 - usize::from(percent.min(100)))).div_ceil(100)
}

fn rows(cost: &Cost, every_tool: bool) -> Vec<Vec<String>> {
    let row = |name: String, tools: String, costs: [usize; 3]| {
        [name, tools].into_iter().chain(costs.map(|tokens| tokens.to_string())).collect()
    };
    let mut rows = Vec::new();
    for server in &cost.servers {
        let (tools, name) = (server.tools.len().to_string(), server.upstream.to_string());
        rows.push(row(name, tools, [server.native, server.transparent, server.cards]));
        for tool in server.tools.iter().filter(|_| every_tool) {
            let name = format!("  {}", tool.name);
            rows.push(row(name, String::new(), [tool.native, tool.transparent, tool.card]));
        }
    }
    rows
}

/// Each mode with all it lists, our own tools included.
fn totals(context: &Context, config: &Config, cost: &Cost) -> Result<(), CliError> {
    let line = |mode: Mode, tokens: usize, more: String| {
        let here = if config.mode == mode { "  (configured)" } else { "" };
        let mode = mode.to_string();
        context.out.line(&format!("{mode:<12} {tokens:>8} tokens{more}{here}"))
    };
    context.out.line("")?;
    line(Mode::Native, cost.native, String::new())?;
    line(Mode::Transparent, cost.transparent, String::new())?;
    let (cards, tokens) = (cost.browse_cards, cost.browse_max);
    let more = format!(
        ", and at most {tokens} for the cards of a browse that asks for no more than {cards}"
    );
    line(Mode::Gateway, cost.gateway, more)?;
    context.out.line(&format!("counted with {} on the bytes of tools/list", cost.vocabulary))
}
