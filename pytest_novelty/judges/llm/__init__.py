"""Models as judges: ``openai:MODEL``, ``litellm:PROVIDER/MODEL`` or a judge file.

::

    files.py      a judge file, or a name on the command line -> LlmSettings
    judge.py      a request -> an answer: attempts, waiting, cost
    chat.py       a request -> the fields of a chat completion, less what its server refused
    providers.py  one request to a server through a client library -> the body of its response, or a CallFault
    replies.py    a response's body -> the answer, or why it is none
    stopping.py   when failures that repeat stop the run
    prices.py     what a token costs

Client libraries are imported when a judge is entered, never before.
"""
