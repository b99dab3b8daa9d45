"""Parses of an article drawn from a pipeline's parser, with their numbers of samples."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError
from corefsample.spacy_bridge import ParseSampler
from corefsample.spacy_bridge.documents import tokens_of_doc
from events.news._fields import Article
from events.runs.scoring._parsing import article_texts, joined, unparsable_text

if TYPE_CHECKING:
    from spacy.language import Language

_PROBE = "They left."


def parse_sampler(pipeline: Language, temperature: float | None) -> ParseSampler:
    """A sampler of a pipeline's parses; raise if they cannot be sampled."""
    try:
        sampler = ParseSampler(pipeline, temperature=temperature)
        sampler.samples(pipeline.make_doc(_PROBE), 1)
        return sampler
    except ParameterError as error:
        parameter = "parse_temperature" if error.parameter == "temperature" else "pipeline"
        raise ParameterError(error.message, parameter=parameter, hint=error.hint) from None


def sampled_articles(
    article: Article,
    sampler: ParseSampler,
    n_parses: int,
    *,
    headline: bool = True,
    paragraphs: str = "blank-line",
) -> list[tuple[int, Tokens]]:
    """Parse an article, and draw parses of it.

    Paragraphs are parsed and sampled apart: sample s of the article has sample s of each. Sentences are those of the
    pipeline's own parse.

    Parameters
    ----------
    article, headline, paragraphs
        As of `parsed_article`.
    sampler
        As of `parse_sampler`.
    n_parses
        Number of samples, at least 1.

    Returns
    -------
    list of (int, Tokens)
        The pipeline's own parse first, and the different ones among the samples in the order of the draws, each with
        its number of samples; only that of the first may be 0.

    Raises
    ------
    ParameterError
        If the pipeline cannot parse the article.
    """
    texts = article_texts(article, headline=headline, paragraphs=paragraphs)
    names = [f"{p} {article.doc_id}" for p in range(len(texts))]
    with unparsable_text():
        drawn = sampler.parsed_texts(texts, n_parses, doc_ids=names)
        chosen = Counter({tuple(own for own, _ in drawn): 0})  # equal parses of a paragraph are the same Doc
        chosen.update(zip(*(samples for _, samples in drawn), strict=True) if drawn else [()] * n_parses)
        tokens = {doc: tokens_of_doc(doc) for docs in chosen for doc in docs}
    return [(count, joined([tokens[doc] for doc in docs])) for docs, count in chosen.items()]
