//! The built-in table is whole, reads texts as its makers did, and what is no table is refused.

use super::*;

#[test]
fn the_built_in_table_is_there() {
    let table = Table::builtin();
    assert_eq!((table.dims, table.worth.len(), table.cells.len()), (128, 29_525, 29_525 * 128));
    assert!(table.knows("weather") && !table.knows("wether"));
}

/// Ten texts with the rows and vectors their makers got.
#[test]
fn texts_get_the_vectors_their_makers_got() {
    let shared = std::env::var("TOOLGATE_SHARED")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").to_owned());
    let Ok(lines) = std::fs::read_to_string(format!("{shared}/models/eval.jsonl")) else {
        println!(
            "LEFT OUT: no models/eval.jsonl in {shared}; set TOOLGATE_SHARED to check vectors"
        );
        return;
    };
    let table = Table::builtin();
    for line in lines.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = row["text"].as_str().unwrap();
        let rows: Vec<Value> = table.vocabulary.rows(text).into_iter().map(Value::from).collect();
        assert_eq!(rows, *row["ids"].as_array().unwrap(), "{text}");
        let vector = table.embed(text);
        for (mine, theirs) in vector.iter().zip(row["vector"].as_array().unwrap()) {
            assert!((f64::from(*mine) - theirs.as_f64().unwrap()).abs() < 1e-4, "{text}");
        }
    }
}

fn tensors(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

const TOKENIZER: &[u8] = br#"{"model": {"vocab": {"[UNK]": 0, "rain": 1}}}"#;

#[test]
fn a_folder_in_the_model2vec_format_is_read() {
    let header = r#"{"embeddings": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}"#;
    let data: Vec<u8> = [0.0_f32, 1.0, 3.0, -4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let table = Table::from_model2vec(&tensors(header, &data), TOKENIZER).unwrap();
    let check = |text: &str| {
        let vector = table.embed(text);
        assert!((vector[0] - 0.6).abs() < 0.01 && (vector[1] + 0.8).abs() < 0.01, "{vector:?}");
    };
    check("Rain");
    check("rain zzz");
    assert_eq!(table.embed("zzz"), [0.0, 0.0]);
}

#[test]
fn tokens_may_share_rows_and_have_weights() {
    let header = r#"{"embeddings": {"dtype": "I8", "shape": [1, 2], "data_offsets": [0, 2]},
        "mapping": {"dtype": "I64", "shape": [2], "data_offsets": [2, 18]},
        "weights": {"dtype": "F64", "shape": [2], "data_offsets": [18, 34]}}"#;
    let mapping = [0_i64, 0].iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>();
    let weights = [1.0_f64, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>();
    let data = [vec![3, 4], mapping, weights].concat();
    let table = Table::from_model2vec(&tensors(header, &data), TOKENIZER).unwrap();
    let vector = table.embed("rain");
    assert!((vector[0] - 0.6).abs() < 1e-6 && (vector[1] - 0.8).abs() < 1e-6, "{vector:?}");
    let outside = header.replace("\"shape\": [1, 2]", "\"shape\": [0, 2]");
    let error = Table::from_model2vec(&tensors(&outside, &data), TOKENIZER).unwrap_err();
    assert!(error.to_string().contains("do not fit"), "{error}");
}

/// The shared folder is in that format, and is the built-in table.
#[test]
fn the_built_in_table_can_be_read_from_a_folder() {
    let folder = std::env::var("TOOLGATE_SHARED")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").to_owned())
        + "/models/static-v1";
    let read = |name: &str| std::fs::read(format!("{folder}/{name}"));
    let (Ok(tensors), Ok(tokenizer)) = (read("model.safetensors"), read("tokenizer.json")) else {
        println!("LEFT OUT: no model in {folder}; set TOOLGATE_SHARED to read it");
        return;
    };
    let table = Table::from_model2vec(&tensors, &tokenizer).unwrap();
    let text = "refund a payment";
    assert_eq!(table.embed(text), Table::builtin().embed(text));
}

#[test]
fn what_is_no_table_is_refused() {
    let check = |bytes: &[u8], tokenizer: &[u8], expected: &str| {
        let error = Table::from_model2vec(bytes, tokenizer).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let header = r#"{"embeddings": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}"#;
    check(b"", TOKENIZER, "cut short");
    check(&tensors(header, &[]), TOKENIZER, "outside the file");
    check(&tensors(header, &[255; 16]), TOKENIZER, "not finite");
    check(&tensors("{}", &[]), TOKENIZER, "no table called");
    check(&tensors(&header.replace("[2, 2]", "[3, 2]"), &[0; 16]), TOKENIZER, "do not fit");
    check(&tensors(header, &[0; 16]), b"{}", "no WordPiece vocabulary");
    let unigram = br#"{"model": {"type": "Unigram", "vocab": {"rain": 1}}}"#;
    check(&tensors(header, &[0; 16]), unigram, "no WordPiece vocabulary");
    let cased = br#"{"normalizer": {"lowercase": false}, "model": {"vocab": {"Rain": 1}}}"#;
    check(&tensors(header, &[0; 16]), cased, "upper from lower case");
}

proptest::proptest! {
    #[test]
    fn no_bytes_break_the_reader(header in ".{0,40}", data in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..64)) {
        let read = Table::from_model2vec(&tensors(&header, &data), TOKENIZER);
        proptest::prop_assert!(read.is_err());
    }
}
