//! `oomph plan --serve` as text: how many sequences fit, what the card is filled with, what would change it.

use oomph_diagnose::results::serve::ServeResult;
use oomph_diagnose::serve::model::{CacheKind, CacheLayers, KnownBy};
use oomph_diagnose::serve::room::Room;

use super::report::Align::{Left, Right};
use super::report::{Colour, Report, row};
use crate::breakdown::Breakdown;
use crate::numbers::{count, counted};

/// How far the parts may be off that a server measures when it starts.
const MEASURED: &str = "vLLM measures activations, graphs and libraries when it starts; here they are estimates, and the cache may be some 0.5 GiB larger or smaller";

/// The report on one card.
pub fn render(result: &ServeResult, colour: Colour) -> String {
    let mut report = Report::new(&headline(result, colour), colour);
    report.say_all(result.why_not.as_ref().map(|why| ("Why", why)));
    if let Some(room) = &result.room {
        report.say("Model", model(result));
        report.say("Cache", cache(result, room));
        report.gap();
        report.breakdown(&Breakdown::served(result, room));
        lengths(&mut report, result);
        said_by_vllm(&mut report, result, room);
        changes(&mut report, result);
    }
    notes(
        &mut report,
        result.remarks.iter().map(String::as_str).chain(result.room.map(|_| MEASURED)).collect(),
    );
    report.finish()
}

fn headline(result: &ServeResult, colour: Colour) -> String {
    let card = &result.card;
    let place = match result.setup.cards {
        1 => format!("on the {} ({})", card.short, card.total),
        cards => format!("on {cards} of the {} ({} each)", card.short, card.total),
    };
    let of = format!("of {}", counted(result.setup.context, "token"));
    let Some(room) = &result.room else {
        return colour.bad(&format!("cannot tell how many sequences fit {place}"));
    };
    let fitting = counted(room.sequences(), "sequence");
    match (result.fits(), result.setup.sequences, room.missing.0) {
        (Some(true), None, _) => colour.good(&format!("fits {place}: {fitting} {of}")),
        (Some(true), Some(asked), _) => {
            let asked = counted(asked, "sequence");
            colour.good(&format!("fits {place}: {asked} {of}; {} would", count(room.sequences())))
        }
        (_, _, 1..) => colour.bad(&format!("does not fit {place}: {} short without any cache", room.missing)),
        (_, None, _) => colour.bad(&format!("does not fit {place}: not even one sequence {of}")),
        (_, Some(asked), _) => {
            let asked = counted(asked, "sequence");
            colour.bad(&format!("does not fit {place}: {asked} {of}; {} would", count(room.sequences())))
        }
    }
}

/// `Llama-3.1-8B: 8.03 billion parameters, weights in bf16`.
fn model(result: &ServeResult) -> String {
    let (model, setup) = (&result.model, &result.setup);
    let by = match model.known_by {
        KnownBy::Built => "as transformers builds it",
        KnownBy::Fields => "by the fields of its configuration",
    };
    let parameters = match model.parameters as f64 {
        n if n >= 1e9 => format!("{:.2} billion", n / 1e9),
        n if n >= 1e6 => format!("{:.1} million", n / 1e6),
        _ => count(model.parameters),
    };
    format!("{}: {parameters} parameters, {by}; weights in {}", model.name, setup.weights.name())
}

/// `128.00 KiB a token in bf16: 32 layers with 8 heads`.
fn cache(result: &ServeResult, room: &Room) -> String {
    let (model, setup) = (&result.model, &result.setup);
    let layers: Vec<String> = model.layers.iter().map(kept).collect();
    let token = model.token(setup.cache, setup.cards);
    let each = if model.is_even() {
        format!("{token} a token")
    } else {
        format!("{} a sequence of {}", room.sequence, counted(setup.context, "token"))
    };
    format!("{each} in {}: {}", setup.cache.name(), layers.join(", "))
}

fn kept(layers: &CacheLayers) -> String {
    let number = counted(layers.count, "layer");
    let heads = counted(layers.heads, "head");
    match (layers.kind, layers.window) {
        (CacheKind::Sliding, Some(window)) => {
            format!("{number} of {heads} with a window of {}", count(window))
        }
        (CacheKind::Latent, _) => format!("{number} of latents ({} numbers)", count(layers.per_token)),
        (CacheKind::State, _) => format!("{number} with a state of fixed size"),
        (CacheKind::Full | CacheKind::Sliding, _) => format!("{number} of {heads}"),
    }
}

fn lengths(report: &mut Report, result: &ServeResult) {
    report.gap();
    report.heading("By length");
    let mut rows = vec![row!["context", "cache each", "sequences", ""]];
    for one in &result.contexts {
        let asked = if one.context == result.setup.context { "asked for" } else { "" };
        rows.push(row![count(one.context), one.sequence_bytes, count(one.sequences), asked]);
    }
    report.table(2, &[Right, Right, Right, Left], &rows);
}

/// The two lines that vLLM logs.
fn said_by_vllm(report: &mut Report, result: &ServeResult, room: &Room) {
    report.gap();
    report.heading("vLLM would log");
    report.line(&format!("    GPU KV cache size: {} tokens", count(room.tokens)));
    let context = count(result.setup.context);
    report
        .line(&format!("    Maximum concurrency for {context} tokens per request: {:.2}x", room.concurrency));
}

fn changes(report: &mut Report, result: &ServeResult) {
    if result.changes.is_empty() {
        return;
    }
    report.gap();
    report.heading("What would change it");
    let mut rows = vec![row!["sequences", "change", "do"]];
    for change in &result.changes {
        rows.push(row![count(change.sequences), change.change, change.instruction]);
    }
    report.table(2, &[Right, Left, Left], &rows);
}

fn notes(report: &mut Report, notes: Vec<&str>) {
    if !notes.is_empty() {
        report.gap();
    }
    report.say_all(notes.into_iter().map(|note| ("Note", note)));
}

/// A table over several cards, in the order given.
pub fn cards(results: &[ServeResult], colour: Colour) -> String {
    let fitting = results.iter().filter(|result| result.fits() == Some(true)).count();
    let Some(first) = results.first() else { return String::new() };
    let of = counted(first.setup.context, "token");
    let what = match first.setup.sequences {
        Some(asked) => format!("{} of {of}", counted(asked, "sequence")),
        None => format!("sequences of {of}"),
    };
    let title = match &first.room {
        Some(_) => format!("{what} fit on {fitting} of {} cards", results.len()),
        None => format!("cannot tell how many {what} fit"),
    };
    let mut report = Report::new(&title, colour);
    report.say_all(first.why_not.as_ref().map(|why| ("Why", why)));
    if let Some(room) = &first.room {
        report.say("Model", model(first));
        report.say("Cache", cache(first, room));
        report.gap();
        let mut rows = vec![row!["", "memory", "weights", "cache", "tokens", "sequences"]];
        for result in results {
            let Some(room) = &result.room else { continue };
            let card = &result.card;
            let (tokens, sequences) = (count(room.tokens), count(room.sequences()));
            rows.push(row![card.short, card.total, room.weights, room.cache, tokens, sequences]);
        }
        report.table(2, &[Left, Right, Right, Right, Right, Right], &rows);
    }
    let mut said: Vec<&str> = Vec::new();
    for note in results.iter().flat_map(|result| &result.remarks).map(String::as_str) {
        if !said.contains(&note) {
            said.push(note);
        }
    }
    said.extend(first.room.map(|_| MEASURED));
    notes(&mut report, said);
    report.finish()
}
