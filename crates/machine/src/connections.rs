//! Connections over HTTP: one request each, bounded in number, size and time. Each has a thread of its own, so whoever sends
//! nothing keeps nobody waiting.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The longest request that is read.
const LONGEST: usize = 8 << 10;
/// How long a request may take to arrive, and its answer to leave.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many are answered at once. Who comes then waits until one of them is done.
const MOST: usize = 64;

/// Answers requests for as long as the program runs. `respond` gets the head of a request, or `None` where it is longer
/// than any we answer, and gives all bytes of the answer. What goes wrong with one connection ends that connection only.
pub fn forever<Respond: Fn(Option<&str>) -> Vec<u8> + Sync>(listener: &TcpListener, respond: Respond) -> ! {
    let places = Places { taken: Mutex::new(0), given_back: Condvar::new() };
    thread::scope(|scope| {
        loop {
            places.take();
            let Ok((stream, _)) = listener.accept() else {
                // Out of file descriptors, say: others may be given back by and by.
                places.give_back();
                thread::sleep(Duration::from_millis(100));
                continue;
            };
            scope.spawn(|| {
                // The other side went away or took too long, so there is nobody to report to.
                let _ = answer(stream, &respond);
                places.give_back();
            });
        }
    })
}

/// Places for those who are answered at once.
struct Places {
    taken: Mutex<usize>,
    given_back: Condvar,
}

impl Places {
    fn take(&self) {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.given_back.wait_while(taken, |taken| *taken >= MOST);
        *free.unwrap_or_else(PoisonError::into_inner) += 1;
    }

    fn give_back(&self) {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.given_back.notify_one();
    }
}

/// Reads one request and answers it.
fn answer(mut stream: TcpStream, respond: &impl Fn(Option<&str>) -> Vec<u8>) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = head(&mut stream)?;
    stream.write_all(&respond(head.as_deref()))?;
    stream.shutdown(Shutdown::Write)?;
    // A connection that is closed with something unread is reset, and the answer may be lost with it.
    let mut rest = [0; 1024];
    let deadline = Instant::now() + PATIENCE;
    for _ in 0..64 {
        match deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            Some(left) => stream.set_read_timeout(Some(left))?,
            None => break,
        }
        if stream.read(&mut rest)? == 0 {
            break;
        }
    }
    Ok(())
}

/// A request up to the empty line that ends its head; `None` where it is longer than any we answer.
fn head(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let deadline = Instant::now() + PATIENCE;
    let mut bytes = Vec::new();
    let mut part = [0; 1024];
    loop {
        let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        stream.set_read_timeout(Some(left.ok_or(io::ErrorKind::TimedOut)?))?;
        let read = stream.read(&mut part)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&part[..read]);
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            bytes.truncate(end);
            return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
        }
        if bytes.len() > LONGEST {
            return Ok(None);
        }
    }
}
