from ._builder import TableBuilder as TableBuilder
from ._grids import FloatGrid as FloatGrid
from ._grids import Grid as Grid
from ._grids import LevelGrid as LevelGrid
from ._table import CalibrationTable as CalibrationTable
