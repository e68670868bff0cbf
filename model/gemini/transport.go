package gemini

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// exchange is one request and what came back, as the SDK's types cannot hold it.
type exchange struct {
	status int
	header http.Header
	// body is the stream of a success, text the whole of an error.
	body io.ReadCloser
	text []byte
}

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// maxErrorBody bounds what is read of an error.
const maxErrorBody = 1 << 20

// keeper is a transport that keeps the response for the exchange in the request's context, and leaves an empty one to the SDK.
type keeper struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (k keeper) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := k.next.RoundTrip(r)
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if err != nil || !ok {
		return res, err
	}
	x.status, x.header = res.StatusCode, res.Header
	out := *res
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		x.body, out.Body, out.ContentLength = res.Body, http.NoBody, 0
		return &out, nil
	}
	x.text, err = io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if cerr := res.Body.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	out.Body = io.NopCloser(bytes.NewReader(x.text))
	return &out, nil
}
