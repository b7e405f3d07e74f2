// Any MCP client: find a tool, and call the best one with arguments of its schema. Needs @modelcontextprotocol/client.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const { TOOLSTREAM_SERVER = 'http://127.0.0.1:8665', TOOLSTREAM_TOKEN = 'none' } = process.env;
const toolstream = new Client({ name: 'example', version: '1.0.0' });
await toolstream.connect(new StreamableHTTPClientTransport(new URL(TOOLSTREAM_SERVER + '/mcp'), {
  requestInit: { headers: { Authorization: 'Bearer ' + TOOLSTREAM_TOKEN } },
}));

async function call(name: string, args: Record<string, unknown>): Promise<string> {
  const { content } = await toolstream.callTool({ name, arguments: args });
  return content.map((part) => (part.type === 'text' ? part.text : part.type)).join('\n');
}

const [query, json] = process.argv.slice(2) as [string, string];
const found = JSON.parse(await call('search_tools', { query }));
console.log(found.tools[0].name, found.tools[0].description);
console.log(await call('call_tool', { tool_name: found.tools[0].name, arguments: JSON.parse(json), search_id: found.search_id }));
await toolstream.close();
