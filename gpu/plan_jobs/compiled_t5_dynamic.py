"""Seq2seq training of a short T5 with dynamic=True: every batch has lengths of its own; pure bf16, Adafactor."""
import random

import torch
from transformers import T5Config, T5ForConditionalGeneration
from transformers.optimization import Adafactor

random.seed(0)
torch.manual_seed(0)
PAD = 0

config = T5Config(
    vocab_size=32128, d_model=768, d_kv=64, d_ff=2048, num_layers=3, num_decoder_layers=3, num_heads=12,
    feed_forward_proj="gated-gelu", dropout_rate=0.0, tie_word_embeddings=False, decoder_start_token_id=PAD, use_cache=False,
)


def examples(count):
    for _ in range(count):
        source = torch.randint(2, 32000, (random.randint(150, 500),))
        target = torch.randint(2, 32000, (random.randint(40, 160),))
        yield source, target


def collate(pairs):
    """Pad to the longest of the batch."""
    sources, targets = zip(*pairs)
    ids = torch.nn.utils.rnn.pad_sequence(sources, batch_first=True, padding_value=PAD)
    labels = torch.nn.utils.rnn.pad_sequence(targets, batch_first=True, padding_value=-100)
    return {"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": labels}


def main():
    model = T5ForConditionalGeneration(config).to(torch.bfloat16).cuda().train()
    optimizer = Adafactor(model.parameters(), lr=1e-3, relative_step=False, scale_parameter=False, warmup_init=False)
    forward = torch.compile(model, dynamic=True)
    data = list(examples(24 * 5))
    data.sort(key=lambda pair: -len(pair[0]))  # longest first, so that trouble shows early
    for step in range(5):
        batch = collate(data[step * 24 : (step + 1) * 24])
        batch = {key: value.cuda(non_blocking=True) for key, value in batch.items()}
        loss = forward(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(step, tuple(batch["input_ids"].shape), tuple(batch["labels"].shape), round(loss.item(), 3))


if __name__ == "__main__":
    main()
