"""Question answering pipeline without grad: BERT encodes passages, a cross-encoder re-ranks, a Gemma2 decoder in bf16
generates the answers; each model stays on the card for the whole run."""
import torch
import torch.nn.functional as F
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    Gemma2Config,
    Gemma2ForCausalLM,
)

PASSAGES, PASSAGE_LEN = 8192, 180
QUESTIONS, QUESTION_LEN = 16, 32
ENCODE_BATCH = 512
TOPK, KEEP = 50, 5
NEW_TOKENS = 48
BERT_LAYERS, BERT_DIM = 12, 768
LLM_DIM, LLM_LAYERS, LLM_HEADS, LLM_KV, LLM_FFN, LLM_VOCAB = 2304, 12, 8, 4, 9216, 128000
HEAD_DIM = 256


def bert_config(**kw):
    return BertConfig(num_hidden_layers=BERT_LAYERS, hidden_size=BERT_DIM, num_attention_heads=BERT_DIM // 64,
                      intermediate_size=4 * BERT_DIM, **kw)


@torch.inference_mode()
def encode(model, ids, mask, device):
    out = []
    for i, m in zip(ids.split(ENCODE_BATCH), mask.split(ENCODE_BATCH)):
        with torch.autocast("cuda", dtype=torch.float16):
            h = model(input_ids=i.to(device), attention_mask=m.to(device)).last_hidden_state
        out.append(F.normalize(h[:, 0].float(), dim=-1))
    return torch.cat(out)


def main():
    torch.manual_seed(44)
    device = torch.device("cuda")
    encoder = BertModel(bert_config(), add_pooling_layer=False).to(device).eval()
    ranker = BertForSequenceClassification(bert_config(num_labels=1)).half().to(device).eval()
    llm = Gemma2ForCausalLM(
        Gemma2Config(vocab_size=LLM_VOCAB, hidden_size=LLM_DIM, num_hidden_layers=LLM_LAYERS,
                     num_attention_heads=LLM_HEADS, num_key_value_heads=LLM_KV, head_dim=HEAD_DIM,
                     intermediate_size=LLM_FFN, sliding_window=1024, max_position_embeddings=4096)
    ).to(torch.bfloat16).to(device).eval()

    passages = torch.randint(1000, 30000, (PASSAGES, PASSAGE_LEN))
    lengths = torch.randint(60, PASSAGE_LEN + 1, (PASSAGES, 1))
    passage_mask = (torch.arange(PASSAGE_LEN)[None] < lengths).long()
    questions = torch.randint(1000, 30000, (QUESTIONS, QUESTION_LEN))

    index = encode(encoder, passages, passage_mask, device)
    queries = encode(encoder, questions, torch.ones_like(questions), device)
    top = (queries @ index.T).topk(TOPK, dim=-1).indices.cpu()

    with torch.inference_mode():
        kept = []
        for q in range(QUESTIONS):
            pairs = torch.cat([questions[q].expand(TOPK, -1), passages[top[q]]], 1).to(device)
            mask = torch.cat([torch.ones(TOPK, QUESTION_LEN, dtype=torch.long), passage_mask[top[q]]], 1).to(device)
            types = torch.zeros_like(pairs)
            types[:, QUESTION_LEN:] = 1
            score = ranker(input_ids=pairs, attention_mask=mask, token_type_ids=types).logits.squeeze(-1)
            kept.append(top[q][score.topk(KEEP).indices.cpu()])

        prompts = torch.stack([torch.cat([passages[k].flatten(), questions[q]]) for q, k in enumerate(kept)])
        attn = torch.stack([
            torch.cat([passage_mask[k].flatten(), torch.ones(QUESTION_LEN, dtype=torch.long)]) for k in kept
        ])
        answers = []
        for p, m in zip(prompts.split(QUESTIONS // 2), attn.split(QUESTIONS // 2)):
            out = llm.generate(input_ids=p.to(device), attention_mask=m.to(device), max_new_tokens=NEW_TOKENS,
                               do_sample=True, top_p=0.95, temperature=0.8, pad_token_id=0, eos_token_id=None)
            answers.append(out[:, p.size(1) :].cpu())
    print("answers", tuple(torch.cat(answers).shape))


if __name__ == "__main__":
    main()
