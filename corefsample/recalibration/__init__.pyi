from ._english import english_recalibration as english_recalibration
from ._english import read_recalibration as read_recalibration
from ._english import score_english as score_english
from ._fitter import RecalibrationFitter as RecalibrationFitter
from ._losses import LinkScore as LinkScore
from ._refits import RecalibrationDraws as RecalibrationDraws
