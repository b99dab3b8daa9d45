from ._articles import ArticleStream as ArticleStream
from ._fields import Article as Article
