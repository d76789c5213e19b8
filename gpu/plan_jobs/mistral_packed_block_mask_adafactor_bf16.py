"""Continue-pretrain a small Mistral in pure bf16 on packed documents: block-diagonal causal masks through SDPA,
positions restarted at every document, Adafactor from transformers."""
import torch
from torch.utils.data import DataLoader, IterableDataset
from transformers import MistralConfig, MistralForCausalLM
from transformers.optimization import Adafactor

SEQ = 4096
BATCH = 4
STEPS = 6
VOCAB = 32000
HIDDEN, LAYERS, HEADS, KV = 1280, 16, 20, 4


class PackedDocuments(IterableDataset):
    """Documents of random length laid end to end; the last one is cut at the sequence end."""

    def __init__(self, sequences, seed):
        self.sequences, self.seed = sequences, seed

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed)
        for _ in range(self.sequences):
            ids = torch.randint(3, VOCAB, (SEQ,), generator=g)
            doc = torch.zeros(SEQ, dtype=torch.long)
            pos = torch.zeros(SEQ, dtype=torch.long)
            start = n = 0
            while start < SEQ:
                length = min(int(torch.randint(64, 1500, (1,), generator=g)), SEQ - start)
                doc[start : start + length] = n
                pos[start : start + length] = torch.arange(length)
                ids[start] = 1
                start, n = start + length, n + 1
            labels = ids.clone()
            labels[pos == 0] = -100
            yield {"input_ids": ids, "position_ids": pos, "doc": doc, "labels": labels}


def block_causal_mask(doc):
    same = doc[:, :, None] == doc[:, None, :]
    causal = torch.ones(doc.size(1), doc.size(1), dtype=torch.bool, device=doc.device).tril()
    return (same & causal).unsqueeze(1)


def main():
    torch.manual_seed(17)
    device = torch.device("cuda")
    config = MistralConfig(
        vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=HIDDEN * 7 // 2, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=KV, max_position_embeddings=SEQ, sliding_window=None,
        attn_implementation="sdpa",
    )
    model = MistralForCausalLM(config).to(device=device, dtype=torch.bfloat16)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.0f}M parameters")
    optimizer = Adafactor(model.parameters(), lr=1e-3, scale_parameter=False, relative_step=False, warmup_init=False,
                          weight_decay=0.01)

    model.train()
    for step, batch in enumerate(DataLoader(PackedDocuments(BATCH * STEPS, 5), batch_size=BATCH)):
        batch = {k: v.to(device) for k, v in batch.items()}
        out = model(
            input_ids=batch["input_ids"],
            position_ids=batch["position_ids"],
            attention_mask=block_causal_mask(batch["doc"]),
            labels=batch["labels"],
            use_cache=False,
        )
        out.loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print(f"step {step} loss {out.loss.item():.4f}")


if __name__ == "__main__":
    main()
