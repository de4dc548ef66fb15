"""Metrics: pure functions from the votes of one (judge, suite, variant) to an estimate with an interval.

``view`` holds the arrays, ``catalogue`` the names; ``classification``, ``stability``, ``scoring`` and ``retrieval`` have the
formulas; ``comparison`` sets two judges side by side; ``threshold`` turns scores into labels; ``intervals``, ``resampling``,
``auroc``, ``permutation`` and ``planning`` are the statistics.
"""
