"""Ask the demo model fresh pictures through an OpenAI endpoint, print the score, and keep it in the model card.

python tools/demo_model/score.py --url http://127.0.0.1:8000 --name demo [--pictures 500] [--keep "vLLM 0.32 on CPU"]
"""

import argparse
import base64
import json
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import card
import exam

from fitserve.demo import LANGUAGES, model_dir
from fitserve.demo.sample import Sample


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--name", default="demo", help="the served model's name")
    parser.add_argument("--pictures", type=int, default=500)
    parser.add_argument("--first-seed", type=int, default=exam.FIRST_SEED)
    parser.add_argument(
        "--bare", action="store_true", help="pictures on plain white or black, not on the world's greys"
    )
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--keep", metavar="ENGINE", help="write the score into the model card, with the engine's name")
    parser.add_argument("--wrong", type=Path, help="file for the wrong answers")
    chosen = parser.parse_args()
    if chosen.bare and chosen.keep:
        parser.error("the card keeps the score on the world's own grounds: --keep without --bare")
    return chosen


def request(paper: Sample, name: str) -> bytes:
    """The body of a chat completion: one picture, one question, greedy."""
    url = f"data:{paper.mime_type};base64,{base64.b64encode(paper.image_bytes).decode()}"
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": paper.question.text}]
    body = {"model": name, "messages": [{"role": "user", "content": content}], "max_tokens": 32, "temperature": 0}
    return json.dumps(body).encode()


def answer(url: str, name: str, paper: Sample) -> str:
    headers = {"Content-Type": "application/json"}
    asked = urllib.request.Request(f"{url}/v1/chat/completions", request(paper, name), headers)
    with urllib.request.urlopen(asked, timeout=300) as reply:
        return str(json.load(reply)["choices"][0]["message"]["content"])


def answers(chosen: argparse.Namespace, papers: list[Sample]) -> Iterator[str]:
    """The answers in order, with the progress on stderr."""
    began = time.monotonic()
    with ThreadPoolExecutor(chosen.at_once) as pool:
        said = pool.map(lambda paper: answer(chosen.url, chosen.name, paper), papers)
        for index, text in enumerate(said, 1):
            yield text
            if index % 50 == 0:
                print(f"{index} of {len(papers)}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def main() -> None:
    chosen = arguments()
    papers = exam.papers(chosen.pictures, chosen.first_seed)
    if chosen.bare:
        papers = [exam.on_bare_ground_too(paper) for paper in papers]
    said = list(answers(chosen, papers))
    counts = exam.tally(papers, said)
    print(exam.table(counts))
    for language in LANGUAGES:
        new = exam.share(counts, language, False)
        print(f"{language}: {exam.share(counts, language):.1%}; untrained phrasings {new:.1%}")
    if chosen.wrong:
        chosen.wrong.write_text(exam.mistakes(papers, said), encoding="utf-8")
    if chosen.keep:
        card.write(model_dir() / "README.md", card.Score(chosen.keep, chosen.pictures, chosen.first_seed, counts))


if __name__ == "__main__":
    main()
