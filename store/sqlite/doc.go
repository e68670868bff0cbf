// Package sqlite keeps the items of a store in one SQLite file, which any number of processes use at once. A put that has returned
// survives a power cut. Query.Text is answered by the full-text index of the file, or by an embedder.
package sqlite
