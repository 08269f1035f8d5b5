"""The examples of the public docstrings run, and every parameter of a public class is described in its docstring."""

import doctest
import inspect
import re

import pytest

import fisherem
from fisherem._utils.docstrings import section, with_sections_of

ESTIMATORS = [
    "FisherEM",
    "SparseFisherEM",
    "ModelSearch",
    "SelectDiscriminative",
    "SparseKMeans",
    "Clustvarsel",
    "Selvarclust",
]
WITH_EXAMPLES = [name for name in fisherem.__all__ if ">>>" in (getattr(fisherem, name).__doc__ or "")]


def test_the_estimators_and_rivals_have_examples():
    assert {"FisherEM", "SparseFisherEM", "SparseKMeans", "Clustvarsel", "Selvarclust"} <= set(WITH_EXAMPLES)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_run(name):
    found = doctest.DocTestFinder(recurse=False).find(getattr(fisherem, name), name)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    said = []
    for test in found:
        runner.run(test, out=said.append)
    assert runner.summarize(verbose=False).attempted
    assert not said, "".join(said)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_and_attribute_has_an_entry(name):
    cls = getattr(fisherem, name)
    doc = inspect.getdoc(cls)
    described = re.findall(r"(?m)^([\w, ]+) :", section(doc, "Parameters"))
    entries = {one.strip() for line in described for one in line.split(",")}
    parameters = set(inspect.signature(cls).parameters)
    assert parameters <= entries, f"no entry for {sorted(parameters - entries)}"
    assert entries <= parameters, f"entries for what is no parameter: {sorted(entries - parameters)}"
    attributes = section(doc, "Attributes")
    assert attributes
    # an entry is a name with its type, and a line that says what it is
    for title in ("Parameters", "Attributes"):
        lines = section(doc, title).split("\n")
        bare = [
            a
            for a, b in zip(lines, [*lines[1:], ""], strict=True)
            if re.match(r"\w.* :", a) and not b.startswith("    ")
        ]
        assert not bare, f"entries without a word: {bare}"


def test_sections_of_a_parent_come_first():
    class Parent:
        """One.

        Parameters
        ----------
        a : int
            First.

        Attributes
        ----------
        a_ : int
            Its own.
        """

    @with_sections_of(Parent, "Parameters")
    class Child(Parent):
        """Two.

        Parameters
        ----------
        b : int
            Second.

        See Also
        --------
        Parent
        """

    assert section(Child.__doc__, "Parameters") == "a : int\n    First.\nb : int\n    Second."
    assert section(Child.__doc__, "See Also") == "Parent"
    assert section(Child.__doc__, "Attributes") == ""
    assert section(Parent.__doc__, "None") == ""
