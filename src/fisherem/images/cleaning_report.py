"""Counts of what cleaning left out and changed."""

from __future__ import annotations

from dataclasses import dataclass, field

from .._utils.wording import ranges

__all__ = ["CleaningReport"]


@dataclass
class CleaningReport:
    """What was left out, by reason: counts of pixels, numbers of bands (from 0). `str` formats them as text."""

    n_pixels: int
    n_bands: int
    masked_by_request: int = 0  # by the cube's or the user's mask
    fill_pixels: int = 0  # the fill value in some band that is used
    not_finite_pixels: int = 0  # NaN or infinite, without a fill value
    # undeclared fill values, in every band of so many pixels
    fill_found: dict[float, int] = field(default_factory=dict)
    columns_striped: tuple[int, ...] = ()  # at another level than the columns around them
    columns_stuck: tuple[int, ...] = ()  # repeating their values
    faulty_pixels: int = 0  # in these columns
    dark_pixels: int = 0  # 0 in every band, whatever the fill value of the file is
    bands_not_asked: int = 0
    bands_bad: tuple[int, ...] = ()  # in the bad-band list
    bands_empty: tuple[int, ...] = ()  # without a value in most pixels
    bands_erratic: tuple[int, ...] = ()  # a broken detector: far more variation than the bands around it
    bands_constant: tuple[int, ...] = ()
    gap_pixels: int = 0  # used, although they have no value in some of the bands that are used
    gap_cells: int = 0  # how many values they lack
    clipped: int = 0  # single values clipped to the limit
    normalised: bool | str = False
    standardised: bool = False
    used_pixels: int = 0
    used_bands: int = 0
    remarks: tuple[str, ...] = ()  # faults that were found but not left out

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that were left out as striped or stuck, from 0."""
        return tuple(sorted({*self.columns_striped, *self.columns_stuck}))

    def lines(self) -> list[tuple[str, int]]:
        """(description, count) of all counts that are not 0."""
        table = [
            ("pixels masked by request", self.masked_by_request),
            ("pixels with the fill value", self.fill_pixels),
            *((f"pixels with {value:g} in every band, taken as fill", n) for value, n in self.fill_found.items()),
            (f"pixels in columns that are striped or dead ({_numbers(self.columns)})", self.faulty_pixels),
            ("pixels with NaN or infinite values", self.not_finite_pixels),
            ("pixels that are 0 in every band", self.dark_pixels),
            ("bands not asked for", self.bands_not_asked),
            ("bands in the bad-band list", len(self.bands_bad)),
            ("bands without values", len(self.bands_empty)),
            (f"erratic bands ({_numbers(self.bands_erratic)})", len(self.bands_erratic)),
            ("constant bands", len(self.bands_constant)),
            ("outlying values clipped", self.clipped),
        ]
        return [(what, count) for what, count in table if count]

    def brief(self) -> str:
        """What was left out, on one line."""
        return ", ".join(f"{count} {what}" for what, count in self.lines()) or "nothing left out"

    def done(self) -> list[str]:
        """What was done to the values that were used."""
        gaps = f"{self.gap_pixels} pixels lack {self.gap_cells} values: the model uses their observed values"
        table = [
            (gaps, self.gap_pixels),
            ("each pixel divided by its norm", self.normalised is True),
            ("each pixel divided softly by its norm", self.normalised == "soft"),
            ("each band standardised", self.standardised),
        ]
        return [*(what for what, on in table if on), *self.remarks]

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{self.used_pixels} of {self.n_pixels} pixels and {self.used_bands} of {self.n_bands} bands used",
                *(f"  {count:>8} {what}" for what, count in self.lines()),
                *(f"  {what}" for what in self.done()),
            ]
        )


def _numbers(found: tuple[int, ...]) -> str:
    """Numbers from 1, as in the file."""
    return ranges(j + 1 for j in found)
