"""A small training step: what the example compiles. Put your own in its place."""

import jax
import jax.numpy as jnp

WIDTH, LAYERS, BATCH = 512, 4, 256


def block(layer, x):
    """A residual block of two matrices."""
    return x + jnp.tanh(x @ layer["up"]) @ layer["down"]


def loss(params, x):
    """The loss; the backward pass computes each block again instead of keeping it."""
    for layer in params:
        x = jax.checkpoint(block)(layer, x)
    return jnp.mean(x**2)


def train_step(params, momentum, x):
    """One step: new parameters and momentum replace the old ones, which are donated."""
    gradients = jax.grad(loss)(params, x)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
    return jax.tree.map(lambda p, m: p - 0.1 * m, params, momentum), momentum


def forward(params, x):
    """The loss alone."""
    return loss(params, x)


def shapes():
    """Return the shapes of parameters and batch: ahead of time nobody needs their values."""
    matrix = {
        "up": jax.ShapeDtypeStruct((WIDTH, 4 * WIDTH), jnp.bfloat16),
        "down": jax.ShapeDtypeStruct((4 * WIDTH, WIDTH), jnp.bfloat16),
    }
    return [matrix] * LAYERS, jax.ShapeDtypeStruct((BATCH, WIDTH), jnp.bfloat16)
