"""The whole registration of a judge: replace the body of my_llm by your own call."""


def my_llm(messages):
    # messages: [{"role": "system", "content": "..."}, {"role": "user", "content": "..."}]
    # return your_client.chat(messages)
    return '{"reasoning": "A stand-in that finds everything novel.", "novel": true}'


def myjudge(request):
    return {"answer": my_llm(request.messages), "cost_usd": 0.002}


def pytest_novelty_judges():
    return {"myjudge": myjudge}
