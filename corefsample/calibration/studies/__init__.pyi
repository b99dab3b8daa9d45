from ._studies import bin_size_study as bin_size_study
from ._studies import coverage_study as coverage_study
from ._studies import noise_study as noise_study
from ._studies import rejection_study as rejection_study
from ._studies import sample_size_study as sample_size_study
