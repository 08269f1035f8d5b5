import numpy as np
import pytest

from fisherem.model.dlm import MODELS, OTHER_MODELS, resolve

# Table 1 at K=4, p=100, d=3
PRINTED = {
    "DkBk": 337, "DkB": 334, "DBk": 319, "DB": 316, "AkjBk": 325, "AkjB": 322,
    "AkBk": 317, "AkB": 314, "AjBk": 316, "AjB": 313, "ABk": 314, "AB": 311,
}  # fmt: skip
OTHERS = {
    "Full-GMM": 20603, "Com-GMM": 5453, "Diag-GMM": 803, "Sphe-GMM": 407, "MFA": 1991,
    "Mixt-PPCA": 1596, "PGMM-CUU": 1097, "MCFA": 433, "MCUFSA": 322,
}  # fmt: skip

# The right-hand parts of Table 1 for d = K - 1: covariances, then noise
FORMULAS = {
    "DkBk": lambda K: K**2 * (K - 1) / 2 + K,
    "DkB": lambda K: K**2 * (K - 1) / 2 + 1,
    "DBk": lambda K: K * (K - 1) / 2 + K,
    "DB": lambda K: K * (K - 1) / 2 + 1,
    "AkjBk": lambda K: K**2,
    "AkjB": lambda K: K * (K - 1) + 1,
    "AkBk": lambda K: 2 * K,
    "AkB": lambda K: K + 1,
    "AjBk": lambda K: (K - 1) + K,
    "AjB": lambda K: (K - 1) + 1,
    "ABk": lambda K: K + 1,
    "AB": lambda K: 2,
}


def test_the_table_has_the_papers_counts_in_its_order():
    """Models that the paper does not have may follow its twelve."""
    assert {name: MODELS[name].n_parameters(4, 100, 3) for name in PRINTED} == PRINTED
    assert list(MODELS)[:12] == list(PRINTED)


@pytest.mark.parametrize("K", [2, 3, 5, 8])
@pytest.mark.parametrize("name", PRINTED)
def test_counts_follow_the_formulas_for_any_size(name, K):
    p = 17
    expected = (K - 1) + K * (K - 1) + (K - 1) * (p - K / 2) + FORMULAS[name](K)
    assert MODELS[name].n_parameters(K, p, K - 1) == expected


def test_effective_number_of_section_3_4():
    K, p, d, zeros = 4, 30, 2, 41
    expected = (K - 1) + K * d + (d * (p - (d + 1) / 2) - zeros) + K * d * (d + 1) / 2 + K
    assert MODELS["DkBk"].n_parameters(K, p, d, zeros) == expected


@pytest.mark.parametrize("name", PRINTED)
def test_factors_of_the_noise_are_counted_by_hand(name):
    """K=4, p=100, d=3: a factor has 100 loadings, every further one is orthogonal to those before it."""
    counts = {m: MODELS[name].n_parameters(4, 100, 3, n_factors=m) - PRINTED[name] for m in (0, 1, 3)}
    assert counts == {0: 0, 1: 100, 3: 100 + 99 + 98}


def test_any_covariance_is_counted_once():
    """With 99 factors of 100 variables N has 5050 parameters, the covariance inside and the level being part of it."""
    inside = {"D": 6, "A": 1}  # free parameters of one group inside three axes
    for m in (99, 100, 5000):
        assert MODELS["DB"].n_parameters(4, 100, 3, n_factors=m) == PRINTED["DB"] + 5050 - inside["D"] - 1
        assert MODELS["AB"].n_parameters(4, 100, 3, n_factors=m) == PRINTED["AB"] + min(100 * 99 - 99 * 49, 5050 - 2)
    # one group without axes: probabilistic principal components, and at p - 1 any covariance
    assert [MODELS["AB"].n_parameters(1, 6, 0, n_factors=m) for m in (0, 1, 2, 5, 6)] == [1, 7, 12, 21, 21]


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("p", [2, 3, 7, 20])
def test_a_groups_covariance_has_no_more_parameters_than_any_covariance(name, p):
    for d in range(1, min(4, p)):
        model = MODELS[name]
        counts = np.array([model.n_parameters(3, p, d, n_factors=m) for m in range(p + 3)])
        factors, own = counts - counts[0], model.covariance.count(1, d) + 1
        assert (np.diff(factors) >= 0).all()
        assert own + factors[-1] <= p * (p + 1) / 2
        assert factors[-1] >= p * (p - 1) / 2 - own  # and hardly fewer


def test_the_nine_other_models_follow_their_formulas():
    assert {name: count(4, 100, 3) for name, count in OTHER_MODELS.items()} == OTHERS


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("alpha_kj beta", "AkjB"),
        ("DLM[Σkβk]", "DkBk"),
        (r"\mathrm{DLM}_{[\Sigma_{k}\beta]}", "DkB"),
        ("[αβ]", "AB"),
        ("alpha_j beta_k", "AjBk"),
        ("akjb", "AkjB"),
    ],
)
def test_models_answer_to_the_papers_notation(name, short):
    assert resolve(name) is MODELS[short]
    assert resolve(MODELS[short].paper_name) is MODELS[short]


@pytest.mark.parametrize("name", ["XY", "", 3, None, "DkBkB"])
def test_unknown_models_are_refused_with_the_list(name):
    with pytest.raises(ValueError, match="DkBk, DkB, DBk"):
        resolve(name)


def test_constraints_tie_what_they_say():
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(3, 2, 4))
    covariances, shares = roots @ roots.transpose(0, 2, 1), np.array([0.5, 0.3, 0.2])
    pooled = 0.5 * covariances[0] + 0.3 * covariances[1] + 0.2 * covariances[2]
    tied = {
        name.removesuffix("k").removesuffix("B"): m.covariance.constrain(covariances, shares)
        for name, m in MODELS.items()
        if name in PRINTED
    }
    for k in range(3):
        np.testing.assert_allclose(tied["Dk"][k], covariances[k])
        np.testing.assert_allclose(tied["D"][k], pooled)
        np.testing.assert_allclose(tied["Akj"][k], np.diag(np.diag(covariances[k])))
        np.testing.assert_allclose(tied["Ak"][k], np.trace(covariances[k]) / 2 * np.eye(2))
        np.testing.assert_allclose(tied["Aj"][k], np.diag(np.diag(pooled)))
        np.testing.assert_allclose(tied["A"][k], np.trace(pooled) / 2 * np.eye(2))
    noises = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(MODELS["DkB"].noise.constrain(noises, shares), 0.5 + 0.6 + 0.6)
    np.testing.assert_allclose(MODELS["DkBk"].noise.constrain(noises, shares), noises)
