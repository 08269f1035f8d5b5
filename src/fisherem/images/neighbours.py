"""What neighbouring pixels say of a map without known classes: the information that they share about their groups.

    I = sum_kl P[k, l] log(P[k, l] / (P[k, .] P[., l]))      in nats

P[k, l] is the share of the pairs of pixels, two apart, that are in groups k and l, either way round. Materials lie in
patches, the noise of a pixel does not: of two maps with the same number of groups, the one in which neighbours say more
of each other follows the noise less. (Clustering by maximising I is Ji, Henriques & Vedaldi 2019.) Light is smooth too,
so I does not tell light from materials. It is 0 where pixels lie in no order.
"""

from __future__ import annotations

import numpy as np

__all__ = ["pairs_among", "shared_information"]

# Pixels two apart: the light of adjacent pixels mixes in the sensor, and their noise with it.
_APART = 2


def pairs_among(index: np.ndarray, columns: int, chosen: np.ndarray) -> np.ndarray:
    """Pairs (2 x m) of rows: each of the `chosen` rows with those of the pixels two to its right and two below.

    `index` (n, ascending) are the numbers of the rows' pixels in an image of so many columns.
    """
    found = []
    for step, inside in ((_APART, index[chosen] % columns < columns - _APART), (_APART * columns, slice(None))):
        first = chosen[inside]
        wanted = index[first] + step
        place = np.minimum(np.searchsorted(index, wanted), len(index) - 1)
        there = index[place] == wanted
        found.append(np.stack([first[there], place[there]]))
    return np.concatenate(found, axis=1)


def shared_information(first: np.ndarray, second: np.ndarray, n_clusters: int) -> float:
    """I of the labels of both pixels of m pairs; 0 without pairs."""
    counts = np.zeros((n_clusters, n_clusters))
    np.add.at(counts, (first, second), 1.0)
    joint = (counts + counts.T) / max(2 * len(first), 1)
    alone = joint.sum(axis=0)
    seen = joint > 0
    return float((joint[seen] * np.log(joint[seen] / np.outer(alone, alone)[seen])).sum())
