"""Files that an engine's own interpreter runs. fitserve only starts or copies them; it never imports them."""
