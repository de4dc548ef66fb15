"""Which family the name of a model tells, in the spellings of providers, servers and files."""

from __future__ import annotations

import pytest

from pytest_novelty.judges.families import family_of_model

FAMILIES = {
    # by itself
    "gpt-4o-2024-08-06": "gpt",
    "gpt-35-turbo": "gpt",
    "gpt-oss:20b": "gpt",
    "chatgpt-4o-latest": "gpt",
    "o3-mini": "gpt",
    "text-davinci-003": "gpt",
    "claude-3-5-sonnet-20241022": "claude",
    "gemini-2.5-pro": "gemini",
    "phi4": "phi",
    "command-r-plus": "command",
    # a provider before
    "openai/gpt-4o-mini": "gpt",
    "anthropic/claude-opus-4-5": "claude",
    "gemini/gemini-3.1-pro": "gemini",
    "meta-llama/Llama-3.3-70B-Instruct": "llama",
    "mistral/magistral-medium": "mistral",
    "deepseek/deepseek-r1": "deepseek",
    "openrouter/x-ai/grok-4": "grok",
    # a tag behind
    "llama3:8b": "llama",
    "ollama/llama3:8b": "llama",
    "ollama/llama3.1:70b-instruct-q4_K_M": "llama",
    "ollama_chat/qwen2.5:7b": "qwen",
    "ollama/deepseek-r1:8b-llama-distill-q4_K_M": "deepseek",
    "ollama/tinyllama:latest": "llama",
    "ollama/phi3:mini": "phi",
    "openrouter/anthropic/claude-3.5-sonnet:beta": "claude",
    "openrouter/qwen/qwen-2.5:free": "qwen",
    "openrouter/x-ai/grok-4:free": "grok",
    "openrouter/openai/o1-mini": "gpt",
    "hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M": "llama",
    # fine-tuned
    "ft:gpt-4o:org::id": "gpt",
    "openai/ft:gpt-4o-mini:acme::abc": "gpt",
    "ft:gpt-3.5-turbo-0125:claude-lovers::9xyz": "gpt",
    "ft:o4-mini-2025-04-16:acme::abc": "gpt",
    "codellama/CodeLlama-34b-Instruct-hf": "llama",
    "NousResearch/Hermes-3-Llama-3.1-8B": "llama",
    "cognitivecomputations/dolphin-2.5-mixtral-8x7b": "mistral",
    "nvidia/Llama-3.1-Nemotron-70B-Instruct-HF": "llama",
    "BioMistral/BioMistral-7B": "mistral",
    # distilled: whose answers, not whose weights
    "deepseek-ai/DeepSeek-R1-Distill-Llama-70B": "deepseek",
    "groq/deepseek-r1-distill-llama-70b": "deepseek",
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B": "deepseek",
    # vendors and regions
    "bedrock/anthropic.claude-3-sonnet-20240229-v1:0": "claude",
    "us.meta.llama3-1-70b-instruct-v1:0": "llama",
    "bedrock/eu.anthropic.claude-3-7-sonnet-20250219-v1:0": "claude",
    "apac.amazon.nova-pro-v1:0": "nova",
    "global.anthropic.claude-sonnet-4-20250514-v1:0": "claude",
    "us-gov.anthropic.claude-3-5-sonnet-20240620-v1:0": "claude",
    "bedrock/converse/us.deepseek.r1-v1:0": "deepseek",
    "openai.gpt-oss-120b-1:0": "gpt",
    "mistral.mixtral-8x7b-instruct-v0:1": "mistral",
    "cohere.command-r-v1:0": "command",
    "us.ai21.jamba-1-5-large-v1:0": "jamba",
    "us.writer.palmyra-x5-v1:0": "palmyra",
    "vertex_ai/claude-3-5-sonnet@20240620": "claude",
    "fireworks_ai/accounts/fireworks/models/llama-v3p1-405b-instruct": "llama",
    "together_ai/mistralai/Mixtral-8x22B-Instruct-v0.1": "mistral",
    "cloudflare/@cf/meta/llama-2-7b-chat-int8": "llama",
    # files
    "models/Meta-Llama-3-8B-Instruct.Q4_K_M.gguf": "llama",
    "C:\\models\\qwen2.5-7b-instruct-q4_0.gguf": "qwen",
    "gemma-3-270m-it-Q4_K_M.gguf": "gemini",
    "mymodel.gguf": "mymodel",
    "mymodel.llamafile": "mymodel",
    "/srv/models/Mistral-Small-24B/": "mistral",
    # deployments
    "azure/gpt-4o": "gpt",
    "azure/prod-judge": "",
    "azure/judge-eastus-2": "",
    "azure_ai/eval": "",
    "sagemaker/jumpstart-dft-meta-textgeneration-llama-2-7b": "llama",
    "sagemaker_chat/endpoint-1": "",
    "bedrock/arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123": "",
    "bedrock/arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-3-haiku-20240307-v1:0": "claude",
    # unknown ones, and words that only begin like a known one
    "olmo-2": "olmo",
    "philo-7b": "philo",
    "ayatori-13b": "ayatori",
    "glmnet": "glmnet",
    "falcon-7b-gptq": "falcon",
    "granite3.1-dense:8b": "granite",
    "ollama/yi:34b": "yi",
    "ollama/own:8b": "own",
}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_family_by_the_name(name: str) -> None:
    assert family_of_model(name) == FAMILIES[name]
