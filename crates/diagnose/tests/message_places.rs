//! From tracebacks to the user's own line, what the job did there, and shapes of failure that are known.

use oomph_diagnose::message::read;

const OOM: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";

/// `file:line function phase shape` of the first report.
fn check(log: &str, expected: &str) {
    let log = read(log.as_bytes()).expect("memory can be read");
    let oom = log.reports.first().expect("a report");
    let place = oom.place.as_ref().map_or_else(
        || "nowhere".to_owned(),
        |place| {
            let phase = oom.phase.map_or("-", |phase| phase.name());
            format!("{}:{} {} {phase}", place.line.file, place.line.line, place.line.function)
        },
    );
    let shape = oom.shape.map_or("-", |shape| shape.name);
    assert_eq!(format!("{place} {shape}"), expected);
}

#[test]
fn python_tracebacks_lead_to_the_users_deepest_line() {
    let head = "Traceback (most recent call last):\n  File \"train.py\", line 90, in <module>\n    main()\n";
    let library = "/venv/lib/python3.11/site-packages/torch";
    for (frames, expected) in [
        (
            format!(
                "  File \"train.py\", line 61, in main\n    loss = F.cross_entropy(logits.view(-1, v), y)\n  File \"{library}/nn/functional.py\", line 3, in cross_entropy\n    return torch._C._nn.cross_entropy_loss(\n"
            ),
            "train.py:61 main forward logits_copy",
        ),
        (
            format!(
                "  File \"train.py\", line 62, in main\n    loss.backward()\n  File \"{library}/_tensor.py\", line 3, in backward\n    torch.autograd.backward(\n  File \"{library}/autograd/__init__.py\", line 9, in backward\n    _engine_run_backward(\n"
            ),
            "train.py:62 main backward -",
        ),
        (
            format!(
                "  File \"train.py\", line 63, in main\n    optimizer.step()\n  File \"{library}/optim/adam.py\", line 3, in _init_group\n    state[\"exp_avg\"] = torch.zeros_like(\n"
            ),
            "train.py:63 main optimizer optimizer_state",
        ),
        (
            format!(
                "  File \"train.py\", line 64, in evaluate\n    out = model(x)\n  File \"{library}/nn/modules/module.py\", line 3, in _call_impl\n    return forward_call(*args, **kwargs)\n"
            ),
            "train.py:64 evaluate evaluation evaluation_graphs",
        ),
        (
            "  File \"train.py\", line 65, in evaluate\n    preds = torch.cat(preds)\n".to_owned(),
            "train.py:65 evaluate evaluation predictions_on_device",
        ),
        (
            format!(
                "  File \"train.py\", line 66, in resume\n    state = torch.load(path)\n  File \"{library}/serialization.py\", line 3, in load\n    return _load(\n"
            ),
            "train.py:66 resume checkpoint_load checkpoint_on_device",
        ),
        (
            format!(
                "  File \"train.py\", line 67, in main\n    model.to(device)\n  File \"{library}/nn/modules/module.py\", line 3, in convert\n    return t.to(\n"
            ),
            "train.py:67 main first_step model_move",
        ),
    ] {
        check(&format!("{head}{frames}{OOM}\n"), expected);
        let ranked: String = format!("{head}{frames}{OOM}\n")
            .lines()
            .map(|line| format!("[rank1]: {line}\n[rank0]: busy\n"))
            .collect();
        check(&ranked, expected);
    }
}

#[test]
fn notebooks_lead_to_the_cell() {
    check(
        &format!(
            "OutOfMemoryError                          Traceback (most recent call last)\nCell In[3], line 5\n      3 x = 1\n----> 5 train(model)\n\nCell In[2], line 12, in train(model)\n     11 for x in data:\n---> 12     loss.backward()\n\nFile /opt/lib/python3.11/site-packages/torch/_tensor.py:525, in Tensor.backward(self)\n    524 \n--> 525 torch.autograd.backward(\n\n{OOM}"
        ),
        "Cell In[2]:12 train backward -",
    );
    check(
        &format!(
            "RuntimeError  Traceback (most recent call last)\n<ipython-input-3-abc> in <module>\n      1 a = 1\n----> 2 out = model(x)\n\n/usr/lib/python3/dist-packages/torch/nn/modules/module.py in _call_impl(self, *input)\n    725             result = self._slow_forward(*input)\n--> 727             result = self.forward(*input)\n\n{OOM}"
        ),
        "<ipython-input-3-abc>:2 <module> forward -",
    );
}

#[test]
fn a_cell_whose_name_was_lost_is_the_users() {
    check(
        &format!(
            "Traceback (most recent call last):\nFile \"\", line 7, in crop\n    y = pad(x)\nFile \"/usr/lib/python3/dist-packages/pad.py\", line 3, in pad\n    return x\n{OOM}\n"
        ),
        ":7 crop - -",
    );
}

#[test]
fn a_retry_inside_the_handler_is_seen() {
    check(
        &format!("Traceback (most recent call last):\n  File \"a.py\", line 1, in step\n    model(x)\n{OOM}\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"a.py\", line 9, in step\n    model(x[:4])\n{OOM}\n").replacen("2.00 GiB", "4.00 GiB", 1),
        "a.py:1 step forward -",
    );
    let second = format!(
        "{}\n{OOM}\n",
        "During handling of the above exception, another exception occurred:\nTraceback (most recent call last):\n  File \"a.py\", line 9, in step\n    model(x[:4])"
    );
    let log = read(format!("{OOM}\n{}{second}", "\n".repeat(9)).replacen("2.00", "4.00", 1).as_bytes())
        .expect("memory can be read");
    assert_eq!(log.reports[1].shape.map(|shape| shape.name), Some("retry_in_handler"));
}

#[test]
fn nothing_is_made_up_without_a_traceback() {
    check(OOM, "nowhere -");
}
