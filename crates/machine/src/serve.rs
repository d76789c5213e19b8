//! One page over HTTP, for those who ask again and again, such as Prometheus.
//!
//! It is as small as it can be: GET and HEAD of one path. The page is made for one at a time.

use std::net::TcpListener;
use std::sync::{Mutex, PoisonError};

use crate::connections;

/// The path that the page is at.
pub const PATH: &str = "/metrics";

/// A page to be served.
#[derive(Clone, Copy, Debug)]
pub struct Page<Body> {
    /// Its media type.
    pub content_type: &'static str,
    /// Its text, made anew for each request.
    pub body: Body,
}

/// Answers requests for as long as the program runs.
pub fn forever<Body: Fn() -> String + Sync>(listener: &TcpListener, page: &Page<Body>) -> ! {
    let making = Mutex::new(());
    let page = Page {
        content_type: page.content_type,
        body: || {
            let _one_at_a_time = making.lock().unwrap_or_else(PoisonError::into_inner);
            (page.body)()
        },
    };
    connections::forever(listener, |head| response(head, &page))
}

/// The whole answer to a request's head.
fn response<Body: Fn() -> String>(head: Option<&str>, page: &Page<Body>) -> Vec<u8> {
    let plain = "text/plain; charset=utf-8";
    let line = head.map(|head| head.lines().next().unwrap_or_default());
    let words: Option<Vec<&str>> = line.map(|line| line.split(' ').collect());
    let (status, kind, body, sends_body) = match words.as_deref() {
        None => ("431 Request Header Fields Too Large", plain, "the request is too long\n".to_owned(), true),
        Some([method @ ("GET" | "HEAD"), target, version]) if version.starts_with("HTTP/1.") => {
            let path = target.split('?').next().unwrap_or_default();
            let (status, kind, body) = if path == PATH {
                ("200 OK", page.content_type, (page.body)())
            } else {
                ("404 Not Found", plain, format!("oomph's metrics are at {PATH}\n"))
            };
            (status, kind, body, *method == "GET")
        }
        Some([_, _, version]) if version.starts_with("HTTP/1.") => {
            ("405 Method Not Allowed", plain, "only GET and HEAD\n".to_owned(), true)
        }
        Some(_) => ("400 Bad Request", plain, "this is not a request of HTTP/1\n".to_owned(), true),
    };
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{allow}Connection: close\r\n\r\n",
        body.len()
    );
    let mut bytes = head.into_bytes();
    if sends_body {
        bytes.extend_from_slice(body.as_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read, Write};
    use std::net::TcpStream;
    use std::thread;

    use super::*;

    fn check(head: Option<&str>, expected: &str) {
        let page = Page { content_type: "text/plain", body: || "a 1\n".to_owned() };
        let found = String::from_utf8(response(head, &page)).expect("the answer is text");
        assert_eq!(found, expected.replace('\n', "\r\n").replace("\r\n$", "\n"), "{head:?}");
    }

    #[test]
    fn requests_get_what_http_says_they_get() {
        let page = "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 4\nConnection: close\n\n";
        check(Some("GET /metrics HTTP/1.1\r\nHost: x"), &format!("{page}a 1\n$"));
        check(Some("GET /metrics?x=1 HTTP/1.0"), &format!("{page}a 1\n$"));
        check(Some("HEAD /metrics HTTP/1.1"), page);
        let error = |status: &str, more: &str, body: &str| {
            format!(
                "HTTP/1.1 {status}\nContent-Type: text/plain; charset=utf-8\nContent-Length: {}\n\
                 {more}Connection: close\n\n{body}\n$",
                body.len() + 1
            )
        };
        check(Some("GET / HTTP/1.1"), &error("404 Not Found", "", "oomph's metrics are at /metrics"));
        check(
            Some("POST /metrics HTTP/1.1"),
            &error("405 Method Not Allowed", "Allow: GET, HEAD\n", "only GET and HEAD"),
        );
        let bad = error("400 Bad Request", "", "this is not a request of HTTP/1");
        for head in ["", "GET", "GET /metrics", "GET /metrics SPDY", "\u{1}\u{2}"] {
            check(Some(head), &bad);
        }
        check(None, &error("431 Request Header Fields Too Large", "", "the request is too long"));
    }

    #[test]
    fn who_sends_nothing_keeps_nobody_waiting() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        thread::spawn(move || {
            forever(&listener, &Page { content_type: "text/plain", body: || "a 1\n".to_owned() })
        });
        let idle: Vec<TcpStream> =
            (0..20).map(|_| TcpStream::connect(address).expect("it listens")).collect();
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        assert!(answer.ends_with("\r\n\r\na 1\n"), "{answer}");
        let is_open = |mut stream: &TcpStream| {
            stream.set_nonblocking(true).expect("it is a socket");
            stream.read(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        };
        assert!(idle.iter().any(is_open), "it was answered after the others had been given up");
    }
}
