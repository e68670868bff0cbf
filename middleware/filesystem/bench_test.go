package filesystem_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/tool"
)

func benchCall(b *testing.B, k kind, files map[string]string, name, a string) {
	w := newWorld(b, k, files, defaults)
	t := w.tool(name)
	c := tool.Call{Name: name, Args: json.RawMessage(a)}
	b.ReportAllocs()
	for b.Loop() {
		if res, err := t.Call(w.ctx, c); err != nil || res.Status != "" {
			b.Fatalf("%v %s", err, textOf(res))
		}
	}
}

func BenchmarkRead(b *testing.B) {
	long := strings.Repeat(strings.Repeat("x", 999)+"\n", 250)
	wide := strings.Repeat("a\n", 160_000)
	for _, k := range []kind{onDisk, onState} {
		for _, c := range []struct{ name, content, args string }{
			{"small", numbered(10), `{"file_path":"/f"}`},
			{"page", numbered(5000), `{"file_path":"/f","offset":4000}`},
			{"cut", long, `{"file_path":"/f"}`},
			{"cut short lines", wide, `{"file_path":"/f","limit":1000000}`},
			{"cut one line", strings.Repeat("x", 1_000_000), `{"file_path":"/f"}`},
		} {
			b.Run(string(k)+"/"+c.name, func(b *testing.B) {
				benchCall(b, k, map[string]string{"f": c.content}, "read_file", c.args)
			})
		}
	}
}

func BenchmarkGrep(b *testing.B) {
	files := map[string]string{}
	for i := range 500 {
		files[fmt.Sprintf("d%02d/f%03d.txt", i%20, i)] = strings.Repeat("some line of text\n", 50) + "needle\n"
	}
	for _, k := range []kind{onDisk, onState} {
		b.Run(string(k)+"/absent", func(b *testing.B) { benchCall(b, k, files, "grep", `{"pattern":"no such text"}`) })
		b.Run(string(k)+"/content", func(b *testing.B) {
			benchCall(b, k, files, "grep", `{"pattern":"needle","output_mode":"content"}`)
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, k := range []kind{onDisk, onState} {
		b.Run(string(k), func(b *testing.B) {
			benchCall(b, k, map[string]string{"f": numbered(500)}, "write_file", args(b, "file_path", "/f", "content", numbered(501)))
		})
	}
}
