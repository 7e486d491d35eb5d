//! What the `files` tools say of themselves.

use serde_json::{Value, json};

use super::{DOCUMENT_BYTES_MAX, LIST};
use crate::demo::schema::{
    Label, Manner, boolean, choice, count, flag, full, list, moment, object, one_of, pattern,
    string, text, tool, whole,
};

pub(in crate::demo) fn definitions() -> Vec<Value> {
    let mut all = reading();
    all.extend(searching());
    all.extend(writing());
    all
}

fn reading() -> Vec<Value> {
    let entry = object(
        &["name", "path", "kind"],
        json!({
            "name": string(), "path": string(), "kind": one_of(&["file", "folder"]),
            "bytes": count(),
        }),
    );
    vec![
        tool(
            &Label {
                name: LIST,
                title: "List Folder",
                description: "List the documents and folders inside one folder of the shared \
                              drive.",
            },
            Manner::Read,
            object(
                &[],
                json!({
                    "folder": pattern("Folder to list; `/` is the top.", FOLDER),
                    "recursive": flag("List everything below as well."),
                }),
            ),
            Some(full(json!({"folder": string(), "entries": list("In order of path.", entry)}))),
        ),
        tool(
            &Label {
                name: "files_read_document",
                title: "Read Document",
                description: "Read the text of one document, whole or by lines.",
            },
            Manner::Read,
            object(
                &["path"],
                json!({
                    "path": path(),
                    "first_line": whole("Line to begin with, counted from 1.", 1, 100_000),
                    "line_count": whole("How many lines to read.", 1, 10_000),
                }),
            ),
            Some(full(json!({
                "path": string(), "text": string(), "line_total": count(), "version": count(),
            }))),
        ),
    ]
}

fn searching() -> Vec<Value> {
    let hit = full(json!({"path": string(), "line": count(), "text": string()}));
    vec![
        tool(
            &Label {
                name: "files_describe_document",
                title: "Describe Document",
                description: "Tell size, version and last change of one document without its text.",
            },
            Manner::Read,
            object(&["path"], json!({"path": path()})),
            Some(receipt()),
        ),
        tool(
            &Label {
                name: "files_search_text",
                title: "Search Documents",
                description: "Find the lines of all documents that contain a phrase, in any case.",
            },
            Manner::Read,
            object(
                &["query"],
                json!({
                    "query": text("Phrase to look for.", 200),
                    "folder": pattern("Search only below this folder.", FOLDER),
                    "limit": whole("Matches to return at most; 20 if absent.", 1, 200),
                }),
            ),
            Some(full(
                json!({"matches": list("In order of path and line.", hit), "total": count()}),
            )),
        ),
    ]
}

fn writing() -> Vec<Value> {
    let body = || {
        json!({
            "type": "string", "description": "The text, at most 64 KiB.",
            "maxLength": DOCUMENT_BYTES_MAX,
        })
    };
    vec![
        tool(
            &Label {
                name: "files_write_document",
                title: "Write Document",
                description: "Create a new document, or append to one. Never overwrites text; use \
                              files_replace_document for that.",
            },
            Manner::Write,
            object(
                &["path", "text"],
                json!({
                    "path": path(),
                    "text": body(),
                    "mode": choice("`create` if absent.", &["create", "append"]),
                }),
            ),
            Some(receipt()),
        ),
        tool(
            &Label {
                name: "files_replace_document",
                title: "Replace Document",
                description: "Overwrite the whole text of an existing document. The former text \
                              is lost.",
            },
            Manner::Destroy,
            object(
                &["path", "text"],
                json!({
                    "path": path(),
                    "text": body(),
                    "expected_version": whole("Refuse if it has changed since.", 1, 1_000_000),
                }),
            ),
            Some(receipt()),
        ),
        tool(
            &Label {
                name: "files_move_document",
                title: "Move Document",
                description: "Move or rename one document. Refuses when the new path is taken.",
            },
            Manner::Write,
            object(&["from", "to"], json!({"from": path(), "to": path()})),
            Some(receipt()),
        ),
        tool(
            &Label {
                name: "files_delete_document",
                title: "Delete Document",
                description: "Delete one document for good.",
            },
            Manner::Destroy,
            object(&["path"], json!({"path": path()})),
            Some(full(json!({"path": string(), "deleted": boolean()}))),
        ),
    ]
}

const FOLDER: &str = "^/([A-Za-z0-9 ._-]+(/[A-Za-z0-9 ._-]+)*)?$";

fn path() -> Value {
    pattern("Absolute path such as `/handbook/refunds.md`.", "^(/[A-Za-z0-9 ._-]{1,80}){1,8}$")
}

fn receipt() -> Value {
    full(json!({
        "path": string(), "bytes": count(), "version": count(), "updated_at": moment(),
    }))
}
