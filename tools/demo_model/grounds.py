"""Scenes on white or black, which the world itself never draws: its grounds are muted greys."""

from dataclasses import replace
from random import Random

from fitserve.demo.world import COLOURS, Colour, Scene

BARE: dict[Colour, tuple[int, int]] = {"white": (235, 255), "black": (0, 24)}


def on_bare_ground(scene: Scene, rng: Random) -> Scene:
    """The same scene on a bare ground; what has the ground's colour gets another, because it could not be seen."""
    ground = rng.choice(list(BARE))
    level = rng.randint(*BARE[ground])
    other: Colour = "black" if ground == "white" else "white"
    seen = [colour for colour in COLOURS if colour != ground]
    items = [replace(item, colour=rng.choice(seen)) if item.colour == ground else item for item in scene.items]
    digit = replace(scene.digit, ink=other) if scene.digit else None
    background = replace(scene.background, kind="plain", first=(level, level, level))
    return replace(scene, background=background, items=tuple(items), digit=digit)
