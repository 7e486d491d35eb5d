//! Reads OpenAPI documents and plans requests.
