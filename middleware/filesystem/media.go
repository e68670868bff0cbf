package filesystem

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/internal/textio"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/tool"
)

const (
	// maxMedia is the size of the largest file that becomes a block, maxVideo that of the largest video at all.
	maxMedia = 10 << 20
	maxVideo = 1 << 30

	svgType = "image/svg+xml"
)

// mediaKind returns the kind of block that the extension of a path stands for, or "" when the file is read as text.
func (m *Middleware) mediaKind(path string) (kind message.MediaKind, ext string) {
	ext = textio.Ext(path)
	typ := textio.MIMEByName(path)
	if typ == svgType && !m.o.SVGAsImage {
		return "", ext
	}
	return kindOfType(typ), ext
}

// kindOfType returns the kind of block for a media type of the fixed table, or "" for any other type.
func kindOfType(typ string) message.MediaKind {
	switch family, _, _ := strings.Cut(typ, "/"); {
	case typ == "video/x-matroska", typ == "application/pdf", strings.Contains(typ, "powerpoint"), strings.Contains(typ, "presentationml"):
		return message.File
	case family == "image":
		return message.Image
	case family == "audio":
		return message.Audio
	case family == "video":
		return message.Video
	}
	return ""
}

// readMedia returns a file with a media extension as one block. When its first bytes say that it is of another type of the table,
// that type wins; text is read as text.
func (m *Middleware) readMedia(ctx context.Context, path, ext string, in readArgs) (tool.Result, error) {
	kind, _ := m.mediaKind(path)
	b, info, err := m.fs.ReadAll(ctx, path, maxMedia)
	switch {
	case errors.Is(err, driver.ErrTooLarge):
		return m.readLarge(ctx, path, kind, info.Size, in)
	case err != nil:
		return fail(ctx, readName, path, err)
	case len(b) == 0:
		return tool.Text(emptyFile), nil
	}
	head := b[:min(len(b), textio.HeadSize)]
	typ := sniff(head, ext)
	switch {
	case kindOfType(typ) != "":
		return mediaResult(path, kindOfType(typ), typ, b), nil
	case typ == "" && !textio.Binary(head, len(head) == len(b)):
		return m.readText(ctx, path, in)
	}
	return failed(fmt.Sprintf("Error: File '%s' is not a valid %s file", path, ext)), nil
}

// readLarge answers for a file that is too large for a block: it may still be text.
func (m *Middleware) readLarge(ctx context.Context, path string, kind message.MediaKind, size int64, in readArgs) (tool.Result, error) {
	if kind == message.Video && size > maxVideo {
		return failed(fmt.Sprintf("Error: Video file exceeds maximum input size of %d bytes", maxVideo)), nil
	}
	_, err := m.fs.Read(ctx, path, backend.Window{Limit: 0})
	var binary *backend.BinaryError
	if errors.As(err, &binary) {
		return failed(tooLargeMedia(size)), nil
	}
	return m.readText(ctx, path, in)
}

func tooLargeMedia(size int64) string {
	const mib = 1 << 20
	return fmt.Sprintf("Error: file too large to read (%dMB exceeds %dMB limit for binary files)", (size+mib-1)/mib, maxMedia/mib)
}

func mediaResult(path string, kind message.MediaKind, typ string, b []byte) tool.Result {
	return tool.Result{Parts: message.Parts{message.Media{Kind: kind, MIME: typ, Data: b, Name: path}}}
}

// sniff returns the type that the first bytes stand for, or "". Formats without a mark of their own are believed to be what the
// extension says when the bytes do not contradict it.
func sniff(head []byte, ext string) string {
	is := func(exts string, marks ...string) bool {
		if !strings.Contains(" "+exts+" ", " "+ext+" ") {
			return false
		}
		for _, mark := range marks {
			if bytes.HasPrefix(head, []byte(mark)) {
				return true
			}
		}
		return false
	}
	byName := textio.MIMEByName("x." + ext)
	switch {
	case ext == "svg" && !textio.Binary(head, false):
		return svgType
	case is("png", "\x89PNG"),
		is("mpg mpeg", "\x00\x00\x01\xba", "\x00\x00\x01\xb3"),
		is("mp3", "\xff\xfb", "\xff\xf3", "\xff\xf2", "\xff\xfa"),
		is("aac", "\xff\xf1", "\xff\xf9", "ADIF"),
		is("wmv", "\x30\x26\xb2\x75"),
		is("ppt", "\xd0\xcf\x11\xe0"),
		is("pptx", "PK\x03\x04"):
		return byName
	}
	typ := textio.Sniff(head)
	// ISO files of one family share their brands: the name knows better which one it is.
	if is("mp4 mov 3gpp heic heif", "") && typ != "" && bytes.HasPrefix(head[min(4, len(head)):], []byte("ftyp")) &&
		kindOfType(typ) == kindOfType(byName) {
		return byName
	}
	return typ
}

// mediaContent decodes the content of a write to a path with a media extension. Text is refused, because what such a name promises
// is no text.
func mediaContent(content, ext string) ([]byte, error) {
	head, data, found := strings.Cut(content, ",")
	if !found || !strings.HasPrefix(head, "data:") || !strings.HasSuffix(head, ";base64") {
		return nil, &argError{fmt.Sprintf("text cannot be stored in a .%s file. Pass the bytes as data:%s;base64,<data>, or choose another extension.",
			ext, textio.MIMEByName("x."+ext))}
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, &argError{"the content is not valid base64: " + err.Error()}
	}
	return b, nil
}
