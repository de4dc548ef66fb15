"""Judges: the contract (``base``), how names become judges (``registry``), and those that ship."""
