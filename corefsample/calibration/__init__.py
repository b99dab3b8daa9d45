"""Calibration of probabilities: is what is said with 70% true in 70% of cases? Arrays in, results out.

Names load where they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from corefsample._lazy import lazy_names

if TYPE_CHECKING:
    from corefsample.calibration.binning import bin_pairs as bin_pairs
    from corefsample.calibration.binning import block_bin_pairs as block_bin_pairs
    from corefsample.calibration.bins import BlockBins as BlockBins
    from corefsample.calibration.bins import ReliabilityBins as ReliabilityBins
    from corefsample.calibration.bins import Strategy as Strategy
    from corefsample.calibration.corp import CorpDecomposition as CorpDecomposition
    from corefsample.calibration.corp import corp_decomposition as corp_decomposition
    from corefsample.calibration.error import CalibrationError as CalibrationError
    from corefsample.calibration.error import Norm as Norm
    from corefsample.calibration.error import binned_error as binned_error
    from corefsample.calibration.error import calibration_error as calibration_error
    from corefsample.calibration.error import calibration_error_from_table as calibration_error_from_table
    from corefsample.calibration.grids import FloatGrid as FloatGrid
    from corefsample.calibration.grids import Grid as Grid
    from corefsample.calibration.grids import LevelGrid as LevelGrid
    from corefsample.calibration.grouping import Convention as Convention
    from corefsample.calibration.grouping import GroupErrors as GroupErrors
    from corefsample.calibration.grouping import SharedError as SharedError
    from corefsample.calibration.grouping import TagErrors as TagErrors
    from corefsample.calibration.grouping import TagGroups as TagGroups
    from corefsample.calibration.grouping import TagScores as TagScores
    from corefsample.calibration.grouping import grouped_calibration_errors as grouped_calibration_errors
    from corefsample.calibration.grouping import shared_calibration_error as shared_calibration_error
    from corefsample.calibration.grouping import tag_calibration_errors as tag_calibration_errors
    from corefsample.calibration.grouping import tag_frequency_groups as tag_frequency_groups
    from corefsample.calibration.intervals import BinMethod as BinMethod
    from corefsample.calibration.intervals import BootstrapMethod as BootstrapMethod
    from corefsample.calibration.intervals import CalibrationTest as CalibrationTest
    from corefsample.calibration.intervals import Interval as Interval
    from corefsample.calibration.intervals import SimulationMethod as SimulationMethod
    from corefsample.calibration.intervals import bin_intervals as bin_intervals
    from corefsample.calibration.intervals import bootstrap_errors as bootstrap_errors
    from corefsample.calibration.intervals import bootstrap_interval as bootstrap_interval
    from corefsample.calibration.intervals import calibration_test as calibration_test
    from corefsample.calibration.intervals import simulated_errors as simulated_errors
    from corefsample.calibration.intervals import simulated_interval as simulated_interval
    from corefsample.calibration.monte_carlo import SplitSampleError as SplitSampleError
    from corefsample.calibration.monte_carlo import SquaredNorm as SquaredNorm
    from corefsample.calibration.monte_carlo import split_sample_error as split_sample_error
    from corefsample.calibration.recalibrators import FittedModel as FittedModel
    from corefsample.calibration.recalibrators import GroupedRecalibrator as GroupedRecalibrator
    from corefsample.calibration.recalibrators import HistogramBinning as HistogramBinning
    from corefsample.calibration.recalibrators import IsotonicRecalibration as IsotonicRecalibration
    from corefsample.calibration.recalibrators import PlattScaling as PlattScaling
    from corefsample.calibration.recalibrators import Recalibrator as Recalibrator
    from corefsample.calibration.recalibrators import ScalingBinning as ScalingBinning
    from corefsample.calibration.recalibrators import TemperatureScaling as TemperatureScaling
    from corefsample.calibration.recalibrators import recalibrator_from_json as recalibrator_from_json
    from corefsample.calibration.reliability import ReliabilityCurve as ReliabilityCurve
    from corefsample.calibration.reliability import curve_of_bins as curve_of_bins
    from corefsample.calibration.reliability import reliability_curve as reliability_curve
    from corefsample.calibration.scores import BrierDecomposition as BrierDecomposition
    from corefsample.calibration.scores import brier_decomposition as brier_decomposition
    from corefsample.calibration.scores import brier_score as brier_score
    from corefsample.calibration.scores import log_loss as log_loss
    from corefsample.calibration.studies import bin_size_study as bin_size_study
    from corefsample.calibration.studies import coverage_study as coverage_study
    from corefsample.calibration.studies import noise_study as noise_study
    from corefsample.calibration.studies import rejection_study as rejection_study
    from corefsample.calibration.studies import sample_size_study as sample_size_study
    from corefsample.calibration.synthetic import Design as Design
    from corefsample.calibration.synthetic import SyntheticPairs as SyntheticPairs
    from corefsample.calibration.synthetic import shifted as shifted
    from corefsample.calibration.synthetic import synthetic_pairs as synthetic_pairs
    from corefsample.calibration.synthetic import tempered as tempered
    from corefsample.calibration.table import CalibrationTable as CalibrationTable
    from corefsample.calibration.table_builder import TableBuilder as TableBuilder

_MODULES = {
    "BinMethod": "intervals",
    "BlockBins": "bins",
    "BootstrapMethod": "intervals",
    "BrierDecomposition": "scores",
    "CalibrationError": "error",
    "CalibrationTable": "table",
    "CalibrationTest": "intervals",
    "Convention": "grouping",
    "CorpDecomposition": "corp",
    "Design": "synthetic",
    "FittedModel": "recalibrators",
    "FloatGrid": "grids",
    "Grid": "grids",
    "GroupErrors": "grouping",
    "GroupedRecalibrator": "recalibrators",
    "HistogramBinning": "recalibrators",
    "Interval": "intervals",
    "IsotonicRecalibration": "recalibrators",
    "LevelGrid": "grids",
    "Norm": "error",
    "PlattScaling": "recalibrators",
    "Recalibrator": "recalibrators",
    "ReliabilityBins": "bins",
    "ReliabilityCurve": "reliability",
    "ScalingBinning": "recalibrators",
    "SharedError": "grouping",
    "SimulationMethod": "intervals",
    "SplitSampleError": "monte_carlo",
    "SquaredNorm": "monte_carlo",
    "Strategy": "bins",
    "SyntheticPairs": "synthetic",
    "TableBuilder": "table_builder",
    "TagErrors": "grouping",
    "TagGroups": "grouping",
    "TagScores": "grouping",
    "TemperatureScaling": "recalibrators",
    "bin_intervals": "intervals",
    "bin_pairs": "binning",
    "bin_size_study": "studies",
    "binned_error": "error",
    "block_bin_pairs": "binning",
    "bootstrap_errors": "intervals",
    "bootstrap_interval": "intervals",
    "brier_decomposition": "scores",
    "brier_score": "scores",
    "calibration_error": "error",
    "calibration_error_from_table": "error",
    "calibration_test": "intervals",
    "corp_decomposition": "corp",
    "coverage_study": "studies",
    "curve_of_bins": "reliability",
    "grouped_calibration_errors": "grouping",
    "log_loss": "scores",
    "noise_study": "studies",
    "recalibrator_from_json": "recalibrators",
    "rejection_study": "studies",
    "reliability_curve": "reliability",
    "sample_size_study": "studies",
    "shared_calibration_error": "grouping",
    "shifted": "synthetic",
    "simulated_errors": "intervals",
    "simulated_interval": "intervals",
    "split_sample_error": "monte_carlo",
    "synthetic_pairs": "synthetic",
    "tag_calibration_errors": "grouping",
    "tag_frequency_groups": "grouping",
    "tempered": "synthetic",
}

__all__ = sorted(_MODULES)

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
