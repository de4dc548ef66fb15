"""A judge with a prompt of its own, async, with everything declared that helps: --novelty-judge=judge_with_options:judge."""

import asyncio


class Judge:
    version = "2026-11-30"  # part of every store key: change it when the judge changes
    uses_prompt = False  # it makes its own prompt from request.ideas
    protocols = ("pointwise",)
    max_concurrency = 8
    timeout_s = 60
    cost_usd_per_call = 0.002
    score_range = (0, 10)
    threshold = 6  # novel from a mean score of 6
    may_abstain = True

    async def __aenter__(self):
        self.session = asyncio.Lock()  # stands for an HTTP session: opened once per process, in the judging loop
        return self

    async def __aexit__(self, *error):
        del self.session

    async def __call__(self, request):
        async with self.session:
            words = len(request.idea.text.split())
        if words < 5:
            return {"novel": None, "reason": "Too short to judge."}
        return {"score": min(10, words / 12), "reason": f"A stand-in: {words} words, the more the better."}


judge = Judge()
