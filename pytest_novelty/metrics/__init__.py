"""Metrics: pure functions from the votes of one (judge, suite, variant) to an estimate with an interval.

``view`` holds the arrays, ``catalogue`` the names; ``classification``, ``stability``, ``scoring`` and ``retrieval`` the formulas;
``comparison`` sets two judges side by side; ``intervals``, ``resampling``, ``auroc``, ``permutation`` and ``planning`` the statistics.
"""
