package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// keyLocks are locks by name that wait with a context. A lock that nobody holds or waits for takes no memory.
type keyLocks struct {
	mu sync.Mutex
	m  map[string]*keyLock
}

type keyLock struct {
	held  chan struct{}
	users int
}

func newKeyLocks() *keyLocks { return &keyLocks{m: map[string]*keyLock{}} }

func (k *keyLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	k.mu.Lock()
	l := k.m[key]
	if l == nil {
		l = &keyLock{held: make(chan struct{}, 1)}
		k.m[key] = l
	}
	l.users++
	k.mu.Unlock()
	leave := func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(k.m, key)
		}
	}
	select {
	case l.held <- struct{}{}:
		return func() {
			<-l.held
			leave()
		}, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// Lock excludes other edits of a file in this process. The file is known by its identity, so that two names of it exclude each other.
func (d *Disk) Lock(ctx context.Context, p string) (unlock func(), err error) {
	return d.lockFile(ctx, virtual(p))
}

func (d *Disk) lockFile(ctx context.Context, q request) (func(), error) {
	key := "path " + q.rel
	m, _, err := follow(d, q.rel, d.statPlain)
	switch {
	case err == nil && m.ino != 0:
		key = identity(m)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, wrap("lock", q, err)
	}
	unlock, err := d.locks.lock(ctx, key)
	return unlock, wrap("lock", q, err)
}

func identity(m meta) string { return fmt.Sprintf("%x.%x", m.dev, m.ino) }

// lockDir takes the lock under which files of a directory are compared and replaced: one of this process, then flock, which excludes
// other processes. It waits with the context.
func (d *Disk) lockDir(ctx context.Context, r *os.Root) (f *os.File, unlock func(), err error) {
	f, err = r.Open(".")
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	inner, err := d.locks.lock(ctx, "dir "+identity(metaOf(fi)))
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	unlock = func() {
		_ = f.Close() // gives the flock up
		inner()
	}
	if err := waitFlock(ctx, f); err != nil {
		unlock()
		return nil, nil, err
	}
	return f, unlock, nil
}

func waitFlock(ctx context.Context, f *os.File) error {
	for wait := 100 * time.Microsecond; ; wait = min(2*wait, 10*time.Millisecond) {
		ok, err := tryFlock(f)
		if ok || err != nil {
			return err
		}
		t := time.NewTimer(wait/2 + rand.N(wait))
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
	}
}
