from ._articles import Article as Article
from ._articles import ArticleStream as ArticleStream
