"""Records the vectors that the reference gives, for the parity test.

    pip install onnxruntime==1.29.0 tokenizers==0.23.3 numpy
    python3 record.py FOLDER          # the folder that `make models` fills

Each text runs by itself, without padding. Of its vector of unit length, every
24th component is kept.
"""
import json
import os
import sys
import numpy as np
import onnxruntime
from tokenizers import Tokenizer

TEXTS = [
    "a",
    "Get the weather forecast for a city.",
    "get weather forecast. Returns the forecast for up to seven days.",
    "will it rain in Lisbon tomorrow?",
    "Turn off the lights in the kitchen",
    "set light state. Switches a lamp on or off and sets its colour and brightness.",
    "Create an invoice for a customer, with lines, taxes and a due date.",
    "write an invoice",
    "cancel my appointment with the dentist on Friday",
    "Deletes a calendar event by its id; its guests are told.",
    "convert 100 dollars to euros",
    "Translates a text from one language to another.",
    "city, string, required: name of the city",
    "{\"city\": \"Lisbon\", \"units\": \"metric\"}",
    "POST /v1/invoices/{invoice_id}/lines",
    "Größe, naïve, Ångström, Łódź",
    "東京の天気を教えて",
    "Сколько стоит билет до Москвы?",
    "emoji 😀 and [SEP] inside",
    "The service answers with a list of tools. " * 60,
]
POOLING = {"minilm": "mean", "minilm-q": "mean", "bge-small": "cls", "bge-small-q": "cls"}


def vectors(folder, pooling):
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(os.path.join(folder, "model.onnx"), options, providers=["CPUExecutionProvider"])
    names = {i.name for i in session.get_inputs()}
    for text in TEXTS:
        ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden = session.run(None, {k: v for k, v in feed.items() if k in names})[0][0].astype(np.float64)
        v = hidden[0] if pooling == "cls" else hidden.mean(0)
        yield [round(float(x), 6) for x in (v / np.linalg.norm(v))[::24]]


out = {"texts": TEXTS, "vectors": {m: list(vectors(os.path.join(sys.argv[1], m), p)) for m, p in POOLING.items()}}
with open("vectors.json", "w") as f:
    f.write(json.dumps(out, ensure_ascii=False).replace("], [", "],\n[").replace('", "', '",\n"') + "\n")
