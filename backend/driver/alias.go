package driver

// Aliaser is a driver in which a path can have other names that no link explains: a root of the host that is served under the name
// it was given and under its resolved one. Rules are judged on all of them.
type Aliaser interface {
	// Aliases returns the other names of a path, without the path itself.
	Aliases(path string) []string
}
