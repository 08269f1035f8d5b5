"""Changes of a file's bytes, as hypothesis draws them: flipped bits, other bytes, missing and added pieces."""

from hypothesis import strategies as st

__all__ = ["changed", "changes"]


def changes(size: int):
    """A few changes (what, where, how) of a file of `size` bytes."""
    place = st.integers(0, size - 1)
    return st.lists(
        st.tuples(st.just("flip"), place, st.integers(0, 7))
        | st.tuples(st.just("set"), place, st.binary(min_size=1, max_size=8))
        | st.tuples(st.just("cut"), place, st.integers(1, 64))
        | st.tuples(st.just("insert"), place, st.binary(min_size=1, max_size=16))
        | st.tuples(st.just("end"), place, st.just(0)),
        min_size=1,
        max_size=3,
    )


def changed(content: bytes, edits) -> bytes:
    """The bytes after the changes."""
    data = bytearray(content)
    for what, place, how in edits:
        at = min(place, max(0, len(data) - 1))
        if what == "flip" and data:
            data[at] ^= 1 << how
        elif what == "set":
            data[at : at + len(how)] = how
        elif what == "cut":
            del data[at : at + how]
        elif what == "insert":
            data[at:at] = how
        elif what == "end":
            del data[at:]
    return bytes(data)
