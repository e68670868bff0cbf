package driver

// Remover is a driver that says whether it can remove anything at all; one that does not say can. Tools that delete are not offered
// where nothing can be removed.
type Remover interface{ CanRemove() bool }

// CanRemove returns false: see [Remover].
func (ReadOnly) CanRemove() bool { return false }
