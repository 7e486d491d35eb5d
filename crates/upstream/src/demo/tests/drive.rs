//! The shared drive: a tree that can be read and changed, and that overwrites nothing by accident.

use super::*;

async fn entries(world: &World, folder: &str) -> Vec<String> {
    let listed = world.good("files_list_folder", json!({"folder": folder})).await;
    let entries = listed["entries"].as_array().unwrap();
    entries.iter().map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
}

async fn read(world: &World, path: &str) -> String {
    let document = world.good("files_read_document", json!({"path": path})).await;
    document["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_folder_shows_its_documents_and_folders() {
    let world = World::new();
    assert_eq!(entries(&world, "/").await, ["/handbook", "/projects", "/readme.md"]);
    assert_eq!(entries(&world, "/projects").await, ["/projects/apollo"]);
    let all = world.good("files_list_folder", json!({"recursive": true})).await;
    assert_eq!(all["entries"].as_array().unwrap().len(), 6);
    let (code, text) = world.refused("files_list_folder", json!({"folder": "/hand"})).await;
    assert_eq!(code, "NOT_FOUND");
    assert!(text.contains("files_list_folder"), "{text}");
}

#[tokio::test]
async fn a_document_is_written_extended_replaced_moved_and_deleted() {
    let world = World::new();
    let path = json!({"path": "/notes/a.md"});
    let text = |text: &str| with(path.clone(), "text", json!(text));
    world.good("files_write_document", text("one\n")).await;
    world.good("files_write_document", with(text("two\n"), "mode", json!("append"))).await;
    assert_eq!(read(&world, "/notes/a.md").await, "one\ntwo\n");
    let stale = with(text("x"), "expected_version", json!(1));
    assert_eq!(world.refused("files_replace_document", stale).await.0, "VERSION_CONFLICT");
    let replaced =
        world.good("files_replace_document", with(text("x"), "expected_version", json!(2))).await;
    assert_eq!(replaced["version"], 3);
    world.good("files_move_document", json!({"from": "/notes/a.md", "to": "/b.md"})).await;
    assert_eq!(world.refused("files_read_document", path.clone()).await.0, "NOT_FOUND");
    world.good("files_delete_document", json!({"path": "/b.md"})).await;
    assert_eq!(
        world.refused("files_delete_document", json!({"path": "/b.md"})).await.0,
        "NOT_FOUND"
    );
}

#[tokio::test]
async fn nothing_is_overwritten_by_accident() {
    let world = World::new();
    let check = async |tool: &str, args: Value, code: &str| {
        assert_eq!(world.refused(tool, args).await.0, code);
    };
    let write = |path: &str| json!({"path": path, "text": "mine"});
    check("files_write_document", write("/readme.md"), "PATH_TAKEN").await;
    check("files_write_document", write("/handbook"), "PATH_TAKEN").await;
    check("files_write_document", write("/readme.md/below"), "PATH_TAKEN").await;
    check("files_write_document", write("/../etc/passwd"), "PATH_INVALID").await;
    let onto = json!({"from": "/handbook/travel.md", "to": "/readme.md"});
    check("files_move_document", onto, "PATH_TAKEN").await;
    let large = json!({"path": "/large", "text": "x".repeat(64 * 1024 + 1)});
    check("files_write_document", large, "DOCUMENT_TOO_LARGE").await;
    check("files_replace_document", write("/nowhere"), "NOT_FOUND").await;
}

#[tokio::test]
async fn a_part_of_a_document_can_be_read() {
    let world = World::new();
    let args = json!({"path": "/handbook/on-call.md", "first_line": 3, "line_count": 1});
    let part = world.good("files_read_document", args).await;
    assert_eq!(part["text"], "1. Acknowledge within ten minutes.\n");
    assert_eq!(part["line_total"], 6);
}

#[tokio::test]
async fn a_search_finds_lines_below_a_folder() {
    let world = World::new();
    let args = json!({"query": "STORM", "folder": "/handbook"});
    let found = world.good("files_search_text", args).await;
    assert_eq!(found["total"], 1);
    assert_eq!(found["matches"][0]["path"], "/handbook/travel.md");
    let elsewhere = json!({"query": "storm", "folder": "/projects"});
    assert_eq!(world.good("files_search_text", elsewhere).await["total"], 0);
}
