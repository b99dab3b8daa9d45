from ._fitter import RecalibrationFitter as RecalibrationFitter
from ._losses import LinkScore as LinkScore
from ._refits import RecalibrationDraws as RecalibrationDraws
from ._shipped import english_recalibration as english_recalibration
from ._shipped import read_recalibration as read_recalibration
from ._shipped import score_english as score_english
