//! Calls of tools: each runs this same program, whose output is the answer. Several may be under way.

use std::io;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use oomph_launch::captured::{self, Captured, Group};
use serde_json::{Value, json};

use super::arguments::Asked;

/// As many may be under way at once.
const MOST: usize = 8;

/// A call whose program has not ended.
#[derive(Debug)]
struct Call {
    /// The request that waits for it; `None` where it has been given up.
    id: Option<Value>,
    group: Arc<Group>,
}

/// The calls under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls(Arc<Mutex<Vec<Call>>>);

impl Calls {
    fn all(&self) -> MutexGuard<'_, Vec<Call>> {
        // Entries are added and taken out whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a call, and has the result told once it is there, unless the call has been given up. Where it cannot be
    /// started, why.
    pub(super) fn start(
        &self,
        id: &Value,
        asked: Asked,
        tell: impl FnOnce(Value) + Send + 'static,
    ) -> Result<(), String> {
        if self.all().len() >= MOST {
            return Err(format!("{MOST} calls are under way: wait for one to end"));
        }
        let failed = |error: io::Error| format!("cannot start oomph: {error}");
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(&asked.words);
        if let Some(folder) = &asked.folder {
            let found =
                std::fs::metadata(folder).map_err(|error| format!("cannot open {folder}: {error}"))?;
            if !found.is_dir() {
                return Err(format!("{folder} is not a folder"));
            }
            command.current_dir(folder);
        }
        let program = Captured::start(&mut command, asked.input).map_err(failed)?;
        let group = program.group();
        self.all().push(Call { id: Some(id.clone()), group: Arc::clone(&group) });
        let calls = self.clone();
        thread::spawn(move || {
            let result =
                program.wait().map_or_else(|error| failure(&failed(error)), |output| result(&output));
            let mut all = calls.all();
            let place = all.iter().position(|call| Arc::ptr_eq(&call.group, &group));
            let is_awaited = place.and_then(|place| all.swap_remove(place).id).is_some();
            drop(all);
            if is_awaited {
                tell(result);
            }
        });
        Ok(())
    }

    /// Gives up the call of this request, if it is under way. Nothing more is said of it.
    pub(super) fn give_up(&self, id: &Value) {
        if let Some(call) = self.all().iter_mut().find(|call| call.id.as_ref() == Some(id)) {
            call.id = None;
            let group = [Arc::clone(&call.group)];
            thread::spawn(move || captured::end(&group));
        }
    }

    /// Gives up all of them, and ends their programs before it returns.
    pub(super) fn end(&self) {
        let give_up = |call: &mut Call| {
            call.id = None;
            Arc::clone(&call.group)
        };
        let groups: Vec<Arc<Group>> = self.all().iter_mut().map(give_up).collect();
        captured::end(&groups);
    }

    /// Whether a request of this id is under way.
    pub(super) fn has(&self, id: &Value) -> bool {
        self.all().iter().any(|call| call.id.as_ref() == Some(id))
    }
}

/// What the verb found: its document. Whatever exit code it has, a document is an answer.
fn result(output: &Output) -> Value {
    match serde_json::from_slice::<Value>(&output.stdout) {
        Err(_) => failure(&complaint(output)),
        Ok(document) => {
            // The protocol wants an object. Of several devices or files there is a list.
            let document = if document.is_object() { document } else { json!({ "results": document }) };
            let content = json!([{ "type": "text", "text": document.to_string() }]);
            json!({ "content": content, "structuredContent": document, "isError": false })
        }
    }
}

/// A call that came to no answer, in words for the agent.
pub(super) fn failure(line: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": line }], "isError": true })
}

/// What the verb complains of, in one line.
fn complaint(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.trim().split("\n\n").next().unwrap_or_default();
    let line = first.split_whitespace().collect::<Vec<&str>>().join(" ");
    let line = ["oomph: ", "error: "].iter().find_map(|start| line.strip_prefix(start)).unwrap_or(&line);
    if line.is_empty() {
        format!("oomph ended without an answer ({})", output.status)
    } else {
        line.to_owned()
    }
}
