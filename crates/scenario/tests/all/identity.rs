//! What a replication depends on: every key of the `tcp` table is part of its identity.

use quell_scenario::{Plugins, Study};
use quell_tcp::catalog::Parameter;
use toml::{Table, Value};

/// The identity of a scenario whose flows have such parameters, if it is sound.
fn identity(tcp: &Table) -> Option<String> {
    let mut scenario: Table = toml::from_str(
        r#"
        schema = 1
        duration = "10 s"
        dumbbell = { rate = "10 Mbit/s", delay = "10 ms", buffer = "100 packets", ecn = true }
        aqm = [{ algorithm = "red" }]
        flows = [{ name = "ftp", rtt = "80 ms" }]
        "#,
    )
    .unwrap();
    scenario["flows"][0].as_table_mut().unwrap().insert("tcp".into(), Value::Table(tcp.clone()));
    let study = Study::parse(&toml::to_string(&scenario).unwrap(), "x.toml", &Plugins::new()).ok()?;
    Some(study.points[0].identity(0).unwrap().text)
}

/// Values that a key may have, beside the one that it has.
fn others(key: &Parameter, now: Option<&Value>) -> Vec<Value> {
    match now {
        Some(Value::Boolean(on)) => vec![Value::Boolean(!on)],
        Some(Value::Integer(n)) => vec![Value::Integer(n + 1), Value::Integer(n - 1)],
        Some(Value::Float(x)) => vec![Value::Float(x / 2.0), Value::Float(x * 2.0)],
        _ if key.doc.unit == "name" => {
            key.range.split('"').skip(1).step_by(2).map(|name| Value::String(name.into())).collect()
        }
        _ => ["30 ms", "31 s", "1 ms", "700 B"]
            .into_iter()
            .map(Value::from)
            .chain([Value::Integer(7)])
            .collect(),
    }
}

#[test]
fn every_key_of_tcp_is_part_of_the_identity() {
    // With marks, delayed acknowledgments and this recovery more keys may have more values.
    let base: Table = toml::from_str("ecn = true\ndelayed_ack = \"40 ms\"\nrecovery = \"prr\"").unwrap();
    let plain = identity(&base).unwrap();
    let written: Table = toml::from_str(&plain).unwrap();
    let written = written["flows"][0]["tcp"].as_table().unwrap();
    let keys = Parameter::all();
    assert!(keys.len() > 20);
    for key in &keys {
        let name = key.doc.name;
        let now = written.get(name);
        let with = |value: Value| {
            let mut tcp = base.clone();
            tcp.insert(name.into(), value);
            identity(&tcp)
        };
        let different: Vec<Value> = others(key, now).into_iter().filter(|value| Some(value) != now).collect();
        let changed: Vec<String> = different.into_iter().filter_map(with).collect();
        assert!(!changed.is_empty(), "{name} = {now:?}: no other value is sound; this test must know one");
        assert!(changed.iter().all(|other| *other != plain), "{name} is not part of the identity");
    }
}
