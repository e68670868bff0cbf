package driver_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
)

func TestErrorUnder(t *testing.T) {
	own := &driver.Error{Op: "open", Path: "/f", Err: fs.ErrNotExist}
	plain := errors.New("plain")
	for _, c := range []struct {
		prefix string
		err    error
		want   string
	}{
		{"/m", own, "open /m/f: file does not exist"},
		{"/", own, "open /f: file does not exist"},
		{"/m", fmt.Errorf("again: %w", own), "open /m/f: file does not exist"},
		{"/m", plain, "plain"},
		{"/m/n", driver.ErrorUnder("/o", own), "open /m/n/o/f: file does not exist"},
	} {
		got := driver.ErrorUnder(c.prefix, c.err)
		if got.Error() != c.want || errors.Is(c.err, fs.ErrNotExist) != errors.Is(got, fs.ErrNotExist) {
			t.Errorf("%v under %s = %v, want %s", c.err, c.prefix, got, c.want)
		}
	}
	if driver.ErrorUnder("/m", nil) != nil {
		t.Error("nil became an error")
	}
}

func TestGuardUnder(t *testing.T) {
	g := driver.Guard{Action: policy.Read, Rules: policy.PathRules{{Paths: []string{"/m/s/**"}, Decision: policy.Deny}}}
	for _, c := range []struct {
		prefix string
		i      driver.Info
		denied bool
	}{
		{"/m", driver.Info{Path: "/s/f", Resolved: "/s/f"}, true},
		{"/m", driver.Info{Path: "/ln", Resolved: "/s/f"}, true},
		{"/m", driver.Info{Path: "/m/s/f"}, false},
		{"/", driver.Info{Path: "/m/s/f"}, true},
	} {
		if err := g.Under(c.prefix).Check(c.i); errors.Is(err, policy.ErrDenied) != c.denied {
			t.Errorf("%+v under %s: %v", c.i, c.prefix, err)
		}
	}
	if !(driver.Guard{}).Under("/m").Empty() {
		t.Error("a guard that lets everything through asks")
	}
}

func TestAll(t *testing.T) {
	b := &tagged{}
	d := &routes{mounts: []driver.Mount{{Prefix: "/a", Driver: b}, {Prefix: "/h", Driver: b, Hidden: true}}}
	if all := driver.All(d); len(all) != 2 || all[1].Prefix != "/h" || len(driver.Split(d, "/")) != 1 {
		t.Errorf("%+v", all)
	}
}
