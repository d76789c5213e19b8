"""Pairwise reward model: Qwen3 with a scalar head and a Trainer subclass with the Bradley-Terry loss, bf16."""
import tempfile

import torch
import torch.nn.functional as F
from torch.utils.data import Dataset
from transformers import Qwen3Config, Qwen3ForSequenceClassification, Trainer, TrainingArguments, set_seed

VOCAB = 32768
MAX_LEN = 512
PAIRS = 8
STEPS = 5
HIDDEN, LAYERS, HEADS, KV = 1024, 16, 16, 8


class Preferences(Dataset):
    def __init__(self, n, seed=0):
        self.n, self.seed = n, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        prompt = torch.randint(5, VOCAB, (int(torch.randint(20, 100, (1,), generator=g)),), generator=g)
        item = {}
        for name in ("chosen", "rejected"):
            n = int(torch.randint(40, MAX_LEN - 100, (1,), generator=g))
            item[name] = torch.cat([prompt, torch.randint(5, VOCAB, (n,), generator=g)])
        item["margin"] = float(torch.rand((), generator=g))
        return item


def collate(items):
    rows = [it["chosen"] for it in items] + [it["rejected"] for it in items]
    longest = -(-max(len(r) for r in rows) // 64) * 64
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for i, r in enumerate(rows):
        ids[i, : len(r)], mask[i, : len(r)] = r, 1
    return {"input_ids": ids, "attention_mask": mask, "margin": torch.tensor([it["margin"] for it in items])}


class RewardTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        margin = inputs.pop("margin")
        rewards = model(**inputs).logits.squeeze(-1)
        chosen, rejected = rewards.chunk(2)
        loss = -F.logsigmoid(chosen - rejected - margin).mean() + 0.01 * ((chosen + rejected) ** 2).mean()
        return (loss, {"rewards": rewards}) if return_outputs else loss

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        inputs = self._prepare_inputs(inputs)
        with torch.no_grad(), self.compute_loss_context_manager():
            loss = self.compute_loss(model, inputs)
        return loss.detach(), None, None


def main():
    set_seed(3)
    config = Qwen3Config(vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=3 * HIDDEN, num_hidden_layers=LAYERS,
                         num_attention_heads=HEADS, num_key_value_heads=KV, head_dim=64, num_labels=1, pad_token_id=0,
                         max_position_embeddings=2048)
    model = Qwen3ForSequenceClassification(config)
    model.config.use_cache = False
    with tempfile.TemporaryDirectory() as out:
        args = TrainingArguments(
            output_dir=out,
            per_device_train_batch_size=PAIRS,
            per_device_eval_batch_size=2 * PAIRS,
            max_steps=STEPS,
            learning_rate=1e-5,
            bf16=True,
            eval_strategy="steps",
            eval_steps=3,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            remove_unused_columns=False,
            dataloader_num_workers=2,
            optim="adamw_torch_fused",
        )
        trainer = RewardTrainer(model=model, args=args, data_collator=collate,
                                train_dataset=Preferences(PAIRS * STEPS), eval_dataset=Preferences(4 * PAIRS, seed=10**5))
        result = trainer.train()
    print(f"loss {result.training_loss:.4f}")


if __name__ == "__main__":
    main()
