# transformers: GPT-2, BERT and Llama from a small configuration, forward and backward
import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

small = {"vocab_size": 100, "attn_implementation": "eager"}
made = (
    (
        GPT2LMHeadModel,
        GPT2Config(n_embd=32, n_layer=2, n_head=2, n_positions=64, bos_token_id=0, eos_token_id=1, **small),
    ),
    (
        BertForMaskedLM,
        BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, **small),
    ),
    (
        LlamaForCausalLM,
        LlamaConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, **small),
    ),
)
for kind, config in made:
    torch.manual_seed(0)
    model = kind(config).eval()
    ids = torch.randint(0, 100, (2, 10))
    output = model(input_ids=ids, labels=ids)
    output.loss.backward()
    norm = sum(p.grad.double().pow(2).sum() for p in model.parameters() if p.grad is not None).sqrt()
    print(kind.__name__, output.loss, output.logits.shape, f"{norm:.4f}", model.num_parameters())
