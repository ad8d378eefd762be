// Serves a small model on loopback as `/v1/chat/completions`, streamed. Its one argument is the weights' file.
// The model is a base model: where a tool is offered and nothing was called yet, the first tool is called, with
// arguments that its JSON Schema constrains; after that the model writes free text.
// Node looks for `node-llama-cpp` beside this script: the chore copies it to where it was installed.
import http from "node:http";
import {getLlama, LlamaCompletion} from "node-llama-cpp";

const REPLY_TOKENS_MAX = 40;
const llama = await getLlama({gpu: false, build: "never", logLevel: "error"});
const model = await llama.loadModel({modelPath: process.argv[2]});
const context = await model.createContext({contextSize: 2048});
const completion = new LlamaCompletion({contextSequence: context.getSequence()});

const text = ({content}) => Array.isArray(content) ? content.map((part) => part.text ?? "").join("") : content ?? "";

async function answer({messages, tools}, send) {
  const question = text(messages.findLast((message) => message.role === "user"));
  const results = messages.filter((message) => message.role === "tool").map(text);
  const options = {temperature: 0, maxTokens: REPLY_TOKENS_MAX};
  if (tools?.length && results.length === 0) {
    const {name, description, parameters} = tools[0].function;
    const grammar = await llama.createGrammarForJsonSchema(parameters);
    const prompt = `${description}\nQuestion: ${question}\nArguments as JSON: `;
    const args = await completion.generateCompletion(prompt, {...options, grammar});
    const call = {index: 0, id: "call_1", type: "function", function: {name, arguments: args.trim()}};
    send({role: "assistant", tool_calls: [call]});
    return "tool_calls";
  }
  const prompt = `${results.join("\n")}\nQuestion: ${question}\nAnswer:`;
  const onTextChunk = (content) => send({content});
  await completion.generateCompletion(prompt, {...options, customStopTriggers: ["\n"], onTextChunk});
  return "stop";
}

const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  response.writeHead(200, {"content-type": "text/event-stream"});
  const base = {id: "chatcmpl-1", object: "chat.completion.chunk", created: 0, model: "gemma-3-270m"};
  const chunk = (delta, finish_reason = null) =>
    response.write(`data: ${JSON.stringify({...base, choices: [{index: 0, delta, finish_reason}]})}\n\n`);
  try {
    chunk({}, await answer(JSON.parse(body), chunk));
    response.end("data: [DONE]\n\n");
  } catch (error) {
    console.error(error);
    response.destroy();
  }
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
