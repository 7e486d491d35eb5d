//! What the configuration promises, on texts alone. The rows of each table are the manual.

mod canaries;
mod files;
mod properties;
mod refusals;

use std::path::Path;

use super::{ConfigError, Loaded, read};

/// The one variable that is set in these tests.
fn env(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some("c4nary-value".to_owned()),
        "PORT" => Some("9000".to_owned()),
        _ => None,
    }
}

fn load(text: &str) -> Result<Loaded, ConfigError> {
    read(text, Path::new("toolgate.yaml"), &env)
}
