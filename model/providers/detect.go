package providers

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// Found is a model server that runs on this machine.
type Found struct {
	Provider, BaseURL string
	// Models are the names that it answers to, as it lists them.
	Models []string
}

// detectTime bounds [Detect].
const detectTime = time.Second

// Detect asks the local providers at their addresses which models they have, for at most a second, and returns those that
// answer, sorted by provider.
func Detect(ctx context.Context) []Found {
	ctx, cancel := context.WithTimeout(ctx, detectTime)
	defer cancel()
	var local []Found
	for _, p := range List() {
		if base, err := table()[p.Name].base(p.Name, Options{}); p.Local && err == nil {
			local = append(local, Found{Provider: p.Name, BaseURL: base})
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answers := make([]bool, len(local))
	var wg sync.WaitGroup
	for i := range local {
		wg.Go(func() { answers[i] = local[i].ask(ctx, client) })
	}
	wg.Wait()
	var found []Found
	for i, ok := range answers {
		if ok {
			found = append(found, local[i])
		}
	}
	return found
}

func (f *Found) ask(ctx context.Context, client *http.Client) bool {
	const most = 1 << 20
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.BaseURL+"/models", http.NoBody)
	if err != nil {
		return false
	}
	for _, v := range table()[f.Provider].keys {
		if key := os.Getenv(v); key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if res.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(res.Body, most)).Decode(&list) != nil {
		return false
	}
	for _, m := range list.Data {
		f.Models = append(f.Models, m.ID)
	}
	return true
}
