import json

import pytest

from articles.dedup.rules import RULES_VERSION
from articles.dedup.scoring import FEATURES, KINDS, WEIGHTS, Example, calibration, fit, likelihood
from articles.dedup.verdict import judge
from tests.dedup.cases import edited, item, load, replaced, story


def examples():
    same = [judge(item(*story(case["story"])), item(*edited(case))) for case in load("edits")]
    other = [judge(item(*story(case["story"])), item(*replaced(case))) for case in load("flips")]
    return [Example(one.kind, one.evidence, True) for one in same if one.kind in KINDS] + [
        Example(one.kind, one.evidence, False) for one in other if one.kind in KINDS
    ]


def test_fitting_gives_a_weight_for_each_feature_and_its_figures():
    fitted = fit(examples())
    assert list(fitted["weights"]) == list(FEATURES)
    assert fitted["pairs"] == len(examples())
    assert fitted["brier"] < 0.1


def test_fitting_twice_gives_the_same():
    assert fit(examples()) == fit(examples())


def test_one_side_alone_cannot_be_fitted():
    with pytest.raises(ValueError, match="both needed"):
        fit([example for example in examples() if example.duplicate])


def test_a_near_copy_is_likelier_than_a_template():
    evidence = examples()[0].evidence
    assert likelihood("near", evidence) > likelihood("rewrite", evidence) > likelihood("template", evidence)


def test_calibration_counts_duplicates_between_two_bounds():
    assert calibration([0.05, 0.95, 1.0], [False, True, True]) == [
        {"from": 0.0, "to": 0.1, "pairs": 1, "duplicates": 0.0},
        {"from": 0.9, "to": 1.0, "pairs": 2, "duplicates": 1.0},
    ]


def test_the_shipped_weights_were_fitted_to_the_rules_in_force():
    """Kinds move with the rules, and what a kind is worth with them: fit_judge after each new version."""
    shipped = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    assert shipped["rules"] == RULES_VERSION
    assert fit(examples())["rules"] == RULES_VERSION
    assert list(shipped["weights"]) == list(FEATURES)
    assert sum(bin_["pairs"] for bin_ in shipped["calibration"]) == shipped["pairs"]
