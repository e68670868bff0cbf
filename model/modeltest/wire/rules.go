package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
)

// strictJSON decodes one JSON value and refuses fields that v does not have.
func strictJSON(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after the JSON value")
	}
	return nil
}

var legalName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// turns checks that every call is answered once, in order and before anything else is said.
type turns struct {
	open []string // ids without a result yet
	any  bool
}

// say is a message that is no result.
func (t *turns) say(who string) error {
	t.any = true
	if len(t.open) > 0 {
		return fmt.Errorf("a %s message stands where the result of call %q must stand", who, t.open[0])
	}
	return nil
}

// calls are those of an answer.
func (t *turns) calls(ids []string) error {
	for i, id := range ids {
		switch {
		case id == "":
			return errors.New("a call has no id")
		case len(id) > 40:
			return fmt.Errorf("the call id %q is longer than 40 characters", id)
		case slices.Contains(ids[:i], id) || slices.Contains(t.open, id):
			return fmt.Errorf("two calls of one answer have the id %q", id)
		}
	}
	t.open = append(t.open, ids...)
	return nil
}

func (t *turns) result(id string) error {
	if len(t.open) == 0 || t.open[0] != id {
		return fmt.Errorf("a result answers call %q, and the calls without a result are %q", id, t.open)
	}
	t.open = t.open[1:]
	return nil
}

func (t *turns) end() error {
	if !t.any {
		return errors.New("there is no message")
	}
	if len(t.open) > 0 {
		return fmt.Errorf("call %q has no result", t.open[0])
	}
	return nil
}

// checkCall checks a call in the history.
func checkCall(name, args string) error {
	if !legalName.MatchString(name) {
		return fmt.Errorf("%q is no legal name of a function", name)
	}
	var v map[string]any
	if json.Unmarshal([]byte(args), &v) != nil || v == nil {
		return fmt.Errorf("the arguments of %s are no JSON object: %q", name, args)
	}
	return nil
}

// checkTools checks the tools and the choice among them; choice is one of auto, none, required or "=name".
func checkTools(tools []model.Tool, choice string) error {
	seen := make(map[string]bool, len(tools))
	for _, t := range tools {
		var schema map[string]any
		switch {
		case !legalName.MatchString(t.Name):
			return fmt.Errorf("%q is no legal name of a function", t.Name)
		case seen[t.Name]:
			return fmt.Errorf("two tools have the name %q", t.Name)
		case json.Unmarshal(t.Input, &schema) != nil || schema["type"] != "object":
			return fmt.Errorf("the schema of %s is not of type object", t.Name)
		}
		seen[t.Name] = true
	}
	switch name, named := strings.CutPrefix(choice, "="); {
	case choice == "":
	case len(tools) == 0:
		return errors.New("tool_choice is only allowed with tools")
	case named && !seen[name]:
		return fmt.Errorf("tool_choice names %q, which is no tool", name)
	case !named && choice != "auto" && choice != "none" && choice != "required":
		return fmt.Errorf("unknown tool_choice %q", choice)
	}
	return nil
}

// toolChoice reads a choice: a word, or an object from which name is taken.
func toolChoice(raw json.RawMessage, name func(raw json.RawMessage) (string, error)) (string, error) {
	var word string
	if len(raw) == 0 || json.Unmarshal(raw, &word) == nil {
		return word, nil
	}
	n, err := name(raw)
	return "=" + n, err
}

// choiceOf is a choice as [model.Request] has it.
func choiceOf(choice string) string {
	switch choice {
	case "auto":
		return ""
	case "required":
		return "any"
	}
	return strings.TrimPrefix(choice, "=")
}

// checkFormat checks a schema of the answer. A strict one has every object closed and every property required.
func checkFormat(name string, schema json.RawMessage, isStrict bool) error {
	var v map[string]any
	if !legalName.MatchString(name) {
		return fmt.Errorf("%q is no legal name of a schema", name)
	}
	if json.Unmarshal(schema, &v) != nil || v == nil {
		return errors.New("the schema of the answer is no object")
	}
	if !isStrict {
		return nil
	}
	if v["type"] != "object" || v["additionalProperties"] != false {
		return errors.New("a strict schema must be an object with additionalProperties false")
	}
	props, _ := v["properties"].(map[string]any)
	if required, _ := v["required"].([]any); len(required) != len(props) {
		return errors.New("a strict schema must require all of its properties")
	}
	return nil
}

// finished gives an answer from the history its finish: to a script, one without is the rest of an error.
func finished(m *message.Message) *message.Message {
	m.Finish = string(model.Stop)
	if len(m.Calls()) > 0 {
		m.Finish = string(model.ToolCalls)
	}
	return m
}

// dataURL reads an address of media: a data URL, whose bytes are returned, or http.
func dataURL(kind message.MediaKind, address string) (message.Media, error) {
	m := message.Media{Kind: kind}
	rest, ok := strings.CutPrefix(address, "data:")
	if !ok {
		if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") {
			return m, fmt.Errorf("%.80q is neither a data URL nor an http address", address)
		}
		m.URL = address
		return m, nil
	}
	mime, data, ok := strings.Cut(rest, ";base64,")
	if !ok || !strings.Contains(mime, "/") {
		return m, fmt.Errorf("%.80q is no base64 data URL with a type", address)
	}
	var err error
	m.MIME = mime
	if m.Data, err = base64.StdEncoding.DecodeString(data); err == nil && len(m.Data) == 0 {
		err = errors.New("a data URL is empty")
	}
	return m, err
}

func isString(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
