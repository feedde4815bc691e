# x-transformers: a small decoder with rotary positions
import torch
from x_transformers import Decoder, TransformerWrapper

torch.manual_seed(0)
model = TransformerWrapper(
    num_tokens=100, max_seq_len=32, attn_layers=Decoder(dim=32, depth=2, heads=2, attn_dim_head=32, rotary_pos_emb=True)
)
logits = model(torch.randint(0, 100, (1, 32)))
loss = logits.pow(2).mean()
loss.backward()
print(logits.shape, loss)
