"""Scores of existing systems as scored documents.

Systems that link spans are fastcoref, the e2e-coref family (AllenNLP, c2f, coref-hoi, SpanBERT) and CorPipe; Stanza's
model and spacy-experimental's component link words.
"""

import contextlib
import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.adapters import _links
from corefsample.coreference._antecedents import is_masked
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError, shown

Spans = Mapping[int, tuple[int, int]]  # by head word: the first word of its mention, and the one past the last


def is_spacy_doc(value: object) -> bool:
    """Whether a value is a spaCy Doc, by the attributes used here."""
    return hasattr(value, "text") and hasattr(value, "vocab") and hasattr(value, "spans")


def spacy_tokens(doc: Any) -> Tokens:
    """Tokens of a spaCy Doc; without a parse all heads are -1, without sentences all tokens are in one."""
    words = list(doc)
    parsed = any(word.dep_ for word in words)
    starts = [i > 0 and bool(word.is_sent_start) for i, word in enumerate(words)]
    return Tokens(
        text=[word.text for word in words],
        lemma=[word.lemma_ for word in words],
        upos=[word.pos_ for word in words],
        dep=[word.dep_ for word in words],
        head=np.array([word.head.i if parsed and word.head.i != word.i else -1 for word in words], np.int32),
        sent=np.cumsum(starts, dtype=np.int32),
        extra={"space_after": [bool(word.whitespace_) for word in words]},
    )


def from_fastcoref(
    result: Any,
    tokens: Any = None,
    *,
    doc_id: str,
    offsets: Sequence[tuple[int, int]] | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Convert a ``CorefResult`` of fastcoref to a scored document.

    Its mentions are the spans that survived fastcoref's pruning, so NEW also means "not a mention".

    Parameters
    ----------
    result
        Result of ``FCoref.predict`` for one text: ``coref_logit`` of shape (k, k + 1) with NEW in the last column,
        and ``char_map``, which maps spans of word pieces to rows and characters.
    tokens
        A spaCy Doc of the same text, or Tokens. If fastcoref read a text, its spans are characters, and this or
        `offsets` locates the tokens; a span that begins or ends inside a token is widened to it. If it read words
        (``is_split_into_words=True``), the tokens are those words. Heads of mentions are found in the parse of the
        tokens; without a parse, the head of a mention is its last token.
    doc_id
        Id of the document, not empty.
    offsets
        First character of each token, and the character past its last. Required if fastcoref read a text and `tokens`
        is not a spaCy Doc.
    date
        Date of the document, which counts of events need. By default, the document has none.
    metadata
        Further fields of the document. By default, the document has no further fields.

    Returns
    -------
    ScoredDocument
        The document with its scores, its mentions sorted by start. A link is left out if this order puts the antecedent
        behind the mention, or if the antecedent is a row of padding; the other candidates of the mention and NEW are
        renormalised. The metadata has the numbers of rows and links left out, and the probability of these links, under
        "adapter".

    Raises
    ------
    ParameterError
        If an array has another shape, a score is NaN or +inf, or the text or words that fastcoref read differ from
        `tokens`.
    """
    if not all(hasattr(result, name) for name in ("coref_logit", "char_map", "text")):
        raise ParameterError(f"must be a CorefResult of fastcoref, got {type(result).__name__}", parameter="result")
    scores = _links.float_matrix("coref_logit", result.coref_logit)
    n_rows = scores.shape[0]
    rule = "must have one column more than rows, the last for NEW"
    _checks.require("coref_logit", scores.shape[1] == n_rows + 1, rule, f"shape {scores.shape}")
    _links.require_new("coref_logit", scores[:, n_rows], "end")
    links = _links.links_from_square("coref_logit", scores[:, :n_rows], scores[:, n_rows])
    characters_of_row: dict[int, list[int]] = {}
    for span, (row, characters) in result.char_map.items():
        if row is None or characters is None:  # padding and special tokens
            continue
        if not 0 <= row < n_rows or row in characters_of_row:
            rule = f"be a row of coref_logit (0 to {n_rows - 1}) that occurs once"
            raise ParameterError(f"char_map[{tuple(map(int, span))}] must {rule}, got {row}")
        characters_of_row[int(row)] = list(map(int, characters))
    rows = sorted(characters_of_row)
    bounds, has_span = np.zeros((n_rows, 2), np.int64), np.zeros(n_rows, bool)
    characters = _links.int_matrix("char_map", [characters_of_row[row] for row in rows], 2)
    words, bounds[rows] = _token_spans(result.text, tokens, offsets, characters)
    has_span[rows] = bounds[rows, 0] < bounds[rows, 1]
    return _links.scored_document(
        "fastcoref", links, bounds, has_span=has_span, doc_id=doc_id, tokens=words, date=date, metadata=metadata
    )


def _token_spans(text: Any, tokens: Any, offsets: Any, characters: Ints) -> tuple[Tokens | None, Ints]:
    """Tokens of the document, and start and end of the spans among them."""
    if is_spacy_doc(tokens):
        if isinstance(text, str):
            _require_same("text", text, tokens.text)
            offsets = offsets or [(word.idx, word.idx + len(word.text)) for word in tokens]
        tokens = spacy_tokens(tokens)
    _checks.require("tokens", isinstance(tokens, Tokens | None), "must be a spaCy Doc or Tokens", type(tokens).__name__)
    if not isinstance(text, str):
        if tokens is not None:
            _require_same("words", [str(word) for word in text], list(tokens.text))
        return tokens, characters
    if offsets is None:
        rule = "must be a spaCy Doc, or come with offsets, because fastcoref read a text"
        raise ParameterError(rule, parameter="tokens")
    bounds = _links.int_matrix("offsets", offsets, 2)
    if (np.diff(bounds.ravel()) < 0).any() or (tokens is not None and len(tokens) != len(bounds)):
        raise ParameterError("must be one pair per token, in ascending order", parameter="offsets")
    # A span is widened to the whole token in which it begins or ends; without a token its start is not below its end.
    starts = np.searchsorted(bounds[:, 1], characters[:, 0], side="right")  # the first that ends past the beginning
    ends = np.searchsorted(bounds[:, 0], characters[:, 1], side="left")  # the first that begins at or past the end
    return tokens, np.stack((starts, ends), axis=1)


def _require_same(unit: str, model_input: Any, tokens: Any) -> None:
    rule = f"must be of the {unit} that fastcoref read ({shown(model_input)})"
    _checks.require("tokens", model_input == tokens, rule, shown(tokens))


def from_e2e(
    spans: Any,
    antecedents: Any,
    scores: Any,
    *,
    doc_id: str,
    tokens: Tokens | None = None,
    piece_tokens: Sequence[int] | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Convert the arrays of a model of the e2e-coref family to a scored document.

    Its mentions are the spans that survived pruning, so NEW also means "not a mention". A leading dimension of one
    document (AllenNLP's batch) is removed.

    Parameters
    ----------
    spans
        int (n_spans, 2): first and **last** token of each span: AllenNLP's ``top_spans``, or ``top_span_starts`` and
        ``top_span_ends`` of e2e-coref, stacked. Repeated spans are padding, and left out.
    antecedents
        int (n_spans, k): ``antecedent_indices`` or ``top_antecedents``, in any order.
    scores
        float (n_spans, k + 1): the dummy (NEW) first, then one for each antecedent; -inf, -10000 and a dtype's
        minimum are masks.
    doc_id
        Id of the document, not empty.
    tokens
        Words of the document and their parse, which determines the heads of mentions. By default, or without a
        parse, the head of a mention is its last token.
    piece_tokens
        For spans of word pieces: the token of each piece, in ascending order (``subtoken_map``). A span that begins or
        ends inside a token is widened to the whole token.
    date
        Date of the document, which counts of events need. By default, the document has none.
    metadata
        Further fields of the document. By default, the document has no further fields.

    Returns
    -------
    ScoredDocument
        The document with its scores, its mentions sorted by start. A link is left out if this order puts the antecedent
        behind the mention, or if the antecedent is a repeated span; the other candidates of the mention and NEW are
        renormalised. The metadata has the numbers of rows and links left out, and the probability of these links, under
        "adapter".

    Raises
    ------
    ParameterError
        If an array has another shape, a score is NaN or +inf, or a span is invalid.

    Examples
    --------
    >>> document = from_e2e([[0, 1], [3, 3]], [[0], [0]], [[0.0, float("-inf")], [0.0, 1.0]], doc_id="a")
    >>> document.mentions.tolist(), document.antecedents.scores.tolist()
    ([[0, 2, 1], [3, 4, 3]], [1.0])
    """
    bounds = _links.int_matrix("spans", spans, 2)
    n_spans = bounds.shape[0]
    links = _links.links_from_top(scores, antecedents, n_spans, "span")
    is_first = np.zeros(n_spans, bool)
    is_first[np.unique(bounds, axis=0, return_index=True)[1]] = True
    if piece_tokens is not None:
        pieces = _checks.integers("piece_tokens", _links.host_array("piece_tokens", piece_tokens))
        falling = np.flatnonzero(np.diff(pieces) < 0)
        if falling.size:
            p = falling[0] + 1
            raise ParameterError(f"piece_tokens[{p}] must not decrease, got {pieces[p]} after {pieces[p - 1]}")
        inside = (bounds >= 0) & (bounds < pieces.shape[0])
        _checks.require_all("spans", bounds, inside, f"be a word piece (0 to {pieces.shape[0] - 1})")
        bounds = pieces[bounds]
    bounds[:, 1] += 1
    return _links.scored_document(
        "e2e", links, bounds, has_span=is_first, doc_id=doc_id, tokens=tokens, date=date, metadata=metadata
    )


def from_corpipe(
    charts: Sequence[Any],
    mentions: Sequence[Sequence[Sequence[Any]]],
    *,
    n_previous: Sequence[int],
    sentence_lengths: Sequence[int],
    doc_id: str,
    label_smoothing: float = 0.2,
    tokens: Tokens | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Convert CorPipe's charts of one document, one per sentence, to a scored document.

    CorPipe detects mentions first, so NEW means a new entity here. A mention's antecedents are the mentions of its
    window that begin at an earlier word.

    Parameters
    ----------
    charts
        For each sentence the result of ``compute_antecedents``: a row for each of its mentions; the columns are first
        the earlier mentions of its window, then the sentence's own, where the mention itself is NEW. Rows and columns
        of padding past those are ignored. None for a sentence without mentions.
    mentions
        For each sentence its mentions as in ``predict``, by start, then longest first: first and **last** word
        in the sentence (CorPipe's entity, which follows, is ignored).
    n_previous
        For each sentence the number of earlier mentions in its window, which are the last ones before the sentence.
    sentence_lengths
        Number of tokens of each sentence.
    doc_id
        Id of the document, not empty.
    label_smoothing
        Amount e, in [0, 1), with which the model was trained; its released options have 0.2. Training moves the
        probability e from the gold antecedents to all n candidates of a mention in equal shares, so the model's softmax
        is (1 - e) of the probability, plus e / n. The conversion undoes this: probabilities become proportional to
        max(p - e / n, 0). With 0, the scores are used unchanged.
    tokens
        Words of the document and their parse, which determines the heads of mentions. By default, or without a
        parse, the head of a mention is its last token.
    date
        Date of the document, which counts of events need. By default, the document has none.
    metadata
        Further fields of the document. By default, the document has no further fields.

    Returns
    -------
    ScoredDocument
        The document with its scores, its mentions sorted by start. A link is left out if this order puts the antecedent
        behind the mention; the other candidates of the mention and NEW are renormalised. The metadata has the number of
        links left out, and their probability, under "adapter".

    Raises
    ------
    ParameterError
        If the lists differ in length, a chart is too small or has NaN or +inf, or a mention is invalid.

    References
    ----------
    Straka (2023), ÚFAL CorPipe at CRAC 2023.
    """
    lengths = _checks.integers("sentence_lengths", sentence_lengths)
    previous = _checks.integers("n_previous", n_previous)
    for name, values in (("mentions", mentions), ("n_previous", previous), ("sentence_lengths", lengths)):
        _checks.require(name, len(values) == len(charts), f"must have one entry per chart ({len(charts)})", len(values))
    n_mentions = sum(map(len, mentions))
    square, bounds = np.full((n_mentions, n_mentions), -np.inf), np.empty((n_mentions, 2), np.int64)
    first = offset = 0  # mention and token with which a sentence begins
    for s, (chart, sentence, n_before, length) in enumerate(zip(charts, mentions, previous, lengths, strict=True)):
        rule = f"must be at most the number of mentions before ({first})"
        _checks.require(f"n_previous[{s}]", 0 <= n_before <= first, rule, n_before)
        for m, (start, last, *_) in enumerate(sentence):
            rule = f"must have 0 <= first <= last < length of the sentence ({length})"
            _checks.require(f"mentions[{s}][{m}]", 0 <= start <= last < length, rule, f"{start} and {last}")
            bounds[first + m] = offset + start, offset + last + 1
        end = first + len(sentence)
        if len(sentence):
            scores, n_columns = _links.float_matrix(f"charts[{s}]", chart), end - first + n_before
            good = scores.shape[0] >= len(sentence) and scores.shape[1] >= n_columns
            rule = "must have a row for each mention and a column for each earlier one and itself"
            _checks.require(f"charts[{s}]", good, rule, f"shape {scores.shape} for {len(sentence)} by {n_columns}")
            square[first:end, first - n_before : end] = scores[: len(sentence), :n_columns]
        first, offset = end, offset + length
    new = np.diagonal(square).copy()
    square[bounds[:, 0][:, None] <= bounds[:, 0][None, :]] = -np.inf
    amount = _checks.probability("label_smoothing", label_smoothing, below_one=True)
    if amount:  # the least probable candidates become masks
        table = np.column_stack([square, new])
        is_scored = ~is_masked(table)
        table = np.where(is_scored, table, -np.inf)
        probs = np.exp(table - np.logaddexp.reduce(table, axis=1, keepdims=True))
        with np.errstate(divide="ignore"):
            table = np.log(np.maximum(probs - amount / is_scored.sum(axis=1, keepdims=True), 0.0))
        square, new = table[:, :-1], table[:, -1]
    links = _links.links_from_square("charts", square, new)
    return _links.scored_document("corpipe", links, bounds, doc_id=doc_id, tokens=tokens, date=date, metadata=metadata)


class StanzaScores(NamedTuple):
    """Scores that Stanza's model computed for one document.

    Attributes
    ----------
    scores
        float64 (n_words, k + 1) or (n_words, k + 2): first one column for NEW, the dummy (1e-7), or two if the model
        predicts singletons: "begins an entity", then the dummy, "no mention". Then those of the antecedents.
    antecedents
        int64 (n_words, k): the antecedents' words, unsorted.
    spans
        For each head word in Stanza's own clusters, the first word of its mention and the one past the last.
    """

    scores: Floats
    antecedents: Ints
    spans: Spans


@contextlib.contextmanager
def recorded_stanza_scores(source: Any) -> Iterator[list[StanzaScores]]:
    """Record the scores of every document that Stanza's model scores inside the ``with`` block.

    The pipeline keeps only clusters, and the model's result has the scores without their antecedents. So this hooks
    the model's rough scorer, which chooses the antecedents, and its ``run``; both hooks are removed at the end.

    Parameters
    ----------
    source
        A Stanza ``Pipeline`` with the processor coref, that processor, or its ``CorefModel``.

    Yields
    ------
    list of StanzaScores
        One for each document, in order. A document without words, which Stanza's model rejects, adds none.

    Examples
    --------
    ::

        with recorded_stanza_scores(nlp) as records:
            document = nlp(text)
        scored = from_stanza(document, records[0], doc_id="a")
    """
    processor = getattr(source, "processors", {}).get("coref", source)
    model = getattr(processor, "_model", processor)
    rule = "must be a Stanza pipeline with the processor coref, that processor or its model"
    _checks.require("source", hasattr(model, "rough_scorer"), rule, type(source).__name__)
    records: list[StanzaScores] = []
    antecedents: list[Any] = []
    has_own_run, original = "run" in vars(model), model.run

    def keep_antecedents(_module: Any, _inputs: Any, output: Any) -> None:
        antecedents[:] = [output[1]]

    def run(*args: Any, **options: Any) -> Any:
        antecedents.clear()
        result = original(*args, **options)
        spans = {
            int(head): (int(span[0]), int(span[1]))
            for heads, cluster in zip(result.word_clusters or (), result.span_clusters or (), strict=False)
            for head, span in zip(heads, cluster, strict=True)
        }
        # Copied off the model's device, so that its graph can be freed.
        scores = _links.float_matrix("scores", result.coref_scores)
        indices = _links.int_matrix("antecedents", antecedents[0])
        records.append(StanzaScores(scores, indices, spans))
        return result

    handle = model.rough_scorer.register_forward_hook(keep_antecedents)
    model.run = run
    try:
        yield records
    finally:
        handle.remove()
        del model.run
        if has_own_run:
            model.run = original


def from_stanza(
    document: Any,
    scores: StanzaScores | Sequence[Any],
    *,
    doc_id: str,
    spans: Spans | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Convert the scores of Stanza's model for one document to a scored document.

    The model links words, each a possible head of a mention. "Begins an entity" and "no mention" are both NEW here:
    their probabilities are summed. So most rows of the document are not mentions; `corefsample.adapters.drop_unlinked`
    removes those.

    Parameters
    ----------
    document
        The Stanza ``Document``; its words and parse become the document's tokens.
    scores
        A record of `recorded_stanza_scores`, or a pair of arrays: ``coref_scores``, and for each of its last k columns
        the word that is the antecedent, int (n_words, k). Before these columns, the scores have one for NEW, the dummy,
        so that their shape is (n_words, k + 1); or two, if the model predicts singletons: "begins an entity" and then
        the dummy, "no mention". An antecedent with a score of -5,000 or less, such as -inf, is masked: it is no
        candidate.
    doc_id
        Id of the document, not empty.
    spans
        Mentions as a mapping from the index of the head word to the indices of the first word and of the word past the
        last, such as ``{3: (1, 5)}``. Every other word is a mention of one word. By default, the mentions in the
        clusters that Stanza predicts, if `scores` is a record, and otherwise none.
    date
        Date of the document, which counts of events need. By default, the document has none.
    metadata
        Further fields of the document. By default, the document has no further fields.

    Returns
    -------
    ScoredDocument
        The document with its scores, its mentions sorted by start. A link is left out if this order puts the antecedent
        behind the mention; the other candidates of the mention and NEW are renormalised. The metadata has the number of
        links left out, and their probability, under "adapter".

    Raises
    ------
    ParameterError
        If an array has another shape than described, a score is NaN or +inf, or a span does not contain its head.
    """
    _checks.require("document", hasattr(document, "sentences"), "must be a Stanza Document", type(document).__name__)
    if isinstance(scores, StanzaScores):
        spans = scores.spans if spans is None else spans
        scores = scores[:2]
    words: list[Any] = []
    heads: list[int] = []
    sents: list[int] = []
    for number, sentence in enumerate(document.sentences):  # without empty words (zero anaphora)
        heads += [len(words) + word.head - 1 if word.head else -1 for word in sentence.words]  # 0 or None: no head
        sents += [number] * len(sentence.words)
        words += sentence.words
    tokens = Tokens(
        text=[word.text for word in words],
        lemma=[word.lemma or "" for word in words],
        upos=[word.upos or "" for word in words],
        dep=[word.deprel or "" for word in words],
        head=np.array(heads, np.int32),
        sent=np.array(sents, np.int32),
    )
    fields = {"doc_id": doc_id, "date": date, "metadata": metadata}
    return _word_document("stanza", "scores", scores, (1, 2), tokens, spans, **fields)


def from_spacy_experimental(
    doc: Any,
    prediction: Any,
    *,
    doc_id: str,
    spans: Spans | None = None,
    date: datetime.date | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ScoredDocument:
    """Convert a prediction of spacy-experimental's component to a scored document.

    The model links words, each a possible head of a mention, so NEW also means "not a mention", and most rows of the
    document are not mentions: `corefsample.adapters.drop_unlinked` removes those.

    Parameters
    ----------
    doc
        The spaCy Doc that was scored; its words and parse become the document's tokens.
    prediction
        ``nlp.get_pipe("experimental_coref").model.predict([doc])``: scores of shape (n_tokens, k + 1) with the dummy
        (NEW, 1e-7) in the first column, and the antecedents' tokens of shape (n_tokens, k), unsorted. None for a Doc
        of fewer than two tokens, which the component does not score.
    doc_id
        Id of the document, not empty.
    spans
        Mentions as a mapping from the index of the head token to the indices of the first token and of the token past
        the last, such as ``{3: (1, 5)}``; ``experimental_span_resolver`` predicts them. Every other token is a mention
        of one token, and by default all tokens are.
    date
        Date of the document, which counts of events need. By default, the document has none.
    metadata
        Further fields of the document. By default, the document has no further fields.

    Returns
    -------
    ScoredDocument
        The document with its scores, its mentions sorted by start. A link is left out if this order puts the antecedent
        behind the mention; the other candidates of the mention and NEW are renormalised. The metadata has the number of
        links left out, and their probability, under "adapter".

    Raises
    ------
    ParameterError
        If an array has another shape, a score is NaN or +inf, or a span does not contain its head.
    """
    _checks.require("doc", is_spacy_doc(doc), "must be a spaCy Doc", type(doc).__name__)
    tokens = spacy_tokens(doc)
    if prediction is None and len(tokens) < 2:
        prediction = np.zeros((len(tokens), 1)), np.zeros((len(tokens), 0), np.int64)
    fields = {"doc_id": doc_id, "date": date, "metadata": metadata}
    return _word_document("spacy-experimental", "prediction", prediction, (1,), tokens, spans, **fields)


def _word_document(
    system: str, name: str, scores: Any, n_new: tuple[int, ...], tokens: Tokens, spans: Spans | None, **fields: Any
) -> ScoredDocument:
    """Document of words, each a mention: the span of the mention that it heads, if there is one, otherwise the word."""
    if not isinstance(scores, (tuple, list)) or len(scores) != 2:
        raise ParameterError(f"must be scores and antecedents, got {shown(scores)}", parameter=name)
    n_tokens = len(tokens)
    links = _links.links_from_top(scores[0], scores[1], n_tokens, "token", n_new=n_new)
    heads = np.arange(n_tokens, dtype=np.int64)
    bounds = np.stack((heads, heads + 1), axis=1)
    for head, (start, end) in (spans or {}).items():
        rule = f"must contain its head {head} and end by the last token ({n_tokens})"
        _checks.require(f"spans[{head}]", 0 <= start <= head < end <= n_tokens, rule, f"{start} to {end} (exclusive)")
        bounds[head] = start, end
    return _links.scored_document(system, links, bounds, heads=heads, tokens=tokens, **fields)
