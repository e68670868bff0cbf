// Package glob is the one pattern language of the project: the patterns of the glob tool and of grep's file filter
// (file-tools.md 2.6), and the patterns of path rules.
package glob
