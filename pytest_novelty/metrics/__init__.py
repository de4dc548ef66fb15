"""Metrics: pure functions from the votes of one (judge, suite, variant), or of two of them, to an estimate with an interval.

``view`` holds the arrays of one, ``pairing`` two of the same instances, ``catalogue`` the names; ``classification``,
``stability``, ``scoring`` and ``retrieval`` have the formulas of one view, ``variants`` and ``score_pairs`` those of two,
``families`` the largest and the mean over all variants, ``differences`` what a variant adds to a metric of one view; ``causes``,
``exchange``, ``power`` and ``own_noise`` tell what moves a verdict; ``comparison`` sets two judges side by side, ``claims`` two
systems; ``threshold`` turns scores into labels; ``estimating``, ``deferred``, ``intervals``, ``resampling``, ``auroc``,
``permutation`` and ``planning`` are the statistics.
"""
