//go:build !linux && !darwin

package disk

import "io/fs"

// metaOf has no identity to tell here: versions are size and time of modification, hard links are not seen, owners are not kept.
func metaOf(fi fs.FileInfo) meta {
	return meta{mode: fi.Mode(), size: fi.Size(), mtime: fi.ModTime(), nlink: 1}
}
