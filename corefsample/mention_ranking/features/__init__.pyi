from ._encoding import encode as encode
from ._encoding import features_hash as features_hash
from ._encoding import hashed as hashed
from ._hash_kernels import Hashed as Hashed
from ._pair_kernels import Encoded as Encoded
from ._templates import DEFAULT_TEMPLATES as DEFAULT_TEMPLATES
from ._templates import TemplateSet as TemplateSet
from ._words import word_hash as word_hash
