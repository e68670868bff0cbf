package backend

import "sync"

// panics carries the first panic of a driver or of a hook from the goroutines of a search to the caller: a goroutine that panics
// would end the program.
type panics struct {
	mu    sync.Mutex
	found bool
	value any
}

// catch is deferred; then is called when there was a panic.
func (p *panics) catch(then func()) {
	v := recover()
	if v == nil {
		return
	}
	p.mu.Lock()
	if !p.found {
		p.found, p.value = true, v
	}
	p.mu.Unlock()
	then()
}

// rethrow panics with what was caught, if anything.
func (p *panics) rethrow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found {
		panic(p.value)
	}
}
