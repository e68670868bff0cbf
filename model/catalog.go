package model

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Opener opens a model of one provider by its name.
type Opener func(ctx context.Context, name string, o OpenOptions) (Model, error)

// OpenOptions are what every provider understands. The zero value is right for all of them. Printing or logging options never
// shows the key or the headers' values.
type OpenOptions struct {
	// APIKey and BaseURL replace what the provider finds in its environment variables.
	APIKey, BaseURL string
	// Temperature and MaxTokens are for requests whose [Settings] say nothing. MaxTokens 0 means the provider's default.
	Temperature *float64
	MaxTokens   int
	// Timeout bounds how long the provider may be silent, before the answer and within it; 0 means five minutes, a negative
	// value no bound.
	Timeout time.Duration
	// Retries bounds how often the provider's client repeats a request that failed before anything of the answer came;
	// 0 means twice, a negative value never.
	Retries int
	// Headers are sent with every request, over those that the provider's client sets.
	Headers map[string]string
}

// String says which options are set.
func (o OpenOptions) String() string {
	var set []string
	say := func(is bool, format string, args ...any) {
		if is {
			set = append(set, fmt.Sprintf(format, args...))
		}
	}
	say(o.APIKey != "", "APIKey: (hidden)")
	say(o.BaseURL != "", "BaseURL: %s", withoutUser(o.BaseURL))
	if o.Temperature != nil {
		say(true, "Temperature: %v", *o.Temperature)
	}
	say(o.MaxTokens != 0, "MaxTokens: %d", o.MaxTokens)
	say(o.Timeout != 0, "Timeout: %v", o.Timeout)
	say(o.Retries != 0, "Retries: %d", o.Retries)
	say(len(o.Headers) > 0, "Headers: %s", strings.Join(slices.Sorted(maps.Keys(o.Headers)), " "))
	return "{" + strings.Join(set, ", ") + "}"
}

// withoutUser hides a user name and password in a URL, and a query.
func withoutUser(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(not a URL)"
	}
	if u.RawQuery != "" {
		u.RawQuery = "..."
	}
	return u.Redacted()
}

// GoString is String, for %#v.
func (o OpenOptions) GoString() string { return o.String() }

// LogValue is String, for slog.
func (o OpenOptions) LogValue() slog.Value { return slog.StringValue(o.String()) }

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
