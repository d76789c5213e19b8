"""Summaries with a BART-large-sized model in fp16: beam search over batches of documents of different lengths."""
import random

import torch
from transformers import BartConfig, BartForConditionalGeneration, GenerationConfig

BATCH = 12
NEW_TOKENS = 48


def make_documents(n, seed):
    rng = random.Random(seed)
    return [[0] + [rng.randrange(10, 50000) for _ in range(rng.randint(200, 1000))] + [2] for _ in range(n)]


def pad(docs, pad_id):
    longest = max(map(len, docs))
    ids = torch.full((len(docs), longest), pad_id, dtype=torch.long)
    mask = torch.zeros((len(docs), longest), dtype=torch.long)
    for i, doc in enumerate(docs):
        ids[i, : len(doc)] = torch.tensor(doc)
        mask[i, : len(doc)] = 1
    return ids, mask


@torch.no_grad()
def main():
    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=50264,
        d_model=1024,
        encoder_layers=12,
        decoder_layers=12,
        encoder_attention_heads=16,
        decoder_attention_heads=16,
        encoder_ffn_dim=4096,
        decoder_ffn_dim=4096,
        max_position_embeddings=1024,
    )
    model = BartForConditionalGeneration(config).half().cuda().eval()
    settings = GenerationConfig(
        num_beams=4,
        do_sample=False,
        min_new_tokens=NEW_TOKENS,
        max_new_tokens=NEW_TOKENS,
        length_penalty=2.0,
        no_repeat_ngram_size=0,
        pad_token_id=config.pad_token_id,
        bos_token_id=config.bos_token_id,
        eos_token_id=config.eos_token_id,
        decoder_start_token_id=config.decoder_start_token_id,
    )

    # sorting by length keeps the padding small
    documents = sorted(make_documents(3 * BATCH, seed=11), key=len)
    produced = 0
    for start in range(0, len(documents), BATCH):
        ids, mask = pad(documents[start : start + BATCH], config.pad_token_id)
        out = model.generate(
            input_ids=ids.cuda(),
            attention_mask=mask.cuda(),
            generation_config=settings,
        )
        produced += out.shape[0]
        print(f"documents up to {ids.shape[1]} tokens -> {tuple(out.shape)}")
    print("summaries:", produced)


if __name__ == "__main__":
    main()
