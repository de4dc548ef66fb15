"""Reports: ``as_dict`` (the JSON format), ``terminal`` (what a person reads first)."""
