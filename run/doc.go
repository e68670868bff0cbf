// Package run is what code inside a run may ask: the one value that the agent puts into the context of tools, hooks, models and
// drivers.
//
// [From] finds the [Scope]; [Interrupt] asks a person and [Once] makes an effect safe to repeat. Outside a run there is no scope,
// and both return [ErrOutside].
package run
