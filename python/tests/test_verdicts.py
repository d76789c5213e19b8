"""Verdicts on programs whose fault is known: of verdicts/, the quickest one of each kind of verdict."""

from __future__ import annotations

import json
import sys

import pytest
from conftest import ROOT

VERDICTS = ROOT / "verdicts"
LABELS = {row["file"]: row for row in map(json.loads, (VERDICTS / "labels.jsonl").read_text().splitlines())}

sys.path.append(str(VERDICTS))

import run  # noqa: E402

# The program, and what its verdict has to be: cause, kind.
KNOWN = {
    "115_gradient_noise.py": ("leak", "outputs_kept"),
    "117_gc_disabled_batches.py": ("leak", "reference_cycle"),
    "127_warm_restart_optimizers.py": ("leak", "models_kept"),
    "130_profiling_hooks.py": ("leak", "evaluation_outputs_kept"),
    "140_influence_grads.py": ("leak", "cache_unbounded"),
    "153_llama_sampling_kv.py": ("capacity", "kv_cache"),
    "158_embedding_extraction.py": ("leak", "evaluation_with_graphs"),
    "163_nerf_render.py": ("capacity", "evaluation_with_graphs"),
    "201_resume_finetune.py": ("capacity", "second_copy"),
    "210_clip_by_hand.py": ("capacity", "gathered_at_once"),
    "215_audio_attention.py": ("capacity", "outlier_batch"),
    "218_dense_adjacency.py": ("capacity", "data_on_gpu"),
    "223_recsys_embedding.py": ("capacity", "optimizer_state"),
    "224_series_on_gpu.py": ("capacity", "one_large_tensor"),
    "226_reward_diffusion.py": ("leak", "graphs_kept"),
    "243_tiles_and_results.py": ("fragmentation", "fragmentation"),
    "249_chain_no_inplace.py": ("capacity", "step_too_large"),
    "252_previous_output.py": ("capacity", "evaluation_too_large"),
    "254_grads_of_both.py": ("capacity", "gradients"),
    "304_dense_queue.py": ("leak", "growing_tensor"),
    "314_multilingual_logits.py": ("capacity", "logits"),
    "315_genome_attention.py": ("capacity", "attention_matrix"),
    "318_serving_fp32.py": ("capacity", "weights"),
    "323_find_batch_size.py": ("capacity", "retry_inside_except"),
    "324_three_losses.py": ("capacity", "previous_step_alive"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_verdict_names_cause_line_and_cure(name: str, warm_python: str, oomph_bin: str) -> None:
    code, verdict = run.verdict_of(LABELS[name], False, None, oomph_bin, warm_python, [])
    assert verdict is not None
    assert (code, verdict["cause"], verdict["kind"]) == (1, *KNOWN[name])
    assert run.judge(LABELS[name], verdict) == {"cause": True, "line": True, "advice": True, "harm": False}


def test_every_program_has_a_label() -> None:
    assert sorted(LABELS) == sorted(path.name for path in (VERDICTS / "programs").glob("*.py"))
