import pytest

from fisherem._utils.extras import need_extra


def test_a_missing_package_is_named_with_its_extra():
    assert need_extra("json", "reading", "none").dumps([]) == "[]"
    with pytest.raises(ImportError, match=r"reading X needs the package nonsense: pip install 'fisherem\[x\]'"):
        need_extra("nonsense.part", "reading X", "x")
