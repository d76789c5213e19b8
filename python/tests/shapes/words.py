"""A tokenizer of a few hundred words, as the trainers of TRL need one; nothing is downloaded."""

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

TEMPLATE = "{% for message in messages %}{{ message['role'] + ' : ' + message['content'] + ' </s> ' }}{% endfor %}"


def tokenizer():
    words = ["<pad>", "<s>", "</s>", "<unk>", "user", "assistant", ":", *[f"w{number}" for number in range(500)]]
    inner = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>", padding_side="left"
    )
    made.chat_template = TEMPLATE
    return made


def text(length, seed):
    return " ".join(f"w{(seed * 31 + place * 7) % 500}" for place in range(length))
