//! Step 2 of the road: headers become a caller, or the request ends here.

use auth::Doorkeeper;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use model::{Caller, Fault};

use crate::guard;

/// Who sent a request with these headers, and from which page.
pub fn authenticate(doorkeeper: &Doorkeeper, headers: &HeaderMap) -> Result<Caller, Fault> {
    let authorization = headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap_or_default());
    let caller = doorkeeper.admit(authorization)?;
    Ok(Caller { origin: guard::origin(headers), ..caller })
}
