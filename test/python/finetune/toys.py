# SPDX-License-Identifier: Apache-2.0
"""Folders of small models with tokenizers that are trained on the spot, and files of
conversations about a house."""
import json
import random

import tokenizers
import torch
import transformers as T
from tokenizers import decoders, models, pre_tokenizers, trainers

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
COLOURS, THINGS, DEEDS = "red blue green".split(), "cat dog tree boat".split(), "runs sleeps".split()
PAIRS = [(f"where is the {c} {t}?", f"the {c} {t} is in the house.")
         for c in COLOURS for t in THINGS] + [(f"who {d}?", f"the big dog {d}.") for d in DEEDS]


def conversations(count, seed=0):
    """Lists of messages of one to three turns."""
    draw = random.Random(seed)
    return [[{"role": role, "content": text} for pair in draw.choices(PAIRS, k=draw.randint(1, 3))
             for role, text in zip(("user", "assistant"), pair)] for _ in range(count)]


def write_jsonl(path, records):
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


def tokenizer():
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    made.train_from_iterator([q + " " + a for q, a in PAIRS] * 5, trainers.BpeTrainer(
        vocab_size=320, special_tokens=special, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    fast = T.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|im_end|>",
                                     pad_token="<|endoftext|>", clean_up_tokenization_spaces=False)
    fast.chat_template = TEMPLATE
    return fast


SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 256}
KINDS = {
    "llama": lambda s: T.LlamaConfig(**SIZES, **s),
    "llama-tied": lambda s: T.LlamaConfig(**SIZES, **s, tie_word_embeddings=True),
    "gemma3": lambda s: T.Gemma3TextConfig(**SIZES, **s, sliding_window=16),
    "phi3": lambda s: T.Phi3Config(**{k: v for k, v in SIZES.items() if k != "head_dim"}, **s),
    "gpt2": lambda s: T.GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=256, resid_pdrop=0,
                                   embd_pdrop=0, attn_pdrop=0, **s),
}


def model_of(kind, tok, seed=0):
    """A model whose numbers are all drawn: no weight is at its default."""
    torch.manual_seed(seed)
    config = KINDS[kind]({"vocab_size": len(tok) + -len(tok) % 8, "eos_token_id": tok.eos_token_id,
                          "pad_token_id": tok.pad_token_id, "bos_token_id": None})
    model = T.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn_like(p) * 0.1)
    model.generation_config.eos_token_id = tok.eos_token_id
    return model


def folder(path, kind="llama", tok=None, **options):
    tok = tok or tokenizer()
    model = model_of(kind, tok)
    model.save_pretrained(path, **options)
    tok.save_pretrained(path)
    return model, tok
