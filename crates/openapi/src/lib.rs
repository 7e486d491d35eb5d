//! Reads OpenAPI 3.0 and 3.1 documents, plans requests and reads responses.
//!
//! Pure: a parsed JSON document in, tool definitions and [`RequestPlan`]s out. Nothing is fetched
//! (references to other documents are refused), nothing is sent, and credentials are not its
//! business: `upstream` adds them to the plan.

mod document;
mod error;
mod limits;
mod name;
mod operation;
mod parameter;
mod path;
mod plan;
mod refs;
mod response;
mod schema;
mod server;
mod write;

pub use document::Document;
pub use error::OpenApiError;
pub use operation::Operation;
pub use plan::RequestPlan;
pub use response::answer;
