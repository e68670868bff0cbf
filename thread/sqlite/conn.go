package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
)

// conn is one connection with its prepared statements. One goroutine uses it at a time.
type conn struct {
	c     driver.Conn
	stmts map[string]driver.Stmt
	args  []driver.NamedValue
	level string
}

// openConn opens a connection; params are more parameters of the driver.
func openConn(file string, busy time.Duration, params string) (*conn, error) {
	p := filepath.ToSlash(file)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	dsn := fmt.Sprintf("file://%s?_error_rc=1&_pragma=busy_timeout(%d)&%s", (&url.URL{Path: p}).EscapedPath(), busy.Milliseconds(), params)
	var d sqlite.Driver
	c, err := d.Open(dsn)
	if err != nil {
		return nil, err
	}
	return &conn{c: c, stmts: make(map[string]driver.Stmt)}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.c.Close())...)
}

// maxStmts bounds the statements that are kept; only queries with filters make many.
const maxStmts = 64

func (c *conn) stmt(q string) (driver.Stmt, error) {
	if s, ok := c.stmts[q]; ok {
		return s, nil
	}
	if len(c.stmts) >= maxStmts {
		for k, s := range c.stmts {
			if err := s.Close(); err != nil {
				return nil, err
			}
			delete(c.stmts, k)
		}
	}
	s, err := c.c.Prepare(q)
	if err != nil {
		return nil, err
	}
	c.stmts[q] = s
	return s, nil
}

func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// exec runs a statement with arguments of the driver's types.
func (c *conn) exec(q string, args ...any) error {
	s, err := c.stmt(q)
	if err != nil {
		return err
	}
	_, err = s.(driver.StmtExecContext).ExecContext(context.Background(), c.bind(args))
	return err
}

// script runs statements that are not kept. Pragmas act when they are prepared, so they must not be kept either.
func (c *conn) script(q string) error {
	_, err := c.c.(driver.ExecerContext).ExecContext(context.Background(), q, nil)
	return err
}

// each calls f with every row until f returns false. The row is valid only during the call.
func (c *conn) each(ctx context.Context, q string, args []any, f func(row []driver.Value) bool) (err error) {
	s, err := c.stmt(q)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(ctx, c.bind(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		err := rows.Next(row)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || !f(row) {
			return err
		}
	}
}

// one returns the first row, or nil when there is none.
func (c *conn) one(q string, args ...any) (row []driver.Value, err error) {
	err = c.each(context.Background(), q, args, func(r []driver.Value) bool { row = r; return false })
	return row, err
}

// number returns the integer in the first column of the first row, 0 when there is none.
func (c *conn) number(q string, args ...any) (int64, error) {
	row, err := c.one(q, args...)
	if err != nil || row == nil {
		return 0, err
	}
	return integer(row[0]), nil
}

// sync sets when the connection waits for the disk: at every commit (FULL) or at checkpoints only (NORMAL).
func (c *conn) sync(level string) error {
	if c.level == level {
		return nil
	}
	if err := c.script("PRAGMA synchronous=" + level); err != nil {
		return err
	}
	c.level = level
	return nil
}

func integer(v driver.Value) int64 {
	n, _ := v.(int64)
	return n
}

func text(v driver.Value) string {
	s, _ := v.(string)
	return s
}

// maxReaders is the number of connections that read at once.
const maxReaders = 4

// pool lends connections for reading, each for one page.
type pool struct {
	open func() (*conn, error)
	slot chan struct{}
	mu   sync.Mutex
	free []*conn
	shut bool
}

func (p *pool) init(n int) { p.slot = make(chan struct{}, n) }

// use calls f with a connection. An error of SQLite is explained.
func (p *pool) use(ctx context.Context, f func(c *conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case p.slot <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.slot }()
	c, err := p.take()
	if err != nil {
		return err
	}
	err = f(c)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, c)
	return explain(err)
}

func (p *pool) take() (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut {
		return nil, errClosed
	}
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		return c, nil
	}
	return p.open()
}

// close waits for the pages that are being read.
func (p *pool) close() error {
	p.mu.Lock()
	p.shut = true
	p.mu.Unlock()
	for range cap(p.slot) {
		p.slot <- struct{}{}
	}
	defer func() {
		for range cap(p.slot) {
			<-p.slot
		}
	}()
	var errs []error
	for _, c := range p.free {
		errs = append(errs, c.close())
	}
	p.free = nil
	return errors.Join(errs...)
}
