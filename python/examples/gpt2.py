"""GPT-2 of `transformers`, random weights, with a layer of ascgrad's in the place of its attention: gpt2.py [CLASS]."""

import sys

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

import ascgrad.torch as at


class InPlaceOfAttention(nn.Module):
    """Called as GPT2Attention is; it has no weights to show."""

    def __init__(self, mix):
        super().__init__()
        self.mix = mix

    def forward(self, hidden_states, *_, **__):
        return self.mix(hidden_states), None


def main(name="ASCender"):
    torch.manual_seed(1)
    config = GPT2Config(
        vocab_size=100,
        n_positions=32,
        n_embd=32,
        n_layer=2,
        n_head=4,
        use_cache=False,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = GPT2LMHeadModel(config)
    for block in model.transformer.h:
        block.attn = InPlaceOfAttention(getattr(at, name)(config.n_embd))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    tokens = torch.arange(64).view(2, 32) % 50
    losses = []
    for _ in range(60):
        loss = model(input_ids=tokens, labels=tokens).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"{name} in GPT-2: the loss fell from {losses[0]:.3f} to {losses[-1]:.3f}")
    if losses[-1] > losses[0] / 2:
        sys.exit("it did not learn")


if __name__ == "__main__":
    main(*sys.argv[1:])
