"""Calibration of link marginals, overall and by group."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from expected_errors import error
from strategies.calibrated import calibrated_documents

from corefsample import InputError, ParameterError, ScoredDocument
from corefsample.calibration.binning._binning import bin_pairs
from corefsample.calibration.measures._error import binned_error
from corefsample.links import calibrate_links
from corefsample.links._calibration import LinkCalibration
from corefsample.links._pairs import link_pairs, link_tables

N_DOCUMENTS, N_MENTIONS = 60, 12


def documents(sharpness: float = 1.0) -> Iterator[ScoredDocument]:
    return calibrated_documents(N_DOCUMENTS, N_MENTIONS, sharpness)


def measured(sharpness: float = 1.0) -> LinkCalibration:
    return calibrate_links(link_tables(documents(sharpness)), bin_size=200, n_resamples=500)


def test_the_overall_error_is_that_of_all_pairs() -> None:
    pairs = [link_pairs(document) for document in documents()]
    q, y = (np.concatenate([getattr(each, name) for each in pairs]) for name in ("q", "y"))
    overall = measured().overall
    assert overall.error == pytest.approx(binned_error(bin_pairs(q, y, bin_size=200)), rel=0.05)
    assert overall.curve.bins.n_pairs == N_DOCUMENTS * N_MENTIONS * (N_MENTIONS - 1) // 2
    assert overall.n_documents == N_DOCUMENTS


def test_a_calibrated_model_passes_and_an_overconfident_one_does_not() -> None:
    calibrated, overconfident = measured().overall, measured(3.0).overall
    assert calibrated.p_value is not None
    assert overconfident.p_value is not None
    assert calibrated.p_value > 1e-6
    assert overconfident.p_value == 1 / 501
    assert overconfident.by_document is not None
    assert calibrated.by_document is not None
    assert overconfident.by_document.lower > calibrated.by_document.upper


def test_groups_without_a_pair_are_left_out_and_the_rest_add_up() -> None:
    calibration = measured()
    by_distance = [group for group in calibration.groups if group.partition == "distance"]
    assert [group.group for group in by_distance] == ["1", "2-3", "4-7", "8-15"]
    assert sum(group.curve.bins.n_pairs for group in by_distance) == calibration.overall.curve.bins.n_pairs
    assert not [group for group in calibration.groups if group.partition == "kind"]  # these have no tokens


def test_tables_have_a_row_a_group_and_a_row_a_bin() -> None:
    calibration = measured()
    frame, curves = calibration.to_frame(), calibration.curves_frame()
    assert frame["group"].tolist() == ["all pairs", "1", "2-3", "4-7", "8-15"]
    names = "partition group n_documents n_pairs n_bins mean_q share_true"
    assert frame.columns.tolist()[:7] == names.split()
    assert len(curves) == frame["n_bins"].sum()
    assert curves.groupby("group")["n"].sum().to_dict() == frame.set_index("group")["n_pairs"].to_dict()


def test_a_single_document_has_no_interval_by_document() -> None:
    calibration = calibrate_links(link_tables([next(documents())]), bin_size=20, n_resamples=50)
    assert calibration.overall.by_document is None
    assert calibration.overall.p_value is None
    assert calibration.to_frame()["lower"].isna().all()


@pytest.mark.parametrize(("option", "value"), [("bin_size", 0), ("norm", "l3"), ("level", 1.0), ("n_resamples", 1)])
def test_invalid_options_raise(option: str, value: object) -> None:
    with error(ParameterError, option):
        calibrate_links(link_tables(documents()), **{option: value})  # type: ignore[arg-type]


def test_gold_without_a_pair_raises() -> None:
    with pytest.raises(InputError, match="gold must annotate at least two mentions"):
        calibrate_links(link_tables([]))
