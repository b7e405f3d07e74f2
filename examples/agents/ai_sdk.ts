// Vercel AI SDK over MCP: the model searches for tools and calls them by itself. Needs ai, @ai-sdk/mcp, @ai-sdk/openai-compatible.
import { createMCPClient } from '@ai-sdk/mcp';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, stepCountIs } from 'ai';

const { TOOLSTREAM_SERVER = 'http://127.0.0.1:8665', TOOLSTREAM_TOKEN = 'none', OPENAI_BASE_URL = '', OPENAI_API_KEY } = process.env;
const toolstream = await createMCPClient({
  transport: { type: 'http', url: TOOLSTREAM_SERVER + '/mcp', headers: { Authorization: 'Bearer ' + TOOLSTREAM_TOKEN } },
});
const vendor = createOpenAICompatible({ name: 'vendor', baseURL: OPENAI_BASE_URL, apiKey: OPENAI_API_KEY });
const { text } = await generateText({
  model: vendor('gpt-5.4'),
  tools: await toolstream.tools(),
  stopWhen: stepCountIs(10),
  prompt: process.argv[2]!,
});
console.log(text);
await toolstream.close();
