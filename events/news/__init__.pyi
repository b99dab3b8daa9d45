from ._articles import ArticleStream as ArticleStream
from ._fields import Article as Article
from ._quality import TextTally as TextTally
from ._quality import repair_version as repair_version
from ._quality import repaired as repaired
from ._quality import require_repair as require_repair
