//! Why a document cannot be used as a whole. What concerns one operation is a finding instead.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenApiError {
    #[error("not an OpenAPI document: `openapi` is missing; Swagger 2.0 must be converted first")]
    NotOpenApi,
    #[error("OpenAPI version `{0}` is not supported; use 3.0 or 3.1")]
    Version(String),
    #[error("`{reference}` points outside the document; bundle it into one file")]
    RemoteRef { reference: String },
    #[error("`{reference}` points to nothing in the document")]
    RefNotFound { reference: String },
    #[error("`{reference}` leads only to other references")]
    RefCycle { reference: String },
    #[error("the document has more than {max} operations; split it")]
    TooManyOperations { max: usize },
    #[error("the document names no server; set a base address for this upstream")]
    NoServer,
    #[error("`{base}` is not a usable base address: {reason}")]
    Base { base: String, reason: &'static str },
}
