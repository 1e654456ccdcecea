//! The laboratory's page, as a browser gets it from `quell lab`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::common::{Bench, Ran, SMALL};

/// A folder with something like a page, and a command that serves it.
struct Lab {
    command: Child,
    url: String,
    port: u16,
}

/// A folder with a page in it.
fn bench() -> Bench {
    let bench = Bench::new();
    let page = bench.path("page");
    std::fs::create_dir(&page).unwrap();
    for (name, text) in [
        ("index.html", "<!doctype html><title>Page</title>"),
        ("main-0a1b.js", "export {};\n"),
        ("quell.wasm", "\0asm"),
        ("style.css", "a {}"),
        (".gitignore", "*"),
    ] {
        std::fs::write(page.join(name), text).unwrap();
    }
    std::fs::create_dir(page.join("deep")).unwrap();
    std::fs::write(page.join("deep/secret.txt"), "deep").unwrap();
    bench.file("secret.txt", "beside the page");
    bench
}

impl Lab {
    fn start(bench: &Bench, args: &[&str]) -> Lab {
        let mut words = vec!["lab", "--dir", "page"];
        words.extend(args);
        let mut command =
            bench.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(command.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        if line.is_empty() {
            panic!("{words:?}: {:?}", Ran::from(command.wait_with_output().unwrap()));
        }
        let url = line.trim_end().to_string();
        let rest = url.strip_prefix("http://127.0.0.1:").expect("it prints where it listens");
        let port = rest.split('/').next().unwrap().parse().unwrap();
        Lab { command, url, port }
    }

    /// The answer to these bytes.
    fn say(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(bytes).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        Answer::parse(&all)
    }

    fn ask(&self, line: &str, headers: &[&str]) -> Answer {
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        self.say(format!("{line} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{headers}\r\n", self.port).as_bytes())
    }

    fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), &[])
    }

    fn opened(&self) -> serde_json::Value {
        let answer = self.get("/opened.json");
        assert_eq!((answer.status, answer.header("Content-Type")), (200, Some("application/json")));
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// Ends it as Ctrl-C does; gives what it said.
    fn interrupt(mut self) -> Ran {
        let pid = self.command.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let since = Instant::now();
        while self.command.try_wait().unwrap().is_none() {
            assert!(since.elapsed() < Duration::from_secs(20), "it goes on");
            std::thread::sleep(Duration::from_millis(10));
        }
        let (mut out, mut err) = (String::new(), String::new());
        self.command.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.command.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        Ran { code: self.command.try_wait().unwrap().unwrap().code().unwrap_or(-1), out, err }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.command.kill();
        let _ = self.command.wait();
    }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn parse(all: &[u8]) -> Answer {
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").expect("an answer has a head");
        let head = String::from_utf8(all[..end].to_vec()).unwrap();
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest[..3].parse().ok());
        Answer { status: status.expect("an answer has a status"), head, body: all[end + 4..].to_vec() }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.head.lines().filter_map(|line| line.split_once(": "));
        values.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

#[test]
fn the_page_is_served_with_its_types_and_a_strict_policy() {
    let bench = bench();
    let lab = Lab::start(&bench, &[]);
    assert!(lab.url.ends_with(&format!(":{}/", lab.port)), "{}", lab.url);
    for (path, kind, body) in [
        ("/", "text/html; charset=utf-8", "<!doctype html><title>Page</title>"),
        ("/?embed=1", "text/html; charset=utf-8", "<!doctype html><title>Page</title>"),
        ("/main-0a1b.js", "text/javascript; charset=utf-8", "export {};\n"),
        ("/quell.wasm", "application/wasm", "\0asm"),
        ("/style.css", "text/css; charset=utf-8", "a {}"),
    ] {
        let answer = lab.get(path);
        assert_eq!((answer.status, answer.header("Content-Type")), (200, Some(kind)), "{path}");
        assert_eq!(answer.body, body.as_bytes(), "{path}");
        assert_eq!(answer.header("Content-Length"), Some(body.len().to_string().as_str()), "{path}");
        let policy = answer.header("Content-Security-Policy").unwrap();
        assert!(
            policy.contains("default-src 'self'") && policy.contains("script-src 'self' 'wasm-unsafe-eval';")
        );
        assert!(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"), "{policy}");
        assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"));
        assert_eq!(answer.header("Referrer-Policy"), Some("no-referrer"));
        assert_eq!(answer.header("Cross-Origin-Resource-Policy"), Some("same-origin"));
    }
    // What the page says of itself for servers without headers is the same.
    let source = include_str!("../../../../lab/src/index.html");
    let policy = lab.get("/").header("Content-Security-Policy").unwrap().to_string();
    let own = policy.strip_suffix("; frame-ancestors 'self'").expect("a page cannot say this of itself");
    assert!(source.contains(&format!("http-equiv=\"Content-Security-Policy\" content=\"{own}\"")), "{own}");
}

#[test]
fn a_file_that_is_known_is_not_sent_again() {
    let bench = bench();
    let lab = Lab::start(&bench, &[]);
    let first = lab.get("/style.css");
    let tag = format!("If-None-Match: {}", first.header("ETag").unwrap());
    let again = lab.ask("GET /style.css", &[&tag]);
    assert_eq!((again.status, again.body.len(), again.header("ETag")), (304, 0, first.header("ETag")));
    assert_eq!(lab.ask("GET /main-0a1b.js", &[&tag]).status, 200);
    std::fs::write(bench.path("page/style.css"), "b {}").unwrap();
    let changed = lab.ask("GET /style.css", &[&tag]);
    assert_eq!((changed.status, changed.body.as_slice()), (200, &b"b {}"[..]));
    let head = lab.ask("HEAD /style.css", &[]);
    assert_eq!((head.status, head.body.len(), head.header("Content-Length")), (200, 0, Some("4")));
    assert_eq!(head.header("ETag"), changed.header("ETag"));
}

#[test]
fn nothing_but_the_page_is_there() {
    let bench = bench();
    let lab = Lab::start(&bench, &[]);
    for path in [
        "/none.js",
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/deep/secret.txt",
        "/deep",
        "/deep/",
        "//etc/passwd",
        "/./style.css",
        "/opened.json",
        "/page/style.css",
        "/style.css%00",
        "/..",
        "/C:\\secret.txt",
    ] {
        let answer = lab.get(path);
        assert_eq!((answer.status, answer.body.as_slice()), (404, &b"there is no such file\n"[..]), "{path}");
        assert!(answer.header("Content-Security-Policy").is_some() && answer.header("ETag").is_none());
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(bench.path("secret.txt"), bench.path("page/link.txt")).unwrap();
        assert_eq!(lab.get("/link.txt").status, 404);
    }
}

#[test]
fn others_than_a_browser_on_this_machine_are_refused() {
    let bench = bench();
    let lab = Lab::start(&bench, &["small.toml"]);
    let status = |text: &str| lab.say(text.as_bytes()).status;
    // A name of another site that leads here, and tunnels, which have a port of their own.
    for host in ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "", "192.168.0.1"] {
        assert_eq!(status(&format!("GET /opened.json HTTP/1.1\r\nHost: {host}\r\n\r\n")), 403, "{host}");
    }
    for host in ["localhost", "localhost:9000", "[::1]:9000"] {
        assert_eq!(status(&format!("GET /opened.json HTTP/1.1\r\nHost: {host}\r\n\r\n")), 200, "{host}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get"] {
        let text = format!("{method} / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc");
        let answer = lab.say(text.as_bytes());
        assert_eq!((answer.status, answer.header("Allow")), (405, Some("GET, HEAD")), "{method}");
    }
    for wrong in [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        "GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "nonsense\r\n\r\n",
        "GET / HTTP/3.0\r\nHost: localhost\r\n\r\n",
        "\0\0\0\r\n\r\n",
    ] {
        assert_eq!(status(wrong), 400, "{wrong:?}");
    }
    assert_eq!(status(&format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}", "x".repeat(20_000))), 431);
    let many: String = (0..100).map(|i| format!("X-{i}: 1\r\n")).collect();
    assert_eq!(status(&format!("GET / HTTP/1.1\r\nHost: localhost\r\n{many}\r\n")), 431);
    // Who connects and says nothing keeps nobody else waiting, and neither does who goes away.
    let silent: Vec<TcpStream> =
        (0..10).map(|_| TcpStream::connect(("127.0.0.1", lab.port)).unwrap()).collect();
    drop(TcpStream::connect(("127.0.0.1", lab.port)).unwrap());
    assert_eq!(lab.get("/").status, 200);
    drop(silent);
}

#[test]
fn a_scenario_is_opened_with_its_files_and_read_again() {
    let bench = bench();
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(b"time_s,rate_bps\n0,2000000\n3,1000000\n").unwrap();
    std::fs::create_dir(bench.path("traces")).unwrap();
    std::fs::write(bench.path("traces/link.csv.gz"), packed.finish().unwrap()).unwrap();
    let text = SMALL.replace("[dumbbell]", "[dumbbell]\nchanges = \"traces/link.csv.gz\"");
    bench.file("linked.toml", &text);
    let lab = Lab::start(&bench, &["linked.toml"]);
    assert!(lab.url.ends_with("/?opened"), "{}", lab.url);
    let opened = lab.opened();
    assert_eq!(
        (&opened["kind"], &opened["name"], &opened["text"]),
        (&"scenario".into(), &"linked.toml".into(), &text.clone().into())
    );
    assert_eq!(opened["files"].as_array().unwrap().len(), 1, "{opened}");
    assert_eq!(opened["files"][0]["name"], "traces/link.csv.gz");
    // base64 of "time_s,rate_bps\n0,2000000\n3,1000000\n", without its compression.
    assert_eq!(opened["files"][0]["bytes"], "dGltZV9zLHJhdGVfYnBzCjAsMjAwMDAwMAozLDEwMDAwMDAK");
    let tag = lab.get("/opened.json").header("ETag").unwrap().to_string();
    let known = [format!("If-None-Match: {tag}")];
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    assert_eq!(lab.ask("GET /opened.json", &known).status, 304);
    // With another length, since clocks of files may be coarse.
    let changed = text.replace("seeds = 2", "seeds = 20");
    bench.file("linked.toml", &changed);
    assert_eq!(lab.ask("GET /opened.json", &known).status, 200);
    assert_eq!(lab.opened()["text"], changed);
    // A mistake, and a file that is gone, are the page's to show.
    bench.file("linked.toml", "schema = ");
    assert_eq!(lab.opened()["text"], "schema = ");
    std::fs::remove_file(bench.path("linked.toml")).unwrap();
    let gone = lab.opened();
    assert_eq!(gone["kind"], "error");
    assert!(gone["message"].as_str().unwrap().starts_with("linked.toml: cannot read: "), "{gone}");
    bench.file("linked.toml", &text);
    assert_eq!(lab.opened()["text"], text);
}

#[test]
fn a_scenario_comes_from_standard_input_too() {
    let bench = bench();
    let mut command = bench.command(&["lab", "--dir", "page", "-"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(SMALL.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let port = line.split([':', '/']).nth(4).unwrap().parse().unwrap();
    let lab = Lab { command: child, url: line, port };
    assert_eq!(lab.opened()["text"], SMALL);
    assert_eq!(lab.opened()["name"], "standard input");
}

#[test]
fn a_results_folder_is_opened_as_it_was_stored() {
    let bench = bench();
    bench.ok(&["run", "small.toml", "--out", "study", "--series", "all", "--quiet"]);
    for path in ["study", "study/run.json"] {
        let lab = Lab::start(&bench, &[path]);
        let opened = lab.opened();
        assert_eq!((&opened["kind"], &opened["name"]), (&"results".into(), &"study".into()));
        let run: serde_json::Value =
            serde_json::from_slice(&std::fs::read(bench.path("study/run.json")).unwrap()).unwrap();
        for key in ["digest", "scenario_text", "points", "title"] {
            assert!(!run[key].is_null() && opened["run"][key] == run[key], "{key}");
        }
        let packed = opened["replications"].as_array().unwrap();
        let unpack = |text: &serde_json::Value| {
            let bytes = STANDARD.decode(text.as_str().unwrap()).unwrap();
            quell_metrics::unpack(&bytes).unwrap()
        };
        let found: Vec<_> = packed.iter().flat_map(unpack).collect();
        let stored = quell_lab::read_results(&bench.path("study")).unwrap();
        assert_eq!(found.len(), 4);
        for (a, b) in found.iter().zip(&stored.replications) {
            assert_eq!(quell_lab::differing_tables(a, b), Ok(Vec::new()));
        }
    }
    // What was changed on the way is found.
    let table = bench.path("study/metrics.parquet");
    let mut bytes = std::fs::read(&table).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&table, bytes).unwrap();
    let ran = bench.run(&["lab", "--dir", "page", "study"]);
    assert!(ran.code == 1 && ran.err.contains("metrics.parquet differs from the file"), "{ran:?}");
}

#[test]
fn what_is_wrong_is_said_before_anything_is_served() {
    let bench = bench();
    bench.file("wrong.toml", &SMALL.replace("count = 4", "coutn = 4"));
    std::fs::create_dir(bench.path("empty")).unwrap();
    for (args, said) in [
        (&["none.toml"][..], "none.toml: cannot read:"),
        (&["wrong.toml"], "flows[0].coutn: unknown key"),
        (&["empty"], "empty: is not a results folder: it has no run.json"),
        (&["--dir", "empty"], "--dir empty: has no index.html; must be a folder with the page"),
        (&["--dir", "small.toml"], "--dir small.toml: is not a folder"),
        (&["--dir", "nowhere"], "--dir nowhere: "),
        (&["--port", "0"], "must be a whole number from 1 to 65535"),
        (&["--port", "65536"], "must be a whole number from 1 to 65535"),
    ] {
        let mut words = vec!["lab", "--no-open"];
        if !args.contains(&"--dir") {
            words.extend(["--dir", "page"]);
        }
        words.extend(args);
        let ran = bench.run(&words);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{words:?}: {ran:?}");
        assert!(ran.err.contains(said), "{words:?}: {ran:?}");
    }
}

#[test]
fn two_run_at_once_and_a_port_that_is_taken_is_named() {
    let bench = bench();
    let (one, two) = (Lab::start(&bench, &[]), Lab::start(&bench, &["small.toml"]));
    assert_ne!(one.port, two.port);
    assert_eq!([one.get("/").status, two.get("/").status], [200, 200]);
    let port = one.port.to_string();
    let ran = bench.run(&["lab", "--dir", "page", "--port", &port]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    assert!(ran.err.contains(&format!("--port {port}: another program uses it")), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn an_interruption_ends_it_quietly() {
    let bench = bench();
    // Not the usual one, which other tests take as soon as it is free.
    let free = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let port = free.to_string();
    let lab = Lab::start(&bench, &["--port", &port]);
    assert_eq!(lab.get("/").status, 200);
    let ran = lab.interrupt();
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
    assert_eq!(ran.err, "Only this machine can reach it; press Ctrl-C to stop.\n");
    // The port is free again at once.
    let again = Lab::start(&bench, &["--port", &port]);
    assert_eq!(again.get("/").status, 200);
}

#[test]
fn a_build_without_the_page_says_how_to_get_it() {
    let bench = Bench::new();
    let mut child = bench.command(&["lab"]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    if line.is_empty() {
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains("run `make lab`") && ran.err.contains("--dir DIR"), "{ran:?}");
        return;
    }
    // The page was there when this command was compiled.
    let port = line.split([':', '/']).nth(4).unwrap().parse().unwrap();
    let lab = Lab { command: child, url: line, port };
    let packed = lab.ask("GET /", &["Accept-Encoding: gzip"]);
    assert_eq!((packed.status, packed.header("Content-Encoding")), (200, Some("gzip")));
    let plain = lab.get("/");
    assert_eq!(plain.header("Content-Encoding"), None);
    assert!(plain.body.starts_with(b"<!doctype html>") && plain.body.len() > packed.body.len());
    assert_ne!(plain.header("ETag"), packed.header("ETag"));
    assert_eq!(plain.header("Vary"), Some("Accept-Encoding"));
}
