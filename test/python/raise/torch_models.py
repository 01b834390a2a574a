# SPDX-License-Identifier: Apache-2.0
"""Small models in PyTorch, as their users write them, for raise_models.py."""
import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY, WIDTH, HEADS, ROWS, BATCH = 48, 32, 4, 16, 2
LAYERS = 1  # of models with equal layers


def split(x, heads):
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def joined(x):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 4))

    def forward(self, x):
        return self.layers(x)

    def loss(self, y, target):
        return F.mse_loss(y, target)

    def inputs(self):
        return torch.randn(6, 8), torch.randn(6, 4)


class LanguageModel(nn.Module):
    def loss(self, logits, labels):
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())

    def inputs(self):
        tokens = torch.randint(0, VOCABULARY, (BATCH, ROWS))
        return tokens, tokens.roll(-1, 1)


class RmsNorm(nn.Module):
    def __init__(self, width=WIDTH):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


class LlamaLayer(nn.Module):
    def __init__(self, keys=2, hidden=64):
        super().__init__()
        self.keys, head = keys, WIDTH // HEADS
        self.norm1, self.norm2 = RmsNorm(), RmsNorm()
        self.q, self.o = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.k, self.v = nn.Linear(WIDTH, keys * head, bias=False), nn.Linear(WIDTH, keys * head, bias=False)
        self.gate, self.up = nn.Linear(WIDTH, hidden, bias=False), nn.Linear(WIDTH, hidden, bias=False)
        self.down = nn.Linear(hidden, WIDTH, bias=False)

    def forward(self, x, cos, sin):
        h = self.norm1(x)
        q, k, v = split(self.q(h), HEADS), split(self.k(h), self.keys), split(self.v(h), self.keys)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k, v = (t.repeat_interleave(HEADS // self.keys, 1) for t in (k, v))
        x = x + self.o(joined(F.scaled_dot_product_attention(q, k, v, is_causal=True)))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(LanguageModel):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(LlamaLayer() for _ in range(LAYERS))
        self.norm = RmsNorm()
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x, half = self.embed(tokens), WIDTH // HEADS // 2
        angle = torch.arange(ROWS)[:, None] / 10000.0**(torch.arange(half) / half)
        angle = torch.cat((angle, angle), -1)
        for layer in self.layers:
            x = layer(x, angle.cos(), angle.sin())
        return self.head(self.norm(x))


class GptLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.o = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (split(t, HEADS) for t in self.qkv(self.norm1(x)).split(WIDTH, -1))
        x = x + self.o(joined(F.scaled_dot_product_attention(q, k, v, is_causal=True)))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(LanguageModel):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(ROWS, WIDTH)
        self.layers = nn.ModuleList(GptLayer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(ROWS))
        for layer in self.layers:
            x = layer(x)
        return F.linear(self.norm(x), self.tokens.weight)


class VitLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 64), nn.Linear(64, WIDTH)

    def forward(self, x):
        h = self.norm1(x)
        q, k, v = (split(linear(h), HEADS) for linear in (self.q, self.k, self.v))
        x = x + self.o(joined(F.scaled_dot_product_attention(q, k, v)))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Classifier(nn.Module):
    def loss(self, logits, labels):
        return F.cross_entropy(logits, labels)

    def inputs(self):
        return torch.randn(BATCH, 3, 16, 16), torch.randint(0, 10, (BATCH,))


class Vit(Classifier):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 8, 8)
        self.cls, self.places = nn.Parameter(torch.randn(1, 1, WIDTH)), nn.Parameter(torch.randn(1, 5, WIDTH))
        self.layers = nn.ModuleList(VitLayer() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 10)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls.expand(len(x), -1, -1), x), 1) + self.places
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


class T5Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, x, y, bias):
        q, k, v = split(self.q(x), HEADS), split(self.k(y), HEADS), split(self.v(y), HEADS)
        scores = q @ k.transpose(-1, -2)
        if bias is not None:
            scores = scores + bias
        return self.o(joined(scores.softmax(-1) @ v))


class T5Layer(nn.Module):
    def __init__(self, decodes):
        super().__init__()
        self.norm1, self.own = RmsNorm(), T5Attention()
        if decodes:
            self.norm2, self.cross = RmsNorm(), T5Attention()
        self.norm3 = RmsNorm()
        self.up, self.down = nn.Linear(WIDTH, 64, bias=False), nn.Linear(64, WIDTH, bias=False)

    def forward(self, x, bias, memory=None):
        h = self.norm1(x)
        x = x + self.own(h, h, bias)
        if memory is not None:
            x = x + self.cross(self.norm2(x), memory, None)
        return x + self.down(F.relu(self.up(self.norm3(x))))


class T5(LanguageModel):
    """Relative places by their difference, without T5's larger buckets."""
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.bias1, self.bias2 = nn.Embedding(2 * ROWS, HEADS), nn.Embedding(2 * ROWS, HEADS)
        self.encoder, self.decoder = T5Layer(False), T5Layer(True)
        self.norm1, self.norm2 = RmsNorm(), RmsNorm()

    def forward(self, tokens):
        place = torch.arange(ROWS)
        apart = place[None, :] - place[:, None] + ROWS
        memory = self.norm1(self.encoder(self.embed(tokens), self.bias1(apart).permute(2, 0, 1)))
        causal = torch.where(place[None, :] > place[:, None], torch.finfo(torch.float32).min, 0.0)
        shifted = torch.cat((torch.zeros(len(tokens), 1, dtype=tokens.dtype), tokens[:, :-1]), 1)
        x = self.decoder(self.embed(shifted), self.bias2(apart).permute(2, 0, 1) + causal, memory)
        return F.linear(self.norm2(x) * WIDTH**-0.5, self.embed.weight)


class ConvNet(Classifier):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.head = nn.Linear(16, 10)

    def forward(self, images):
        x = F.max_pool2d(F.relu(self.one(images)), 2)
        return self.head(F.relu(self.two(x)).mean((2, 3)))


class Windows(Classifier):
    """Windows with holes and overlaps, sizes that strides do not divide, maxima and parts."""
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Conv2d(3, 8, 3, stride=2, padding=1, dilation=2), nn.Conv2d(8, 6, (2, 3), stride=(1, 2))
        self.head = nn.Linear(9, 10)

    def forward(self, images):
        x = F.max_pool2d(torch.tanh(self.one(images)), 3, 2, 1)  # 7 by 7, then 4 by 4
        x = F.pad(self.two(x), (1, 1, 0, 2), value=0.5)  # 3 by 1, then 5 by 3
        x = torch.cat((x.amax(2), x[:, 1::2, 4]), 1)  # 6 rows and 3 of 3
        return self.head(x.transpose(1, 2)).amax(1)


MODELS = {"mlp": Mlp, "llama": Llama, "gpt2": Gpt2, "vit": Vit, "t5": T5, "convnet": ConvNet,
          "windows": Windows}


class Program(nn.Module):
    """The model, or its loss, as a function of inputs, labels and parameters."""
    def __init__(self, name, trains):
        super().__init__()
        torch.manual_seed(0)
        self.hidden = [MODELS[name]()]  # not registered: parameters are arguments
        self.trains = trains
        self.names = [name for name, _ in self.model.named_parameters()]
        self.inputs = self.model.inputs()[:2 if trains else 1]
        self.parameters_ = [p.detach() for p in self.model.parameters()]

    @property
    def model(self):
        return self.hidden[0]

    def forward(self, *arguments):
        inputs, parameters = arguments[:len(self.inputs)], arguments[len(self.inputs):]
        result = torch.func.functional_call(self.model, dict(zip(self.names, parameters)), inputs[:1])
        return self.model.loss(result, inputs[1]) if self.trains else result

    def for_jax(self, i, array):
        """Parameter i, or its gradient, in the order of jax_models."""
        linear = {id(m.weight) for m in self.model.modules() if isinstance(m, nn.Linear)}
        if id(list(self.model.parameters())[i]) in linear:
            return array.T
        return array.permute(2, 3, 1, 0) if array.ndim == 4 else array


def input_for_jax(array):
    """Images have their channels last there."""
    if array.ndim == 4:
        return array.permute(0, 2, 3, 1)
    return array.int() if array.dtype == torch.int64 else array
