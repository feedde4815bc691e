# transformers: greedy generation and one step of AdamW on a small GPT-2
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(vocab_size=50, n_embd=32, n_layer=2, n_head=2, n_positions=64, bos_token_id=0, eos_token_id=None)
model = GPT2LMHeadModel(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
ids = torch.randint(0, 50, (2, 12))
model.eval()
for _ in range(3):
    loss = model(ids, labels=ids).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
with torch.no_grad():
    print(model.generate(ids[:, :4], max_new_tokens=5, do_sample=False, pad_token_id=0))
