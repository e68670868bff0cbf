package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// conn is one connection with its prepared statements. One goroutine uses it at a time.
type conn struct {
	db    *sql.DB
	c     *sql.Conn
	stmts map[string]*sql.Stmt
}

// openConn opens a connection; params are more parameters of the driver.
func openConn(ctx context.Context, file string, busy time.Duration, params string) (*conn, error) {
	p := filepath.ToSlash(file)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	dsn := fmt.Sprintf("file://%s?_error_rc=1&_pragma=busy_timeout(%d)&%s", (&url.URL{Path: p}).EscapedPath(), busy.Milliseconds(), params)
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &conn{db: db, c: c, stmts: make(map[string]*sql.Stmt)}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.c.Close(), c.db.Close())...)
}

// stmt returns a prepared statement. The statements of this package are few, so that all are kept.
func (c *conn) stmt(ctx context.Context, q string) (*sql.Stmt, error) {
	if s, ok := c.stmts[q]; ok {
		return s, nil
	}
	s, err := c.c.PrepareContext(ctx, q)
	if err != nil {
		return nil, err
	}
	c.stmts[q] = s
	return s, nil
}

func (c *conn) exec(ctx context.Context, q string, args ...any) error {
	s, err := c.stmt(ctx, q)
	if err != nil {
		return err
	}
	_, err = s.ExecContext(ctx, args...)
	return err
}

// script runs statements that are not kept, pragmas among them.
func (c *conn) script(ctx context.Context, q string) error {
	_, err := c.c.ExecContext(ctx, q)
	return err
}

// one scans the first row and reports whether there was one.
func (c *conn) one(ctx context.Context, q string, args, dest []any) (bool, error) {
	s, err := c.stmt(ctx, q)
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(ctx, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each calls f with every row until f returns false or an error.
func (c *conn) each(ctx context.Context, q string, args []any, f func(*sql.Rows) (bool, error)) (err error) {
	s, err := c.stmt(ctx, q)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if more, err := f(rows); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}
