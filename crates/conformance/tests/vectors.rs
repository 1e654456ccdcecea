//! The vectors are those of the digests, every algorithm decides something in them, and the reference passes its own.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use quell_aqm::catalog::CATALOG;
use quell_conformance::{
    Difference, Outcome, Part, Runner, Vector, Warning, answer, generate, rule, run, vector,
};
use sha2::{Digest, Sha256};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance").join(name)
}

/// Compares a file with what it should hold, or writes it.
fn keep(path: &Path, text: &str, how_to_see: &str) {
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        std::fs::write(path, text).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    let lines = |text: &str| text.lines().map(str::to_string).collect::<BTreeSet<_>>();
    let changed: Vec<String> = lines(&kept).symmetric_difference(&lines(text)).cloned().collect();
    assert!(
        kept == text,
        "{}: these lines changed:\n{}\n{how_to_see}If it is meant: \
         `QUELL_UPDATE_DOCS=1 cargo test -p quell-conformance --test vectors`",
        path.display(),
        changed.join("\n")
    );
}

#[test]
fn the_vectors_are_those_of_the_digests() {
    let mut digests = String::new();
    for entry in CATALOG {
        let vectors = generate::of(entry);
        let texts: Vec<String> = vectors.iter().map(Vector::text).collect();
        for (vector, text) in vectors.iter().zip(&texts) {
            let digest = Sha256::digest(text);
            let digest: String = digest.iter().take(16).fold(String::new(), |mut all, byte| {
                let _ = write!(all, "{byte:02x}");
                all
            });
            writeln!(digests, "{digest} {} {}", vector.header.events, vector.header.vector).unwrap();
        }
        assert_eq!(
            Vector::read_all(&texts.concat()).unwrap(),
            vectors,
            "{}: reads what it writes",
            entry.name
        );
    }
    let how_to_see = "To see the first event that differs, write a vector with `quell conformance write FOLDER NAME` \
                      before and after the change, and compare the folders with `diff -r`.\n";
    keep(&file("digests.txt"), &digests, how_to_see);
    let schema = serde_json::to_string_pretty(&vector::schema()).unwrap() + "\n";
    keep(&file("schema.json"), &schema, "");
}

/// A vector in which nothing is decided would accept anything.
#[test]
fn every_algorithm_decides_something() {
    let mut idle = Vec::new();
    for entry in CATALOG {
        let vectors = generate::of(entry);
        let names: BTreeSet<_> = vectors.iter().map(|v| v.header.vector.clone()).collect();
        assert_eq!(names.len(), vectors.len(), "{}: names are used once", entry.name);
        let decided: usize = vectors.iter().map(|v| v.signals().0 - v.signals().1).sum();
        if decided < 15 && entry.name != "drop-tail" {
            idle.push((entry.name, decided));
        }
        // One with options of its own is there for what they decide.
        let own = vectors.iter().filter(|v| {
            !["drops", "marks", "bytes", "sizes"].iter().any(|c| v.header.vector.ends_with(&format!("/{c}")))
        });
        idle.extend(own.filter(|v| v.signals().0 == v.signals().1).map(|_| (entry.name, 0)));
        let draws = vectors.iter().flat_map(|v| &v.events).flat_map(|e| &e.draws);
        assert!(draws.copied().all(|u| (0.0..1.0).contains(&u)));
    }
    assert!(idle.is_empty(), "too little is decided, add a variant: {idle:?}");
}

/// The events alone make the reference answer as it did: nothing that a decision depends on is left out.
#[test]
fn the_reference_passes_its_own_vectors() {
    for vector in generate::all() {
        let mut input = serde_json::to_string(&vector.header).unwrap() + "\n";
        for event in &vector.events {
            let question = vector::Event { expect: None, ..event.clone() };
            input += &(serde_json::to_string(&question).unwrap() + "\n");
        }
        let mut output = Vec::new();
        answer(input.as_bytes(), &mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        let mut lines = output.lines();
        assert_eq!(lines.next(), Some("{\"ready\":true}"));
        for event in &vector.events {
            let mut came: vector::Answer = serde_json::from_str(lines.next().unwrap()).unwrap();
            assert_eq!(came.used.take(), Some(event.draws.len() as u32));
            assert_eq!(Some(&came), event.expect.as_ref(), "{}, event {}", vector.header.vector, event.event);
        }
    }
}

/// An adaptor that answers as the reference, but for one part of one answer, is found out by that part; what it may
/// leave out it may.
#[cfg(unix)]
#[test]
fn every_part_of_an_answer_is_compared() {
    type Is = fn(&vector::Answer) -> bool;
    type Change = fn(&mut vector::Answer);
    let vector = generate::of(CATALOG.iter().find(|e| e.name == "codel").unwrap()).remove(0);
    let refused = generate::of(CATALOG.iter().find(|e| e.name == "red").unwrap()).remove(0);
    let outcome = |vector: &Vector, at: Option<usize>, change: Change, strict: bool| {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("answers");
        let mut answers = "{\"ready\":true}\n".to_string();
        for (number, event) in vector.events.iter().enumerate() {
            let mut answer = event.expect.clone().unwrap();
            answer.used = (!event.draws.is_empty()).then_some(event.draws.len() as u32);
            if at.is_none_or(|at| at == number) {
                change(&mut answer);
            }
            answers += &(serde_json::to_string(&answer).unwrap() + "\n");
        }
        std::fs::write(&file, answers).unwrap();
        let script = "exec 3<&0; cat <&3 >/dev/null & cat \"$0\"; wait".to_string();
        let command = vec!["sh".into(), "-c".into(), script, file.display().to_string()];
        let runner = Runner { command, dir: None, timeout: std::time::Duration::from_secs(20), strict };
        match run(&runner, vector, &std::sync::atomic::AtomicBool::new(false)).unwrap() {
            Outcome::Passed { warnings, .. } => {
                let first = warnings.into_iter().next();
                first.map(|Warning { first, events }| (first.event, first.part, events, first.text))
            }
            Outcome::Differs(difference) => {
                let Difference { event, part, text, .. } = *difference;
                Some((event, part, 0, text))
            }
            other => panic!("{other:?}"),
        }
    };
    let answers =
        |vector: &Vector, is: Is| vector.events.iter().position(|e| is(e.expect.as_ref().unwrap())).unwrap();
    for vector in [&vector, &refused] {
        assert_eq!(outcome(vector, None, |_| {}, true), None);
        assert_eq!(outcome(vector, None, |a| (a.cause, a.signals) = (None, Default::default()), true), None);
    }
    let changes: [(&Vector, Is, Change, &str, Part); 9] = [
        (
            &refused,
            |a| a.cause == Some(vector::Cause::Early),
            |a| a.cause = Some(vector::Cause::Overflow),
            "dropped (early)",
            Part::Cause,
        ),
        (
            &refused,
            |a| a.cause == Some(vector::Cause::Early),
            |a| a.verdict = Some(vector::Verdict::Queued),
            "dropped (early)",
            Part::Decision,
        ),
        (
            &refused,
            |a| a.cause == Some(vector::Cause::Early),
            |a| a.used = Some(a.used.unwrap_or(0) + 1),
            "draws are used",
            Part::Draws,
        ),
        (
            &refused,
            |a| a.cause == Some(vector::Cause::Early),
            |a| a.used = None,
            "draws are used",
            Part::Draws,
        ),
        (&refused, |a| a.sent.is_some(), |a| a.sent = None, "is sent", Part::Decision),
        (&vector, |a| a.sent.is_some(), |a| a.marked = !a.marked, "is sent", Part::Decision),
        (
            &vector,
            |a| !a.dropped.is_empty(),
            |a| a.dropped.clear(),
            "dropped of those that waited",
            Part::Decision,
        ),
        (
            &vector,
            |a| !a.signals.is_empty(),
            |a| a.signals.values_mut().for_each(|x| *x += 1e-5),
            "decision is the same",
            Part::Signal("count".into()),
        ),
        (
            &vector,
            |a| !a.signals.is_empty(),
            |a| a.signals.extend([("cuont".to_string(), 1.0)]),
            "a signal \"cuont\", which codel does not have; it has: count, dropping",
            Part::Signal("cuont".into()),
        ),
    ];
    for (number, (vector, is, change, says, part)) in changes.into_iter().enumerate() {
        let at = answers(vector, is);
        // Beside a decision it is a warning, and an error if that was asked for.
        let warned = usize::from(part != Part::Decision);
        for (strict, events) in [(false, warned), (true, 0)] {
            let (event, what, times, text) =
                outcome(vector, Some(at), change, strict).unwrap_or_else(|| panic!("change {number}"));
            assert_eq!((event, &what, times), (vector.events[at].event, &part, events), "{text}");
            assert!(text.contains(says), "{text}");
        }
    }
}

#[test]
fn a_broken_vector_is_refused_with_its_line_and_the_reason() {
    let vector = &generate::of(&CATALOG[0])[0];
    let text = vector.text();
    let lines: Vec<&str> = text.lines().collect();
    let refused = |text: &str| Vector::read_all(text).unwrap_err().to_string();
    let with = |number: usize, line: &str| {
        let mut all = lines.clone();
        all[number - 1] = line;
        refused(&all.join("\n"))
    };
    for (number, from, to, says) in [
        (1, "\"conformance\":1", "\"conformance\":2", "line 1: conformance = 2: this version reads form 1"),
        (1, "\"conformance\":1", "\"conformance\":\"1\"", "line 1: conformance: invalid type: string"),
        (1, "\"conformance\":1,", "", "line 1: is neither a header, {\"conformance\":1,"),
        (1, "\"algorithm\":\"drop-tail\"", "\"algorithm\":\"red\"", "must begin with its algorithm"),
        (1, "\"seed\"", "\"sede\"", "sede: unknown field `sede`"),
        (1, "\"rate_bps\":2000000", "\"rate_bps\":0", "line 1: link.rate_bps = 0: must be at least 1"),
        (
            1,
            "\"rate_bps\":2000000",
            "\"rate_bps\":-2",
            "expected a whole number from 0 to 18446744073709551615",
        ),
        (1, "{\"packets\":60.0}", "{\"packets\":0.0}", "line 1: link.buffer.packets = 0: must be at least 1"),
        (1, "{\"packets\":60.0}", "{\"cells\":60.0}", "line 1: link.buffer: unknown variant `cells`"),
        (3, "\"event\":2", "\"event\":7", "line 3: event = 7: event 2 is due"),
        (
            3,
            "\"event\":2",
            "\"event\":4294967296",
            "line 3: event: invalid value: integer `4294967296`, expected a whole",
        ),
        (3, "\"t\":", "\"t\":1e300,\"u\":", "line 3: t: invalid type: floating point"),
        (3, "\"enqueue\"", "\"enqeue\"", "line 3: do: unknown variant `enqeue`"),
        (3, "\"packet\"", "\"paket\"", "line 3: paket: unknown field `paket`"),
        (3, "\"bytes\":1000", "\"bytes\":0", "line 3: packet.bytes = 0: must be at least 1"),
        (3, "\"bytes\":1000", "\"bytes\":1000,\"dscp\":64", "line 3: packet.dscp = 64: must lie in [0, 63]"),
        (
            3,
            "\"bytes\":1000",
            "\"bytes\":1000,\"protocol\":256",
            "line 3: packet.protocol: invalid value: integer `256`",
        ),
        (3, "\"bytes\":1000", "\"bytes\":1000,\"bytes\":40", "line 3: packet: duplicate field `bytes`"),
        (
            3,
            "\"bytes\":1000",
            "\"bytes\":1000,\"hosts\":{\"source\":1}",
            "line 3: packet.hosts: missing field",
        ),
        (3, "\"verdict\":\"queued\"", "\"marked\":true", "line 3: expect.verdict: belongs to"),
        (
            3,
            "\"expect\":{",
            "\"expect\":{\"signals\":{\"p\":0.5},",
            "line 3: expect.signals.p: must be one that the header lists: none",
        ),
        (3, "\"expect\":{", "\"expect\":{\"sent\":0,", "line 3: expect.sent = 0: belongs to \"dequeue\""),
        (3, "\"expect\":{", "\"expect\":{\"marked\":true,", "line 3: expect.marked: belongs to \"dequeue\""),
        (
            4,
            "\"sent\":0",
            "\"sent\":4000000",
            "line 4: expect.sent = 4000000: must be a packet that waits; this one has not arrived",
        ),
        (
            4,
            "\"sent\":0",
            "\"sent\":0,\"dropped\":[0]",
            "line 4: expect.sent = 0: must be a packet that waits; this one does not wait",
        ),
        (3, "}}", "}", "line 3: is not JSON: is cut off"),
    ] {
        let line = lines[number - 1];
        assert!(line.contains(from), "{from}: {line}");
        let why = with(number, &line.replacen(from, to, 1));
        assert!(why.contains(says), "{to}: {why}");
    }
    let joined = |lines: &[&str]| lines.join("\n");
    let header = "the first line is a header, {\"conformance\":1,\"vector\":...}";
    for (text, says) in [
        (String::new(), format!("line 1: no vector: {header}")),
        ("\n \n".into(), format!("line 1: no vector: {header}")),
        (joined(&lines[1..]), format!("line 1: an event before any header: {header}")),
        ("[1]".into(), "line 1: must be a JSON object: a header or an event".into()),
        ("{\"a\":1}".into(), "line 1: is neither a header".into()),
        ("vector".into(), "line 1: is not JSON: expected value at column 1".into()),
        (
            joined(&[lines[0], lines[0]]),
            format!("line 2: a header comes where event 1 of vector {} is due", vector.header.vector),
        ),
        (
            joined(&[&text, &text]),
            format!("line {}: vector = {:?}: is in this file already", lines.len() + 2, vector.header.vector),
        ),
        (
            joined(&lines[..5]),
            format!(
                "line 5: the file ends where event 5 of vector {} is due: its header says events = {}",
                vector.header.vector, vector.header.events
            ),
        ),
        (joined(&[&text, lines[1]]), format!("line {}: event = 1: the header of vector", lines.len() + 2)),
        (joined(&[lines[0], lines[1], lines[3]]), "line 3: event = 3: event 2 is due".into()),
        (text[..text.len() - 20].to_string(), format!("line {}: is not JSON: is cut off", lines.len())),
    ] {
        let why = refused(&text);
        assert!(why.contains(&says), "{says}: {why}");
    }
    let twice = text.replacen("\"id\":1,", "\"id\":0,", 1);
    assert!(refused(&twice).contains("packet.id = 0: another packet had it"), "{}", refused(&twice));
    // What has units is there twice, and says the same.
    let codel = CATALOG.iter().find(|entry| entry.name == "codel").unwrap();
    let text = generate::of(codel)[0].text();
    for (from, to, says) in [
        (
            "\"target\":0.005",
            "\"target\":1.0",
            "line 1: parameters.target = 1.0: must be what config.target = \"5 ms\" is, 0.005",
        ),
        (
            "\"target\":\"5 ms\"",
            "\"target\":\"1 s\"",
            "line 1: parameters.target = 0.005: must be what config.target = \"1 s\" is, 1.0",
        ),
        (
            "\"mtu\":null,\"on_empty\":\"forgets\",\"target\"",
            "\"mtu\":{\"bytes\":1500.0},\"on_empty\":\"forgets\",\"target\"",
            "line 1: parameters.mtu = {\"bytes\":1500.0}: must be what config.mtu = null is, null",
        ),
        (
            "\"config\":{\"algorithm\":\"codel\"",
            "\"config\":{\"algorithm\":\"pie\"",
            "line 1: config.algorithm = \"pie\": must be \"codel\", as the header says",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let why = refused(&text.replacen(from, to, 1));
        assert!(why.contains(says), "{to}: {why}");
    }
    // Another program's arithmetic is none of the form's business.
    let rounded = text.replacen("\"target\":0.005", "\"target\":0.005000000000000001", 1);
    assert!(Vector::read_all(&rounded).is_ok());
    // Time does not go back.
    let back = text.replacen("\"t\":0", "\"t\":1000000000000", 1);
    assert!(refused(&back).contains("line 3: t = "), "{}", refused(&back));
}

/// Editors of some systems write files so.
#[test]
fn byte_order_marks_and_ends_of_lines_make_no_difference() {
    let vector = &generate::of(&CATALOG[0])[0];
    let text = vector.text();
    for other in [format!("\u{feff}{text}"), text.replace('\n', "\r\n"), text.replace('\n', "\n\n")] {
        assert_eq!(&Vector::read_all(&other).unwrap(), std::slice::from_ref(vector));
    }
}

/// Hosts are in the vectors of CAKE that are about them, and each kind of isolation decides otherwise.
#[test]
fn each_isolation_decides_otherwise() {
    let cake = CATALOG.iter().find(|e| e.name == "cake").unwrap();
    let vectors = generate::of(cake);
    let of = |name: &str| vectors.iter().find(|v| v.header.vector == format!("cake/{name}")).unwrap();
    let kinds = ["triple-isolate", "dual-srchost", "dual-dsthost", "hosts", "srchost", "dsthost"];
    let courses: BTreeSet<String> = kinds
        .iter()
        .map(|kind| {
            of(kind).events.iter().map(|e| format!("{:?}", e.expect.as_ref().unwrap().sent)).collect()
        })
        .collect();
    assert_eq!(courses.len(), kinds.len(), "each serves its packets in another order");
    let packets = || of("triple-isolate").events.iter().filter_map(|e| e.packet);
    assert!(packets().any(|p| p.hosts == Default::default()) && packets().any(|p| p.hosts.source == 1));
}

/// An implementation of a dialect finds a vector of it: each name that a parameter can have is in one.
#[test]
fn every_named_choice_has_a_vector() {
    let mut without = Vec::new();
    for entry in CATALOG {
        let vectors = generate::of(entry);
        // RED's descendants take these from it, and others by-size: RED and PI have them. What decides by code of its own
        // has `forced` as well.
        let shared = |name: &str| match name {
            "spacing" | "signal" => !matches!(entry.name, "red" | "pi"),
            "forced" => !matches!(entry.name, "red" | "red-fixed" | "choke"),
            _ => false,
        };
        for parameter in (entry.params)().into_iter().filter(|parameter| !shared(parameter.name)) {
            let given = |name: &str| {
                vectors.iter().any(|v| v.header.parameters.get(parameter.name) == Some(&name.into()))
            };
            for name in choices(entry.name, parameter.name) {
                if !given(&name) {
                    without.push(format!("{}: {} = {name:?}", entry.name, parameter.name));
                }
            }
        }
    }
    assert!(without.is_empty(), "add a variant for each:\n{}", without.join("\n"));
}

/// The names that a parameter can have, as the refusal of another lists them.
fn choices(algorithm: &str, parameter: &str) -> Vec<String> {
    let table = serde_json::json!({ "algorithm": algorithm, parameter: "?" });
    let why = match serde_json::from_value::<quell_aqm::catalog::AqmConfig>(table) {
        Err(e) => e.to_string(),
        Ok(_) => return Vec::new(),
    };
    match why.strip_prefix("unknown variant `?`, expected ") {
        Some(names) => names.split('`').skip(1).step_by(2).map(str::to_string).collect(),
        None => Vec::new(),
    }
}

/// A difference says by what rule the reference decided, and not only from what document.
#[test]
fn every_decision_has_words() {
    use vector::What::{Dequeue, Enqueue, Idle, Update};
    let mut of = std::collections::BTreeMap::new();
    for vector in CATALOG.iter().flat_map(generate::of) {
        for what in [Enqueue, Dequeue, Update, Idle] {
            let rule = rule(&vector.header, what);
            assert!(!rule.starts_with(&vector.header.source), "{} {what:?}: {rule}", vector.header.algorithm);
            of.insert((vector.header.vector.clone(), format!("{what:?}")), rule);
        }
    }
    for (name, what, part) in [
        ("codel/linux", "Dequeue", "1024 ns"),
        ("fq-codel/linux", "Enqueue", "by Linux's rules"),
        ("fq-codel/ns-3", "Dequeue", "own queue"),
        ("pie/linux", "Enqueue", "sch_pie.c"),
        ("pie/drops", "Enqueue", "RFC 8033 section 4.1"),
    ] {
        assert!(of[&(name.to_string(), what.to_string())].contains(part), "{name}");
    }
}
