"""The whole registration of a judge: replace the body of my_llm by your own call."""


def my_llm(messages):
    # messages: [{"role": "system", "content": "..."}, {"role": "user", "content": "..."}]
    # return your_client.chat(messages)
    return '{"reasoning": "A stand-in that answers both protocols.", "novel": true, "winner": "A"}'


def myjudge(request):
    return {"answer": my_llm(request.messages), "cost_usd": 0.002}


myjudge.version = "1"  # change it when the judge changes


def pytest_novelty_judges():
    return {"myjudge": myjudge}
