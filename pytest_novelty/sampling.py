"""``--novelty-sample N``: the first N instances of a seeded permutation, interleaved over gold and strata."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pytest_novelty.digests import derive_seed, seed_source
from pytest_novelty.model import Instance, Suite


def sample_instances(suite: Suite, size: int | None, seed: int) -> tuple[Instance, ...]:
    """``size`` instances of ``suite`` (all if None or not fewer). Samples nest: N is part of N + 1, for one seed.

    Within a cell (gold x strata, the cluster left out) the order is a permutation that depends on the ids only; cells take
    turns in proportion to their size, so that any prefix has about the suite's composition. Triads are taken one after the
    other, whole but for the last: pairs of broken triads say nothing of transitivity.
    """
    if size is None or size >= len(suite.instances):
        return suite.instances
    if all("triad" in instance.strata for instance in suite.instances):
        chosen = {
            instance.id for instance in sorted(suite.instances, key=lambda item: _turn_of_triad(item, seed))[:size]
        }
        return tuple(instance for instance in suite.instances if instance.id in chosen)
    cells: dict[tuple[str, ...], list[Instance]] = defaultdict(list)
    for instance in suite.instances:
        cells[_cell(suite, instance)].append(instance)
    ranked: list[tuple[float, int, Instance]] = []
    for members in cells.values():
        members.sort(key=lambda item: derive_seed(seed_source("sample", seed, item.id), 0))
        for place, instance in enumerate(members):
            ranked.append(
                ((place + 0.5) / len(members), derive_seed(seed_source("turn", seed, instance.id), 0), instance)
            )
    ranked.sort(key=lambda entry: entry[:2])
    chosen = {instance.id for _, _, instance in ranked[:size]}
    return tuple(instance for instance in suite.instances if instance.id in chosen)


def grow_sample(suite: Suite, sizes: Sequence[int], seed: int) -> tuple[Instance, ...]:
    """The instances of the largest of nested samples: those of the smallest first, then what each larger one adds."""
    found: dict[str, Instance] = {}
    for size in sizes:
        found |= {instance.id: instance for instance in sample_instances(suite, size, seed) if instance.id not in found}
    return tuple(found.values())


def _turn_of_triad(instance: Instance, seed: int) -> tuple[int, str, str]:
    triad = instance.strata["triad"]
    return derive_seed(seed_source("triad", seed, triad), 0), triad, instance.id


def _cell(suite: Suite, instance: Instance) -> tuple[str, ...]:
    """Gold as a position in pairwise (the ids say nothing), and every stratum but the cluster."""
    ids = [idea.id for idea in instance.ideas]
    gold = str(ids.index(instance.gold)) if instance.gold in ids and len(ids) > 1 else str(instance.gold)
    return (gold, *(f"{key}={value}" for key, value in sorted(instance.strata.items()) if key != suite.cluster))
