from ._articles import Article as Article
from ._articles import ArticleStream as ArticleStream
from ._articles import read_articles as read_articles
