// Package disk serves a directory of the host, and nothing outside of it.
//
// Every path is opened relative to the root and is proven to hold no link (openat2 on Linux, a walk of handles elsewhere), so a
// directory that is swapped for a link meanwhile changes nothing. Links are resolved by hand and followed as long as they stay inside,
// absolute ones too. Writes are atomic: a temporary file beside the target, fsync, rename. Cooperating processes exclude each other
// by flock on the directory of the file. On macOS and Windows, where case may not count, rules are judged on the spelling that the
// directory holds; directories of Linux that fold case are taken for exact. Hard links to files outside the root are not seen, and access lists and extended attributes
// of a file are not carried over to the file that replaces it.
package disk
