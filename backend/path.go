package backend

import (
	"fmt"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
)

// Clean makes a path of a caller clean and absolute: runs of "/" collapse, "." components go, "\" counts as "/", and a relative path
// starts at [FS.WorkDir]; "" and "." are WorkDir itself. A ".." component, a leading "~", a drive letter and a NUL are a [*PathError].
func (f *FS) Clean(path string) (string, error) {
	clean, relative, err := cleanPath(path)
	if err != nil {
		return "", err
	}
	if relative {
		return driver.Join(f.workDir, clean), nil
	}
	return clean, nil
}

// cleanPath returns the path with a leading slash, and whether it had none.
func cleanPath(path string) (clean string, relative bool, err error) {
	p := strings.ReplaceAll(path, `\`, "/")
	refuse := func(format string) error {
		return &PathError{Path: path, text: fmt.Sprintf(format, path)}
	}
	if strings.IndexByte(p, 0) >= 0 {
		return "", false, &PathError{Path: path, text: "Path contains a null byte: " + strings.ReplaceAll(path, "\x00", `\0`)}
	}
	if strings.HasPrefix(p, "~") {
		return "", false, refuse("Path traversal not allowed: %s")
	}
	var sb strings.Builder
	for part := range strings.SplitSeq(p, "/") {
		switch part {
		case "..":
			return "", false, refuse("Path traversal not allowed: %s")
		case "", ".":
		default:
			sb.WriteByte('/')
			sb.WriteString(part)
		}
	}
	if len(p) > 1 && p[1] == ':' && (p[0]|0x20) >= 'a' && (p[0]|0x20) <= 'z' {
		return "", false, refuse("Windows absolute paths are not supported: %s. Please use virtual paths starting with / (e.g., /workspace/file.txt)")
	}
	if sb.Len() == 0 {
		sb.WriteByte('/')
	}
	return sb.String(), !strings.HasPrefix(p, "/"), nil
}
