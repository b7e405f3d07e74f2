// Package openai asks models behind HTTP. Model embeds texts, at any endpoint that
// has OpenAI's embeddings call: OpenAI, Ollama, vLLM, llama.cpp, LiteLLM, Hugging
// Face's text-embeddings-inference (TEI).
//
// Failures are of three kinds:
//
//   - The endpoint is away or busy (no connection, 408, 424, 425, 429, 5xx, an
//     answer cut short). The request is tried again for a while, with the pause
//     that Retry-After asks for. Then the error is not permanent, so a stage waits
//     for the endpoint and keeps its documents.
//   - The endpoint cannot be used as it is set up (another 3xx or 4xx, no JSON,
//     vectors of another dimension). The error comes at once and is not permanent
//     either: an operator mends it and nothing is lost.
//   - A text is at fault (400, 413, 422, a persistent 500, a vector that cannot be
//     used) while a harmless text is still answered. A refused batch is halved
//     until one text is left. A long text is cut until it is accepted, and a text
//     that is refused still is marked stream.Permanent.
//
// Chat asks a language model at any endpoint that has OpenAI's chat completions,
// once for each call: llm.Client tries again.
//
// Servers differ in the members of a request that they take. After a refusal, Model asks
// without dimensions, and Chat in another form, if a harmless request is refused too.
//
// Reranker asks a cross-encoder, in the form of Cohere, Jina and vLLM or of TEI.
// It asks once, because a user waits, and a search can do without it.
//
// No error holds a text, the key, or the query of the address.
package openai
