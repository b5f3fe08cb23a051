"""Byte-level BPE from a checkpoint's vocabulary, through the `tokenizers` package."""

from collections.abc import Sequence

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from model.checkpoints.checkpoint import CheckpointError, Vocabulary


def _byte_letters() -> dict[str, int]:
    """The printable letter that byte-level BPE writes for each byte (GPT-2's table), inverted."""
    shown = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in set(shown)]
    return {chr(byte): byte for byte in shown} | {chr(256 + i): byte for i, byte in enumerate(hidden)}


_BYTES = _byte_letters()


class TextTokenizer:
    """Text to ids and ids to bytes. Special tokens written out in the text are read as themselves."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._special = frozenset(vocabulary.special_ids)
        self._tokenizer = _build(vocabulary)
        self._bytes = [
            token.encode() if index in self._special else bytes(_BYTES[letter] for letter in token)
            for index, token in enumerate(vocabulary.tokens)
        ]
        self.end_ids = frozenset(
            {vocabulary.eos_id}
            | {i for i in self._special if vocabulary.tokens[i] in ("<|endoftext|>", "<|im_end|>")}
        )

    def __len__(self) -> int:
        return len(self._bytes)

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        bos = self.vocabulary.bos_id
        if self.vocabulary.add_bos and bos is not None and ids[:1] != [bos]:
            return [bos, *ids]
        return ids

    def is_special(self, token: int) -> bool:
        return token in self._special

    def bytes_of(self, token: int) -> bytes:
        """The token's bytes; for a special token the bytes of its name."""
        return self._bytes[token]

    def name_of(self, token: int) -> str:
        """The token as text, or as `bytes:\\xe6\\x97` where it is a part of a character."""
        content = self._bytes[token]
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            return "bytes:" + "".join(f"\\x{byte:02x}" for byte in content)

    def decode(self, ids: Sequence[int], *, keep_special: bool = False) -> str:
        """Text of the ids; bytes that form no character become U+FFFD."""
        kept = (self._bytes[i] for i in ids if keep_special or i not in self._special)
        return b"".join(kept).decode("utf-8", errors="replace")


def _build(vocabulary: Vocabulary) -> Tokenizer:
    pre_tokenizer: pre_tokenizers.PreTokenizer
    if vocabulary.pre_tokenizer == "smollm":
        pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
    elif vocabulary.pre_tokenizer in ("gpt-2", "default"):
        pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    else:
        raise CheckpointError(
            f"the pre-tokenizer {vocabulary.pre_tokenizer!r} is not known: use a smollm or gpt-2 checkpoint"
        )
    tokens = {token: index for index, token in enumerate(vocabulary.tokens)}
    merges = [(left, right) for left, right in (merge.split(" ") for merge in vocabulary.merges)]
    tokenizer = Tokenizer(models.BPE(vocab=tokens, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [AddedToken(vocabulary.tokens[i], special=True, normalized=False) for i in vocabulary.special_ids]
    )
    return tokenizer
