"""Questions about a scene, with the facts and the sentence that answer them."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from fitserve.demo.outline import area_share
from fitserve.demo.phrasings import HELD_OUT, NOUNS, PHRASINGS, Kind
from fitserve.demo.words import Language, name, number_word, plural
from fitserve.demo.world import COLOURS, PLACES, SHAPES, Digit, Item, Scene

ABSENT_CHANCE = 0.1  # how often something is asked about that is not there
BIGGER_RATIO = 1.3  # of bounding boxes, and of areas, so that nobody could see it otherwise


@dataclass(frozen=True, slots=True)
class Facts:
    """What a right answer says: words of the world, a number, or (all empty) that it can't be told."""

    said: frozenset[str] = frozenset()
    number: int | None = None
    absent: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it is put; `asked` are the world's words in it, which an answer may repeat."""

    kind: Kind
    language: Language
    phrasing: int
    text: str
    asked: frozenset[str]
    facts: Facts
    answer: str

    @property
    def seen(self) -> bool:
        """Whether the demo model was trained on this phrasing."""
        return self.phrasing != HELD_OUT


@dataclass(frozen=True, slots=True)
class _Draft:
    """A question without its phrasing: what is filled in, and the answer in both languages."""

    slots: dict[str, tuple[str, str]]
    asked: frozenset[str]
    facts: Facts
    en: str
    zh: str


def ask(
    scene: Scene, kind: Kind, language: Language, phrasing: int, rng: Random, template: str | None = None
) -> Question | None:
    """A question of this kind about the scene, or None where the scene has no clear answer to one.

    `template` puts it in other words than the phrasing's.
    """
    draft = _DRAFTS[kind](scene, rng)
    if draft is None:
        return None
    column = 1 if language == "zh" else 0
    words = {slot: pair[column] for slot, pair in draft.slots.items()}
    text = (template or PHRASINGS[language][kind][phrasing]).format(**words)
    return Question(kind, language, phrasing, text, draft.asked, draft.facts, (draft.en, draft.zh)[column])


def _both(word: str) -> tuple[str, str]:
    return name(word, "en"), name(word, "zh")


def _unique(scene: Scene) -> list[Item]:
    shapes = [item.shape for item in scene.items]
    return [item for item in scene.items if shapes.count(item.shape) == 1]


def _colour(scene: Scene, rng: Random) -> _Draft | None:
    if rng.random() < ABSENT_CHANCE:
        return _absent_shape(scene, rng)
    unique = _unique(scene)
    if not unique:
        return None
    item = rng.choice(unique)
    return _Draft(
        slots={"shape": _both(item.shape)},
        asked=frozenset({item.shape}),
        facts=Facts(frozenset({item.colour})),
        en=f"The {item.shape} is {item.colour}.",
        zh=f"{name(item.shape, 'zh')}是{name(item.colour, 'zh')}的。",
    )


def _absent_shape(scene: Scene, rng: Random) -> _Draft:
    shape = rng.choice([shape for shape in SHAPES if all(item.shape != shape for item in scene.items)])
    return _Draft(
        slots={"shape": _both(shape)},
        asked=frozenset({shape}),
        facts=Facts(absent=True),
        en=f"There is no {shape}.",
        zh=f"图中没有{name(shape, 'zh')}。",
    )


def _place(scene: Scene, rng: Random) -> _Draft | None:
    if rng.random() < ABSENT_CHANCE:
        return _empty_place(scene, rng)
    things: list[Item | Digit] = [*scene.items, *([scene.digit] if scene.digit else [])]
    item = rng.choice(things)
    if isinstance(item, Digit):
        return _digits_place(item)
    where, colour, shape = (name(word, "zh") for word in (item.place, item.colour, item.shape))
    article = "an" if item.colour == "orange" else "a"
    return _Draft(
        slots={"place": _both(item.place)},
        asked=frozenset({item.place}),
        facts=Facts(frozenset({item.colour, item.shape})),
        en=f"There is {article} {item.colour} {item.shape} in the {item.place}.",
        zh=f"{where}有一个{colour}的{shape}。",
    )


def _digits_place(digit: Digit) -> _Draft:
    return _Draft(
        slots={"place": _both(digit.place)},
        asked=frozenset({digit.place}),
        facts=Facts(number=digit.value),
        en=f"The digit {digit.value} is in the {digit.place}.",
        zh=f"{name(digit.place, 'zh')}有数字{digit.value}。",
    )


def _empty_place(scene: Scene, rng: Random) -> _Draft | None:
    taken = {item.place for item in scene.items} | ({scene.digit.place} if scene.digit else set())
    free = [place for place in PLACES if place not in taken]
    if not free or "centre" in taken:
        return None  # what stands in the centre may reach into a corner
    place = rng.choice(free)
    return _Draft(
        slots={"place": _both(place)},
        asked=frozenset({place}),
        facts=Facts(absent=True),
        en=f"There is nothing in the {place}.",
        zh=f"{name(place, 'zh')}没有图形。",
    )


def _counted(number: int, word: str, colour: str | None) -> tuple[str, str]:
    """The answer to «how many» in both languages."""
    verb = "is" if number == 1 else "are"
    paint, zh_paint = (f"{colour} ", name(colour, "zh")) if colour else ("", "")
    en = f"There {verb} {number_word(number, 'en')} {paint}{plural(word, 'en', number)}."
    thing = "图形" if word == "shape" else name(word, "zh")
    return en, f"图中有{number_word(number, 'zh')}个{zh_paint}{thing}。" if number else f"图中没有{zh_paint}{thing}。"


def _count(scene: Scene, rng: Random) -> _Draft:
    del rng
    number = len(scene.items)
    return _Draft({}, frozenset(), Facts(number=number), *_counted(number, "shape", None))


def _count_kind(scene: Scene, rng: Random) -> _Draft:
    by_colour = rng.random() < 0.5
    there = [item.colour if by_colour else item.shape for item in scene.items]
    names: tuple[str, ...] = COLOURS if by_colour else SHAPES
    word = rng.choice(names if rng.random() < ABSENT_CHANCE else there)
    number = there.count(word)  # type: ignore[arg-type]
    counted = _counted(number, "shape", word) if by_colour else _counted(number, word, None)
    things = (f"{word} shapes", f"{name(word, 'zh')}图形") if by_colour else (plural(word, "en"), name(word, "zh"))
    return _Draft({"things": things}, frozenset({word}), Facts(number=number), *counted)


def _bigger(scene: Scene, rng: Random) -> _Draft | None:
    pairs = [(big, small) for big in _unique(scene) for small in _unique(scene) if _clearly_bigger(big, small)]
    if not pairs:
        return None
    big, small = rng.choice(pairs)
    first, second = rng.sample((big.shape, small.shape), 2)
    return _Draft(
        slots={"first": _both(first), "second": _both(second)},
        asked=frozenset({first, second}),
        facts=Facts(frozenset({big.shape})),
        en=f"The {big.shape} is bigger.",
        zh=f"{name(big.shape, 'zh')}更大。",
    )


def _clearly_bigger(big: Item, small: Item) -> bool:
    areas = (big.size**2 * area_share(big.shape), small.size**2 * area_share(small.shape))
    return big.size >= BIGGER_RATIO * small.size and areas[0] >= BIGGER_RATIO * areas[1]


def _digit(scene: Scene, rng: Random) -> _Draft | None:
    if scene.digit:
        value = scene.digit.value
        return _Draft({}, frozenset(), Facts(number=value), f"The digit is {value}.", f"图中的数字是{value}。")
    if rng.random() < ABSENT_CHANCE:
        return _Draft({}, frozenset(), Facts(absent=True), "There is no digit.", "图中没有数字。")
    return None


def _outside(scene: Scene, rng: Random) -> _Draft:
    del scene
    return _Draft({"noun": rng.choice(NOUNS)}, frozenset(), Facts(), "I can't tell.", "我看不出来。")


_DRAFTS: dict[Kind, Callable[[Scene, Random], _Draft | None]] = {
    "colour": _colour,
    "place": _place,
    "count": _count,
    "count_kind": _count_kind,
    "bigger": _bigger,
    "digit": _digit,
    "outside": _outside,
}
