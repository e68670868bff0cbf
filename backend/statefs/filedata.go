package statefs

import (
	"time"

	"github.com/deepagents-go/deepagents/internal/filedata"
)

// FileData is a file as it is stored, in the form that Deep Agents stores it. Its JSON is an object with the fields content,
// encoding, created_at, modified_at and whatever else was there, which survives writes. Content that was a list of lines, the older
// form, is joined by LF and goes back as a list until it is written anew.
type FileData = filedata.Data

// Encoding says how FileData.Content holds the bytes of a file.
type Encoding = filedata.Encoding

// The encodings. Empty means UTF8.
const (
	UTF8   = filedata.UTF8
	Base64 = filedata.Base64
)

// FileFormat is the form that files are written in. Both are read.
type FileFormat = filedata.Format

// The formats.
const (
	// V1 is the older form: a list of lines. Content that is not valid UTF-8 has no such form and is written as V2.
	V1 = filedata.V1
	// V2, the default, is one string and its encoding.
	V2 = filedata.V2
)

// NewFile returns the data of a file that is created at a time. Content that is not valid UTF-8 is stored in base64.
func NewFile(content []byte, now time.Time) FileData { return filedata.New(string(content), now, V2) }
