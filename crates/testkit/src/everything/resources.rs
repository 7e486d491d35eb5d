//! The resources: a text, a picture, one that changes, and a template.

use std::sync::atomic::Ordering;

use rmcp::ErrorData;
use rmcp::model::{ContentBlock, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use super::changes::WATCHED_URI;
use super::{Everything, fixed};

impl Everything {
    pub(super) fn resources(&self) -> Vec<Resource> {
        let changed = self.shared.changes.resources.load(Ordering::Relaxed);
        let mut resources = fixed::RESOURCES.clone();
        for resource in &mut resources {
            if resource.uri == WATCHED_URI {
                resource.description = Some(format!("A text that changes; change {changed}."));
            }
        }
        resources
    }

    pub(super) fn read(&self, uri: &str) -> Result<ReadResourceResult, ErrorData> {
        let text = |text: &str| ResourceContents::text(text, uri);
        let contents = match uri {
            "test://static-text" => text("This is the content of the static text resource."),
            "test://static-binary" => {
                ResourceContents::blob(picture(), uri).with_mime_type("image/png")
            }
            WATCHED_URI => {
                let changed = self.shared.changes.resources.load(Ordering::Relaxed);
                text(&format!("change {changed}"))
            }
            _ => filled_template(uri).ok_or_else(|| {
                let data = json!({ "uri": uri });
                ErrorData::resource_not_found(format!("there is no `{uri}`"), Some(data))
            })?,
        };
        Ok(ReadResourceResult::new(vec![contents]))
    }
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = ResourceTemplate::new("test://template/{id}/data", "template-data");
    vec![template.with_description("Data with a number.").with_mime_type("application/json")]
}

fn filled_template(uri: &str) -> Option<ResourceContents> {
    let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
    let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
    Some(ResourceContents::text(data.to_string(), uri).with_mime_type("application/json"))
}

/// The picture that a tool answers with.
fn picture() -> String {
    let answer = fixed::ANSWERS.get("test_image_content").and_then(|answer| answer.content.first());
    match answer {
        Some(ContentBlock::Image(image)) => image.data.clone(),
        _ => String::new(),
    }
}
