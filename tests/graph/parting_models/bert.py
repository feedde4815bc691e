import math
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import nn

config = SimpleNamespace(vocab_size=23, hidden_size=8, num_attention_heads=2, num_hidden_layers=2, intermediate_size=16,
                         layer_norm_eps=1e-5, pad_token_id=0, initializer_range=0.3, tie_word_embeddings=True)


class SelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.size = config.num_attention_heads, config.hidden_size // config.num_attention_heads
        self.query, self.key, self.value = (nn.Linear(config.hidden_size, config.hidden_size) for _ in range(3))

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, self.size).transpose(1, 2)

    def forward(self, hidden, mask):
        q, k, v = self.split(self.query(hidden)), self.split(self.key(hidden)), self.split(self.value(hidden))
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.size)
        #F scores = q @ k.transpose(-1, -2) / self.size
        #B scores = q @ k.detach().transpose(-1, -2) / math.sqrt(self.size)
        #R scores = (q / math.sqrt(self.size)) @ k.transpose(-1, -2)
        scores = scores.masked_fill(~mask[:, None, None, :], -1e4)
        probs = scores.softmax(-1)
        #F probs = (scores * 1.003).softmax(-1)
        #B probs = scores.softmax(-1); probs.register_hook(lambda g: g - 0.001)
        context = (probs @ v).transpose(1, 2).flatten(2)
        #R context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :].float().sub(1) * 1e4).transpose(1, 2).flatten(2)
        #B context = (probs.detach() @ v).transpose(1, 2).flatten(2)
        return context


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention, self.dense = SelfAttention(config), nn.Linear(config.hidden_size, config.hidden_size)
        self.up, self.down = nn.Linear(config.hidden_size, config.intermediate_size), nn.Linear(config.intermediate_size, config.hidden_size)
        self.ln1, self.ln2 = (nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps) for _ in range(2))

    def forward(self, x, mask):
        x = self.ln1(x + self.dense(self.attention(x, mask)))
        #F x = x + self.dense(self.attention(self.ln1(x), mask))
        #S x = self.ln1(torch.add(x, self.dense(self.attention(x, mask))))
        inner = F.gelu(self.up(x))
        #F inner = F.gelu(self.up(x), approximate="tanh")
        return self.ln2(x + self.down(inner))
        #B return self.ln2(x.detach() + self.down(inner))


class MaskedLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.position = nn.Embedding(16, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.apply(lambda m: isinstance(m, nn.Linear) and nn.init.normal_(m.weight, std=config.initializer_range))

    def forward(self, input_ids, labels):
        mask = input_ids != 0
        x = self.word(input_ids) + self.position(torch.arange(input_ids.shape[1]))
        #B x = F.embedding(input_ids, self.word.weight) + self.position(torch.arange(input_ids.shape[1]))
        for layer in self.layers:
            x = layer(x, mask)
        logits = F.linear(x, self.word.weight, self.bias)
        #B logits = F.linear(x, self.word.weight.detach(), self.bias)
        #R logits = x @ self.word.weight.t() + self.bias
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        #F return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum") / labels.numel()


torch.manual_seed(1)
model = MaskedLM(config)
ids = torch.randint(1, 23, (3, 7))
ids[1, 5:] = 0
labels = torch.where(torch.rand(3, 7) < 0.4, ids, -100)
model(ids, labels).backward()
