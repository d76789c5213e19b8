"""A chat-like loop: the cache of a Qwen3 is kept from turn to turn and the context grows."""
import torch
from transformers import DynamicCache, Qwen3Config, Qwen3ForCausalLM

torch.manual_seed(0)
SYSTEM, TURNS, ANSWER = 400, 5, 40
QUESTIONS = [300, 1200, 80, 2500, 150]

config = Qwen3Config(
    vocab_size=80000, hidden_size=1536, intermediate_size=4608, num_hidden_layers=14, num_attention_heads=16,
    num_key_value_heads=8, head_dim=96, max_position_embeddings=16384, tie_word_embeddings=True,
    bos_token_id=1, eos_token_id=2, pad_token_id=0,
)
model = Qwen3ForCausalLM(config).to(torch.bfloat16).to("cuda").eval()


def user_says(chats, length):
    return torch.randint(10, 80000, (chats, length), device="cuda")


def chat(chats):
    """`chats` conversations in step with each other."""
    context = user_says(chats, SYSTEM)
    cache = DynamicCache(config=model.config)
    for turn in range(TURNS):
        context = torch.cat([context, user_says(chats, QUESTIONS[turn])], dim=1)
        out = model.generate(
            context,
            attention_mask=torch.ones_like(context),
            past_key_values=cache,
            max_new_tokens=ANSWER,
            min_new_tokens=ANSWER,
            do_sample=True,
            temperature=1.0,
            top_k=20,
            return_dict_in_generate=True,
        )
        context, cache = out.sequences, out.past_key_values
        print(f"turn {turn}: context {context.shape[1]}, cached {cache.get_seq_length()}")
    return context


with torch.no_grad():
    for chats in (1, 6):
        history = chat(chats)
        print(chats, "chats,", history.numel(), "tokens")
