"""Write a rule file from example sentences, without writing a parse by hand.

The pipeline parses each sentence. The file has the trigger, the paths from it to the actor, and the parses as examples,
which `corefsample rule test` checks.

Examples
--------
  corefsample rule new raid --example "Iraq raided Iran." --actor Iraq --pipeline en_gum_ud
  corefsample rule new hit --pipeline en_gum_ud --actor We --example "We hit."
  corefsample rule new blast --pipeline en_gum_ud --actor - --example "A bomb exploded."
"""

from corefsample.errors import ParameterError
from events import _options as shared
from events._summary import Pairs, Summary
from events.commands._parser import Command


@shared.declared
class RuleNewOptions(shared.LexiconOption, shared.Overwrite):
    """Options of a new rule file.

    Attributes
    ----------
    example
        Sentence that reports the event.
    pipeline
        Name or folder of a spaCy pipeline with a parser.
    trigger
        Word or words of the example that report the event, such as "opened fire", one option for each example.
        [default: the only verb]
    actor
        Words of the example that name the actor, or - for an event without an actor. [default: the only name of the
        lexicon]
    out
        File to which the rule is written. [default: NAME.yaml]
    lexicon
        Names of the actors: countries, police, or a YAML file of your own. [default: countries]
    """

    example: tuple[str, ...] = shared.option(metavar="TEXT")
    pipeline: str = shared.option(metavar="SPACY")
    trigger: tuple[str, ...] = shared.option(default=(), metavar="WORDS")
    actor: tuple[str, ...] = shared.option(default=(), metavar="WORDS")
    out: str | None = shared.option(default=None, metavar="FILE")


def run_rule_new(name: str, options: RuleNewOptions) -> Summary:
    """Write a rule file from example sentences.

    Parameters
    ----------
    name
        Name of the rule.
    options
        Example sentences, their triggers and actors, pipeline, lexicon and output. A single `trigger` or `actor`
        applies to all examples; several must be one for each example.

    Raises
    ------
    ParameterError
        If there is no example, an example is not one sentence, its trigger or its actor is neither named nor unique in
        the sentence, or the rule does not find the event in it.
    """
    from corefsample.files._atomic import require_free, write_bytes
    from corefsample.spacy_bridge.documents import tokens_of_doc
    from corefsample.spacy_bridge.pipelines import load_pipeline, scheme_of_pipeline
    from events._yaml_file import typed
    from events.evidence._examples import example_results
    from events.lexicon._lexicon import load_lexicon
    from events.matching._rule_draft import PRESETS, draft_example, rule_text, rule_tree
    from events.rules._format import RuleFile, check_rule_file
    from events.rules._rules import presets_of

    if not options.example:
        raise ParameterError("must be given at least once", parameter="example")
    out = options.out or f"{name}.yaml"
    require_free(out, overwrite=options.overwrite)
    lexicon, pipeline = load_lexicon(options.lexicon), load_pipeline(options.pipeline)
    scheme = scheme_of_pipeline(pipeline)
    drafts = []
    triggers, actors = _one_each(options, "trigger"), _one_each(options, "actor")
    for text, trigger, actor in zip(options.example, triggers, actors, strict=True):
        tokens = tokens_of_doc(pipeline(text))
        n_sentences = int(tokens.sent[-1]) + 1 if len(tokens) else 0
        if n_sentences != 1:
            raise ParameterError(f"must be one sentence, got {n_sentences} in {text!r}", parameter="example")
        try:
            drafts.append(draft_example(tokens, scheme, lexicon, trigger, actor))
        except ParameterError as error:
            raise ParameterError(error.message, parameter=error.parameter, place=repr(text)) from None
    tree = rule_tree(name, drafts, scheme)
    file = typed(out, tree, RuleFile)
    check_rule_file(file, out)
    results = [result for rule in presets_of(file, (out,)) for result in example_results(rule, lexicon)]
    events = {(result.number, result.preset): result.events for result in results}
    examples = []
    for number, (text, draft, example) in enumerate(zip(options.example, drafts, tree["examples"], strict=True)):
        (code,) = example["expect"]["extended"]
        by_preset = {preset: events[number, preset] for preset in PRESETS}
        if code not in by_preset["extended"]:
            names = ", ".join(by_preset["extended"]) or "nothing"
            raise ParameterError(f"must have {code} by its parse, got {names}", parameter="example")
        example["expect"] = {preset: [*codes] for preset, codes in by_preset.items()}
        mention = draft.tokens.text[draft.actor] if draft.actor >= 0 else ""
        values = {"text": text, "trigger": " ".join(draft.words), "actor": draft.code, "mention": mention}
        shown = {preset: ", ".join(codes) for preset, codes in by_preset.items()}
        examples.append({**values, "path": draft.path, **shown})
    write_bytes(out, rule_text(tree).encode(), overwrite=options.overwrite)
    return Summary(
        values={"out": out, "rule": name, "scheme": scheme, "examples": examples},
        shown=[Pairs(example["text"], _pairs(example)) for example in examples],
        files={"Rule": f"{out} ({scheme})", "Then": f"corefsample rule test {out}"},
    )


def _pairs(example: dict[str, str]) -> list[tuple[str, str]]:
    """Names and values about an example: the trigger, the actor, and the events that each preset finds."""
    at = f", at {example['mention']!r} by {example['path']}" if example["mention"] else ": nobody named"
    presets = [(preset, example[preset] or "nothing") for preset in ("extended", "asserted")]
    return [("trigger", example["trigger"]), ("actor", f"{example['actor']}{at}"), *presets]


def _one_each(options: RuleNewOptions, name: str) -> tuple[str | None, ...]:
    """Trigger or actor of each example, None for examples without one."""
    values: tuple[str, ...] = getattr(options, name)
    n_examples = len(options.example)
    if len(values) not in (0, 1, n_examples):
        rule = f"must be one for all examples, or one for each of {n_examples}, got {len(values)}"
        raise ParameterError(rule, parameter=name)
    return values if len(values) == n_examples else (values or (None,)) * n_examples


command = Command(RuleNewOptions, run_rule_new, "name")
