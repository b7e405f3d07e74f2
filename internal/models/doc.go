// Package models is the room of models: embedders, rerankers and language models.
//
// Texts enter; vectors, scores or JSON leave. static is the embedding model inside the
// binary, onnx runs models in the process , openai asks an endpoint.
// llm is the port of a language model with its budget. wordpiece is a tokenizer, and
// modelstore keeps the files of models.
//
// Open first: llm/llm.go for language models, static/doc.go for embeddings.
package models
