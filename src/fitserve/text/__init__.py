"""Every sentence a person reads, in English and Chinese."""

from fitserve.text.catalog import LANGUAGES, choose_language, current_language, in_language, tr

__all__ = ["LANGUAGES", "choose_language", "current_language", "in_language", "tr"]
