"""Records what the reference tokenizer answers, for the tests of this package.

    pip install tokenizers==0.23.3
    python3 record.py [FOLDER WITH THE TOKENIZER.JSON OF A BERT MODEL]

Writes tokenizer.json (a small vocabulary, learned from the texts below) and
ids.json. The folder adds to ids.json what a model's own
vocabulary makes of the texts; of it, only the ids are kept.
"""
import json
import os
import random
import sys
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

TEXTS = [
    "", " ", "a", "Get the weather forecast for a city.",
    "getUserByID: Returns the user's profile, e.g. name, e-mail & avatar (PNG/JPEG).",
    "POST /v1/invoices/{invoice_id}/lines?dry_run=true",
    "Send an SMS to +1 (555) 010-9999 -- costs $0.05/message, 10% off!",
    "{\"city\": \"Lisbon\", \"units\": \"metric\", \"days\": 7}",
    "snake_case camelCase PascalCase kebab-case SCREAMING_SNAKE x1y2z3",
    "Für Elise: größer, ÄÖÜ, naïve café, Ångström, Øresund, Łódź, Đà Nẵng, smørrebrød",
    "Straßenbahnhaltestelle", "İstanbul'da hava nasıl? ISPARTA ılık", "Διεύθυνση ΟΔΟΣ", "Привет, мир! Ёлка й Й",
    "東京の天気を教えて", "今天北京的天气怎么样？", "한국어 날씨 알려줘", "カタカナ ｶﾀｶﾅ ﾊﾞﾊﾟ ばぱ", "مرحبا بالعالم، كيف الطقس؟",
    "שלום עולם", "नमस्ते दुनिया", "สวัสดีชาวโลก", "வணக்கம்", "ᏣᎳᎩ ꮳꮃꭹ", "Ω Å K ﬁ ﬂ ½ ² № ™ ℃",
    "emoji 😀👍🏽👨‍👩‍👧 flags 🇵🇹 keycap 1️⃣", "zero\u200bwidth\u200djoiner\ufeffbom soft\u00adhyphen",
    "tabs\tand\nnew\r\nlines\vvertical\ffeed\u0085next\u2028line\u2029para\u00a0nbsp\u3000wide",
    "control\x00\x01\x02\x1f\x7f\u0080\u009fend", "\ufffd replaced \ufffd", "[CLS] inside [SEP] and [MASK][PAD] [UNK] [cls] [CLS",
    "[[SEP]] x[SEP]y", "quotes “double” ‘single’ «guillemets» — dash – en … dots", "math ∑ ∫ ≤ ≥ ≠ ± × ÷ √ ∞ ^ ` ~ | < > = + $",
    "e\u0301 combining vs é precomposed; a\u0323\u0307 vs a\u0307\u0323", "x\u0345\u0327\u0301y", "\u0301leading mark", "ZALGO: z\u0351\u036b\u0343a\u0327\u0324lgo",
    "q\u302e\u0345\u302f\u1d165w \U0001d165\U0001d16d\U0001d16e\u0301", "\u1b44\u1baa \ua953\ua9c0", "\U0001d15e\U0001d160",
    "word" * 24, "word" * 25, "word" * 26, "é" * 100, "é" * 101, "x " * 300, "supercalifragilisticexpialidocious " * 20,
    "private \ue000 use \U000f0000 unassigned \u0378 noncharacter \uffff", "𝕳𝖊𝖑𝖑𝖔 𝐖𝐨𝐫𝐥𝐝 ⓗⓔⓛⓛⓞ ＨＥＬＬＯ", "豈更車 CJK 𠀀𪜀 㐀", "ẞ ß ſ Ǆ ǅ ǆ ŉ",
    "https://example.org/a/b?c=d&e=f#g", "user@example.org", "1,234,567.89 0x1F 1e-9 2026-11-21T13:52:29Z", "C++ C# F# .NET node.js",
]


def nasty(n):
    """Random texts of what is likely to go wrong, the same ones every time."""
    rng = random.Random(1)
    pools = [
        [chr(r) for r in range(0x20, 0x7f)], [chr(r) for r in range(0x00, 0x20)],
        [chr(r) for r in range(0xa0, 0x250)], [chr(r) for r in range(0x300, 0x370)],
        [chr(r) for r in range(0x370, 0x600)], [chr(r) for r in range(0x900, 0xe00)],
        [chr(r) for r in range(0x1e00, 0x2100)], [chr(r) for r in range(0x3000, 0x3100)],
        [chr(r) for r in range(0x4e00, 0x4f00)], [chr(r) for r in range(0xac00, 0xad00)],
        [chr(r) for r in range(0xf900, 0xfb50)], [chr(r) for r in range(0x1d150, 0x1d180)],
        [chr(r) for r in list(range(0x10000, 0x10100)) + list(range(0x1f600, 0x1f650)) + list(range(0x20000, 0x20010))],
        ["\u302e", "\u302f", "\u0345", "\u1b44", "\u1baa", "\ua953", "\u0334", "\u0cc6", "\u200d", "\u00ad", "\ufeff", "\ue000"],
        ["[SEP]", "[CLS]", "[MASK]", "[", "]", "##", "ing", "the", "tool", "search", " "],
    ]
    for _ in range(n):
        picked = rng.sample(pools, rng.randint(1, 5))
        yield "".join(rng.choice(rng.choice(picked)) for _ in range(rng.randint(1, 60)))


SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def learn(texts):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    t.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=1200, special_tokens=SPECIAL, show_progress=False))
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return t


def answers(t, texts, length):
    t.no_padding()
    t.enable_truncation(length)
    return [t.encode(x).ids for x in texts]


# The library's Unicode does not know these marks and punctuation; Go's does.
NEWER = "\u09fd\u0a76\u0aff\u0c77"

texts = TEXTS + [t for t in nasty(400) if not set(t) & set(NEWER)]
small = learn(TEXTS)
small.save("tokenizer.json", pretty=False)
recorded = {"texts": texts, "small": answers(small, texts, 256), "short": answers(small, texts, 8)}
if len(sys.argv) > 1:
    folder = sys.argv[1]
    model = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    recorded["minilm"] = answers(model, texts, 256)
with open("ids.json", "w") as f:
    f.write("{\n" + ",\n".join(
        f' {json.dumps(k)}: [\n' + ",\n".join("  " + json.dumps(x, separators=(",", ":")) for x in v) + "\n ]"
        for k, v in recorded.items()) + "\n}\n")
