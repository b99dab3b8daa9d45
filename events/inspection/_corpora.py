"""Reports on annotated corpora and on files of scored mentions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np

from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._tokens import EMPTY_COLUMN
from corefsample.errors import CorefsampleError, InputError
from corefsample.formats import DocumentStream
from corefsample.formats.annotated._corefud_reading import PARTS
from corefsample.languages._language import ENGLISH, declared_language, differ, load_language
from corefsample.scorers import load_scorer
from corefsample.scorers._scoring import document_scheme, known_words
from corefsample.syntax._mentions import mentions_from_parse
from corefsample.syntax._schemes import fitting_schemes
from events._document_batches import batches
from events._options import Progress
from events._summary import counted
from events.counts._notes import CountNotes
from events.evidence._merged_actors import merging_summary, merging_table, sampled_merged_actors
from events.inspection._reports import Report
from events.lexicon._lexicon import Lexicon
from events.runs._document_inputs import DocumentInputs, ReadDocument

_SAMPLES = 100  # number of samples of a document, in which merged actors are counted


def check_annotated(files: Sequence[str], on_progress: Progress | None, *, scheme: str | None = None) -> Report:
    """Check annotated corpora, and describe them; invalid documents are listed as problems of the report."""
    report, inputs = Report(", ".join(files)), DocumentInputs(files)
    n, languages = Counter[str](), Counter[str]()
    for item in inputs:
        if isinstance(item, ReadDocument):
            assert isinstance(item.document, AnnotatedDocument)  # all files are annotated
            language = declared_language(item.document.metadata, item.source)
            try:
                n += _counts_of_annotated(item.document, language, scheme)
                languages[language or ""] += 1
            except CorefsampleError as error:
                report.reject(item.rejected(error))
        else:
            report.reject(item)
        if on_progress is not None:
            on_progress(inputs.bytes_read, inputs.total_bytes, n["documents"])
    names = "documents words known_words mentions entities zeros discontinuous of_parse by_span by_head unparsed"
    skipped = dict(inputs.skipped)
    report.values = {**{f"n_{name}": n[name] for name in names.split()}, "skipped": skipped, "languages": languages}
    missed = n["mentions"] - n["by_span"] - n["by_head"]
    report.pairs = [
        ("documents", f"{n['documents']:,} valid, {report.n_problems:,} bad"),
        ("language", _languages_text(languages, n["known_words"] / max(n["words"], 1))),
        ("mentions", f"{n['mentions']:,} of {n['entities']:,} entities"),
        ("zeros", f"{n['zeros']:,} of the mentions"),
        ("in parts", f"{n['discontinuous']:,} of the mentions"),
        ("skipped", ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in skipped.items())),
        ("unparsed", f"{n['unparsed']:,} documents"),
        (
            "of the parse",
            f"{n['of_parse']:,}; {n['by_span']:,} annotated mentions have their spans, {n['by_head']:,} only their "
            f"heads, {missed:,} neither",
        ),
    ]
    return report


def _counts_of_annotated(document: AnnotatedDocument, language: str | None, scheme: str | None) -> Counter[str]:
    """Numbers of mentions, and of those whose spans or only whose heads are those of mentions of the parse."""
    tokens, mentions = document.tokens, document.mentions.tolist()
    empty = tokens.extra.get(EMPTY_COLUMN, [""] * len(tokens))
    n_words, n_known = known_words(load_scorer(ENGLISH), tokens)
    n = {
        "documents": 1,
        "words": n_words,
        "known_words": n_known,
        "mentions": len(mentions),
        "entities": len(set(document.entities)),
        "zeros": sum(bool(empty[head]) for _, _, head in mentions),
        "discontinuous": sum(map(bool, document.attributes.get(PARTS, ()))),
        "unparsed": int(tokens.is_unparsed),
    }
    if not tokens.is_unparsed:
        scheme = scheme or document_scheme(document)
        parsed = mentions_from_parse(tokens, scheme=scheme, language=load_language(language or ENGLISH)).tolist()
        spans, heads = {(start, end) for start, end, _ in parsed}, {head for _, _, head in parsed}
        n["of_parse"] = len(parsed)
        n["by_span"] = sum((start, end) in spans for start, end, _ in mentions)
        n["by_head"] = sum((start, end) not in spans and head in heads for start, end, head in mentions)
    return Counter(n)


def check_corpus(
    files: list[str],
    on_progress: Progress | None,
    *,
    lexicon: Lexicon | None = None,
    scheme: str | None = None,
    language: str = "",
) -> Report:
    """Check files of scored mentions, and describe them; invalid documents are listed as problems of the report.

    With a lexicon, clusterings are sampled to count how often its actors are merged. Documents that declare another
    language than that of the rule and the lexicon are a problem. Of several parses the first is described.
    """
    report = Report(", ".join(files))
    stream = DocumentStream(files, on_rejected=report.reject, parses=True)
    n, schemes, languages = Counter[str](), Counter[str](), Counter[str]()
    sizes: list[int] = []
    ends: list[str] = []  # first and last date
    new_mass, words, merged = 0.0, np.zeros(2, np.int64), list[dict[str, object]]()
    for parses, _ in batches(stream, on_progress, may_be_empty=lambda: report.n_problems > 0):
        batch, firsts = parses.usual_parses(), parses.firsts.tolist()
        n_several = [n_parses for row in firsts if (n_parses := len(parses.parses(row))) > 1]
        dates = batch.dates[~np.isnat(batch.dates)]
        n.update(
            documents=len(batch),
            several_parses=len(n_several),
            parses=sum(n_several),
            candidates=len(batch.candidates[1]),
            gold=len(batch) - batch.table.column("gold").null_count,
            dated=len(dates),
            parsed=int(batch.has_tokens.sum()),
        )
        sizes += np.diff(batch.mentions[0]).tolist()
        if len(dates):
            ends = sorted([*ends, str(dates.min()), str(dates.max())])
        schemes += _schemes(batch)
        languages.update(declared_language(batch.metadata(row)) or "" for row in range(len(batch)))
        new_mass += sum(float(batch.antecedents(row).new_probs.sum()) for row in range(len(batch)))
        for row in np.flatnonzero(batch.has_tokens).tolist():
            tokens = batch.tokens(row)
            assert tokens is not None
            words += np.array(known_words(load_scorer(ENGLISH), tokens), np.int64)
            if lexicon is not None:
                with suppress(InputError):  # the report says how many documents fit no scheme
                    document = sampled_merged_actors(parses, firsts[row], lexicon, scheme=scheme, n_samples=_SAMPLES)
                    merged.append(document)
    other_languages = {code: count for code, count in languages.items() if differ(language or None, code or None)}
    if other_languages:
        other_texts = ", ".join(f"{count:,} of {code}" for code, count in other_languages.items())
        rule = f"documents must be in the language of the rule and the lexicon ({language})"
        hint = "docs/languages.md says how to write rules and lexicons of another language"
        report.add(InputError(f"{rule}, got {other_texts}", hint=hint))
    low, median, high = (min(sizes), float(np.median(sizes)), max(sizes)) if sizes else (0, 0.0, 0)
    merging = merging_summary(merging_table(merged), _SAMPLES)
    names = "documents candidates several_parses parses dated parsed gold"
    n_mentions, mean_new = sum(sizes), new_mass / max(sum(sizes), 1)
    known_share = float(words[1] / words[0]) if words[0] else None
    report.values = {
        **{f"n_{name}": n[name] for name in names.split()},
        "n_mentions": n_mentions,
        "dates": (ends[0], ends[-1]) if ends else None,
        "mentions_quantiles": (low, median, high),
        "schemes": schemes,
        "languages": languages,
        "known_share": known_share,
        "new_mass": mean_new,
        "merged_actors": merging,
    }
    several = n["several_parses"]
    average = f"{counted(several, 'document')} with several parses, on average {n['parses'] / max(several, 1):.1f}"
    report.pairs = [
        ("documents", f"{n['documents']:,} valid, {report.n_problems:,} bad"),
        ("mentions", f"{n_mentions:,} ({low:,} to {high:,} per document, median {median:,g})"),
        ("candidates", f"{n['candidates']:,} ({n['candidates'] / max(n_mentions, 1):.1f} per mention)"),
        ("dates", f"{ends[0]} to {ends[-1]} ({n['dated']:,} documents)" if ends else "none"),
        ("tokens", f"{n['parsed']:,} documents"),
        *([("parses", average)] if several else []),
        ("scheme", _with_counts(schemes)),
        ("language", _languages_text(languages, known_share)),
        ("gold", f"{n['gold']:,} documents"),
        ("P(NEW)", f"{mean_new:.3f}, mean over mentions" if n_mentions else "none"),
        *([] if merging is None else [("actors", CountNotes(merging).merging())]),
    ]
    return report


def _schemes(batch: DocumentBatch) -> Counter[str]:
    """Number of documents by dependency scheme: "ud2 or clearnlp" if labels fit both, "none" if they fit none."""
    labels, bounds = batch.token_strings("dep"), batch.token_bounds
    distinct = (
        labels[int(bounds[row]) : int(bounds[row + 1])].unique().to_pylist()
        for row in np.flatnonzero(batch.has_tokens).tolist()
    )
    return Counter(" or ".join(fitting_schemes(each)) or "none" for each in distinct)


def _with_counts(counts: Mapping[str, int], empty: str = "") -> str:
    """Text with names and their numbers: "ud1 (3), ud2 (1,200)"; `empty` stands for the name ""."""
    return ", ".join(f"{name or empty} ({count:,})" for name, count in sorted(counts.items())) or "none"


def _languages_text(languages: Counter[str], known_share: float | None) -> str:
    """Text with the number of documents by language, and the share of their words that the English model knows."""
    share = "" if known_share is None else f"; the English model knows {known_share:.0%} of the words"
    return _with_counts(languages, "not said") + share
