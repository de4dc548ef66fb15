"""The store by hand: what it holds, stores of several machines made one, what no run needs taken out."""
