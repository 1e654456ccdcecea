//! Changes in texts keep what they do not change.

use proptest::prelude::*;
use serde_json::{Value, json};
use toml_parser::lexer::TokenKind;

use crate::{answer, ok, scenarios};

/// The comments of a text, in order.
fn comments(text: &str) -> Vec<String> {
    let tokens = toml_parser::Source::new(text).lex();
    let of = |token: toml_parser::lexer::Token| {
        (token.kind() == TokenKind::Comment)
            .then(|| text[token.span().start()..token.span().end()].to_string())
    };
    tokens.filter_map(of).collect()
}

/// A value in a tree, by the steps of a path without odd keys.
fn at<'a>(tree: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    let mut node = tree;
    for part in path.split('.') {
        let mut parts = part.split('[');
        let key = parts.next()?;
        node = node.get_mut(key)?;
        for index in parts {
            node = node.get_mut(index.trim_end_matches(']').parse::<usize>().ok()?)?;
        }
    }
    Some(node)
}

fn tree(lab: &mut quell_web::Lab, text: &str) -> Value {
    ok(lab, &json!({ "do": "tree", "text": text }))
}

fn edited(lab: &mut quell_web::Lab, text: &str, path: &str, value: Option<&str>) -> String {
    let edit = json!({ "do": "edit", "text": text, "edits": [{ "path": path, "value": value }] });
    ok(lab, &edit)["text"].as_str().unwrap().to_string()
}

/// The values of each file that are tried, roughly: there are many files, and values of one are alike.
const SOME: usize = 8;

/// The paths of plain values and of what holds some.
fn paths(tree: &Value) -> Vec<(String, String)> {
    let places = tree["places"].as_object().unwrap();
    let all = places.iter().filter(|(path, _)| !path.contains('"'));
    all.map(|(path, place)| (path.clone(), place["form"].as_str().unwrap().to_string())).collect()
}

/// Each plain value of each scenario, changed and removed: the tree has that change and no other.
#[test]
fn every_value_of_every_scenario_can_be_changed_alone() {
    let mut lab = quell_web::Lab::default();
    let mut changed = 0;
    for (name, text) in scenarios() {
        let before = tree(&mut lab, &text);
        let all = paths(&before);
        for (path, form) in all.iter().step_by(1 + all.len() / SOME) {
            let value = match form.as_str() {
                "array" | "table" => continue,
                "string" => json!("other \"words\" µ \\"),
                "integer" => json!(-7),
                "float" => json!(0.125),
                _ => json!(false),
            };
            let after = edited(&mut lab, &text, path, Some(&value.to_string()));
            let mut want = before["value"].clone();
            *at(&mut want, path).unwrap() = value;
            assert_eq!(tree(&mut lab, &after)["value"], want, "{name}: {path}");
            assert_eq!(comments(&after), comments(&text), "{name}: {path}");
            let back = slice(&before, &text, path);
            let lines = text.lines().count() + 1 - back.lines().count();
            assert_eq!(after.lines().count(), lines, "{name}: {path}");
            assert_eq!(edited(&mut lab, &after, path, Some(&back)), text, "{name}: {path}");
            changed += 1;
        }
    }
    assert!(changed > 400, "{changed}");
}

/// A value as the text has it.
fn slice(tree: &Value, text: &str, path: &str) -> String {
    let units: Vec<u16> = text.encode_utf16().collect();
    let range = &tree["places"][path]["value"];
    let [from, to] = [0, 1].map(|i| range[i].as_u64().unwrap() as usize);
    String::from_utf16(&units[from..to]).unwrap()
}

/// Removing takes the value and the comments on it; the words at the head of a file stay.
#[test]
fn what_is_removed_is_gone_and_nothing_else() {
    let mut lab = quell_web::Lab::default();
    for (name, text) in scenarios() {
        let before = tree(&mut lab, &text);
        let all = paths(&before);
        for (path, form) in all.iter().step_by(1 + all.len() / SOME).filter(|(path, _)| !path.ends_with(']'))
        {
            if form == "table" && path.contains('.') {
                continue;
            }
            let after = edited(&mut lab, &text, path, None);
            let mut want = before["value"].clone();
            let (holder, key) = path.rsplit_once('.').unwrap_or(("", path));
            let holder = if holder.is_empty() { Some(&mut want) } else { at(&mut want, holder) };
            holder.unwrap().as_object_mut().unwrap().remove(key);
            assert_eq!(tree(&mut lab, &after)["value"], want, "{name}: {path}");
            let all = comments(&text);
            assert!(comments(&after).iter().all(|comment| all.contains(comment)), "{name}: {path}");
            let head: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
            assert!(after.starts_with(&head.join("\n")), "{name}: {path}: {after}");
        }
    }
}

/// Items of lists come, go and move, whichever way the list is written.
#[test]
fn lists_grow_and_move() {
    let mut lab = quell_web::Lab::default();
    for (name, text) in scenarios() {
        let before = tree(&mut lab, &text);
        for list in ["flows", "aqm"] {
            let Some(items) = before["value"][list].as_array() else { continue };
            let new = "{ name = \"another\", algorithm = \"red\" }";
            let after = edited(&mut lab, &text, &format!("{list}[+]"), Some(new));
            let mut want = before["value"].clone();
            let item = json!({ "name": "another", "algorithm": "red" });
            want[list].as_array_mut().unwrap().push(item);
            assert_eq!(tree(&mut lab, &after)["value"], want, "{name}: {list}");
            assert_eq!(comments(&after), comments(&text), "{name}: {list}");
            let last = items.len();
            let moved = json!([{ "path": format!("{list}[{last}]"), "value": null, "to": 0 }]);
            let moved = ok(&mut lab, &json!({ "do": "edit", "text": after, "edits": moved }));
            let array = want[list].as_array_mut().unwrap();
            let item = array.pop().unwrap();
            array.insert(0, item);
            assert_eq!(tree(&mut lab, moved["text"].as_str().unwrap())["value"], want, "{name}: {list}");
            let gone = edited(&mut lab, &after, &format!("{list}[{last}]"), None);
            assert_eq!(tree(&mut lab, &gone)["value"], before["value"], "{name}: {list}");
        }
    }
}

#[test]
fn what_is_not_there_is_made() {
    let mut lab = quell_web::Lab::default();
    let text = "schema = 1 # the first\n\n# A link.\n[dumbbell]\nrate = \"1 Mbit/s\"\n";
    for (path, value, want) in [
        ("duration", "\"5 s\"", "schema = 1 # the first\nduration = \"5 s\"\n\n# A link."),
        ("dumbbell.delay", "\"5 ms\"", "rate = \"1 Mbit/s\"\ndelay = \"5 ms\"\n"),
        ("dumbbell.reverse.rate", "\"1 Mbit/s\"", "reverse = { rate = \"1 Mbit/s\" }\n"),
        ("graph", "{ routers = 3 }", "\n[graph]\nrouters = 3\n"),
        ("flows[+]", "{ name = \"a\" }", "\n[[flows]]\nname = \"a\"\n"),
        ("sweep.\"dumbbell.rate\"", "[1, 2]", "\n[sweep]\n\"dumbbell.rate\" = [1, 2]\n"),
        ("seeds[+]", "4", "4"),
    ] {
        let after = edited(&mut lab, text, path, Some(value));
        assert!(after.contains(want), "{path}: {after}");
        assert_eq!(comments(&after), comments(text));
    }
    let inline = "aqm = [\n  { algorithm = \"red\" }, # red\n  { algorithm = \"pi\" },\n]\n";
    let after = edited(&mut lab, inline, "aqm[+]", Some("{ algorithm = \"pie\" }"));
    assert_eq!(
        after,
        "aqm = [\n  { algorithm = \"red\" }, # red\n  { algorithm = \"pi\" },\n  { algorithm = \"pie\" },\n]\n"
    );
}

#[test]
fn wrong_edits_say_what_is_wrong() {
    for (path, value, rule) in [
        ("", Some("1"), "leads nowhere"),
        ("dumbbell.", Some("1"), "has an empty part"),
        ("flows[9].rtt", Some("1"), "there is nothing"),
        ("schema.x", Some("1"), "is a plain value, which holds nothing"),
        ("flows[x]", Some("1"), "a number or +"),
        ("flows[0", Some("1"), "lacks a ]"),
        ("a\"b", Some("1"), "[absent]"),
        ("\"a", Some("1"), "quotation marks do not end"),
        ("duration", Some("5 s"), "is not a value in TOML"),
        ("duration", Some("\"a\"\nb = 1"), "is not a value in TOML"),
        ("nothing", None, "there is nothing"),
        ("flows[+].rtt", Some("1"), "[+] must be the last part"),
    ] {
        let edit = json!({ "do": "edit", "text": crate::SMALL, "edits": [{ "path": path, "value": value }] });
        let answer = answer(&mut quell_web::Lab::default(), &edit);
        match rule {
            // An odd key without quotation marks is taken as it is, and written with them.
            "[absent]" => assert!(answer["ok"]["text"].as_str().unwrap().contains("'a\"b' = 1"), "{answer}"),
            rule => assert!(answer["error"]["message"].as_str().unwrap().contains(rule), "{path}: {answer}"),
        }
    }
    let both = json!({ "path": "flows[0]", "value": "1", "to": 0 });
    let both = crate::fault(&json!({ "do": "edit", "text": crate::SMALL, "edits": [both] }));
    assert!(both["message"].as_str().unwrap().contains("give one of them"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any text is written so that it is read again, wherever it is put.
    #[test]
    fn any_text_can_be_a_value(text in "\\PC{0,40}", key in "[a-z\"'.é -]{1,8}") {
        let mut lab = quell_web::Lab::default();
        let path = format!("dumbbell.{}", json!(key));
        let value = toml::Value::String(text.clone()).to_string();
        let after = edited(&mut lab, crate::SMALL, &path, Some(&value));
        prop_assert_eq!(&tree(&mut lab, &after)["value"]["dumbbell"][&key], &json!(text));
    }

    /// Whatever is asked for, there is an answer, and what is answered is TOML.
    #[test]
    fn no_edit_breaks_a_text(path in "[a-z\\[\\]+0-9.\"]{0,12}", value in "\\PC{0,12}") {
        let mut lab = quell_web::Lab::default();
        let edit = json!({ "do": "edit", "text": crate::SMALL, "edits": [{ "path": path, "value": value }] });
        let answer = answer(&mut lab, &edit);
        match answer["ok"]["text"].as_str() {
            Some(text) => drop(tree(&mut lab, text)),
            None => prop_assert!(answer["error"]["message"].is_string()),
        }
    }
}
