"""Command lines: legal and hostile options on small files, whole and damaged.

Whatever happens, a command ends with 0, or with one line that says why; nothing that was there is changed, notes are
ours, and what was written can be read.
"""

import json
import re
import warnings
from dataclasses import dataclass

import h5py
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import strategies as st

from fisherem import FisherEM, SparseFisherEM, load, save
from fisherem.cli import main
from tests.images.files import write_envi, write_tif

from .changes import changed, changes
from .outcomes import Case, attack

N = 24
# What no note or error of ours contains.
RAW = ("encountered in", "Traceback", "unexpected error", "report it", "object at 0x", "Warning:")
TABLES = (
    "t.csv", "t.npy", "t.parquet", "t.xlsx", "mixed.csv", "gaps.csv", "counts.csv", "genes.tsv", "one.csv", "empty.csv",
)  # fmt: skip
# Values that a legal line does not have, and options that it has only for a table with ids and classes.
HOSTILE = {
    "nothing", "", "x", "nonsense", "nan", "0", "-1", "99", "999", "a,a", "4294967296", "9-1", "100%", "nothing.csv",
    "nothing.npy", "0,1,2", "9,9,9", "5x5", "t.npy", "a", "refuse", "thousands", "t.csv", "9", "3,2", "--sheet",
    "--transpose", "--counts", "log-counts", "--categories", "scene.npy", "dense.skops", "1KB", "power", "--comma",
}  # fmt: skip
OF_ROWS = {"--id-column", "--label-column", "--drop", "--samples", "--weight-column", "--annotate", "--covariate"}
MODELS = ("dense.skops", "sparse.skops", "batch.skops", "mixed.skops", "scene.skops", "t.csv", "nothing.skops")
# Options of every command for tables: harmless and hostile values.
READING = {
    "--id-column": ["id", "nothing", "x1", ""], "--label-column": ["kind", "nothing", "x1"],
    "--drop": ["x1", "kind", "nothing"], "--comma": ["decimal", "thousands", "x"], "--transpose": [None],
    "--no-transpose": [None], "--missing": ["model", "refuse", "drop-rows", "drop-columns", "x"],
    "--duplicates": ["error", "first", "mean", "max"], "--sheet": ["Sheet1", "0", "1", "x"],
    "--samples": ["samples.csv", "t.csv", "nothing.csv", "t.npy"], "--categories": ["x1", "kind", "nothing"],
    "--weight-column": ["w", "x1", "kind", "nothing"], "--annotate": ["kind", "note", "nothing"],
    "--covariate": ["kind", "note", "x1", "nothing"],
}  # fmt: skip
FITTING = {
    "--sparsity": ["auto", "0.5", "1", "0", "nan", "2"], "--model": ["DkB", "AB", "auto", "nonsense"],
    "--noise-factors": ["0", "1", "auto", "-1", "99"], "--transformation": ["power", "log-counts", "none", "x"],
    "--stability": ["2", "1"], "--group-names": ["a,b", "a,a", "=1,b", "a", ""], "--scale": [None],
    "--no-scale": [None],
    "--method": ["dense", "svd", "regression", "x"], "--n-init": ["2", "0"], "--memory": ["1KB", "1MB", "x", "-1"],
    "--seed": ["1", "-1", "4294967296", "x"], "--json": [None], "-q": [None], "--counts": [None],
}  # fmt: skip
USING = {"--json": [None], "--memory": ["1KB", "x"], "--significance": ["sig.csv", "t.csv", "nothing.csv"],
         "--group-names": ["a,b", "a"], "--palette": ["viridis", "red,blue", "nonsense"],
         "--markers": ["markers.csv", "t.csv"]}  # fmt: skip
SCENES = ("scene.hdr", "scene.tif", "scene.npy", "t.csv", "t.npy", "nothing.hdr")
SEGMENTING = {
    "-k": ["2", "3", "1", "0", "2:3", "auto", "x", "999"], "--sparsity": ["0.5", "1", "0"],
    "--model": ["DB", "AkB", "x"], "--bands": ["1-3", "0.5-2.6um", "9-1", "x"],
    "--mask": ["mask.npy", "scene.npy", "nothing.npy"], "--spatial": ["1", "auto", "-1", "x"], "--normalise": [None],
    "--no-normalise": [None], "--standardise": [None], "--missing": ["model", "drop-rows", "refuse"],
    "--keep": ["all", "fill", "x"], "--min-size": ["2", "10%", "100%", "-1"], "--separate-bands": [None],
    "--truth": ["mask.npy", "t.csv", "nothing.npy"], "--rgb": ["1,2,3", "0,1,2", "9,9,9"], "--stability": ["2"],
    "--library": ["library.csv", "t.csv", "nothing.csv"], "--names": ["a,b", "a", "=1,2"],
    "--apply": ["scene.skops", "dense.skops", "t.csv"], "--tolerance": ["0.1", "-1"], "--resample": [None],
    "--variable": ["x"], "--shape": ["4x6", "5x5", "x"], "--memory": ["1KB", "1MB", "x"], "--json": [None],
}  # fmt: skip


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    """The bytes of every file by its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _written(tmp_path_factory.mktemp("inputs"))


def _written(folder) -> dict[str, bytes]:
    rng = np.random.default_rng(0)
    odd = np.arange(N) % 2
    rows = pd.DataFrame(rng.normal(size=(N, 4)) + 6 * odd[:, None], columns=["x1", "x2", "x3", "x4"])
    ids = [f"r{i}" for i in range(N)]
    whole = rows.assign(kind=np.array(["a", "b"])[rng.integers(0, 2, N)], w=1.0 + odd)
    whole.insert(0, "id", ids)
    whole.to_csv(folder / "t.csv", index=False)
    whole.to_excel(folder / "t.xlsx", index=False)
    rows.to_parquet(folder / "t.parquet", index=False)
    np.save(folder / "t.npy", rows.to_numpy())
    mixed = rows[["x1", "x2"]].assign(colour=np.array(["red", "blue"])[odd], size=rng.integers(1, 4, N))
    mixed.to_csv(folder / "mixed.csv", index=False)
    rows.mask(rng.uniform(size=rows.shape) < 0.1).to_csv(folder / "gaps.csv", index=False)
    counts = pd.DataFrame(rng.poisson(5 + 20 * odd[:, None], (N, 4)), columns=rows.columns)
    counts.to_csv(folder / "counts.csv", index=False)
    rows.T.set_axis(ids, axis=1).to_csv(folder / "genes.tsv", sep="\t", index_label="gene")
    rows[["x1"]].to_csv(folder / "one.csv", index=False)
    (folder / "empty.csv").write_text("")
    pd.DataFrame({"id": ids[::-1], "note": np.array(["u", "v", "w"])[rng.integers(0, 3, N)]}).to_csv(
        folder / "samples.csv", index=False
    )
    pd.DataFrame({"variable": rows.columns, "p": 0.1, "q": 0.2}).to_csv(folder / "sig.csv", index=False)
    save(FisherEM(2, n_init=1, random_state=0, n_jobs=1).fit(rows), folder / "dense.skops")
    save(SparseFisherEM(2, random_state=0, n_jobs=1).fit(rows), folder / "sparse.skops")
    save(FisherEM(2, n_init=1, random_state=0).fit(rows, covariates=whole[["kind"]]), folder / "batch.skops")
    save(FisherEM(2, n_init=1, random_state=0).fit(mixed), folder / "mixed.skops")
    cube = rng.uniform(0.1, 0.2, (4, 6, 5)) + (np.arange(6) > 2)[None, :, None] * np.linspace(0, 1, 5)
    write_envi(folder / "scene.hdr", cube.astype("f4"), wavelength="{0.4, 0.5, 0.6, 0.7, 0.8}")
    write_tif(folder / "scene.tif", cube.astype("f4"))
    np.save(folder / "scene.npy", cube)
    np.save(folder / "mask.npy", (np.arange(24) > 3).reshape(4, 6).astype("u1"))
    pd.DataFrame({"wavelength": 0.4 + np.arange(5) / 10, "soil": 0.1, "leaf": np.linspace(0, 1, 5)}).to_csv(
        folder / "library.csv", index=False
    )
    with h5py.File(folder / "nothing.h5", "w"):
        pass
    done = CliRunner().invoke(main, ["segment", str(folder / "scene.hdr"), "-k", "2", "--sparsity", "0.5", "-q",
                                     "-o", str(folder / "out")])  # fmt: skip
    assert done.exit_code == 0, done.output
    (folder / "out" / "model.skops").rename(folder / "scene.skops")
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@dataclass(frozen=True)
class Line:
    """A command line, and a file that is damaged before it is run."""

    command: str
    files: tuple[str, ...]
    options: tuple
    damage: tuple | None  # (the number of the file, its changes)
    legal: bool

    def _legal(self) -> list[tuple]:
        """The options that are likely to be right for the files."""
        known = self.files[-1] in ("t.csv", "t.xlsx") and self.command != "segment"
        kept = [
            (option, value) for option, value in self.options
            if not {option, value} & HOSTILE and (known or option not in OF_ROWS)
        ]  # fmt: skip
        if known:
            kept = [(option, value) for option, value in kept if value != "x1"]
            named = {value for _, value in kept}
            kept = [(o, v) for o, v in kept if v != "note" or "samples.csv" in named]
            kept += [("--drop", name) for name in ("kind", "w") if name not in named]
        return kept

    def words(self) -> list[str]:
        """The arguments."""
        options = self._legal() if self.legal else self.options
        given = [word for option, value in options for word in (option, value) if word is not None]
        if self.command in ("fit", "compare", "segment", "subcluster", "search") and "-k" not in given:
            given += [] if "--apply" in given else ["-k", "2"]
        if self.command == "subcluster" and "--group" not in given:
            given += ["--group", "1"]
        if self.command == "significance":
            given += ["--draws", "2"]
        if self.command == "compare":
            given += ["--methods", "k-means,fisher-em" if "-q" not in given else "k-means"]
        if self.command == "explain" and "--label-column" not in given:
            given += ["--label-column", "kind"]
        return [self.command, *self.files, *given]


def _lines():
    def options(*known, most=3):
        pairs = [(name, value) for part in known for name, values in part.items() for value in values]
        return st.lists(st.sampled_from(pairs), max_size=most, unique_by=lambda pair: pair[0]).map(tuple)

    table, model = st.sampled_from([*TABLES, *["t.csv"] * 8]), st.sampled_from([*MODELS, *["dense.skops"] * 4])
    commands = {
        "fit": (st.tuples(table), options(READING, FITTING)),
        "search": (st.tuples(table), options(READING, {"-k": ["2", "2:3", "x", "3,2"], "--criterion": ["bic", "x"],
                                                       "--models": ["DkB", "DkB,AB", "x"], "--joint": [None]})),
        "explain": (st.tuples(table), options(READING, {"--json": [None]})),
        "compare": (st.tuples(table), options(READING, {"--json": [None], "-q": [None], "--scale": [None]})),
        "predict": (st.tuples(model, table), options(READING, USING)),
        "report": (st.tuples(model, table), options(READING, USING)),
        "significance": (st.tuples(model, table), options(READING, {"--pairs": [None], "--json": [None]})),
        "subcluster": (st.tuples(model, table), options(READING, {"--group": ["1", "2", "0", "9", "x", "group 1"],
                                                                  "-k": ["2", "1", "x", "99"], "--json": [None]})),
        "segment": (st.tuples(st.sampled_from(SCENES)), options(SEGMENTING, most=4)),
    }  # fmt: skip
    damage = st.sampled_from([None] * 7 + [0, 1]).flatmap(
        lambda file: st.none() if file is None else st.tuples(st.just(file), changes(2000))
    )
    legal = st.sampled_from([True, True, True, False])
    return st.one_of(
        st.builds(Line, st.just(name), files, given, damage, legal) for name, (files, given) in commands.items()
    )


def _check_outputs(folder, line: Line, stdout: str, names: list[str]) -> None:
    """What a command that ended with 0 has written can be read."""
    if "--json" in line.words():
        json.loads(stdout)
    for name in names:
        path = folder / name
        assert ".writing" not in name, name
        if path.suffix == ".csv":
            assert len(pd.read_csv(path)) or name.startswith(("out/library", "out/truth"))
        elif path.suffix == ".html":
            assert "</html>" in path.read_text(encoding="utf-8")
        elif path.suffix == ".json":
            json.loads(path.read_text(encoding="utf-8"))
        elif path.suffix == ".skops":
            load(path)


def test_commands(contents, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")

    def case_of(line: Line) -> Case:
        folder = tmp_path_factory.mktemp("line")
        monkeypatch.chdir(folder)
        for name, content in contents.items():
            (folder / name).write_bytes(content)
        if line.damage is not None:
            path = folder / line.files[line.damage[0] % len(line.files)]
            if path.exists():
                path.write_bytes(changed(path.read_bytes(), line.damage[1]))
        before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}

        def check(result):
            told = f"{line.words()}\n{result.output}"
            assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
            assert result.exit_code in (0, 1, 2), told
            assert not [word for word in RAW if word in result.output], told
            for path, content in before.items():
                assert path.read_bytes() == content, f"{path.name} was changed"
            if result.exit_code:
                assert len(re.findall(r"^Error: \S", result.stderr, re.MULTILINE)) == 1, told
                assert not [p for p in folder.rglob("*") if ".writing" in p.name], told
                return
            new = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path not in before]
            _check_outputs(folder, line, result.stdout, new)

        return Case(lambda: CliRunner().invoke(main, line.words()), (), check)

    attack("commands", _lines(), case_of, default=20)
