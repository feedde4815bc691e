"""An encoder and decoder, written as model hubs do: a config, outputs as dictionaries, additive masks, a trainer."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class TinyConfig:
    def __init__(self, **kwargs: Any) -> None:
        self.vocab_size = kwargs.pop("vocab_size", 17)
        self.hidden_size = kwargs.pop("hidden_size", 12)
        self.num_heads = kwargs.pop("num_heads", 3)
        self.layer_norm_eps = kwargs.pop("layer_norm_eps", 1e-6)
        self.dropout_rate = kwargs.pop("dropout_rate", 0.1)
        self.initializer_factor = kwargs.pop("initializer_factor", 0.05)
        self.pad_token_id = kwargs.pop("pad_token_id", 0)
        self.tie_word_embeddings = kwargs.pop("tie_word_embeddings", True)


ACT2FN = {"relu": nn.functional.relu, "gelu": nn.functional.gelu, "silu": nn.functional.silu}


class TinyRMSNorm(nn.Module):
    def __init__(self, hidden_size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        variance = hidden_states.to(torch.float32).pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states


class TinyAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_heads = config.num_heads
        self.key_value_proj_dim = config.hidden_size // config.num_heads
        self.q = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.k = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.v = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.o = nn.Linear(config.hidden_size, config.hidden_size, bias=False)

    def _shape(self, states):
        return states.view(states.size(0), -1, self.n_heads, self.key_value_proj_dim).transpose(1, 2)

    def forward(self, hidden_states, key_value_states=None, attention_mask: torch.Tensor | None = None):
        source = hidden_states if key_value_states is None else key_value_states
        query_states = self._shape(self.q(hidden_states))
        key_states = self._shape(self.k(source))
        value_states = self._shape(self.v(source))
        scores = torch.matmul(query_states, key_states.transpose(3, 2)) / self.key_value_proj_dim**0.5
        if attention_mask is not None:
            scores = scores + attention_mask
        attn_weights = nn.functional.softmax(scores.float(), dim=-1).type_as(scores)
        attn_output = torch.matmul(attn_weights, value_states).transpose(1, 2).contiguous()
        return self.o(attn_output.flatten(2))


class TinyBlock(nn.Module):
    def __init__(self, config, is_decoder):
        super().__init__()
        self.is_decoder = is_decoder
        self.self_attn, self.norm1 = TinyAttention(config), TinyRMSNorm(config.hidden_size, config.layer_norm_eps)
        if is_decoder:
            self.cross_attn, self.norm2 = TinyAttention(config), TinyRMSNorm(config.hidden_size, config.layer_norm_eps)
        self.wi = nn.Linear(config.hidden_size, 2 * config.hidden_size)
        self.wo = nn.Linear(2 * config.hidden_size, config.hidden_size)
        self.norm3 = TinyRMSNorm(config.hidden_size, config.layer_norm_eps)
        self.act = ACT2FN["gelu"]
        self.dropout = nn.Dropout(config.dropout_rate)

    def forward(self, hidden_states, mask, encoder_states=None, encoder_mask=None):
        hidden_states = hidden_states + self.dropout(self.self_attn(self.norm1(hidden_states), attention_mask=mask))
        if self.is_decoder:
            cross = self.cross_attn(self.norm2(hidden_states), encoder_states, encoder_mask)
            hidden_states = hidden_states + self.dropout(cross)
        ff = self.wo(self.act(self.wi(self.norm3(hidden_states))))
        return hidden_states + self.dropout(ff)


class TinyForConditionalGeneration(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.shared = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.encoder = nn.ModuleList([TinyBlock(config, False) for _ in range(2)])
        self.decoder = nn.ModuleList([TinyBlock(config, True) for _ in range(2)])
        self.final_layer_norm = TinyRMSNorm(config.hidden_size, config.layer_norm_eps)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.apply(self._init_weights)
        if config.tie_word_embeddings:
            self.lm_head.weight = self.shared.weight

    def _init_weights(self, module):
        factor = self.config.initializer_factor
        if isinstance(module, nn.Linear):
            module.weight.data.normal_(mean=0.0, std=factor)
            if module.bias is not None:
                module.bias.data.zero_()
        elif isinstance(module, nn.Embedding):
            module.weight.data.normal_(mean=0.0, std=factor * 1.0)

    def _shift_right(self, labels):
        shifted = labels.new_zeros(labels.shape)
        shifted[..., 1:] = labels[..., :-1].clone()
        return shifted.masked_fill(shifted == -100, self.config.pad_token_id)

    def forward(self, input_ids, labels):
        min_dtype = torch.finfo(torch.float32).min
        keep = (input_ids != self.config.pad_token_id)[:, None, None, :]
        encoder_mask = (1.0 - keep.float()) * min_dtype
        length = labels.size(1)
        causal_mask = torch.full((length, length), min_dtype).triu(diagonal=1)[None, None]
        states = self.shared(input_ids)
        for layer in self.encoder:
            states = layer(states, encoder_mask)
        hidden = self.shared(self._shift_right(labels))
        for layer in self.decoder:
            hidden = layer(hidden, causal_mask, states, encoder_mask)
        sequence_output = self.final_layer_norm(hidden)
        if self.config.tie_word_embeddings:
            sequence_output = sequence_output * (self.config.hidden_size**-0.5)
        lm_logits = self.lm_head(sequence_output)
        loss_fct = nn.CrossEntropyLoss(ignore_index=-100)
        loss = loss_fct(lm_logits.view(-1, lm_logits.size(-1)), labels.view(-1))
        return {"loss": loss, "logits": lm_logits}


def main():
    torch.manual_seed(42)
    model = TinyForConditionalGeneration(TinyConfig())
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 2))
    input_ids = torch.tensor([[5, 6, 7, 1, 0], [8, 9, 1, 0, 0]])
    labels = torch.tensor([[6, 7, 1, -100], [9, 8, 5, 1]])
    for step in range(2):
        outputs = model(input_ids=input_ids, labels=labels)
        outputs["loss"].backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
