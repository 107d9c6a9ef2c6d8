"""The demo model: a small vision-language model for trying the machine, and the drawn world that it knows."""

from fitserve.demo.judge import is_right
from fitserve.demo.phrasings import KINDS, Kind
from fitserve.demo.sample import Sample, model_dir, sample
from fitserve.demo.words import LANGUAGES, Language

__all__ = ["KINDS", "LANGUAGES", "Kind", "Language", "Sample", "is_right", "model_dir", "sample"]
