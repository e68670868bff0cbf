// Package kv keeps files as items of a [store.Store]: they outlive threads and are shared by all that see the same namespace. The key
// of an item is the path of the file, its value the form of Deep Agents: content, encoding, mimeType, created_at and modified_at.
//
// A path is a key and nothing else: directories are what longer paths imply, listing one that no path implies yields nothing, and a
// path can be a file and a directory at once. Items that are no files, and those of deeper namespaces, are not listed.
package kv
