package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
)

// responses is OpenAI Responses. Reasoning goes out as items with "encrypted" content, which is the text in base64 behind a
// prefix; an item that comes back must be one of these, unchanged.
type responses struct{}

func (responses) match(path string) bool { return strings.HasSuffix(path, "/responses") }

type responsesRequest struct {
	Model        string            `json:"model"`
	Stream       bool              `json:"stream"`
	Store        *bool             `json:"store"`
	Include      []string          `json:"include"`
	Instructions *string           `json:"instructions"`
	Input        json.RawMessage   `json:"input"`
	Tools        []responsesTool   `json:"tools"`
	ToolChoice   json.RawMessage   `json:"tool_choice"`
	Parallel     *bool             `json:"parallel_tool_calls"`
	Temperature  *float64          `json:"temperature"`
	TopP         *float64          `json:"top_p"`
	MaxTokens    int               `json:"max_output_tokens"`
	Reasoning    map[string]string `json:"reasoning"`
	Text         *struct {
		Format *struct {
			Type        string          `json:"type"`
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Strict      bool            `json:"strict"`
			Schema      json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"text"`
	User     string          `json:"user"`
	Metadata json.RawMessage `json:"metadata"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

type inputItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Role      string          `json:"role"`
	Phase     string          `json:"phase"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Encrypted string          `json:"encrypted_content"`
	Summary   json.RawMessage `json:"summary"`
}

func (responses) decode(_ *http.Request, body []byte) (*call, error) {
	var r responsesRequest
	if err := strictJSON(body, &r); err != nil {
		return nil, err
	}
	if r.Model == "" {
		return nil, errors.New("model is missing")
	}
	c := &call{model: r.Model, stream: r.Stream}
	c.Settings = model.Settings{Temperature: r.Temperature, MaxTokens: r.MaxTokens, Effort: r.Reasoning["effort"]}
	if r.Instructions != nil {
		if *r.Instructions == "" {
			return nil, errors.New("instructions are empty")
		}
		c.System = message.Parts{message.Text{Text: *r.Instructions}}
	}
	if err := r.tools(c); err != nil {
		return nil, err
	}
	if r.Text != nil && r.Text.Format != nil && r.Text.Format.Type == "json_schema" {
		f := r.Text.Format
		if err := checkFormat(f.Name, f.Schema, f.Strict); err != nil {
			return nil, err
		}
		c.Schema, c.SchemaName = f.Schema, f.Name
	}
	return c, r.input(c)
}

func (r *responsesRequest) tools(c *call) error {
	for _, t := range r.Tools {
		if t.Type != "function" {
			return fmt.Errorf("tool type %q is not function", t.Type)
		}
		c.Tools = append(c.Tools, model.Tool{Name: t.Name, Description: t.Description, Input: t.Parameters})
	}
	choice, err := toolChoice(r.ToolChoice, func(raw json.RawMessage) (string, error) {
		var f struct {
			Type string `json:"type"`
			Name string `json:"name"`
		}
		err := strictJSON(raw, &f)
		return f.Name, err
	})
	if err != nil {
		return err
	}
	c.Choice = choiceOf(choice)
	return checkTools(c.Tools, choice)
}

func (r *responsesRequest) input(c *call) error {
	var text string
	if isString(r.Input) {
		if err := json.Unmarshal(r.Input, &text); err != nil || text == "" {
			return errors.New("the input is empty")
		}
		c.Messages = append(c.Messages, message.NewUser(text))
		return nil
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(r.Input, &raws); err != nil {
		return fmt.Errorf("input: %w", err)
	}
	in := inputs{c: c, store: r.Store == nil || *r.Store}
	for i, raw := range raws {
		if err := in.item(raw); err != nil {
			return fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	if in.thought {
		return errors.New("the last item is reasoning, which must have the item that followed it")
	}
	return in.t.end()
}

// inputs builds messages from items. Items of an answer that follow each other are one message.
type inputs struct {
	c       *call
	t       turns
	store   bool
	thought bool // the last item was reasoning
	answer  *message.Message
}

func (in *inputs) item(raw json.RawMessage) error {
	var i inputItem
	if err := strictJSON(raw, &i); err != nil {
		return err
	}
	if in.thought && i.Type != "reasoning" && i.Type != "function_call" && i.Role != "assistant" {
		return errors.New("reasoning stands before it, which must have the item that followed it")
	}
	in.thought = i.Type == "reasoning"
	switch i.Type {
	case "message", "":
		return in.message(&i)
	case "reasoning":
		return in.reasoning(&i, raw)
	case "function_call":
		if err := checkCall(i.Name, i.Arguments); err != nil {
			return err
		}
		in.t.any = true
		call := message.ParseCall(i.CallID, i.Name, i.Arguments)
		in.say(call)
		return in.t.calls([]string{i.CallID})
	case "function_call_output":
		in.answer = nil
		parts, err := inputParts(i.Output, "input_text", "input_image", "input_file")
		if err != nil {
			return err
		}
		in.c.Messages = append(in.c.Messages, &message.Message{
			Role: message.Tool, CallID: i.CallID, Status: message.Success, Parts: parts,
		})
		return in.t.result(i.CallID)
	}
	return fmt.Errorf("unknown type of item %q", i.Type)
}

// legal reports whether somebody may speak here. An answer may go on after its calls.
func (in *inputs) legal(role string) error {
	if role == "assistant" && in.answer != nil {
		return nil
	}
	return in.t.say(role)
}

// say adds a part to the answer at hand.
func (in *inputs) say(p message.Part) {
	if in.answer == nil {
		in.answer = &message.Message{Role: message.Assistant}
		in.c.Messages = append(in.c.Messages, in.answer)
	}
	in.answer.Parts = append(in.answer.Parts, p)
	finished(in.answer)
}

func (in *inputs) message(i *inputItem) error {
	if i.Role != "assistant" && (i.ID != "" || i.Phase != "") {
		return fmt.Errorf("a %s message has fields of an answer", i.Role)
	}
	if err := in.legal(i.Role); err != nil {
		return err
	}
	switch i.Role {
	case "assistant":
		parts, err := inputParts(i.Content, "output_text", "refusal")
		for _, p := range parts {
			in.say(p)
		}
		return err
	case "user":
		in.answer = nil
		parts, err := inputParts(i.Content, "input_text", "input_image", "input_file")
		in.c.Messages = append(in.c.Messages, &message.Message{Role: message.User, Parts: parts})
		return err
	case "system", "developer":
		in.answer = nil
		parts, err := inputParts(i.Content, "input_text")
		in.c.Messages = append(in.c.Messages, &message.Message{Role: message.System, Parts: parts})
		return err
	}
	return fmt.Errorf("unknown role %q", i.Role)
}

const sealed = "sealed:"

func (in *inputs) reasoning(i *inputItem, raw json.RawMessage) error {
	if err := in.legal("assistant"); err != nil {
		return err
	}
	if i.Encrypted == "" && !in.store {
		return fmt.Errorf("item %q was not found: items are not kept when store is false", i.ID)
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(i.Encrypted, sealed))
	if err != nil || !strings.HasPrefix(i.Encrypted, sealed) {
		return fmt.Errorf("the encrypted content of item %q is none of ours", i.ID)
	}
	in.say(message.Reasoning{Text: string(data), Provider: "wire", Opaque: raw})
	return nil
}

type inputPart struct {
	Type        string          `json:"type"`
	Text        string          `json:"text"`
	Refusal     string          `json:"refusal"`
	Annotations json.RawMessage `json:"annotations"`
	ImageURL    string          `json:"image_url"`
	Detail      string          `json:"detail"`
	FileID      string          `json:"file_id"`
	FileData    string          `json:"file_data"`
	FileURL     string          `json:"file_url"`
	FileName    string          `json:"filename"`
}

// inputParts reads content: a text that is not empty, or a list that is not empty of the kinds that may stand there.
func inputParts(raw json.RawMessage, kinds ...string) (message.Parts, error) {
	var text string
	if isString(raw) {
		if err := json.Unmarshal(raw, &text); err != nil || text == "" {
			return nil, errors.New("the content is empty")
		}
		return message.Parts{message.Text{Text: text}}, nil
	}
	var list []inputPart
	if err := strictJSON(raw, &list); err != nil {
		return nil, fmt.Errorf("content: %w", err)
	}
	if len(list) == 0 {
		return nil, errors.New("the content is an empty list")
	}
	parts := make(message.Parts, 0, len(list))
	for i := range list {
		p, err := list[i].part(kinds)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func (p *inputPart) part(kinds []string) (message.Part, error) {
	allowed := false
	for _, k := range kinds {
		allowed = allowed || k == p.Type
	}
	if !allowed {
		return nil, fmt.Errorf("content of type %q may not stand there", p.Type)
	}
	kind := message.File
	if p.Type == "input_image" {
		kind = message.Image
	}
	switch {
	case p.Text != "":
		return message.Text{Text: p.Text}, nil
	case p.Refusal != "":
		return message.Text{Text: p.Refusal}, nil
	case p.FileID != "":
		return message.Media{Kind: kind, ID: p.FileID}, nil
	case p.ImageURL != "":
		return dataURL(kind, p.ImageURL)
	case p.FileURL != "":
		return dataURL(kind, p.FileURL)
	case p.FileData != "" && p.FileName != "":
		m, err := dataURL(kind, p.FileData)
		m.Name = p.FileName
		return m, err
	}
	return nil, fmt.Errorf("content of type %q is empty or not complete", p.Type)
}
