"""Initial partitions.

In: a `Problem`, the number of groups, how many starts and a random state. Out: labels (n), or rules that label the rows
of large data block by block. `partitions` has the register of starts: k-means, random and Ward starts, sparse k-means
and k-means in a shrunk metric.
"""
