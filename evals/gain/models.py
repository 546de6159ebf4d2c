"""Language models for the agent loop: an OpenAI-compatible endpoint, or a file of weights through transformers."""

import json
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from evals.gain.agent import Message, Reply

TEMPERATURE = 0.6
MOST_TOKENS = 200
"""Tokens of one reply; the longest right answer needs about 100."""
TIMEOUT_SECONDS = 600


class Endpoint:
    """A server that speaks OpenAI's chat completions."""

    def __init__(self, url: str, model: str, key: str, workers: int) -> None:
        self._url, self._model, self._key, self._workers = url.rstrip("/"), model, key, workers

    def complete(self, conversations: Sequence[Sequence[Message]]) -> list[Reply]:
        """Ask for all replies, several at a time."""
        with ThreadPoolExecutor(self._workers) as pool:
            return list(pool.map(self._ask, conversations))

    def _ask(self, messages: Sequence[Message]) -> Reply:
        body = {"model": self._model, "messages": messages, "temperature": TEMPERATURE, "max_tokens": MOST_TOKENS}
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        request = urllib.request.Request(f"{self._url}/chat/completions", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            answer = json.load(response)
        usage = answer.get("usage", {})
        text = answer["choices"][0]["message"]["content"] or ""
        return Reply(text, usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0))


class Transformers:
    """A folder or a GGUF file of weights, run by transformers in large batches on an accelerator."""

    def __init__(self, file: Path, batch: int, seed: int) -> None:
        # Neither is a dependency of the project; only who has an accelerator needs them.
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self._torch, self._batch = torch, batch
        torch.manual_seed(seed)
        name, options = (file, {}) if file.is_dir() else (file.parent, {"gguf_file": file.name})
        self._tokenizer = AutoTokenizer.from_pretrained(name, padding_side="left", **options)
        self._model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.bfloat16, **options).to("cuda").eval()

    def complete(self, conversations: Sequence[Sequence[Message]]) -> list[Reply]:
        """Answer all conversations in batches of similar length."""
        texts = [_format_chat(messages) for messages in conversations]
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        replies: dict[int, Reply] = {}
        for begin in range(0, len(order), self._batch):
            places = order[begin : begin + self._batch]
            replies.update(zip(places, self._complete_batch([texts[place] for place in places]), strict=True))
        return [replies[place] for place in range(len(texts))]

    def _complete_batch(self, texts: Sequence[str]) -> list[Reply]:
        inputs: Any = self._tokenizer(list(texts), return_tensors="pt", padding=True).to("cuda")
        end = self._tokenizer.convert_tokens_to_ids("<|im_end|>")
        with self._torch.inference_mode():
            output = self._model.generate(
                **inputs, do_sample=True, temperature=TEMPERATURE, top_p=1.0, top_k=0,
                max_new_tokens=MOST_TOKENS, eos_token_id=end, pad_token_id=end,
            )  # fmt: skip
        width = inputs["input_ids"].shape[1]
        counts = inputs["attention_mask"].sum(1).tolist()
        rows = output[:, width:].tolist()
        return [self._read(row, count, end) for row, count in zip(rows, counts, strict=True)]

    def _read(self, row: list[int], count: int, end: int) -> Reply:
        tokens = row[: row.index(end)] if end in row else row
        return Reply(self._tokenizer.decode(tokens, skip_special_tokens=True), count, len(tokens))


def _format_chat(messages: Sequence[Message]) -> str:
    """Write a conversation in the ChatML form that Qwen was trained with."""
    turns = "".join(f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n" for message in messages)
    return f"{turns}<|im_start|>assistant\n"
