//! Who is answered: whoever knows the token, on this machine, from the page itself.

use std::fs::File;
use std::io::{self, Read};
use std::net::TcpListener;
use std::sync::OnceLock;

use oomph_report::view;

use super::session::Session;
use crate::connections;

/// A secret of 128 bits that every address of the page begins with.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// From the system's source of chance.
    pub fn random() -> io::Result<Token> {
        let mut bytes = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// As it stands in the address.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Compares in a time that does not tell how much was right.
    fn is(&self, text: &str) -> bool {
        let differs = self.0.bytes().zip(text.bytes()).fold(0, |found, (a, b)| found | (a ^ b));
        text.len() == self.0.len() && differs == 0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// Answers the page for as long as the program runs. What it asks of recordings waits until they are read.
pub fn serve(listener: &TcpListener, token: &Token, session: &OnceLock<Session>) -> ! {
    let page = Page { html: view::served(), policy: view::served_policy() };
    let ask = |key: &str, only: &str| session.wait().answer(key, only);
    connections::forever(listener, |head| answer(head, token, &page, &ask))
}

struct Page {
    html: String,
    policy: String,
}

/// What is asked of the session: a key, and a filter.
type Ask<'a> = dyn Fn(&str, &str) -> Option<Vec<u8>> + 'a;

fn answer(head: Option<&str>, token: &Token, page: &Page, ask: &Ask<'_>) -> Vec<u8> {
    let plain =
        |status: &str, text: &str| response(status, "text/plain; charset=utf-8", text.as_bytes(), page);
    let Some(head) = head else {
        return plain("431 Request Header Fields Too Large", "the request is too long\n");
    };
    let request = Request::read(head);
    let Some(request) = request else { return plain("400 Bad Request", "this is not a request of HTTP/1\n") };
    if !request.is_from_here() {
        return plain("403 Forbidden", "this page is for this machine only\n");
    }
    let (path, query) = request.target.split_once('?').unwrap_or((request.target, ""));
    let inside = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    let Some((_, inside)) = inside.filter(|(given, _)| token.is(given)) else {
        return plain("404 Not Found", "nothing is here\n");
    };
    if request.method != "GET" {
        return plain("405 Method Not Allowed", "only GET\n");
    }
    if inside.is_empty() {
        return response("200 OK", "text/html; charset=utf-8", page.html.as_bytes(), page);
    }
    let only = query.strip_prefix("only=").unwrap_or_default();
    match inside.strip_prefix("data/").and_then(|key| ask(key, only)) {
        Some(bytes) => response("200 OK", "application/octet-stream", &bytes, page),
        None => plain("404 Not Found", "nothing is here\n"),
    }
}

fn response(status: &str, kind: &str, body: &[u8], page: &Page) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nContent-Security-Policy: {}\r\n\
         X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Cross-Origin-Opener-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n\
         Connection: close\r\n\r\n",
        body.len(),
        page.policy
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// What matters of a request.
struct Request<'a> {
    method: &'a str,
    target: &'a str,
    head: &'a str,
}

impl<'a> Request<'a> {
    fn read(head: &'a str) -> Option<Request<'a>> {
        let words: Vec<&str> = head.lines().next()?.split(' ').collect();
        match words.as_slice() {
            [method, target, version] if version.starts_with("HTTP/1.") => {
                Some(Request { method, target, head })
            }
            _ => None,
        }
    }

    fn header(&self, name: &str) -> Option<&'a str> {
        let mut lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// Whether the browser took us for this machine, under whatever port that was forwarded, and no other site's page sent
    /// it. Another name that leads here is somebody's trick.
    fn is_from_here(&self) -> bool {
        let Some(host) = self.header("Host").filter(|host| is_this_machine(host)) else { return false };
        let origin = self.header("Origin");
        if origin.is_some_and(|origin| origin != format!("http://{host}")) {
            return false;
        }
        let site = self.header("Sec-Fetch-Site").unwrap_or("none");
        matches!(site, "same-origin" | "none") || self.header("Sec-Fetch-Mode") == Some("navigate")
    }
}

fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(name, "127.0.0.1" | "localhost" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(head: &str) -> String {
        let token = Token("0123456789abcdef0123456789abcdef".to_owned());
        let page = Page { html: "<p>".to_owned(), policy: "default-src 'none'".to_owned() };
        let ask = |key: &str, only: &str| (key == "list").then(|| only.as_bytes().to_vec());
        let bytes = answer(Some(&head.replace('\n', "\r\n")), &token, &page, &ask);
        String::from_utf8_lossy(&bytes).lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn only_the_page_itself_is_answered() {
        let token = "0123456789abcdef0123456789abcdef";
        let good = "Host: 127.0.0.1:4000";
        let check = |target: &str, headers: &str, expected: &str| {
            let found = status(&format!("GET {target} HTTP/1.1\n{headers}"));
            assert_eq!(found, format!("HTTP/1.1 {expected}"), "{target} {headers}");
        };
        check(&format!("/{token}/"), good, "200 OK");
        check(&format!("/{token}/data/list"), good, "200 OK");
        check(
            &format!("/{token}/data/list"),
            "Host: localhost:9999\nOrigin: http://localhost:9999",
            "200 OK",
        );
        check(&format!("/{token}/data/other"), good, "404 Not Found");
        check("/", good, "404 Not Found");
        check("/data/list", good, "404 Not Found");
        check("/0123456789abcdef0123456789abcdee/data/list", good, "404 Not Found");
        check(&format!("/{}/data/list", &token[..31]), good, "404 Not Found");
        check(&format!("/{token}/"), "Host: evil.example:4000", "403 Forbidden");
        check(&format!("/{token}/"), "Host: 127.0.0.1.evil.example", "403 Forbidden");
        check(&format!("/{token}/"), "", "403 Forbidden");
        check(
            &format!("/{token}/data/list"),
            &format!("{good}\nOrigin: http://evil.example"),
            "403 Forbidden",
        );
        check(&format!("/{token}/data/list"), &format!("{good}\nOrigin: null"), "403 Forbidden");
        let other = format!("{good}\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: no-cors");
        check(&format!("/{token}/data/list"), &other, "403 Forbidden");
        // A link that the user follows is a navigation.
        check(&format!("/{token}/"), &other.replace("no-cors", "navigate"), "200 OK");
        assert_eq!(status(&format!("POST /{token}/ HTTP/1.1\n{good}")), "HTTP/1.1 405 Method Not Allowed");
        assert_eq!(status("GET"), "HTTP/1.1 400 Bad Request");
    }
}
