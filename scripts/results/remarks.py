"""What a person should know of a merge: answers of unknown questions, of several models, and those left alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from results.shards import Header


def remark(untold: Sequence[Header], own: Sequence[bool], models: Sequence[str], others: int) -> Iterator[str]:
    """Yield what to note of merged shards.

    untold: headers that do not tell what was asked, and `own` whether each is of the merged input. models: those whose
    answers are merged. others: answers to other questions.
    """
    if any(own):
        yield (
            "some answers are of a release that did not record what was asked: they are taken by the numbers of "
            "their lines, whatever the job's prompts and options were then"
        )
    if len(names := sorted(set(models))) > 1:
        yield f"the answers are those of {len(names)} models: {', '.join(map(repr, names))}"
    if others:
        many = f"{others:,} answers in results/ are to other questions and are"
        one = "1 answer in results/ is to another question and is"
        who = "it was" if others == 1 else "they were"
        what = f"{who} asked with other lines, another model, other prompts or other options"
        yield f"{one if others == 1 else many} left alone ({what})"
    foreign = Counter(header.input_name for header, mine in zip(untold, own, strict=True) if not mine)
    for name, count in foreign.items():
        yield f"{count} shards of another input ({name!r}) are left alone"
