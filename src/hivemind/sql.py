"""SQL and vectors for Python: a read-only connection to a store, and the embedding of a text."""

from functools import cache
from typing import TYPE_CHECKING

from hivemind.embedding.lazy_embedder import LazyEmbedder
from hivemind.errors import InvalidInput, Unavailable
from hivemind.hivemind import Hivemind
from hivemind.lazy import LazyModule, when_called
from hivemind.settings import Settings
from hivemind.text.clean import validate_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hivemind.store import sql_reader
else:
    # Only those who ask by SQL pay for translating parameters: 2 % of the import time of the application.
    sql_reader = LazyModule("store.sql_reader")

VECTOR_FUNCTIONS = {
    name: when_called("embedding.semantic_index", name) for name in ("cosine_similarity", "unpack_vector")
}


def connect(name: str | None = None) -> "sql_reader.Reader":
    """Open a read-only SQL connection to a store; without a name, to the default store."""
    settings = Settings.load()
    mind = Hivemind.open(name, settings=settings)
    try:
        functions = VECTOR_FUNCTIONS | {"embed": _embed_for_sql}
        return sql_reader.Reader.open(
            settings.find_store_directory(name), functions, mind.maintenance.catch_up, mind.close
        )
    except BaseException:
        mind.close()
        raise


def embed(text: str) -> "NDArray[np.float32]":
    """Return the vector of a text, by the model of the column ``embedding``, for ``cosine_similarity``."""
    if not isinstance(text, str):
        raise InvalidInput(f"embed takes text, not {text!r}")
    model = _load_embedder(Settings.load().model)
    if model.meaning is None:
        raise Unavailable(model.missing_because)
    vector: NDArray[np.float32] = model.meaning.embedder.embed([validate_text(text)])[0]
    return vector


@cache
def _load_embedder(name: str) -> LazyEmbedder:
    """One model for the whole process, because loading one takes longer than using it."""
    return LazyEmbedder(name)


def _embed_for_sql(text: str | None) -> bytes | None:
    return embed(text).astype("<f4").tobytes() if text else None
