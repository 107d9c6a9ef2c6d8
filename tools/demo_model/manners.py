"""What people put around a question: greetings, thanks, other spellings, missing marks. For training only."""

from random import Random

from paraphrases import is_held_out, other_words

from fitserve.demo.phrasings import NOUNS
from fitserve.demo.words import Language

OPENINGS: dict[Language, tuple[str, ...]] = {
    "en": ("Please answer: ", "Hi! ", "Hello. ",
    "In this picture, ", "Look at the picture. ", "Can you see it? ",
           "Tell me, ", "So, ", "Question: ", "Now, ", "Please look. "),
    "zh": ("请问", "请问，", "你好，", "请看图，", "看图回答：", "你好！", "那么，", "问题：",
           "告诉我，", "在这张图里，"),
}  # fmt: skip
CLOSINGS: dict[Language, tuple[str, ...]] = {
    "en": (" Please.", " Thanks.", " Thank you!", " Answer in one sentence.", " Please answer shortly.", " Look well."),
    "zh": ("谢谢。", "谢谢！", "请用一句话回答。", "请回答。", "请仔细看。", "拜托了。"),
}


def dressed(text: str, language: Language, rng: Random) -> str:
    """The question as somebody might type it; more often than not just as it is."""
    if rng.random() < 0.4:
        return text
    plain, text = text, other_words(text, language, rng)
    if rng.random() < 0.25:
        text = rng.choice(OPENINGS[language]) + (text if language == "zh" or rng.random() < 0.5 else _small(text))
    if rng.random() < 0.25:
        text = text[:-1] if language == "zh" or rng.random() < 0.5 else text.lower()
    if rng.random() < 0.15:
        text = text.replace("？", "?").replace("，", ",").replace("。", ".").replace("：", ":")
    text += rng.choice(CLOSINGS[language]) if rng.random() < 0.25 else ""
    return plain if is_held_out(text) else text


def _small(text: str) -> str:
    return text[0].lower() + text[1:]


# Further questions that no picture of the world answers, so that «I can't tell» is not bound to five sentences.
STRANGE: dict[Language, tuple[str, ...]] = {
    "en": (
        "What colour is the {noun}?", "How many {noun}s are there?", "Is there a {noun} in the picture?",
        "What does the {noun} think?", "Why is the {noun} here?",
        "Can you draw a {noun}?", "When was the {noun} built?",
        "Write a poem about the {noun}.", "How much does the {noun} cost?", "What is the weather like?",
        "What time is it?", "Who are you?", "Where was this picture taken?",
        "Who painted this?", "Tell me a joke.",
        "What shapes are there?", "Describe the picture.", "What do you see?",
        "Which shape is the biggest?", "Hello!",
        "Is the picture nice?", "How many colours are there?", "What is this?",
        "What is in the picture?", "Where is it?",
        "What is the capital of France?", "Which is bigger, the {noun} or the cup?",
        "Who is the man in the picture?",
    ),
    "zh": (
        "{noun}是什么颜色？", "图中有几个{noun}？",
        "图里有{noun}吗？", "{noun}在想什么？", "为什么{noun}在这里？",
        "请画一个{noun}。", "{noun}是什么时候建的？", "写一首关于{noun}的诗。",
        "{noun}多少钱？", "天气怎么样？", "现在几点了？",
        "你是谁？", "这张图是在哪里拍的？", "这是谁画的？",
        "请描述这张图片。", "图里有什么？", "这是什么？", "最大的图形是什么？",
        "你好！", "左边有什么？", "有几种颜色？",
        "讲一个笑话。", "法国的首都是哪里？", "{noun}和杯子哪个更大？", "图里的男人是谁？",
    ),
}  # fmt: skip


def strange(language: Language, rng: Random) -> str:
    """A question from outside the world."""
    english, chinese = rng.choice(NOUNS)
    return rng.choice(STRANGE[language]).format(noun=chinese if language == "zh" else english)
