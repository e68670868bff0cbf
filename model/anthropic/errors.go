package anthropic

import (
	"context"
	"errors"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/internal/provider"
)

// statusOverloaded is Anthropic's own.
const statusOverloaded = 529

// rules are Anthropic's errors by status and text; the general rules follow them.
func rules() []provider.Rule {
	return []provider.Rule{
		{Text: "prompt is too long", Kind: model.ContextOverflow},
		{Text: "exceed context limit", Kind: model.ContextOverflow},
		{Text: "exceeds the maximum number of tokens", Kind: model.ContextOverflow},
		{Text: "request_too_large", Kind: model.ContextOverflow},
		{Text: "billing_error", Kind: model.Other},
		{Text: "rate_limit_error", Kind: model.RateLimited},
		{Text: "overloaded_error", Kind: model.Overloaded},
		{Status: statusOverloaded, Kind: model.Overloaded},
		{Text: "timeout_error", Kind: model.Connection},
		{Text: "api_error", Kind: model.Overloaded},
		{Text: "blocked by content filtering policy", Kind: model.Refused},
	}
}

// failure turns what the SDK returns into an error of the contract.
func (m *Model) failure(ctx context.Context, err error) *model.Error {
	var api *sdk.Error
	switch {
	case ctx.Err() != nil:
		return provider.Broken(ctx, m.o.Provider, err)
	case errors.As(err, &api):
		var header http.Header
		if api.Response != nil {
			header = api.Response.Header
		}
		return m.event(api.StatusCode, header, []byte(api.RawJSON()))
	}
	return provider.Broken(ctx, m.o.Provider, err)
}

// event classifies an error body or an error event.
func (m *Model) event(status int, header http.Header, body []byte) *model.Error {
	return provider.Classify(provider.Failure{Provider: m.o.Provider, Status: status, Header: header, Body: body}, m.rules)
}
