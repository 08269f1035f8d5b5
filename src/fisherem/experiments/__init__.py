"""The paper's experiments: `fisherem reproduce`."""

from .reproduce import PARTS, reproduce

__all__ = ["PARTS", "reproduce"]
