"""Edits of three more projects, written as `cases.py` has them."""

from __future__ import annotations

from tests.testing.edits.cases import Edit

STRANGERS = tuple(
    Edit(*each)
    for each in (
        # -- a sequence model of a hub
        ("seq2seq", "eps", 'layer_norm_eps", 1e-6', 'layer_norm_eps", 1e-5', r"`add`.*1e-05, not .*1e-06"),
        ("seq2seq", "act", 'ACT2FN["gelu"]', 'ACT2FN["silu"]', r"`gelu` became `silu`"),
        ("seq2seq", "dropout", '"dropout_rate", 0.1', '"dropout_rate", 0.2', r"p=0\.[19].*p=0\.[28]"),
        ("seq2seq", "no-dropout", "model.train()", "model.eval()", r"lost .*`mul`.*dropout|lost a `mul`"),
        ("seq2seq", "untied", '"tie_word_embeddings", True', '"tie_word_embeddings", False', r"lm_head\.weight"),
        ("seq2seq", "init", '"initializer_factor", 0.05', '"initializer_factor", 0.02', r"std=0\.05.*std=0\.02"),
        ("seq2seq", "mask-value", "min_dtype = torch.finfo(torch.float32).min", "min_dtype = -1e9", r"-1e\+?09|-1000000000"),
        ("seq2seq", "mask-diagonal", "triu(diagonal=1)", "triu(diagonal=0)", r"triu.*diagonal"),
        ("seq2seq", "mask-padding", "!= self.config.pad_token_id)", "!= 1)", r"`ne`.*other=1, not other=0"),
        ("seq2seq", "no-mask", "scores = scores + attention_mask", "pass", r"lost .*`add`"),
        ("seq2seq", "scale", "/ self.key_value_proj_dim**0.5", "* self.key_value_proj_dim**-0.5", r"`div` became `mul`"),
        ("seq2seq", "pre-norm", "self.act(self.wi(self.norm3(hidden_states)))", "self.act(self.wi(hidden_states))", r"norm3"),
        ("seq2seq", "heads", '"num_heads", 3', '"num_heads", 4', r"\[\d+, \d+, 4, 3\]|4, 3"),
        ("seq2seq", "layers", "TinyBlock(config, True) for _ in range(2)", "TinyBlock(config, True) for _ in range(3)", r"decoder\.2"),
        ("seq2seq", "smoothed", "ignore_index=-100", "ignore_index=-100, label_smoothing=0.1", r"smooth|gained"),
        ("seq2seq", "labels", "[9, 8, 5, 1]]", "[9, 8, 1, -100]]", r"labels|target"),
        ("seq2seq", "sdpa", 'scores = torch.matmul(query_states, key_states.transpose(3, 2)) / self.key_value_proj_dim**0.5\n        if attention_mask is not None:\n            scores = scores + attention_mask\n        attn_weights = nn.functional.softmax(scores.float(), dim=-1).type_as(scores)\n        attn_output = torch.matmul(attn_weights, value_states).transpose(1, 2).contiguous()', "attn_output = nn.functional.scaled_dot_product_attention(query_states, key_states, value_states, attn_mask=attention_mask).transpose(1, 2)", r"scaled_dot_product"),
        ("seq2seq", "rename", "query_states", "q_states"),
        ("seq2seq", "logging", "        optimizer.step()\n", '        print(step, outputs["loss"].item(), outputs["logits"].argmax(-1).float().mean().item())\n        optimizer.step()\n'),
        ("seq2seq", "rate", "lr=1e-3", "lr=1e-4"),
        ("seq2seq", "kwargs", "outputs = model(input_ids=input_ids, labels=labels)", "batch = dict(input_ids=input_ids, labels=labels)\n        outputs = model(**batch)"),
        # -- a detector
        ("detector", "gamma", "GAMMA = 0.25, 2.0", "GAMMA = 0.25, 1.5", r"`pow`.*1\.5"),
        ("detector", "alpha", "GAMMA = 0.25, 2.0", "GAMMA = 0.5, 2.0", r"`mul`.*0\.5"),
        ("detector", "upsampling", 'mode="nearest"', 'mode="bilinear"', r"nearest.*became.*bilinear"),
        ("detector", "no-top-down", "(feats[0]) + up", "(feats[0])", r"lost .*`add`|up"),
        ("detector", "prior", "prior=0.01", "prior=0.1", r"cls\.bias.*-4\.595.*-2\.197"),
        ("detector", "groups", "groups=4", "groups=2", r"group_norm.*(group|N)=2"),
        ("detector", "detach", "    loss_box = (giou_loss(boxes[fg], ", "    loss_box = (giou_loss(boxes[fg].detach(), ", r"no longer gets? a gradient"),
        ("detector", "attached", "boxes[fg].detach().amin(-1)", "boxes[fg].amin(-1)", r"amin|detach"),
        ("detector", "weight", '"box": 2.0 * loss_box', '"box": loss_box', r"lost .*`mul`"),
        ("detector", "clamp", "inter_w.clamp(min=0) * inter_h.clamp(min=0)", "inter_w * inter_h", r"lost 2 `clamp|lost .*clamp"),
        ("detector", "min-max", "hull = torch.max(pred, gt)", "hull = torch.min(pred, gt)", r"`maximum` became `minimum`|max.*min"),
        ("detector", "targets", "cls[:, ::3, 1] = 1.0", "cls[:, ::3, 2] = 1.0", r"select.*index=2"),
        ("detector", "positives", "fg[:, ::3] = True", "fg[:, ::2] = True", r"slice.*step=2"),
        ("detector", "normalisation", "0.229, 0.224, 0.225", "0.25, 0.25, 0.25", r"0\.229, 0\.224, 0\.225.*0\.25"),
        ("detector", "unshared", "t = self.tower(p)", "t = self.tower(p) if lvl else p", r"lost 2 `convolution`"),
        ("detector", "sum", 'losses = {"cls": loss_cls, "box": 2.0 * loss_box}', 'losses = {"box": 2.0 * loss_box, "cls": loss_cls}'),
        ("detector", "def", "    area = lambda b: (b[..., 0] + b[..., 2]) * (b[..., 1] + b[..., 3])\n", "    def area(b):\n        return (b[..., 0] + b[..., 2]) * (b[..., 1] + b[..., 3])\n\n"),
        ("detector", "momentum", "momentum=0.9", "momentum=0.8"),
        # -- reinforcement learning in one file
        ("sac", "gamma", "default=0.99", "default=0.95", r"0\.95"),
        ("sac", "alpha", "default=0.2", "default=0.1", r"0\.1"),
        ("sac", "log-std", "LOG_STD_MIN = -5", "LOG_STD_MIN = -20", r"-20|11|22"),
        ("sac", "no-squash", "y_t = torch.tanh(x_t)", "y_t = x_t", r"lost .*`tanh`"),
        ("sac", "sample", "normal.rsample()", "normal.sample()", r"gradient|sample|lost"),
        ("sac", "one-q", "min_q = torch.min(qf1(data[\"obs\"], pi), qf2(data[\"obs\"], pi))", "min_q = qf1(data[\"obs\"], pi)", r"qf2"),
        ("sac", "no-entropy", "((args.alpha * log_pi) - min_q).mean()", "(-min_q).mean()", r"neg|lost"),
        ("sac", "target-graph", "    with torch.no_grad():\n", "    with torch.enable_grad():\n", r"gradient|grad"),
        ("sac", "dones", "(1 - data[\"dones\"]) * args.gamma", "args.gamma", r"lost|rsub|dones"),
        ("sac", "huber", "qf1_loss = F.mse_loss", "qf1_loss = F.smooth_l1_loss", r"mse_loss.*became.*smooth_l1"),
        ("sac", "swapped-min", "torch.min(qf1_target", "torch.max(qf1_target", r"minimum.*became.*maximum|min.*max"),
        ("sac", "scale", "[1.0, 2.0]", "[1.0, 3.0]", r"action_scale.*\[1, 2\].*\[1, 3\]"),
        ("sac", "batch", '"--batch-size", type=int, default=6', '"--batch-size", type=int, default=8', r"\[6, .*\[8, "),
        ("sac", "shared-target", "qf2_target.load_state_dict(qf2.state_dict())", "qf2_target.load_state_dict(qf1.state_dict())", r"qf2_target"),
        ("sac", "tau", "default=0.005", "default=0.01"),
        ("sac", "split", "        x = F.relu(self.fc2(x))\n        x = self.fc3(x)\n        return x", "        hidden = F.relu(self.fc2(x))\n        return self.fc3(hidden)"),
        ("sac", "relu-method", "x = F.relu(self.fc1(x))\n        x = F.relu(self.fc2(x))", "x = self.fc1(x).relu()\n        x = self.fc2(x).relu()"),
        ("sac", "logging", "    for param, target_param in zip(qf1", "    if global_step % 1 == 0:\n        print(qf_loss.item(), actor_loss.item(), log_pi.mean().item())\n    for param, target_param in zip(qf1"),
    )
)  # fmt: skip
