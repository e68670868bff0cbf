package model

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Opener opens a model of one provider by its name.
type Opener func(ctx context.Context, name string, o OpenOptions) (Model, error)

// OpenOptions are what every provider understands. The zero value is right for all of them.
type OpenOptions struct {
	// APIKey and BaseURL replace what the provider finds in its environment variables.
	APIKey, BaseURL string
}

// Catalog maps the names of providers to how their models are opened.
type Catalog map[string]Opener

// SpecError says that a model spec cannot be understood.
type SpecError struct {
	// Spec is the spec as it was given, Text what is wrong with it.
	Spec, Text string
}

// Error returns the text.
func (e *SpecError) Error() string { return e.Text }

// Open opens a model by its spec, "provider:model". A spec without a colon, without a name or with a provider that the catalog
// does not have is a [*SpecError]; other errors are the provider's.
func (c Catalog) Open(ctx context.Context, spec string, o OpenOptions) (Model, error) {
	provider, name, ok := strings.Cut(spec, ":")
	if !ok || provider == "" || name == "" {
		return nil, &SpecError{spec, fmt.Sprintf("model %q: write provider:model; this build has: %s", spec, c.names())}
	}
	open := c[provider]
	if open == nil {
		return nil, &SpecError{spec, fmt.Sprintf("unknown model provider %q: this build has: %s", provider, c.names())}
	}
	return open(ctx, name, o)
}

func (c Catalog) names() string { return strings.Join(slices.Sorted(maps.Keys(c)), ", ") }
