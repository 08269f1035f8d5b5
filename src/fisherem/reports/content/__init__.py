"""What the page of a table shows, as plain data: rows, variables, roles, criteria, stability.

In: a fitted estimator and its rows. Out: dataclasses of numbers and names; groups and variables count from 0.
"""
