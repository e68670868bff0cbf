package providers

import (
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/openai"
)

// Dialect is a wire format.
type Dialect string

// The dialects.
const (
	Chat      Dialect = "chat"      // OpenAI Chat Completions
	Responses Dialect = "responses" // OpenAI Responses
	Anthropic Dialect = "anthropic" // Anthropic Messages
	Gemini    Dialect = "gemini"    // Google Gemini
	// Vertex is Gemini, or Anthropic for names that begin with claude, with Google's credentials.
	Vertex Dialect = "vertex"
	// Bedrock is Anthropic with the credentials of Amazon's cloud.
	Bedrock Dialect = "bedrock"
	Script  Dialect = "script" // a file, no network
)

// row is a provider.
type row struct {
	dialect Dialect
	// baseURL is where it is, unless one of the variables baseVars says so.
	baseURL  string
	baseVars []string
	// keys are the variables of its key; the first that is set counts. Without keys it needs none.
	keys []string
	// optional says that it may want no key; local, that it runs on this machine.
	optional, local bool
	// keyHeader is the header of the key when it is not a bearer token.
	keyHeader string
	headers   map[string]string
	profile   *model.Profile
	quirks    openai.Quirks
}

// table holds every provider of this module.
func table() map[string]row {
	images := &model.Profile{Image: true, Structured: true}
	text := &model.Profile{Structured: true}
	return map[string]row{
		"openai": {
			dialect: Responses, baseURL: "https://api.openai.com/v1", baseVars: []string{"OPENAI_BASE_URL"}, keys: []string{"OPENAI_API_KEY"},
		},
		"anthropic": {
			dialect: Anthropic, baseURL: "https://api.anthropic.com", baseVars: []string{"ANTHROPIC_BASE_URL"},
			keys: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"},
		},
		"google_genai": {
			dialect: Gemini, baseURL: "https://generativelanguage.googleapis.com", baseVars: []string{"GOOGLE_GEMINI_BASE_URL"},
			keys: []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"},
		},
		"vertex":  {dialect: Vertex, keys: []string{"GOOGLE_API_KEY"}, optional: true},
		"bedrock": {dialect: Bedrock, keys: []string{"AWS_BEARER_TOKEN_BEDROCK"}, optional: true},
		"azure_openai": {
			dialect: Responses, baseVars: []string{"AZURE_OPENAI_ENDPOINT"}, keys: []string{"AZURE_OPENAI_API_KEY"}, keyHeader: "Api-Key",
		},
		"deepseek": {
			dialect: Chat, baseURL: "https://api.deepseek.com/v1", keys: []string{"DEEPSEEK_API_KEY"}, profile: &model.Profile{},
			quirks: openai.Quirks{MaxTokens: true, ReasoningField: "reasoning_content", JSONObject: true, NoEffort: true},
		},
		"groq": {
			dialect: Chat, baseURL: "https://api.groq.com/openai/v1", keys: []string{"GROQ_API_KEY"}, profile: images,
			quirks: openai.Quirks{DropReasoning: true},
		},
		"mistralai": {
			dialect: Chat, baseURL: "https://api.mistral.ai/v1", keys: []string{"MISTRAL_API_KEY"}, profile: images,
			quirks: openai.Quirks{MaxTokens: true, ShortCallIDs: true, AnyIsRequired: "any", NoUsage: true, NoEffort: true, DropReasoning: true},
		},
		"xai": {
			dialect: Chat, baseURL: "https://api.x.ai/v1", keys: []string{"XAI_API_KEY"}, profile: images,
			quirks: openai.Quirks{NoEffort: true},
		},
		"openrouter": {
			dialect: Chat, baseURL: "https://openrouter.ai/api/v1", keys: []string{"OPENROUTER_API_KEY"},
			profile: &model.Profile{Image: true, PDF: true, Structured: true}, quirks: openai.Quirks{MaxTokens: true},
		},
		"together": {
			dialect: Chat, baseURL: "https://api.together.xyz/v1", keys: []string{"TOGETHER_API_KEY"}, profile: images,
			quirks: openai.Quirks{MaxTokens: true, DropReasoning: true},
		},
		"fireworks": {
			dialect: Chat, baseURL: "https://api.fireworks.ai/inference/v1", keys: []string{"FIREWORKS_API_KEY"}, profile: images,
			quirks: openai.Quirks{MaxTokens: true},
		},
		"perplexity": {
			dialect: Chat, baseURL: "https://api.perplexity.ai", keys: []string{"PERPLEXITY_API_KEY", "PPLX_API_KEY"}, profile: images,
			quirks: openai.Quirks{MaxTokens: true, NoUsage: true, DropReasoning: true},
		},
		"cohere": {
			dialect: Chat, baseURL: "https://api.cohere.ai/compatibility/v1", keys: []string{"COHERE_API_KEY", "CO_API_KEY"}, profile: text,
			quirks: openai.Quirks{MaxTokens: true, DropReasoning: true},
		},
		"nvidia": {
			dialect: Chat, baseURL: "https://integrate.api.nvidia.com/v1", keys: []string{"NVIDIA_API_KEY"}, profile: images,
			headers: map[string]string{"X-Billing-Invoke-Origin": "DeepAgents"},
			quirks:  openai.Quirks{MaxTokens: true, DropReasoning: true},
		},
		"ollama": {
			dialect: Chat, baseURL: "http://localhost:11434/v1", baseVars: []string{"OLLAMA_HOST"}, keys: []string{"OLLAMA_API_KEY"},
			optional: true, local: true, profile: images, quirks: openai.Quirks{MaxTokens: true},
		},
		"lmstudio": {
			dialect: Chat, baseURL: "http://localhost:1234/v1", keys: []string{"LMSTUDIO_API_KEY"}, optional: true, local: true, profile: images,
			quirks: openai.Quirks{MaxTokens: true},
		},
		"vllm": {
			dialect: Chat, baseURL: "http://localhost:8000/v1", keys: []string{"VLLM_API_KEY"}, optional: true, local: true, profile: images,
			quirks: openai.Quirks{MaxTokens: true},
		},
		"script": {dialect: Script},
	}
}

// aliases are other names of providers, in the form that normal returns.
func aliases() map[string]string {
	return map[string]string{
		"azure": "azure_openai", "mistral": "mistralai", "google": "google_genai", "gemini": "google_genai", "lm_studio": "lmstudio",
		"google_vertexai": "vertex", "vertexai": "vertex", "google_anthropic_vertex": "vertex", "anthropic_vertex": "vertex",
		"fireworksai": "fireworks", "togetherai": "together",
		"amazon_bedrock": "bedrock", "anthropic_bedrock": "bedrock", "aws": "bedrock", "bedrock_converse": "bedrock",
	}
}

// unshipped are providers that are known elsewhere and not here.
func unshipped() []string {
	return []string{"azure_ai", "huggingface", "ibm", "upstage"}
}

// beginnings tell the provider of a model's bare name. The first that fits counts; case does not.
func beginnings() [][2]string {
	return [][2]string{
		{"gpt-", "openai"},
		{"o1", "openai"},
		{"o3", "openai"},
		{"o4", "openai"},
		{"chatgpt", "openai"},
		{"text-davinci", "openai"},
		{"claude", "anthropic"},
		{"command", "cohere"},
		{"accounts/fireworks", "fireworks"},
		{"gemini", "vertex"},
		{"amazon.", "bedrock"},
		{"anthropic.", "bedrock"},
		{"meta.", "bedrock"},
		{"mistral", "mistralai"},
		{"mixtral", "mistralai"},
		{"deepseek", "deepseek"},
		{"grok", "xai"},
		{"sonar", "perplexity"},
		{"solar", "upstage"},
	}
}
