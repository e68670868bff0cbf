package docs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/model/providers"
)

// TestProviders compares the table of models.md with model/providers. UPDATE_DOCS rewrites it.
func TestProviders(t *testing.T) {
	const page, begin, end = "models.md", "<!-- providers -->\n", "<!-- /providers -->\n"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), begin)
	table, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", page)
	}
	want := providerTable()
	if table == want {
		return
	}
	if os.Getenv("UPDATE_DOCS") == "" {
		t.Fatalf("%s shows another table than model/providers has; UPDATE_DOCS=1 rewrites it:\n%s", page, want)
	}
	if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

func providerTable() string {
	var b strings.Builder
	b.WriteString("| provider | dialect | key | address |\n|---|---|---|---|\n")
	for _, p := range providers.List() {
		key := names(p.Keys)
		switch {
		case key == "":
			key = "none"
		case p.Optional:
			key += ", optional"
		}
		address := p.BaseURL
		if p.Local {
			address += " (local)"
		}
		if vars := names(p.BaseVars); vars != "" {
			address = strings.TrimPrefix(address+", or "+vars, ", or ")
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", p.Name, p.Dialect, key, address)
	}
	return b.String()
}

func names(vars []string) string {
	if len(vars) == 0 {
		return ""
	}
	return "`" + strings.Join(vars, "` or `") + "`"
}
