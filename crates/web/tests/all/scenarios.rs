//! Every scenario of the repository.

use serde_json::{Value, json};

use crate::{answer, ok, root, scenarios};

/// Every file checks, with the files that its tree says it names; those that are none for the command are none here.
#[test]
fn every_scenario_checks_as_the_command_does() {
    let mut lab = quell_web::Lab::default();
    let mut sound = 0;
    for (name, text) in scenarios() {
        let tree = ok(&mut lab, &json!({ "do": "tree", "text": text }));
        let folder = root().join(&name).parent().unwrap().to_path_buf();
        let file = |name: &Value| {
            let name = name.as_str().unwrap();
            let bytes = std::fs::read(folder.join(name)).unwrap();
            json!({ "name": name, "bytes": base64(&bytes) })
        };
        let files: Vec<Value> = tree["files"].as_array().unwrap().iter().map(file).collect();
        let source = json!({ "text": text, "name": name, "files": files });
        let checked = answer(&mut lab, &json!({ "do": "check", "source": source }));
        let command = quell_lab::read(root().join(&name))
            .and_then(|document| document.study(&quell_scenario::Plugins::new()));
        match command {
            Ok(study) => {
                let checked = &checked["ok"];
                assert_eq!(checked["points"].as_array().map(Vec::len), Some(study.points.len()), "{name}");
                assert_eq!(checked["title"], study.title(), "{name}");
                assert_eq!(checked["defaults"]["schema"], 1, "{name}");
                let memory = checked["points"][0]["estimated_memory"].as_f64().unwrap();
                assert!((1e6..1e9).contains(&memory), "{name}: {memory}");
                sound += 1;
            }
            Err(error) => {
                let said = checked["error"]["message"].as_str().unwrap().to_string();
                assert!(said.ends_with(&error.reason()), "{name}: {said}, {error}");
            }
        }
    }
    assert!(sound > 60, "{sound}");
}

/// The place of each value is where the text has it.
#[test]
fn places_are_those_of_the_text() {
    let mut lab = quell_web::Lab::default();
    for (name, text) in scenarios() {
        let tree = ok(&mut lab, &json!({ "do": "tree", "text": text }));
        let units: Vec<u16> = text.encode_utf16().collect();
        let slice = |range: &Value| {
            let [from, to] = [0, 1].map(|i| range[i].as_u64().unwrap() as usize);
            String::from_utf16(&units[from..to]).unwrap()
        };
        for (path, place) in tree["places"].as_object().unwrap() {
            let written = slice(&place["value"]);
            if let Some(key) = place["key"].as_array() {
                let key = slice(&json!(key));
                let key = key.trim_matches(['"', '\'']);
                assert!(path.replace('"', "").ends_with(key), "{name}: {path} has the key {key}");
            }
            let line = place["line"].as_u64().unwrap() as usize;
            assert!((1..=text.lines().count()).contains(&line), "{name}: {path} on line {line}");
            match place["form"].as_str().unwrap() {
                "string" => assert!(written.starts_with(['"', '\'']) || written.contains('-'), "{written}"),
                "integer" | "float" => {
                    assert!(written.replace('_', "").parse::<f64>().is_ok(), "{name}: {path} = {written}");
                }
                "boolean" => assert!(["true", "false"].contains(&written.as_str()), "{written}"),
                _ => {}
            }
        }
    }
}

/// The alphabet of base64, a bit at a time: the twin of the library's.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let all =
            chunk.iter().fold(0_u32, |all, byte| all << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let digit = DIGITS[(all >> (18 - 6 * i) & 63) as usize] as char;
            text.push(if i <= chunk.len() { digit } else { '=' });
        }
    }
    text
}
