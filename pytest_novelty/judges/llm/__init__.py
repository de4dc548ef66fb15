"""Models as judges: ``openai:MODEL``, ``litellm:PROVIDER/MODEL`` or a judge file.

::

    files.py      a judge file, or a name on the command line -> LlmSettings
    judge.py      a request -> an answer: attempts, waiting, cost
    providers.py  the seam: who sends a request through a client library -> the body of its response, or a CallFault
    dialect.py    what a provider says of its dialect: a request -> what is sent, a response -> a reply
    chat.py       that of chat completions, less what the server refused
    clients.py    how the clients that litellm makes are bounded
    quick.py      litellm's call without what surrounds it
    replies.py    a chat completion's body -> the answer, or why it is none
    faults.py     an exception of a client library -> a CallFault
    stopping.py   when failures that repeat stop the run
    prices.py     what a token costs

Client libraries are imported when a judge is entered, never before.
"""
