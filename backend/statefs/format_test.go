package statefs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/statefs"
)

func TestFileFormat(t *testing.T) {
	d := statefs.New(statefs.Options{Now: day(), FileFormat: statefs.V1})
	ctx, tx := in(t, schema(t).New())
	put(ctx, t, d, "/a", "one\ntwo\n")
	put(ctx, t, d, "/b", "\xff")
	for path, want := range map[string]string{
		"/a": `{"content":["one","two",""],"created_at":"2026-09-01T10:00:00Z","modified_at":"2026-09-01T10:00:00Z"}`,
		"/b": `{"content":"/w==","encoding":"base64","created_at":"2026-09-01T11:00:00Z","modified_at":"2026-09-01T11:00:00Z"}`,
	} {
		f, _ := statefs.Files.Get(tx).Get(path)
		if got, err := json.Marshal(f); err != nil || string(got) != want {
			t.Errorf("%s is %s, %v", path, got, err)
		}
	}
	if got := get(ctx, d, "/a", driver.OpenOptions{}); !strings.HasPrefix(got, "one\ntwo\n") {
		t.Errorf("read %q", got)
	}
}
