"""The page of a table: what it shows, as plain data, and its HTML.

In: a fitted estimator and its rows. Out: `table_content.Content`, and the text of the page (`table`).
"""
