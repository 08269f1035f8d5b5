"""The page of a segmented image: what it shows, as plain data, and its HTML.

In: a `Segmentation`. Out: `content.ImageContent`, and the text of the page (`page`).
"""
