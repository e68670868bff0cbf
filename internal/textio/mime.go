package textio

import (
	"bytes"
	"path"
	"strings"
)

// mimeOf is the fixed table of file-tools.md 3.9: the answer must not depend on the tables of the host.
func mimeOf(ext string) string {
	switch ext {
	case "png", "gif", "webp", "heic", "heif", "jpeg":
		return "image/" + ext
	case "jpg":
		return "image/jpeg"
	case "svg":
		return "image/svg+xml"
	case "mp3":
		return "audio/mpeg"
	case "wav", "aiff", "aac", "ogg", "flac":
		return "audio/" + ext
	case "mp4", "webm", "mpeg", "3gpp":
		return "video/" + ext
	case "mpg":
		return "video/mpeg"
	case "mov":
		return "video/quicktime"
	case "avi":
		return "video/x-msvideo"
	case "flv":
		return "video/x-flv"
	case "wmv":
		return "video/x-ms-wmv"
	case "mkv":
		return "video/x-matroska"
	case "pdf":
		return "application/pdf"
	case "ppt":
		return "application/vnd.ms-powerpoint"
	case "pptx":
		return "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	}
	return ""
}

// Ext returns the extension of a path in lower case without its dot; a name like ".png" has none.
func Ext(name string) string {
	base := path.Base(name)
	if i := strings.LastIndexByte(base, '.'); i > 0 {
		return strings.ToLower(base[i+1:])
	}
	return ""
}

// MIMEByName returns the media type that the extension stands for, or "" when the fixed table has none.
func MIMEByName(name string) string { return mimeOf(Ext(name)) }

// Sniff returns the media type that the first bytes stand for, or "" when they are none of the known kinds.
func Sniff(head []byte) string {
	has := func(at int, magic string) bool {
		return len(head) >= at+len(magic) && string(head[at:at+len(magic)]) == magic
	}
	switch {
	case has(0, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case has(0, "\xff\xd8\xff"):
		return "image/jpeg"
	case has(0, "GIF87a"), has(0, "GIF89a"):
		return "image/gif"
	case has(0, "RIFF") && has(8, "WEBP"):
		return "image/webp"
	case has(0, "RIFF") && has(8, "WAVE"):
		return "audio/wav"
	case has(0, "RIFF") && has(8, "AVI "):
		return "video/x-msvideo"
	case has(0, "%PDF-"):
		return "application/pdf"
	case has(0, "ID3"):
		return "audio/mpeg"
	case has(0, "OggS"):
		return "audio/ogg"
	case has(0, "fLaC"):
		return "audio/flac"
	case has(0, "FORM") && has(8, "AIF"):
		return "audio/aiff"
	case has(0, "FLV\x01"):
		return "video/x-flv"
	case has(0, "\x1aE\xdf\xa3") && bytes.Contains(head[:min(len(head), 64)], []byte("webm")):
		return "video/webm"
	case has(0, "\x1aE\xdf\xa3"):
		return "video/x-matroska"
	case has(4, "ftyp"):
		return sniffFtyp(head)
	case has(0, "PK\x03\x04"):
		return "application/zip"
	case has(0, "\x1f\x8b"):
		return "application/gzip"
	case has(0, "\x7fELF"):
		return "application/x-elf"
	case has(0, "SQLite format 3\x00"):
		return "application/vnd.sqlite3"
	}
	return ""
}

// sniffFtyp tells the kinds of ISO media files apart by their brand.
func sniffFtyp(head []byte) string {
	if len(head) < 12 {
		return ""
	}
	switch brand := string(head[8:12]); brand {
	case "heic", "heix", "hevc", "heim", "heis":
		return "image/heic"
	case "mif1", "msf1", "heif":
		return "image/heif"
	case "qt  ":
		return "video/quicktime"
	default:
		if strings.HasPrefix(brand, "3g") {
			return "video/3gpp"
		}
		return "video/mp4"
	}
}

// MIME returns the media type of a file by its first bytes, else by its name, else "application/octet-stream".
func MIME(name string, head []byte) string {
	if m := Sniff(head); m != "" {
		return m
	}
	if m := MIMEByName(name); m != "" {
		return m
	}
	return "application/octet-stream"
}
