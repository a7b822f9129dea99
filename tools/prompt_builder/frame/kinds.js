// What a new row of each kind looks like, and the example.

export const KINDS = [
  { value: "prompt", label: "Prompt", raw: '{"prompt": ""}' },
  { value: "messages", label: "Conversation", raw: '{"messages": [{"role": "user", "content": ""}]}' },
  {
    value: "openai",
    label: "OpenAI Batch",
    raw: '{"custom_id": "request-1", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": [{"role": "user", "content": ""}]}}',
  },
  {
    value: "anthropic",
    label: "Anthropic",
    raw: '{"custom_id": "request-1", "params": {"max_tokens": 512, "messages": [{"role": "user", "content": ""}]}}',
  },
  {
    value: "runpod",
    label: "RunPod",
    raw: '{"input": {"messages": [{"role": "user", "content": ""}], "sampling_params": {"max_tokens": 512}}}',
  },
  {
    value: "bedrock",
    label: "Bedrock",
    raw: '{"recordId": "R1", "modelInput": {"messages": [{"role": "user", "content": ""}], "max_tokens": 512}}',
  },
];

export const EXAMPLE = [
  '{"id": "001", "prompt": "Explain photosynthesis to a ten-year-old.", "topic": "biology"}',
  '{"id": "002", "prompt": "Write a haiku about the sea.", "temperature": 0.9, "n": 3, "topic": "poetry"}',
  '{"id": "003", "prompt": "Which is heavier: a pound of feathers or a pound of lead?", "temperature": 0, "max_tokens": 128, "topic": "physics"}',
  '{"id": "004", "messages": [{"role": "system", "content": "Answer in one sentence."}, {"role": "user", "content": "Why is the sky blue?"}], "topic": "physics"}',
  '{"id": "005", "prompt": "List three capitals of South America.", "response_format": {"type": "json_object"}, "topic": "geography"}',
  '{"custom_id": "request-6", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": [{"role": "user", "content": "Translate “good morning” to Japanese."}], "max_tokens": 64}}',
];
