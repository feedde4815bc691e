import torch
from torch import nn

torch.manual_seed(0)
embed, head = nn.Embedding(11, 16), nn.Linear(16, 11)
layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
parameters = [p for module in (embed, encoder, head) for p in module.parameters()]
optimizer = torch.optim.AdamW(parameters, lr=1e-3)
mask = nn.Transformer.generate_square_subsequent_mask(6)
for step in range(4):
    encoder.train()
    tokens = torch.randint(0, 11, (3, 7))
    logits = head(encoder(embed(tokens[:, :-1]), mask=mask))
    loss = nn.functional.cross_entropy(logits.reshape(-1, 11), tokens[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    encoder.eval()
    with torch.no_grad():
        head(encoder(embed(tokens[:, :-1]), mask=mask)).argmax(-1)
