// Package backend holds the semantics of files: [FS] turns any driver into line windows, edits, globs, searches and transfers
// that are the same on every storage.
//
// FS returns data and typed errors, never text for a model; that is middleware/filesystem's business. Storage is a
// [driver.Driver]; the packages below this one (disk, statefs, ...) implement it.
package backend
