# transformers: Trainer, GPT-2 of two layers, accumulation over two batches, evaluation in between
import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, PrinterCallback, Trainer, TrainingArguments

torch.manual_seed(0)
rows = [{"input_ids": ids, "labels": ids} for ids in torch.randint(0, 50, (8, 12))]
model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=32, n_layer=2, n_head=2, n_positions=16))
with tempfile.TemporaryDirectory() as folder:
    args = TrainingArguments(
        folder,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
        max_steps=3,
        eval_strategy="steps",
        eval_steps=1,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        save_strategy="no",
    )
    trainer = Trainer(model, args, train_dataset=rows, eval_dataset=rows[:2])
    trainer.remove_callback(PrinterCallback)  # it prints seconds
    trainer.train()
print(sum(p.double().abs().sum() for p in model.parameters()).item())
