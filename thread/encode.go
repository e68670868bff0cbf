package thread

import (
	"bytes"
	"encoding/json"

	"github.com/deepagents-go/deepagents/internal/jsonenc"
	"github.com/deepagents-go/deepagents/state"
)

// encode returns the data of a record. The kinds that every turn writes are encoded by hand, because they are most of what a
// turn costs; [Decode] reads all of them with encoding/json.
func encode(b Body) (json.RawMessage, error) {
	o := jsonenc.Begin(make([]byte, 0, 256))
	switch b := b.(type) {
	case *Model:
		o.Append("message", b.Message.AppendJSON)
		updates(&o, b.Updates)
	case *CallEnded:
		o.String("task", b.Task)
		o.Append("message", b.Message.AppendJSON)
		o.String("outcome", string(b.Outcome))
		updates(&o, b.Updates)
		if b.Denial != nil {
			o.Value("denial", b.Denial)
		}
		o.True("direct", b.Direct)
		o.Int("ms", b.MS)
	case *Commit:
		o.String("source", string(b.Source))
		o.NonEmpty("node", b.Node)
		o.String("next", b.Next)
		o.NonEmpty("parent", string(b.Parent))
		if len(b.Applied) > 0 {
			o.Append("applied", b.appendApplied)
		}
		if len(b.Dropped) > 0 {
			o.Value("dropped", b.Dropped)
		}
		if len(b.Replaced) > 0 {
			o.Value("replaced", b.Replaced)
		}
	case *Snapshot:
		o.String("at", string(b.At))
		o.String("next", b.Next)
		o.NonEmpty("node", b.Node)
		o.NonEmpty("source", string(b.Source))
		o.Trusted("state", b.State)
		o.Int("records", b.Records)
		o.Int("snapshots", b.Snapshots)
	default:
		return encodeAny(b)
	}
	return o.End()
}

func updates(o *jsonenc.Object, us []state.Update) {
	if len(us) == 0 {
		return
	}
	o.Append("updates", func(b []byte) ([]byte, error) {
		b = append(b, '[')
		for i, u := range us {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = u.AppendJSON(b); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	})
}

func (c *Commit) appendApplied(b []byte) ([]byte, error) {
	b = append(b, '[')
	for i, id := range c.Applied {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonenc.String(b, string(id))
	}
	return append(b, ']'), nil
}

// encodeAny is json.Marshal without the escaping of <, > and &, which nobody needs here.
func encodeAny(b Body) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(b); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
