//! Compiles: the honest way to a permit, and what a server does with it all.

use toolgate::gateway::{CallRequest, Cleared, Done, Gateway, Watch};
use toolgate::policy::{Facts, Permit, Rules, Way, decide};

pub fn earn(rules: &Rules, facts: &Facts<'_>) -> Option<Permit> {
    match decide(rules, facts).way {
        Way::Go(permit) => Some(permit),
        Way::Ask(_) | Way::No(_) => None,
    }
}

pub async fn serve(gateway: &Gateway, request: CallRequest) -> Cleared {
    let Done { cleared, .. } = gateway.call(request, Watch::default()).await;
    cleared
}
