"""Language models for the agent loop: an OpenAI-compatible endpoint, or a file of weights through transformers."""

import json
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from lab.evals.gain.agent import Message, Reply

TEMPERATURE = 0.3
MOST_TOKENS = 200
"""Tokens of one reply; the longest right answer needs about 100."""
TIMEOUT_SECONDS = 600
END, FENCE = "<|im_end|>", "```"
FENCES_OF_BLOCK = 2
"""The second fence closes the block of code; the loop reads nothing that follows it."""
STEPS_BETWEEN_LOOKS = 8
ATTENTION = "grouped"
"""The name under which transformers finds `_attend`."""


class Endpoint:
    """A server that speaks OpenAI's chat completions."""

    def __init__(
        self, url: str, model: str, key: str, workers: int, *,
        temperature: float = TEMPERATURE, most_tokens: int = MOST_TOKENS,
    ) -> None:  # fmt: skip
        self._url, self._model, self._key, self._workers = url.rstrip("/"), model, key, workers
        self._options = {"temperature": temperature, "max_tokens": most_tokens}

    def complete(self, conversations: Sequence[Sequence[Message]]) -> list[Reply]:
        """Ask for all replies, several at a time."""
        with ThreadPoolExecutor(self._workers) as pool:
            return list(pool.map(self._ask, conversations))

    def _ask(self, messages: Sequence[Message]) -> Reply:
        body = {"model": self._model, "messages": messages, **self._options}
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        request = urllib.request.Request(f"{self._url}/chat/completions", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            answer = json.load(response)
        usage = answer.get("usage", {})
        text = answer["choices"][0]["message"]["content"] or ""
        return Reply(text, usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0))


class Transformers:
    """A folder or a GGUF file of weights, run by transformers in large batches on an accelerator."""

    def __init__(self, file: Path, batch_tokens: int, seed: int, temperature: float = TEMPERATURE) -> None:
        # Neither is a dependency of the project; only who has an accelerator needs them.
        import torch
        from transformers import AttentionInterface, AttentionMaskInterface, AutoModelForCausalLM, AutoTokenizer
        from transformers.masking_utils import sdpa_mask

        AttentionInterface.register(ATTENTION, _attend)
        AttentionMaskInterface.register(ATTENTION, sdpa_mask)
        self._torch, self._batch_tokens, self._temperature = torch, batch_tokens, temperature
        torch.manual_seed(seed)
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        dtype = torch.bfloat16 if self._device == "cuda" else torch.float32
        name, options = (file, {}) if file.is_dir() else (file.parent, {"gguf_file": file.name})
        self._tokenizer: Any = AutoTokenizer.from_pretrained(name, padding_side="left", **options)
        options |= {"dtype": dtype, "attn_implementation": ATTENTION}
        self._model: Any = AutoModelForCausalLM.from_pretrained(name, **options).to(self._device).eval()
        self._end: int = self._tokenizer.convert_tokens_to_ids(END)
        names = self._tokenizer.convert_ids_to_tokens(list(range(self._model.config.vocab_size)))
        has_fence = [FENCE in (name or "") for name in names]
        self._has_fence: Any = torch.tensor(has_fence, device=self._device)
        self._fences = {token for token, value in enumerate(has_fence) if value}

    def complete(self, conversations: Sequence[Sequence[Message]]) -> list[Reply]:
        """Answer all conversations in batches of similar length."""
        texts = [_format_chat(messages) for messages in conversations]
        lengths = [len(tokens) for tokens in self._tokenizer(texts)["input_ids"]]
        # Longest first: a batch that is too large for the memory fails at once. Equal texts stand together.
        order = sorted(range(len(texts)), key=lambda place: (-lengths[place], texts[place]))
        replies: dict[int, Reply] = {}
        while order:
            size = max(1, self._batch_tokens // (lengths[order[0]] + MOST_TOKENS))
            places, order = order[:size], order[size:]
            rows = self._generate([texts[place] for place in places])
            for place, row in zip(places, rows, strict=True):
                text = self._tokenizer.decode(row, skip_special_tokens=True)
                replies[place] = Reply(text, lengths[place], len(row))
        return [replies[place] for place in range(len(texts))]

    def _generate(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the new tokens of each text; rows leave the batch when they are finished."""
        torch = self._torch
        with torch.inference_mode():
            logits, cache, mask = self._read(texts)
            positions, places = mask.sum(1), torch.arange(len(texts), device=self._device)
            fences, is_finished = torch.zeros_like(places), torch.zeros_like(places, dtype=torch.bool)
            tokens = torch.full((len(texts), MOST_TOKENS), self._end, device=self._device)
            for step in range(MOST_TOKENS):
                chosen = self._choose(logits)
                tokens[places, step] = chosen
                fences = fences + self._has_fence[chosen]
                is_finished = is_finished | (chosen == self._end) | (fences == FENCES_OF_BLOCK)
                # Not at each step, because asking which rows are finished waits for the accelerator.
                if step % STEPS_BETWEEN_LOOKS == 0:
                    rows = (~is_finished).nonzero().squeeze(1)
                    if not len(rows):
                        break
                    if len(rows) < len(places) * 0.8:
                        cache.batch_select_indices(rows)
                        chosen, mask, positions, places = chosen[rows], mask[rows], positions[rows], places[rows]
                        fences, is_finished = fences[rows], is_finished[rows]
                mask = torch.cat([mask, mask.new_ones(len(mask), 1)], 1)
                output = self._model(
                    chosen[:, None], attention_mask=mask, position_ids=positions[:, None], past_key_values=cache
                )
                logits, cache, positions = output.logits[:, -1], output.past_key_values, positions + 1
        return [self._cut(row) for row in tokens.tolist()]

    def _read(self, texts: Sequence[str]) -> tuple[Any, Any, Any]:
        """Return what follows each text, what the model keeps of it, and which of its places are no padding."""
        # All samples of a task begin with the same text, so it is read once and copied.
        unique = list(dict.fromkeys(texts))
        inputs = self._tokenizer(unique, return_tensors="pt", padding=True).to(self._device)
        mask = inputs["attention_mask"]
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        output = self._model(
            inputs["input_ids"], attention_mask=mask, position_ids=positions, use_cache=True, logits_to_keep=1
        )
        number = {text: place for place, text in enumerate(unique)}
        copies = self._torch.tensor([number[text] for text in texts], device=self._device)
        output.past_key_values.batch_select_indices(copies)
        return output.logits[copies, -1], output.past_key_values, mask[copies]

    def _choose(self, logits: Any) -> Any:
        if not self._temperature:
            return logits.argmax(-1)
        shares = (logits.float() / self._temperature).softmax(-1)
        return self._torch.multinomial(shares, 1).squeeze(1)

    def _cut(self, row: list[int]) -> list[int]:
        """Return the tokens up to the end of the message, or of its first block of code."""
        fences = 0
        for place, token in enumerate(row):
            if token == self._end:
                return row[:place]
            fences += token in self._fences
            if fences == FENCES_OF_BLOCK:
                return row[: place + 1]
        return row


def _attend(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **options: Any) -> tuple[Any, None]:
    """Attend to the cache without a copy of it for each head."""
    from torch.nn.functional import scaled_dot_product_attention
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    batch, heads, length, width = query.shape
    if length > 1:
        result, _ = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
        return result, None
    # With padding, transformers repeats keys and values for every head that shares them, at each token. The heads of a
    # group can instead stand where the places of a longer query stand: all of them see the same part of the cache.
    groups = query.view(batch, key.shape[1], -1, width)
    result = scaled_dot_product_attention(groups, key, value, attn_mask=attention_mask, scale=options.get("scaling"))
    return result.view(batch, 1, heads, width), None


def _format_chat(messages: Sequence[Message]) -> str:
    """Write a conversation in the ChatML form that Qwen was trained with."""
    turns = "".join(f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n" for message in messages)
    return f"{turns}<|im_start|>assistant\n"
