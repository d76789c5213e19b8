//! Every rule on a small program, broken and cured; the changes that are tried; what comments leave alone; notebooks;
//! what `--fix` writes.

use expect_test::{Expect, expect};
use oomph_lint::{Change, Kind, Rule, changed, changes, fixed, lint};

/// What programs here begin with.
const BEFORE: &str = "\
import copy, functools, gc, itertools, math
import numpy as np
import torch, keras
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torchmetrics.classification import BinaryAveragePrecision
model = nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(model.parameters())
loader = DataLoader(TensorDataset(torch.zeros(9, 8), torch.zeros(9, 8)))
";

/// A training loop around what is given.
fn trained(step: &str) -> String {
    let step = step.replace('\n', "\n    ");
    format!(
        "kept, total = [], 0.0\nfor x, y in loader:\n    out = model(x.cuda())\n    loss = F.mse_loss(out, y.cuda())\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n    {step}\n"
    )
}

fn rules(program: &str) -> Vec<String> {
    let source = format!("{BEFORE}{program}");
    let found = lint(&source, Kind::Python).expect("the programs of this file are Python");
    found.iter().map(|each| each.rule.id()).collect()
}

/// A program with its fault and one without, for each rule.
fn cases() -> Vec<(Rule, String, String)> {
    let step = trained;
    let plain = str::to_owned;
    vec![
        (Rule::GraphKept, step("kept.append(loss)"), step("kept.append(loss.item())")),
        (
            Rule::Evaluation,
            plain(
                "def evaluate(model):\n    model.eval()\n    for x, y in loader:\n        print(model(x).argmax())\nevaluate(model)\n",
            ),
            plain(
                "@torch.no_grad()\ndef evaluate(model):\n    model.eval()\n    for x, y in loader:\n        print(model(x).argmax())\nevaluate(model)\n",
            ),
        ),
        (Rule::OutputsOnGpu, step("kept.append(out.detach())"), step("kept.append(out.detach().cpu())")),
        (
            Rule::Load,
            plain("model.load_state_dict(torch.load('model.pt'))\n"),
            plain("model.load_state_dict(torch.load('model.pt', map_location='cpu'))\n"),
        ),
        (
            Rule::Retry,
            plain(
                "def ask(x):\n    try:\n        return model(x)\n    except torch.OutOfMemoryError:\n        return torch.cat([model(part) for part in x.chunk(2)])\n",
            ),
            plain(
                "def ask(x):\n    try:\n        return model(x)\n    except torch.OutOfMemoryError:\n        pass\n    return torch.cat([model(part) for part in x.chunk(2)])\n",
            ),
        ),
        (
            Rule::RetainGraph,
            plain("for x, y in loader:\n    F.mse_loss(model(x), y).backward(retain_graph=True)\n"),
            plain("for x, y in loader:\n    F.mse_loss(model(x), y).backward()\n"),
        ),
        (
            Rule::Hooks,
            step("model.register_forward_hook(print)"),
            step("handle = model.register_forward_hook(print)\nhandle.remove()"),
        ),
        (
            Rule::LogitsInFloat,
            plain(
                "def language_loss(lm_head, x, y):\n    logits = lm_head(x).float()\n    return F.cross_entropy(logits, y)\n",
            ),
            plain(
                "def language_loss(lm_head, x, y):\n    logits = lm_head(x)\n    return F.cross_entropy(logits, y)\n",
            ),
        ),
        (
            Rule::RecurrentState,
            plain(
                "rnn = nn.GRUCell(8, 8).cuda()\nh = torch.zeros(4, 8).cuda()\nfor x, y in loader:\n    h = rnn(x, h)\n    F.mse_loss(h, y).backward()\n",
            ),
            plain(
                "rnn = nn.GRUCell(8, 8).cuda()\nh = torch.zeros(4, 8).cuda()\nfor x, y in loader:\n    h = rnn(x, h)\n    F.mse_loss(h, y).backward()\n    h = h.detach()\n",
            ),
        ),
        (Rule::EmptyCache, step("torch.cuda.empty_cache()"), plain("torch.cuda.empty_cache()\n")),
        (
            Rule::ListsInWorkers,
            plain(
                "class Lines(Dataset):\n    def __init__(self):\n        self.lines = [line for line in open('a')]\nDataLoader(Lines(), num_workers=4)\n",
            ),
            plain(
                "class Lines(Dataset):\n    def __init__(self):\n        self.lines = np.load('a')\nDataLoader(Lines(), num_workers=4)\n",
            ),
        ),
        (
            Rule::DataOnGpu,
            plain("x = torch.zeros(9, 9)\ndata = TensorDataset(x.cuda())\n"),
            plain("x = torch.zeros(9, 9)\ndata = TensorDataset(x)\n"),
        ),
        (
            Rule::KerasModels,
            plain("for fold in range(5):\n    net = keras.Sequential([])\n"),
            plain(
                "for fold in range(5):\n    keras.backend.clear_session()\n    net = keras.Sequential([])\n",
            ),
        ),
        (
            Rule::Pinned,
            plain("buffer = torch.empty(1100 << 20, dtype=torch.uint8, pin_memory=True)\n"),
            plain("buffer = torch.empty(1 << 30, dtype=torch.uint8, pin_memory=True)\n"),
        ),
        (
            Rule::ZeroedGradients,
            plain("optimizer.zero_grad(set_to_none=False)\n"),
            plain("optimizer.zero_grad(set_to_none=True)\n"),
        ),
        (
            Rule::ModelsKept,
            step("kept.append(copy.deepcopy(model.state_dict()))"),
            step("kept.append({name: value.cpu() for name, value in model.state_dict().items()})"),
        ),
        (
            Rule::Cache,
            plain(
                "@functools.lru_cache(maxsize=None)\ndef encode(text):\n    return model(torch.zeros(len(text), 8).cuda())\n",
            ),
            plain(
                "@functools.lru_cache(maxsize=8)\ndef encode(text):\n    return model(torch.zeros(len(text), 8).cuda())\n",
            ),
        ),
        (
            Rule::ErrorsKept,
            plain(
                "kept = []\nfor x, y in loader:\n    try:\n        model(x).sum().backward()\n    except ValueError as error:\n        kept.append(error)\n",
            ),
            plain(
                "kept = []\nfor x, y in loader:\n    try:\n        model(x).sum().backward()\n    except ValueError as error:\n        kept.append(str(error))\n",
            ),
        ),
        (
            Rule::NotScaled,
            plain(
                "for step, (x, y) in enumerate(loader):\n    loss = F.mse_loss(model(x), y)\n    loss.backward()\n    if step % 4 == 3:\n        optimizer.step()\n        optimizer.zero_grad()\n",
            ),
            plain(
                "for step, (x, y) in enumerate(loader):\n    loss = F.mse_loss(model(x), y)\n    (loss / 4).backward()\n    if step % 4 == 3:\n        optimizer.step()\n        optimizer.zero_grad()\n",
            ),
        ),
        (
            Rule::Copies,
            plain("copies = [p.detach().clone().float() for p in model.parameters()]\n"),
            plain("copies = [p.detach().float() for p in model.parameters()]\n"),
        ),
        (
            Rule::Cycle,
            plain("batches = itertools.cycle(loader)\n"),
            plain("def forever():\n    while True:\n        yield from loader\n"),
        ),
        (
            Rule::Pairs,
            plain("a = torch.zeros(9, 9)\nd = (a[:, None, :] - a[None, :, :]).norm(dim=-1)\n"),
            plain("a = torch.zeros(9, 9)\nd = torch.cdist(a, a)\n"),
        ),
        (
            Rule::Attention,
            plain(
                "def attend(q, k, v):\n    weights = (q @ k.transpose(-2, -1) / 8).softmax(-1)\n    return weights @ v\n",
            ),
            plain("def attend(q, k, v):\n    return F.scaled_dot_product_attention(q, k, v)\n"),
        ),
        (
            Rule::OneHot,
            plain("def look_up(tokens, table):\n    return F.one_hot(tokens, 9).float() @ table\n"),
            plain("def look_up(tokens, table):\n    return F.embedding(tokens, table)\n"),
        ),
        (
            Rule::Double,
            plain("x = torch.from_numpy(np.random.rand(9, 9)).cuda()\n"),
            plain("x = torch.from_numpy(np.random.rand(9, 9)).float().cuda()\n"),
        ),
        (
            Rule::SecondModel,
            plain(
                "teacher = nn.Linear(8, 8).cuda()\nfor x, y in loader:\n    F.mse_loss(model(x), teacher(x)).backward()\n",
            ),
            plain(
                "teacher = nn.Linear(8, 8).cuda()\nfor x, y in loader:\n    with torch.no_grad():\n        soft = teacher(x)\n    F.mse_loss(model(x), soft).backward()\n",
            ),
        ),
        (Rule::CollectorOff, plain("gc.disable()\n"), plain("gc.disable()\ngc.collect()\n")),
        (
            Rule::Metric,
            plain("metric = BinaryAveragePrecision()\n"),
            plain("metric = BinaryAveragePrecision(thresholds=100)\n"),
        ),
        (
            Rule::LossesFirst,
            plain(
                "losses = []\nfor x, y in loader:\n    losses.append(F.mse_loss(model(x), y))\ntorch.stack(losses).mean().backward()\n",
            ),
            plain("for x, y in loader:\n    (F.mse_loss(model(x), y) / 4).backward()\n"),
        ),
    ]
}

#[test]
fn every_rule_finds_the_fault_and_not_its_cure() {
    let cases = cases();
    for (rule, broken, cured) in &cases {
        assert_eq!(rules(broken), [rule.id()], "{broken}");
        assert_eq!(rules(cured), Vec::<String>::new(), "{cured}");
    }
    let covered: Vec<Rule> = cases.iter().map(|(rule, _, _)| *rule).collect();
    assert_eq!(covered, Rule::ALL);
}

#[test]
fn every_rule_has_a_change_to_measure_or_says_why_not() {
    let mut shown = String::new();
    for (rule, broken, _) in cases() {
        let source = format!("{BEFORE}{broken}");
        let changes = changes(&source, &|_| true).expect("it is Python");
        let [change] = changes.as_slice() else { panic!("one finding: {broken}") };
        let lines = match change {
            Ok(change) => {
                assert_ne!(changed(&source, &[change]), source);
                change.diff.join("\n  ")
            }
            Err(why) => format!("not: {why}"),
        };
        shown.push_str(&format!("{}\n  {lines}\n", rule.id()));
    }
    expect![[r#"
        OOL001
          - kept.append(loss)
          + kept.append(detached(loss))
        OOL002
          - print(model(x).argmax())
          + with torch.no_grad(): print(model(x).argmax())
        OOL003
          - kept.append(out.detach())
          + kept.append(on_host(out.detach()))
        OOL004
          - model.load_state_dict(torch.load('model.pt'))
          + model.load_state_dict(torch.load('model.pt', map_location="cpu"))
        OOL005
          - try:
          + failed = False
          + try:
          -     return torch.cat([model(part) for part in x.chunk(2)])
          +     failed = True
          + if failed:
          +     return torch.cat([model(part) for part in x.chunk(2)])
        OOL006
          - F.mse_loss(model(x), y).backward(retain_graph=True)
          + F.mse_loss(model(x), y).backward(retain_graph=False)
        OOL007
          - model.register_forward_hook(print)
          + newest(model.register_forward_hook(print))
        OOL008
          - logits = lm_head(x).float()
          + logits = lm_head(x)
        OOL009
          - h = rnn(x, h)
          + h = rnn(x, detached(h))
        OOL010
          not: it costs time, and no memory
        OOL011
          not: it is about the host's memory, and only the GPU's is measured
        OOL012
          - data = TensorDataset(x.cuda())
          + data = TensorDataset(x)
        OOL013
          not: Keras is not measured here: `oomph run` shows what it keeps
        OOL014
          not: it is about the host's memory, and only the GPU's is measured
        OOL015
          - optimizer.zero_grad(set_to_none=False)
          + optimizer.zero_grad(set_to_none=True)
        OOL016
          - kept.append(copy.deepcopy(model.state_dict()))
          + kept.append(on_host(copy.deepcopy(model.state_dict())))
        OOL017
          - @functools.lru_cache(maxsize=None)
          + @functools.lru_cache(maxsize=1)
        OOL018
          - kept.append(error)
          + kept.append(str(error))
        OOL019
          not: it is about the result, and not about memory
        OOL020
          - copies = [p.detach().clone().float() for p in model.parameters()]
          + copies = [p.detach().float() for p in model.parameters()]
        OOL021
          - batches = itertools.cycle(loader)
          + batches = forever(loader)
        OOL022
          not: the fix is another way to compute it, which is yours to write
        OOL023
          not: the fix is another way to compute it, which is yours to write
        OOL024
          - return F.one_hot(tokens, 9).float() @ table
          + return torch.nn.functional.embedding(tokens, table)
        OOL025
          - x = torch.from_numpy(np.random.rand(9, 9)).cuda()
          + x = torch.from_numpy(np.random.rand(9, 9)).float().cuda()
        OOL026
          - F.mse_loss(model(x), teacher(x)).backward()
          + F.mse_loss(model(x), without_graph(teacher)(x)).backward()
        OOL027
          - gc.disable()
          + gc.enable()
        OOL028
          - metric = BinaryAveragePrecision()
          + metric = BinaryAveragePrecision(thresholds=200)
        OOL029
          - losses.append(F.mse_loss(model(x), y))
          + losses.append(gone_through(F.mse_loss(model(x), y)))
    "#]]
    .assert_eq(&shown);
}

#[test]
fn changes_are_made_together_and_edits_in_each_others_way_once() {
    let program = "model.eval()\ntotal = 0.0\nfor x, y in loader:\n    total += F.mse_loss(model(x), y)\n";
    let source = format!("{BEFORE}{program}");
    let changes = changes(&source, &|_| true).expect("it is Python");
    let changes: Vec<&Change> = changes.iter().flatten().collect();
    assert_eq!(changes.len(), 2);
    let twice = [changes[0], changes[1], changes[1]];
    let expected = expect![[r#"
        model.eval()
        total = 0.0
        for x, y in loader:
            with torch.no_grad(): total += F.mse_loss(model(x), y).detach()
    "#]];
    expected.assert_eq(changed(&source, &twice).strip_prefix(BEFORE).expect("the beginning is sound"));
}

#[test]
fn what_is_sound_is_left_alone() {
    let sound = [
        // Losses of one step that are added up for its backward pass.
        "for x, y in loader:\n    loss = 0\n    for part in x.split(2):\n        loss = loss + model(part).sum()\n    loss.backward()\n",
        // A list of outputs that lives for one step.
        "for x, y in loader:\n    outs = []\n    for part in x.split(2):\n        outs.append(model(part))\n    torch.cat(outs).sum().backward()\n",
        // Log-probabilities of an episode, forgotten after the update.
        "class Agent:\n    def __init__(self):\n        self.logs = []\n    def act(self, x):\n        self.logs.append(model(x).log_softmax(-1))\n    def learn(self):\n        torch.stack(self.logs).sum().backward()\n        self.logs.clear()\nagent = Agent()\nfor x, y in loader:\n    agent.act(x)\n",
        // What a model's own code keeps for its result.
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])\n    def forward(self, x):\n        hidden = []\n        for layer in self.layers:\n            x = layer(x)\n            hidden.append(x)\n        return hidden\n",
        // Numbers.
        "total = 0.0\nfor x, y in loader:\n    loss = model(x).sum()\n    loss.backward()\n    total += loss.item()\n    total += float(loss)\n    total += loss.detach().cpu()\n",
        // A branch that never runs.
        "kept = []\nfor x, y in loader:\n    loss = model(x).sum()\n    loss.backward()\n    if False:\n        kept.append(loss)\n",
    ];
    for program in sound {
        assert_eq!(rules(program), Vec::<String>::new(), "{program}");
    }
}

#[test]
fn a_comment_leaves_a_line_alone() {
    let asked = |comment: &str| rules(&trained(&format!("kept.append(loss)  # {comment}")));
    assert_eq!(asked("oomph: ignore"), Vec::<String>::new());
    assert_eq!(asked("oomph: ignore[OOL001]"), Vec::<String>::new());
    assert_eq!(asked("oomph: ignore[OOL003, ool001]: it is small"), Vec::<String>::new());
    assert_eq!(asked("oomph: ignore[OOL003]"), ["OOL001"]);
}

#[test]
fn what_has_nothing_to_do_with_a_framework_is_not_read() {
    assert_eq!(lint("import gc\ngc.disable()\n", Kind::Python), Ok(vec![]));
}

#[test]
fn a_notebook_is_read_cell_by_cell() {
    let cell = |kind: &str, lines: &[&str]| serde_json::json!({ "cell_type": kind, "source": lines });
    let notebook = serde_json::json!({ "cells": [
        cell("markdown", &["# Training"]),
        cell("code", &["%load_ext oomph\n", "!nvidia-smi\n", "import torch\n", "from torch import nn"]),
        cell("code", &["%%bash\n", "ls | head"]),
        cell("code", &["model = nn.Linear(8, 8).cuda()\n", "kept = []\n", "for i in range(99):\n", "    loss = model(x).sum()\n", "    loss.backward()\n", "    kept.append(loss)"]),
    ] });
    let found = lint(&notebook.to_string(), Kind::Notebook).expect("it is a notebook");
    let places: Vec<_> =
        found.iter().map(|each| (each.rule.id(), each.cell, each.line, each.column)).collect();
    assert_eq!(places, [("OOL001".to_owned(), Some(4), 6, 5)]);
    let error = lint("{}", Kind::Notebook).expect_err("it is none");
    assert_eq!(error.message, "this is no notebook");
}

#[test]
fn what_is_not_python_has_its_place() {
    let error = lint("import torch\ndef f(:\n", Kind::Python).expect_err("it is not Python");
    assert_eq!(error.line, 2);
    assert!(error.message.starts_with("this is not Python: "), "{}", error.message);
}

fn check_fix(program: &str, expected: &Expect) {
    let source = format!("{BEFORE}{program}");
    let (mended, _) = fixed(&source, &|_| true).expect("it is Python");
    expected.assert_eq(mended.strip_prefix(BEFORE).expect("the beginning is sound"));
}

#[test]
fn fixes_change_only_what_is_kept() {
    check_fix(
        "total = 0.0\nfor x, y in loader:\n    loss = model(x).sum()\n    loss.backward()\n    total += loss\n    total += loss * 2 + 1\n",
        &expect![[r"
            total = 0.0
            for x, y in loader:
                loss = model(x).sum()
                loss.backward()
                total += loss.detach()
                total += (loss * 2 + 1).detach()
        "]],
    );
    check_fix(
        "optimizer.zero_grad(set_to_none=False)\n",
        &expect![[r"
        optimizer.zero_grad(set_to_none=True)
    "]],
    );
    check_fix(
        "twice = model.weight.cuda().cuda()\n",
        &expect![[r"
        twice = model.weight.cuda()
    "]],
    );
}

#[test]
fn every_page_is_the_rules_own() {
    for rule in Rule::ALL {
        let (name, claim) = rule.words();
        let page = rule.page();
        assert!(page.starts_with(&format!("## {}: {name}\n\n{claim}\n", rule.id())), "{page}");
        assert_eq!(page.matches("## ").count(), 1, "{page}");
    }
}
