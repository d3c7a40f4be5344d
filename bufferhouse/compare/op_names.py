"""What a framework's `op_name` says that survives another release of the framework."""

import re
from functools import lru_cache

# `reshape[new_sizes=(4, 32) dimensions=None]`: older JAX printed the parameters of a primitive behind its name.
_ATTRIBUTES = re.compile(r"\[[^/]*=[^/]*\](?=/|$)")
_BACKWARD = re.compile(r"(?:^|/)(?:transpose\(|gradients?(?:_tape)?(?:/|$))")
_AGAIN = re.compile(r"(?:^|/)(?:rematted_computation)(?:/|$)")


@lru_cache(maxsize=100_000)
def normalised(op_name: str) -> str:
    """Return an op_name without `jit(main)/` and without the attributes of primitives, which come and go by release.

    JAX writes the name stack of its tracing: `jit(f)/jit(main)/transpose(jvp(layer))/dot_general[…]` until 0.4,
    `jit(f)/transpose(jvp(layer))/dot_general` since.
    """
    return _ATTRIBUTES.sub("", op_name).replace("jit(main)/", "")


@lru_cache(maxsize=100_000)
def phase_and_primitive(op_name: str) -> tuple[str, str]:
    """Return forward, backward or remat, and the primitive: the last part of the name stack.

    JAX wraps the backward pass in `transpose(…)` and recomputation in `rematted_computation`; TensorFlow names
    gradients `gradient_tape/…` or `gradients/…`.
    """
    name = normalised(op_name)
    phase = "remat" if _AGAIN.search(name) else "backward" if _BACKWARD.search(name) else "forward"
    return phase, name.rpartition("/")[2]


_LAYOUT = re.compile(r"\{[^}]*\}")


@lru_cache(maxsize=100_000)
def without_layout(shape_text: str) -> str:
    """Return element type and dimensions, of a tuple those of its elements: of `f32[8,128]{1,0:T(8)}` `f32[8,128]`."""
    return _LAYOUT.sub("", shape_text)


_TILES = re.compile(r":((?:T(?:\([^)]*\))+)?)")


@lru_cache(maxsize=100_000)
def tiles(shape_text: str) -> str:
    """Return the tiles of a shape as printed, such as `T(8,128)(2,1)`; empty where it has none or is a tuple."""
    found = None if shape_text.startswith("(") else _TILES.search(shape_text)
    return found[1] if found else ""
