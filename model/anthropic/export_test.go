package anthropic

import "github.com/deepagents-go/deepagents/model"

// Body is what [Model.Stream] sends.
func (m *Model) Body(r *model.Request) ([]byte, error) { return m.body(r) }
