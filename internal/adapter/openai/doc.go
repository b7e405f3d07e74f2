// Package openai asks models behind HTTP. Model embeds texts: any endpoint that
// speaks OpenAI's embeddings call (OpenAI, Ollama, vLLM, llama.cpp, LiteLLM)
// or that of Hugging Face's text-embeddings-inference (TEI).
//
// What can go wrong is sorted into three:
//
//   - The endpoint is away or busy (no connection, 408, 424, 425, 429, 5xx, an
//     answer cut short): tried again for a while, with the pause that
//     Retry-After asks for, then returned as an error that is not permanent,
//     so that a stage waits for the endpoint instead of laying documents aside.
//   - The endpoint can not be used as it is set up (another 3xx or 4xx, no
//     JSON, another dimension than before): returned at once, not permanent
//     either. An operator mends it and nothing is lost.
//   - A text is at fault (400, 413, 422, a persistent 500, a vector that is
//     none) while a harmless text is still answered: a refused batch is halved
//     until the culprit stands alone, a long culprit is cut until it is
//     accepted, and what remains is marked stream.Permanent.
//
// Chat asks a language model behind any endpoint that speaks OpenAI's chat
// completions, once for each call: llm.Client tries again. How the endpoint is
// told the shape of an answer, and which members it knows, is found out by
// asking and remembered.
//
// Reranker asks a cross-encoder, in the form of Cohere, Jina and vLLM or of TEI,
// once and within a moment: somebody waits, and can do without.
//
// No message holds a text, the key, or the query of the address.
package openai
