// Package composite puts drivers at prefixes of one tree: files of the thread here, a directory of the host there, memories that
// outlive both somewhere else. The longest prefix decides who serves a path; everything else is the default's. Errors, rules and
// results carry the paths of the whole tree, listings and searches go through all drivers below a directory, and what one driver can
// do beyond the five methods is found for each path with [driver.As].
package composite
