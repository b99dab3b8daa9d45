from ._errors import GroupErrors as GroupErrors
from ._errors import TagErrors as TagErrors
from ._functions import grouped_calibration_errors as grouped_calibration_errors
from ._functions import shared_calibration_error as shared_calibration_error
from ._functions import tag_calibration_errors as tag_calibration_errors
from ._groups import TagGroups as TagGroups
from ._groups import tag_frequency_groups as tag_frequency_groups
from ._scores import TagScores as TagScores
