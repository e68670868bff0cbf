//go:build !linux

package proc

import "os"

func (t *Tree) startProcess(attr *os.ProcAttr) (*os.Process, error) {
	p, err := os.StartProcess(t.spec.Path, t.spec.Args, attr)
	if err == nil {
		t.table.init(p.Pid)
	}
	return p, err
}
