"""An eager Llama with a large vocabulary; only the loss over chunks of the hidden states is compiled."""
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
BATCH, SEQ, CHUNKS = 6, 1024, 6

config = LlamaConfig(
    hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=4,
    vocab_size=128256, max_position_embeddings=4096, tie_word_embeddings=True, attention_dropout=0.0, use_cache=False,
)
model = LlamaForCausalLM(config).to(dtype=torch.bfloat16, device="cuda")
model.train()


@torch.compile
def chunk_loss(hidden, weight, labels):
    logits = (hidden @ weight.t()).float()
    # Loss with z-regularisation.
    lse = torch.logsumexp(logits, dim=-1)
    valid = labels != -100
    picked = logits.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    nll = (lse - picked) * valid
    return nll.sum() + 1e-4 * (lse.square() * valid).sum()


def loss_of(hidden, labels):
    hidden = hidden[:, :-1].reshape(-1, hidden.shape[-1])
    labels = labels[:, 1:].reshape(-1)
    total = hidden.new_zeros((), dtype=torch.float32)
    for h, y in zip(hidden.chunk(CHUNKS), labels.chunk(CHUNKS)):
        total = total + checkpoint(chunk_loss, h, model.lm_head.weight, y, use_reentrant=False)
    return total / (labels != -100).sum()


optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, foreach=True)
for step in range(4):
    ids = torch.randint(0, config.vocab_size, (BATCH, SEQ), device="cuda")
    labels = ids.clone()
    labels[:, :128] = -100  # the prompt
    hidden = model.model(input_ids=ids).last_hidden_state
    loss = loss_of(hidden, labels)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} loss {loss.item():.3f} norm {norm.item():.2f}")
