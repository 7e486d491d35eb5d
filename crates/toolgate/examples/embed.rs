//! A gate inside another program: one function of its own as a tool, a policy, and one call on the
//! same road as an agent's. The manual page `docs/embedding.md` walks through it.

#![expect(clippy::print_stdout, reason = "an example shows what it did")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolgate::catalog::Naming;
use toolgate::gateway::{CallRequest, Gateway, Parts, Settings, Watch};
use toolgate::model::{Answer, Caller, Clock, Principal, UpstreamName};
use toolgate::policy::Rules;
use toolgate::store::{Config as StoreConfig, RecordFilter, Store};
use toolgate::upstream::function::Functions;
use toolgate::upstream::{Errand, Member, Upstreams};

const POLICY: &str = r#"
    @id("small-parcels")
    @reason("parcels up to 30 kg may be quoted")
    permit (principal, action, resource) when {
        !(context.arguments has kg) || context.arguments.kg <= 30
    };
"#;

#[tokio::main]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let gateway = gate(folder.path().join("data")).await?;
    let caller = Caller::new(Principal::user("ann"));

    for kg in [12, 80] {
        let request = CallRequest::new(caller.clone(), "parcels.quote", json!({"kg": kg}));
        let done = Box::pin(gateway.call(request, Watch::default())).await;
        println!("{kg} kg: {}", done.cleared.get().full_text());
    }
    for line in gateway.records(&RecordFilter::default()).await? {
        println!("recorded: {} {}", line.tool, line.status);
    }
    gateway.close(Duration::from_secs(1)).await;
    Ok(())
}

/// A gate with one upstream, which is a function of this program.
async fn gate(data: std::path::PathBuf) -> Result<Gateway, Box<dyn Error>> {
    let name = UpstreamName::from_string("parcels");
    let upstreams = Upstreams::new([(name, Member::new(Arc::new(functions())))]);
    let gateway = Gateway::new(Parts {
        upstreams,
        manifests: BTreeMap::new(),
        namespaces: BTreeMap::new(),
        naming: Naming::Auto,
        rules: Rules::parse("embedded", POLICY)?,
        store: Store::open(&StoreConfig::folder(data), Clock::System).await?,
        clock: Clock::System,
        settings: Settings::default(),
    });
    gateway.refresh().await;
    Ok(gateway)
}

fn functions() -> Functions {
    let definition = json!({
        "name": "parcels.quote",
        "description": "Tell what a parcel costs.",
        "inputSchema": {
            "type": "object",
            "properties": {"kg": {"type": "integer", "minimum": 1}},
            "required": ["kg"],
        },
    });
    Functions::new().tool(definition, |args: Value, _errand: Errand| async move {
        let kg = args.get("kg").and_then(Value::as_i64).unwrap_or_default();
        Ok(Answer::text(format!("{} euro", 4 + kg)))
    })
}
