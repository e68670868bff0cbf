package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/deepagents-go/deepagents/internal/jsonenc"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/internal/provider"
)

// maxMarks is how many cache marks the API takes in one request, the one at the end of the conversation included.
const maxMarks = 4

const cacheMark = `,"cache_control":{"type":"ephemeral"}`

// goOn stands where the API wants a word of the user and the conversation has none.
const goOn = "Go on."

// builder puts a body together. What stays comes first and the settings come last, so that a longer conversation begins with
// the same bytes.
type builder struct {
	m     *Model
	b     []byte
	marks []int // places in b where a cache mark is wanted
	seen  map[string]bool
	// pending are the ids of the calls whose results come next.
	pending []string
	// role is that of the message that is open: 'u', 'a' or 0.
	role byte
	// thinks and calls are those of the last answer.
	thinks, calls bool
}

// body returns the request as JSON.
func (m *Model) body(r *model.Request) ([]byte, error) {
	const slack = 64 << 10
	b := builder{m: m, seen: make(map[string]bool, len(r.Messages)), b: make([]byte, 0, m.size.Load()+slack)}
	b.raw(`{"model":`).string(m.o.Model).raw(`,"stream":true`)
	b.system(r.System)
	if err := b.tools(r); err != nil {
		return nil, err
	}
	b.raw(`,"messages":`)
	b.messages(provider.Arrange(r.Messages))
	b.settings(r)
	if err := b.output(r); err != nil {
		return nil, err
	}
	limit := maxMarks
	if !m.o.NoCache && !m.o.MarkBlock {
		b.raw(cacheMark)
		limit--
	}
	b.raw(`}`)
	body := insertMarks(b.b, b.marks, limit)
	m.size.Store(int64(len(body)))
	return body, nil
}

// insertMarks writes the cache marks: all of them, or the first and the last ones when the API would refuse so many.
func insertMarks(b []byte, marks []int, limit int) []byte {
	if len(marks) > limit {
		marks = append(marks[:1:1], marks[len(marks)-limit+1:]...)
	}
	for _, at := range slices.Backward(marks) {
		b = slices.Insert(b, at, []byte(cacheMark)...)
	}
	return b
}

func (b *builder) raw(s string) *builder {
	b.b = append(b.b, s...)
	return b
}

func (b *builder) string(s string) *builder {
	b.b = jsonenc.String(b.b, s)
	return b
}

// settings writes limit, thinking, temperature and tool choice, as far as they go together. With a budget, the API wants
// thinking to begin the answer whose calls were just executed.
func (b *builder) settings(r *model.Request) {
	b.raw(`,"max_tokens":`).raw(strconv.Itoa(b.m.maxTokens(r)))
	forced := r.Choice != "" && r.Choice != "none"
	budget := thinkingTokens(r.Settings.Effort)
	adaptive := b.m.version.adaptive()
	if limit := b.m.maxTokens(r); !adaptive && budget >= limit {
		budget = limit / 2
	}
	thinks := budget >= 1024 && !forced && (adaptive || b.thinks || !b.calls)
	switch {
	case thinks && adaptive:
		b.raw(`,"thinking":{"type":"adaptive","display":"summarized"}`)
	case thinks:
		b.raw(`,"thinking":{"type":"enabled","budget_tokens":`).raw(strconv.Itoa(budget)).raw(`}`)
	case r.Settings.Temperature != nil && b.m.version.samples():
		b.raw(`,"temperature":`).raw(strconv.FormatFloat(*r.Settings.Temperature, 'g', -1, 64))
	}
	if len(r.Tools) == 0 {
		return
	}
	switch r.Choice {
	case "":
	case "any", "none":
		b.raw(`,"tool_choice":{"type":"`).raw(r.Choice).raw(`"}`)
	default:
		b.raw(`,"tool_choice":{"type":"tool","name":`).string(r.Choice).raw(`}`)
	}
}

// output writes the effort and the format of the answer. The SDK rewrites schemas to the keywords that the API takes.
func (b *builder) output(r *model.Request) error {
	effort := r.Settings.Effort
	if !b.m.version.adaptive() || effort == "none" {
		effort = ""
	}
	if effort == "minimal" {
		effort = "low"
	}
	if effort == "" && len(r.Schema) == 0 {
		return nil
	}
	b.raw(`,"output_config":{`)
	if effort != "" {
		b.raw(`"effort":`).string(effort)
	}
	if len(r.Schema) > 0 {
		var schema map[string]any
		if err := json.Unmarshal(r.Schema, &schema); err != nil {
			return fmt.Errorf("the schema %q is no JSON object: %w", r.SchemaName, err)
		}
		raw, err := json.Marshal(sdk.BetaJSONSchemaOutputFormat(schema).Schema)
		if err != nil {
			return fmt.Errorf("the schema %q: %w", r.SchemaName, err)
		}
		if effort != "" {
			b.raw(`,`)
		}
		b.raw(`"format":{"type":"json_schema","schema":`).raw(string(raw)).raw(`}`)
	}
	b.raw(`}`)
	return nil
}

// system writes the system text, unless there is none: the API refuses an empty one.
func (b *builder) system(parts message.Parts) {
	e := encoder{provider: b.m.o.Provider}
	for _, p := range parts {
		if t, ok := p.(message.Text); ok {
			e.text(t)
		}
	}
	if len(e.blocks) == 0 {
		return
	}
	b.raw(`,"system":[`)
	b.append(e.piece)
	b.raw(`]`)
}

// append appends the blocks of a piece and notes its marks.
func (b *builder) append(p piece) {
	for _, at := range p.marks {
		b.marks = append(b.marks, len(b.b)+at)
	}
	b.b = append(b.b, p.blocks...)
}

func (b *builder) tools(r *model.Request) error {
	for i, t := range r.Tools {
		if i == 0 {
			b.raw(`,"tools":[`)
		} else {
			b.raw(`,`)
		}
		b.raw(`{"name":`).string(t.Name)
		if t.Description != "" {
			b.raw(`,"description":`).string(t.Description)
		}
		input := string(t.Input)
		if input == "" {
			input = `{"type":"object"}`
		} else if !json.Valid(t.Input) {
			return fmt.Errorf("the input schema of the tool %q is no JSON", t.Name)
		}
		b.raw(`,"input_schema":`).raw(input).raw(`}`)
	}
	if len(r.Tools) > 0 {
		b.raw(`]`)
	}
	return nil
}

// messages writes the conversation: neighbours of one role become one message, and the user has the first and the last word.
func (b *builder) messages(msgs []*message.Message) {
	own := func(m *message.Message) (piece, int) {
		p := encode(b.m.o.Provider, m, nil)
		return p, len(p.blocks)
	}
	b.raw(`[`)
	b.m.cache.Each(msgs, own, func(m *message.Message, p piece) { b.message(b.unique(m, p)) })
	if b.role != 'u' && len(msgs) > 0 {
		b.message(piece{blocks: textBlock(nil, goOn)})
	}
	if last := len(b.b) - 1; b.role != 0 && b.m.o.MarkBlock && !b.m.o.NoCache && !slices.Contains(b.marks, last) {
		b.marks = append(b.marks, last)
	}
	b.close()
	b.raw(`]`)
}

// unique gives the calls of a message ids that no earlier message has: the API refuses repeated ones, and other providers
// repeat theirs. The results that follow get the same ids.
func (b *builder) unique(m *message.Message, p piece) piece {
	if len(p.ids) == 0 {
		return p
	}
	ids := p.ids
	if p.assistant {
		for i, id := range p.ids {
			free := id
			for n := 2; b.seen[free]; n++ {
				free = id + "_" + strconv.Itoa(n)
			}
			b.seen[free] = true
			if free == id {
				continue
			}
			if &ids[0] == &p.ids[0] {
				ids = slices.Clone(ids)
			}
			ids[i] = free
		}
		b.pending = ids
	} else if len(b.pending) > 0 {
		ids, b.pending = b.pending[:1], b.pending[1:]
	}
	if slices.Equal(ids, p.ids) {
		return p
	}
	return encode(b.m.o.Provider, m, ids)
}

func (b *builder) message(p piece) {
	if len(p.blocks) == 0 {
		return
	}
	role := byte('u')
	if p.assistant {
		if role = 'a'; b.role != role {
			b.thinks, b.calls = p.thinks, false
		}
		b.calls = b.calls || len(p.ids) > 0
	}
	switch {
	case b.role == role:
		b.raw(`,`)
	case role == 'a' && b.role == 0:
		b.open('u')
		b.b = textBlock(b.b, goOn)
		b.open('a')
	default:
		b.open(role)
	}
	b.append(p)
}

func (b *builder) open(role byte) {
	if b.close(); b.role != 0 {
		b.raw(`,`)
	}
	if b.role = role; role == 'u' {
		b.raw(`{"role":"user","content":[`)
	} else {
		b.raw(`{"role":"assistant","content":[`)
	}
}

func (b *builder) close() {
	if b.role != 0 {
		b.raw(`]}`)
	}
}
