package filesystem_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
)

const png = "\x89PNG\r\n\x1a\n...."

func TestReadMedia(t *testing.T) {
	const jpeg = "\xff\xd8\xff\xe0rest"
	block := func(kind message.MediaKind, typ string) string { return string(kind) + " " + typ }
	for _, c := range []struct {
		name, content, args, want string
		o                         filesystem.Options
	}{
		{name: "p.png", content: "\x89PNG", args: `,"offset":3,"limit":1`, want: block(message.Image, "image/png")},
		{name: "P.PNG", content: png, want: block(message.Image, "image/png")},
		{name: "j.jpg", content: jpeg, want: block(message.Image, "image/jpeg")},
		{name: "wrong.png", content: jpeg, want: block(message.Image, "image/jpeg")},
		{name: "g.gif", content: "GIF89a..", want: block(message.Image, "image/gif")},
		{name: "w.webp", content: "RIFF....WEBP", want: block(message.Image, "image/webp")},
		{name: "h.heic", content: "\x00\x00\x00\x18ftypmif1", want: block(message.Image, "image/heic")},
		{name: "m.mp4", content: "\x00\x00\x00\x18ftypisom", want: block(message.Video, "video/mp4")},
		{name: "m.mov", content: "\x00\x00\x00\x18ftypqt  ", want: block(message.Video, "video/quicktime")},
		{name: "m.3gpp", content: "\x00\x00\x00\x18ftypisom", want: block(message.Video, "video/3gpp")},
		{name: "m.mpg", content: "\x00\x00\x01\xba.", want: block(message.Video, "video/mpeg")},
		{name: "m.wmv", content: "\x30\x26\xb2\x75.", want: block(message.Video, "video/x-ms-wmv")},
		{name: "v.mkv", content: "\x1aE\xdf\xa3\x00matroska", want: block(message.File, "video/x-matroska")},
		{name: "v.webm", content: "\x1aE\xdf\xa3\x00webm", want: block(message.Video, "video/webm")},
		{name: "s.mp3", content: "\xff\xfb\x00", want: block(message.Audio, "audio/mpeg")},
		{name: "s.wav", content: "RIFF....WAVE", want: block(message.Audio, "audio/wav")},
		{name: "s.aac", content: "\xff\xf1\x00", want: block(message.Audio, "audio/aac")},
		{name: "d.pdf", content: "%PDF-1.7", want: block(message.File, "application/pdf")},
		{name: "d.ppt", content: "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", want: block(message.File, "application/vnd.ms-powerpoint")},
		{name: "d.pptx", content: "PK\x03\x04..", want: block(message.File, "application/vnd.openxmlformats-officedocument.presentationml.presentation")},
		{name: "text.png", content: "just text\n", want: "@@ lines 1-1 of 1 @@\njust text"},
		{name: "junk.png", content: "\x00\x01\x02\x03", want: "[err] Error: File '/junk.png' is not a valid png file"},
		{name: "zip.png", content: "PK\x03\x04..", want: "[err] Error: File '/zip.png' is not a valid png file"},
		{name: "e.png", content: "", args: `,"limit":0`, want: empty},
		{name: "s.svg", content: "<svg/>\n", want: "@@ lines 1-1 of 1 @@\n<svg/>"},
		{name: "s.svg", content: "<svg/>", o: filesystem.Options{SVGAsImage: true}, want: block(message.Image, "image/svg+xml")},
		{name: ".png", content: "x\n", want: "@@ lines 1-1 of 1 @@\nx"},
		{name: "z.zip", content: "PK\x03\x04\x00\xff", want: "[err] Error: File '/z.zip' is binary (6 bytes, application/zip)"},
		{name: "x.dat", content: "\x00\x01", o: filesystem.Options{BinaryAsBlock: true}, want: block(message.File, "application/octet-stream")},
		{name: "no.png/", content: "", want: "[err] Error: File '/no.png' not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, onDisk, map[string]string{c.name: c.content}, c.o)
			res := w.result("read_file", `{"file_path":"/`+strings.TrimSuffix(c.name, "/")+`"`+c.args+`}`)
			got := textOf(res)
			if md, ok := res.Parts[0].(message.Media); ok {
				got = block(md.Kind, md.MIME)
				if string(md.Data) != c.content || md.Name != "/"+c.name {
					t.Errorf("block %q of %s", md.Data, md.Name)
				}
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestMediaBlockIsBase64(t *testing.T) {
	w := newWorld(t, onDisk, map[string]string{"p.png": "\x89PNG"}, defaults)
	raw, err := json.Marshal(w.result("read_file", `{"file_path":"/p.png"}`).Parts)
	if err != nil || !strings.Contains(string(raw), `"data":"iVBORw=="`) {
		t.Errorf("%s %v", raw, err)
	}
}

func TestLargeMedia(t *testing.T) {
	w := newWorld(t, onDisk, nil, filesystem.Options{BinaryAsBlock: true})
	sparse := func(name, head string, size int64) {
		f, err := os.Create(filepath.Join(w.root, name))
		if err == nil {
			_, err = f.WriteString(head)
		}
		if err == nil {
			err = f.Truncate(size)
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	sparse("v.mp4", "\x00\x00\x00\x18ftypisom", 1<<30+1)
	sparse("w.mp4", "\x00\x00\x00\x18ftypisom", 1<<30)
	sparse("p.png", png, 10<<20+1)
	sparse("q.png", png, 10<<20)
	sparse("huge.bin", "\x00", 2<<30)
	if err := os.WriteFile(filepath.Join(w.root, "text.png"), []byte(strings.Repeat("text\n", 3<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"v.mp4":    "[err] Error: Video file exceeds maximum input size of 1073741824 bytes",
		"w.mp4":    "[err] Error: file too large to read (1024MB exceeds 10MB limit for binary files)",
		"p.png":    "[err] Error: file too large to read (11MB exceeds 10MB limit for binary files)",
		"huge.bin": "[err] Error: file too large to read (2048MB exceeds 10MB limit for binary files)",
	} {
		if got := w.call("read_file", args(t, "file_path", "/"+name)); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if md, ok := w.result("read_file", `{"file_path":"/q.png"}`).Parts[0].(message.Media); !ok || len(md.Data) != 10<<20 {
		t.Error("a file of exactly the limit is no block")
	}
	if got := w.call("read_file", `{"file_path":"/text.png","limit":1}`); got != "@@ lines 1-1 of 3145728 | next offset 1 @@\ntext" {
		t.Errorf("large text under a media name: %.100q", got)
	}
}

func TestWriteMedia(t *testing.T) {
	data := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(png))
	runRows(t, []row{
		{name: "text", tool: "write_file", args: `{"file_path":"/a.png","content":"hello"}`, prefix: true, want: "[err] Error writing file '/a.png': text cannot be stored in a .png file."},
		{name: "data", tool: "write_file", args: args(t, "file_path", "/a.png", "content", data), want: "Updated file /a.png", file: "/a.png", content: png},
		{name: "bad data", files: map[string]string{"a.png": png}, tool: "write_file", args: `{"file_path":"/a.png","content":"data:image/png;base64,%%"}`, prefix: true, want: "[err] Error writing file '/a.png': the content is not valid base64", file: "/a.png", content: png},
		{name: "svg that is shown as an image", o: filesystem.Options{SVGAsImage: true}, tool: "write_file", args: `{"file_path":"/a.svg","content":"<svg/>"}`, want: "Updated file /a.svg", file: "/a.svg", content: "<svg/>"},
		{name: "svg", tool: "write_file", args: `{"file_path":"/a.svg","content":"<svg/>"}`, want: "Updated file /a.svg", file: "/a.svg", content: "<svg/>"},
	})
}
