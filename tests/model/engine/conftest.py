"""The bundled checkpoint, and a tiny random one for tests of the engine's own rules."""

from collections.abc import Callable

import pytest
import torch

from kernels.contract import Kernels
from kernels.registry import best_kernels
from model.architectures.llama import Llama, LlamaConfig
from model.checkpoints.checkpoint import Checkpoint, Vocabulary, load_checkpoint
from model.engine.tokenizer import _BYTES
from model.weights import ensure_weights

TINY = LlamaConfig(
    vocabulary_size=260,
    hidden_size=64,
    feed_forward_size=96,
    layers=2,
    heads=4,
    kv_heads=2,
    head_dim=16,
    context_length=256,
    rope_theta=10000.0,
    norm_eps=1e-5,
)
LETTERS = {byte: letter for letter, byte in _BYTES.items()}
TINY_VOCABULARY = Vocabulary(
    pre_tokenizer="gpt-2",
    tokens=("<|endoftext|>", "<|im_start|>", "<|im_end|>", *(LETTERS[i] for i in range(256)), "ab"),
    merges=("a b",),
    special_ids=(0, 1, 2),
    bos_id=1,
    eos_id=2,
    padding_id=2,
    add_bos=False,
    chat_template="{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}",
)


def tiny_checkpoint(seed: int = 0, version: str = "tiny-0") -> Checkpoint:
    """Random weights, large enough that the distribution is far from uniform."""
    torch.manual_seed(seed)
    tensors = {name: tensor.detach() for name, tensor in Llama(TINY).state_dict().items()}
    for name, tensor in tensors.items():
        if "norm" not in name:
            tensor.copy_(torch.randn(tensor.shape) * (0.4 if "embedding" in name else 0.15))
    return Checkpoint(TINY, TINY_VOCABULARY, tensors, version)


@pytest.fixture(scope="session")
def kernels() -> Kernels:
    # As in the server: PyTorch's own threads would only wait for each other on a busy machine.
    torch.set_num_threads(1)
    return best_kernels(2)


@pytest.fixture(scope="session")
def bundled() -> Checkpoint:
    return load_checkpoint(ensure_weights())


@pytest.fixture(scope="session")
def make_tiny() -> Callable[..., Checkpoint]:
    """tiny_checkpoint itself."""
    return tiny_checkpoint


@pytest.fixture
def tiny() -> Checkpoint:
    return tiny_checkpoint()
