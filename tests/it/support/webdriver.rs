//! A browser driven over WebDriver: HTTP and JSON, as chromedriver speaks it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// One window of a headless browser. Both the browser and its driver end with it.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    /// Its own settings and caches, new and empty.
    _profile: tempfile::TempDir,
}

impl Browser {
    /// A window of so many pixels; `None`, and a word about it, where no browser is here.
    pub fn open(width: u32, height: u32, phone: bool) -> Option<Self> {
        let (Ok(program), Ok(browser)) =
            (std::env::var("ROWCLIFF_TEST_CHROMEDRIVER"), std::env::var("ROWCLIFF_TEST_CHROMIUM"))
        else {
            eprintln!("left out: no browser (ROWCLIFF_TEST_CHROMEDRIVER and ROWCLIFF_TEST_CHROMIUM are not set)");
            return None;
        };
        let mut driver = Command::new(program)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines
            .by_ref()
            .map_while(Result::ok)
            .filter_map(|line| line.split("on port ").nth(1)?.trim_end_matches('.').parse().ok())
            // The first line repeats what was asked for: any.
            .find(|&port| port != 0)
            .expect("chromedriver says its port");
        // It may write more, and must not wait for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        let profile = tempfile::tempdir().unwrap();
        let mut arguments: Vec<String> = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
        ]
        .map(str::to_owned)
        .to_vec();
        arguments.push(format!("--user-data-dir={}", profile.path().display()));
        arguments.push(format!("--window-size={width},{height}"));
        let mut options = json!({ "args": arguments, "binary": browser });
        if phone {
            let metrics = json!({ "width": width, "height": height, "pixelRatio": 2.0, "touch": true });
            options["mobileEmulation"] = json!({ "deviceMetrics": metrics });
        }
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        } } });
        let mut browser = Self { driver, port, session: String::new(), _profile: profile };
        let opened = browser.ask("POST", "/session", &wanted);
        browser.session = opened["sessionId"].as_str().expect("a session").to_owned();
        Some(browser)
    }

    /// Opens a page and waits until it has loaded.
    pub fn go(&self, url: &str) {
        self.command("/url", &json!({ "url": url }));
    }

    /// Runs a function body in the page and gives what it returns.
    pub fn script(&self, body: &str) -> Value {
        self.command("/execute/sync", &json!({ "script": body, "args": [] }))
    }

    /// Moves the mouse to a place of the window.
    pub fn point_at(&self, x: f64, y: f64) {
        let moves =
            json!([{ "type": "pointerMove", "duration": 0, "x": x.round(), "y": y.round(), "origin": "viewport" }]);
        let mouse = json!({ "type": "pointer", "id": "m", "parameters": { "pointerType": "mouse" }, "actions": moves });
        self.command("/actions", &json!({ "actions": [mouse] }));
    }

    /// Presses and releases a key; arrows are `\u{E014}` (right) and `\u{E015}` (down).
    pub fn press(&self, key: char) {
        let strokes = json!([{ "type": "keyDown", "value": key }, { "type": "keyUp", "value": key }]);
        self.command("/actions", &json!({ "actions": [{ "type": "key", "id": "k", "actions": strokes }] }));
    }

    /// What the page has said in its console, as far as it is a warning or worse.
    pub fn complaints(&self) -> Vec<Value> {
        let said = self.command("/se/log", &json!({ "type": "browser" }));
        said.as_array().cloned().unwrap_or_default().into_iter().filter(|line| line["level"] != "INFO").collect()
    }

    /// The addresses that the page has asked for.
    pub fn requests(&self) -> Vec<String> {
        let said = self.command("/se/log", &json!({ "type": "performance" }));
        let events = said.as_array().cloned().unwrap_or_default();
        events
            .iter()
            .filter_map(|event| serde_json::from_str::<Value>(event["message"].as_str()?).ok())
            .filter(|event| event["message"]["method"] == "Network.requestWillBeSent")
            .filter_map(|event| Some(event["message"]["params"]["request"]["url"].as_str()?.to_owned()))
            .collect()
    }

    /// What the window shows, as PNG.
    pub fn screenshot(&self) -> Vec<u8> {
        let path = format!("/session/{}/screenshot", self.session);
        let text = self.ask("GET", &path, &Value::Null);
        decode_base64(text.as_str().expect("a picture"))
    }

    fn command(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", &format!("/session/{}{path}", self.session), body)
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.try_ask(method, path, body).expect("chromedriver answers");
        assert!(answer["value"]["error"].is_null(), "{method} {path}: {}", answer["value"]);
        answer["value"].clone()
    }

    fn try_ask(&self, method: &str, path: &str, body: &Value) -> std::io::Result<Value> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json; charset=utf-8\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        )?;
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer)?;
        Ok(serde_json::from_slice(&answer)?)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // This ends the browser, and must not panic: the test may be doing so already.
        if !self.session.is_empty() {
            let _ = self.try_ask("DELETE", &format!("/session/{}", self.session), &Value::Null);
        }
        if let Ok(id) = i32::try_from(self.driver.id())
            && let Some(id) = rustix::process::Pid::from_raw(id)
        {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        let _ = self.driver.wait();
    }
}

fn decode_base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u32> = text.bytes().filter_map(value).map(u32::from).collect();
    digits
        .chunks(4)
        .flat_map(|chunk| {
            let bits = chunk.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - chunk.len()));
            bits.to_be_bytes()[1..chunk.len()].to_vec()
        })
        .collect()
}
