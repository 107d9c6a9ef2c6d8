"""How a question of each kind may be put: five ways a kind and language. The last one is never trained on."""

from typing import Literal

from fitserve.demo.words import Language

Kind = Literal["colour", "place", "count", "count_kind", "bigger", "digit", "outside"]
KINDS: tuple[Kind, ...] = ("colour", "place", "count", "count_kind", "bigger", "digit", "outside")
Five = tuple[str, str, str, str, str]
HELD_OUT = 4

_EN: dict[Kind, Five] = {
    "colour": (
        "What colour is the {shape}?",
        "Which colour does the {shape} have?",
        "Tell me the colour of the {shape}.",
        "The {shape} in the picture, what colour is it?",
        "What is the colour of the {shape} here?",
    ),
    "place": (
        "What is in the {place}?",
        "Which shape stands in the {place}?",
        "What do you see in the {place} of the picture?",
        "Tell me what is in the {place}.",
        "Which shape do you see in the {place}?",
    ),
    "count": (
        "How many shapes are there?",
        "How many shapes do you see?",
        "Count the shapes in the picture.",
        "What is the number of shapes?",
        "How many shapes does the picture have?",
    ),
    "count_kind": (
        "How many {things} are there?",
        "How many {things} do you see?",
        "Count the {things} in the picture.",
        "What is the number of {things}?",
        "How many {things} does the picture have?",
    ),
    "bigger": (
        "Which is bigger, the {first} or the {second}?",
        "Is the {first} or the {second} bigger?",
        "Of the {first} and the {second}, which one is bigger?",
        "Tell me which is bigger: the {first} or the {second}.",
        "Which one is the bigger one, the {first} or the {second}?",
    ),
    "digit": (
        "Which digit is in the picture?",
        "What digit do you see?",
        "Read the digit.",
        "Which number is written here?",
        "Tell me the digit in the picture.",
    ),
    "outside": (
        "What is the name of the {noun}?",
        "Who made the {noun}?",
        "Where is the {noun} from?",
        "How old is the {noun}?",
        "Where was the {noun} made?",
    ),
}

_ZH: dict[Kind, Five] = {
    "colour": (
        "{shape}是什么颜色？",
        "{shape}的颜色是什么？",
        "请说出{shape}的颜色。",
        "图中的{shape}是哪种颜色？",
        "图中{shape}的颜色是哪种？",
    ),
    "place": (
        "{place}有什么？",
        "{place}是什么图形？",
        "你在图的{place}看到什么？",
        "请说出{place}是什么。",
        "图的{place}有什么图形？",
    ),
    "count": (
        "图中有几个图形？",
        "一共有多少个图形？",
        "请数一数图中的图形。",
        "图形的数量是多少？",
        "图中一共有几个图形？",
    ),
    "count_kind": (
        "图中有几个{things}？",
        "一共有多少个{things}？",
        "请数一数图中的{things}。",
        "{things}的数量是多少？",
        "图中一共有几个{things}？",
    ),
    "bigger": (
        "{first}和{second}哪个更大？",
        "{first}大还是{second}大？",
        "比较{first}和{second}，哪一个大？",
        "请问哪个更大：{first}还是{second}？",
        "{first}和{second}，哪一个更大？",
    ),
    "digit": (
        "图中的数字是几？",
        "你看到哪个数字？",
        "请读出图中的数字。",
        "图里写的是什么数字？",
        "请说出图中的数字是几。",
    ),
    "outside": (
        "{noun}叫什么名字？",
        "这个{noun}是谁做的？",
        "{noun}是从哪里来的？",
        "{noun}多大年纪了？",
        "{noun}是在哪里做的？",
    ),
}
PHRASINGS: dict[Language, dict[Kind, Five]] = {"en": _EN, "zh": _ZH}

# Things that the world does not have: pairs of English and Chinese.
NOUNS: tuple[tuple[str, str], ...] = (
    ("dog", "狗"), ("cat", "猫"), ("house", "房子"), ("car", "汽车"), ("tree", "树"), ("man", "男人"),
    ("woman", "女人"), ("child", "孩子"), ("bird", "鸟"), ("book", "书"), ("boat", "船"), ("train", "火车"),
    ("table", "桌子"), ("chair", "椅子"), ("flower", "花"), ("city", "城市"), ("mountain", "山"), ("river", "河"),
    ("phone", "手机"), ("computer", "电脑"), ("painting", "画"), ("hat", "帽子"), ("shoe", "鞋"), ("cake", "蛋糕"),
    ("horse", "马"), ("fish", "鱼"), ("bridge", "桥"), ("king", "国王"), ("song", "歌"), ("cup", "杯子"),
)  # fmt: skip
