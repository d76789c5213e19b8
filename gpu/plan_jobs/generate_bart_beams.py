"""Summaries with a BART: beam search with 4 beams, length penalty, no repeated trigrams, fp32."""
import time

import torch
from transformers import BartConfig, BartForConditionalGeneration

torch.manual_seed(0)
torch.set_float32_matmul_precision("high")

config = BartConfig(
    vocab_size=50265, d_model=1024, encoder_layers=6, decoder_layers=6, encoder_attention_heads=16,
    decoder_attention_heads=16, encoder_ffn_dim=4096, decoder_ffn_dim=4096, max_position_embeddings=1024,
)
model = BartForConditionalGeneration(config)
model.to("cuda")
model.eval()

articles = [torch.randint(4, 50000, (int(n),)) for n in torch.linspace(500, 1000, 24)]


def summarize(batch):
    ids = torch.nn.utils.rnn.pad_sequence(batch, batch_first=True, padding_value=config.pad_token_id).to("cuda")
    mask = (ids != config.pad_token_id).long()
    return model.generate(
        input_ids=ids,
        attention_mask=mask,
        num_beams=4,
        min_new_tokens=60,
        max_new_tokens=60,
        length_penalty=2.0,
        no_repeat_ngram_size=3,
        early_stopping=True,
        decoder_start_token_id=2,
        return_dict_in_generate=True,
        output_scores=True,
    )


for start in range(0, len(articles), 12):
    began = time.time()
    with torch.no_grad():
        result = summarize(articles[start : start + 12])
    print(result.sequences.shape, len(result.scores), f"{time.time() - began:.1f}s")
    del result
