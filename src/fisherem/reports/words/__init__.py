"""What the pages and the terminal say of a fit, in plain words.

In: a fitted estimator and what was computed of it. Out: text, and tables of facts.
"""
