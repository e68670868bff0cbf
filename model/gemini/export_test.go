package gemini

import (
	"encoding/json"

	"github.com/deepagents-go/deepagents/model"
)

// Body is what [Model.Stream] sends.
func (m *Model) Body(r *model.Request) ([]byte, error) {
	fields, err := m.body(r)
	if err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}
