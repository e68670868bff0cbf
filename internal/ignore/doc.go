// Package ignore reads .gitignore and .ignore files and tells which paths they leave out.
package ignore
