package driver

import "strings"

// Rel returns path relative to a prefix that holds it: Rel("/m/a", "/m") is "/a", Rel("/m", "/m") is "/".
func Rel(path, prefix string) string {
	if prefix == "/" {
		return path
	}
	r := strings.TrimPrefix(path, prefix)
	if r == "" {
		return "/"
	}
	return r
}

// Join puts a relative path below a prefix: Join("/m", "/a") is "/m/a", Join("/m", "/") is "/m".
func Join(prefix, rel string) string {
	switch {
	case prefix == "/" || prefix == "":
		return rel
	case rel == "/":
		return prefix
	}
	return prefix + rel
}
