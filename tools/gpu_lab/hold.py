"""Leave only so many bytes free on each visible card, so that a large one behaves like a small one.

python hold.py BYTES      # holds the rest until it is ended; prints one JSON line: total and free bytes of each card
"""

from __future__ import annotations

import json
import sys
import time

import torch


def main() -> None:
    """Take the rest with one plain allocation a card; what the driver rounds away is given back in small steps."""
    wanted, held, cards = int(sys.argv[1]), [], []
    for index in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(index)
        held.append(torch.empty(max(0, free - wanted), dtype=torch.uint8, device=f"cuda:{index}"))
        cards.append({"total_bytes": total, "free_bytes": torch.cuda.mem_get_info(index)[0]})
    print(json.dumps(cards), flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main()
