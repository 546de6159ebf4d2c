"""Write a start for a student with more layers and narrower feed-forward parts than another one.

python -m lab.training.reshape GRANITE.hmsemb TEXTS.jsonl STUDENT.safetensors OUT.safetensors 0,1,granite4,2

Each layer is one of the student's or one of granite's; words and merges are the student's. Layers keep their
feed-forward output as well as half of its neurons can, which is computed from some texts, one ``{"text": …}`` a line.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from lab.training import encoder, export
from lab.training.train import load_student

INNER = 768
TEXTS = 600
TOKENS = 128
RIDGE = 1e-3


@torch.no_grad()
def main() -> None:
    """Write the start, 8-bit like a student that is shipped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("granite", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("student", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("layers")
    options = parser.parse_args()
    student, merges = load_student(options.student), export.read_merges(options.student)
    granite = encoder.load_granite(encoder.Pack(options.granite))
    reshaped = encoder.Encoder(len(student.words.weight), 0)
    reshaped.load_state_dict({k: v for k, v in student.state_dict().items() if not k.startswith("layers.")})
    packed = read_texts(options.texts, merges)
    x = student.look_up(packed)
    for name in options.layers.split(","):
        owner = granite if name.startswith("granite") else student
        layer, after = narrow(owner.layers[int(name.removeprefix("granite"))], x, packed)
        likeness = functional.cosine_similarity(layer(x, packed), after).mean()
        print(f"layer {name} returns {float(likeness):.3f} of what it did with all neurons")
        reshaped.layers.append(layer)
        x = after
    weights = {name: value.numpy() for name, value in reshaped.state_dict().items()}
    options.out.write_bytes(export.pack(export.quantise(weights), merges))


def read_texts(path: Path, merges: list[str]) -> encoder.Packed:
    """Return some texts of the whole file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines[:: max(1, len(lines) // TEXTS)]]
    tokenizer = Tokenizer.from_str(json.dumps(encoder.make_tokenizer(merges)))
    return encoder.pack(encoder.encode(tokenizer, texts, TOKENS))


def collect(layer: encoder.Layer, x: Tensor, packed: encoder.Packed) -> Tensor:
    """Return what attention collects."""
    query, key, value = layer.qkv(x).view(len(x), 3, encoder.HEADS, -1).unbind(1)
    return encoder.attend(query, key, value, packed.starts, packed).flatten(1)


def narrow(layer: encoder.Layer, x: Tensor, packed: encoder.Packed) -> tuple[encoder.Layer, Tensor]:
    """Return a layer with the neurons that matter most, and the states after the whole layer."""
    middle = layer.aln(x + layer.ao(collect(layer, x, packed)))
    neurons = functional.gelu(layer.f1(middle))
    output = neurons @ layer.f2.weight.T
    kept = choose_neurons(neurons, layer.f2.weight)
    used = torch.cat([neurons[:, kept], torch.ones(len(neurons), 1)], 1).double()
    # The rest of the neurons is expressed by those that stay.
    squares = used.T @ used
    squares += RIDGE * squares.diagonal().mean() * torch.eye(len(squares))
    fitted = torch.linalg.solve(squares, used.T @ output.double()).float()
    result = encoder.Layer(INNER)
    state = layer.state_dict()
    state["f1.weight"], state["f1.bias"] = state["f1.weight"][kept], state["f1.bias"][kept]
    state["f2.weight"], state["f2.bias"] = fitted[:-1].T.contiguous(), state["f2.bias"] + fitted[-1]
    result.load_state_dict(state)
    return result, layer.fln(middle + output + layer.f2.bias)


def choose_neurons(neurons: Tensor, weight: Tensor) -> Tensor:
    """Return the numbers of the neurons whose output varies most."""
    scores = neurons.std(0) * weight.norm(dim=0)
    return torch.from_numpy(np.sort(scores.argsort(descending=True)[:INNER].numpy()))


if __name__ == "__main__":
    main()
