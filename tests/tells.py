"""Measuring whether what must not tell a label does: counts of style, words, and classifiers in cross-validation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

FIRST_PERSON: Final = re.compile(r"\b(i|my|we|us|ours?)\b", re.IGNORECASE)
NEGATIONS: Final = re.compile(
    r"\b(no|not|none|nor|neither|never|nothing|cannot|without|instead|rather)\b", re.IGNORECASE
)
HYPE: Final = re.compile(
    r"\b(novel\w*|new\w*|first|original\w*|innovat\w*|unprecedented|breakthrough\w*|pioneer\w*|revolution\w*|radical\w*|"
    r"groundbreaking|unlike|entirely|fundamental\w*|paradigm\w*|previously|unexplored|unique\w*)\b",
    re.IGNORECASE,
)


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z0-9][a-z0-9'-]*", text.lower())


def sentences_of(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+", text.strip())


def auc_of(score: np.ndarray, label: np.ndarray) -> float:
    """The chance that an instance with the label scores above one without it, ties half."""
    difference = score[label][:, None] - score[~label][None]
    return float(((difference > 0) + (difference == 0) / 2).mean())


Fit = Callable[[np.ndarray, np.ndarray], Callable[[np.ndarray], np.ndarray]]


def cross_validated_auc(fit: Fit, data: np.ndarray, label: np.ndarray, groups: np.ndarray, seeds: int = 5) -> float:
    """AUC of out-of-fold scores in 10 folds of whole groups, averaged over ``seeds`` ways to draw the folds."""
    found = []
    for seed in range(seeds):
        fold = (np.random.default_rng(seed).permutation(groups.max() + 1) % 10)[groups]
        score = np.zeros(len(label))
        for held_out in range(10):
            test = fold == held_out
            score[test] = fit(data[~test], label[~test])(data[test])
        found.append(auc_of(score, label))
    return float(np.mean(found))


def fit_logistic(data: np.ndarray, label: np.ndarray, penalty: float = 1.0) -> Callable[[np.ndarray], np.ndarray]:
    """L2-penalised logistic regression on standardised columns, by Newton's method; the intercept is not penalised."""
    mean, scale = data.mean(axis=0), data.std(axis=0)
    scale = np.where(scale == 0, 1.0, scale)

    def design(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([np.ones(len(rows)), (rows - mean) / scale])

    x = design(data)
    ridge = penalty * np.eye(x.shape[1])
    ridge[0, 0] = 0.0
    weights = np.zeros(x.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-x @ weights))
        gradient = x.T @ (chance - label) + ridge @ weights
        step = np.linalg.solve((x.T * (chance * (1 - chance))) @ x + ridge, gradient)
        weights -= step
        if np.abs(step).max() < 1e-9:
            break
    return lambda rows: np.asarray(design(rows) @ weights)


def fit_naive_bayes(counts: np.ndarray, label: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Multinomial naive Bayes over unigrams, add-one smoothing; a word not seen in training counts for nothing."""
    yes, no = counts[label].sum(axis=0) + 1, counts[~label].sum(axis=0) + 1
    log_ratio = np.log(yes / yes.sum()) - np.log(no / no.sum())
    log_ratio = np.where(counts.sum(axis=0) > 0, log_ratio, 0.0)
    return lambda rows: np.asarray(rows @ log_ratio)


def count_words(texts: Sequence[str]) -> np.ndarray:
    """(texts, vocabulary) counts."""
    bags = [Counter(words_of(text)) for text in texts]
    vocabulary = sorted(set().union(*bags))
    return np.array([[bag[word] for word in vocabulary] for bag in bags], dtype=float)
