package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/deepagents-go/deepagents/sandbox"
)

// processTests are about a started process: its output by offset, input and signals.
func processTests() []test {
	return []test{
		{"output by offset", nil, offsets},
		{"output while it runs", []Feature{Live, Stdin}, whileRunning},
		{"a slow reader stalls nobody", nil, slowReader},
		{"many readers", nil, manyReaders},
		{"a reader's context", nil, readerContext},
		{"standard input", []Feature{Stdin}, stdin},
		{"signals", []Feature{Signals, Live}, signals},
		{"kill", nil, kill},
		{"Wait and its context", nil, waitContext},
		{"Close of a process", nil, closeProcess},
	}
}

func offsets(s *suite) {
	p := s.start(sandbox.Command{Line: "seq 1 2000"})
	whole, skipped := s.all(p, 0)
	if skipped != 0 || !bytes.HasPrefix(whole, []byte("1\n2\n")) || !bytes.HasSuffix(whole, []byte("\n2000\n")) {
		s.Fatalf("output %.20q, skipped %d", whole, skipped)
	}
	s.expect(s.wait(p), sandbox.Exited, 0)
	for _, from := range []int64{-1, 0, 1, 7, 4096, int64(len(whole)) - 1, int64(len(whole)), int64(len(whole)) + 9} {
		if got, _ := s.all(p, from); !bytes.Equal(got, whole[min(max(from, 0), int64(len(whole))):]) {
			s.Errorf("from %d: %d bytes", from, len(got))
		}
	}
	// Leaving after each chunk and resuming gives the same bytes.
	var parts []byte
	for len(parts) < len(whole) {
		n := len(parts)
		for c, err := range p.Output(s.ctx, int64(n)) {
			if err != nil {
				s.Fatal(err)
			}
			parts = append(parts, c.Data[:min(len(c.Data), 1000)]...)
			break
		}
		if len(parts) == n {
			s.Fatal("no output after an offset")
		}
	}
	if !bytes.Equal(parts, whole) {
		s.Error("the parts are not the whole")
	}
}

func whileRunning(s *suite) {
	p := s.start(sandbox.Command{Line: "echo a; read x; echo \"b$x\"; exit 5", Stdin: true})
	var got []byte
	for c, err := range p.Output(s.ctx, 0) {
		if err != nil {
			s.Fatal(err)
		}
		got = append(got, c.Data...)
		if string(got) == "a\n" {
			if _, err := p.Write(s.ctx, []byte("!\n")); err != nil {
				s.Fatal(err)
			}
		}
	}
	if string(got) != "a\nb!\n" {
		s.Errorf("output %q", got)
	}
	s.expect(s.wait(p), sandbox.Exited, 5)
}

func slowReader(s *suite) {
	p := s.start(sandbox.Command{Line: "yes | head -c 8388608"})
	var kept, skipped int64
	waited := false
	for c, err := range p.Output(s.ctx, 0) {
		if err != nil {
			s.Fatal(err)
		}
		if !waited {
			// The command ends though its first reader does not read on.
			s.expect(s.wait(p), sandbox.Exited, 0)
			waited = true
		}
		kept += int64(len(c.Data))
		skipped += c.Skipped
	}
	if kept+skipped != 8388608 || kept == 0 {
		s.Errorf("%d bytes and %d skipped", kept, skipped)
	}
	if tail, _ := s.all(p, 8388608-10); string(tail) != "y\ny\ny\ny\ny\n" {
		s.Errorf("the end of the output is %q", tail)
	}
}

func manyReaders(s *suite) {
	p := s.start(sandbox.Command{Line: "seq 1 500; sleep 0.2; seq 501 1000"})
	var wg sync.WaitGroup
	outs := make([][]byte, 20)
	for i := range outs {
		wg.Go(func() {
			for c, err := range p.Output(s.ctx, 0) {
				if err != nil {
					s.Error(err)
					return
				}
				outs[i] = append(outs[i], c.Data...)
			}
		})
	}
	wg.Wait()
	want := outs[0]
	if bytes.Count(want, []byte("\n")) != 1000 {
		s.Errorf("output %.40q", want)
	}
	for i := range outs {
		if !bytes.Equal(outs[i], want) {
			s.Errorf("reader %d has other output", i)
		}
	}
}

func readerContext(s *suite) {
	p := s.start(sandbox.Command{Line: s.script("sleep 300; true"), Timeout: sandbox.NoTimeout})
	ctx, cancel := context.WithCancel(s.ctx)
	go cancel()
	var last error
	for _, err := range p.Output(ctx, 0) {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		s.Errorf("the reader ended with %v", last)
	}
}

func stdin(s *suite) {
	p := s.start(sandbox.Command{Line: "cat; echo end", Stdin: true})
	big := bytes.Repeat([]byte("0123456789\n"), 20000)
	if n, err := p.Write(s.ctx, big); err != nil || n != len(big) {
		s.Fatalf("wrote %d, error %v", n, err)
	}
	if _, err := p.Write(s.ctx, nil); err != nil {
		s.Fatalf("closing the input: %v", err)
	}
	s.expect(s.wait(p), sandbox.Exited, 0)
	if got, skipped := s.all(p, 0); int64(len(got))+skipped != int64(len(big)+4) || !bytes.HasSuffix(got, []byte("\nend\n")) {
		s.Errorf("%d bytes came back, %d skipped", len(got), skipped)
	}
	if _, err := p.Write(s.ctx, []byte("x")); err == nil {
		s.Error("writing to a closed input is no error")
	}
	q := s.start(sandbox.Command{Line: "true"})
	if _, err := q.Write(s.ctx, []byte("x")); err == nil {
		s.Error("writing without an input is no error")
	}
	// A command that does not read does not hold the writer for ever.
	r := s.start(sandbox.Command{Line: s.script("sleep 300; true"), Stdin: true})
	ctx, cancel := context.WithCancel(s.ctx)
	go cancel()
	for {
		if _, err := r.Write(ctx, big); err != nil {
			if !errors.Is(err, context.Canceled) {
				s.Errorf("a write that was given up: %v", err)
			}
			break
		}
	}
}

func signals(s *suite) {
	for sig, name := range map[sandbox.Signal]string{sandbox.Interrupt: "INT", sandbox.Terminate: "TERM"} {
		p := s.start(sandbox.Command{Line: "trap 'echo got; exit 7' " + name + "; echo ready; while :; do sleep 0.05; done"})
		var got []byte
		for c, err := range p.Output(s.ctx, 0) {
			if err != nil {
				s.Fatal(err)
			}
			got = append(got, c.Data...)
			if string(got) == "ready\n" {
				if err := p.Signal(s.ctx, sig); err != nil {
					s.Fatal(err)
				}
			}
		}
		// The whole tree gets it, so the shell may tell how its sleep ended.
		if !bytes.HasPrefix(got, []byte("ready\n")) || !bytes.Contains(got, []byte("got\n")) {
			s.Errorf("%s: output %q", name, got)
		}
		s.expect(s.wait(p), sandbox.Exited, 7)
	}
}

func kill(s *suite) {
	p := s.start(sandbox.Command{Line: s.script("trap '' INT TERM; sleep 300; true") + " & sleep 300"})
	if err := p.Signal(s.ctx, sandbox.Kill); err != nil {
		s.Fatal(err)
	}
	s.expect(s.wait(p), sandbox.Signaled, -9)
	s.gone()
	if err := p.Signal(s.ctx, sandbox.Kill); err != nil {
		s.Errorf("killing what has ended: %v", err)
	}
}

func waitContext(s *suite) {
	p := s.start(sandbox.Command{Line: s.script("sleep 300; true")})
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if _, err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
		s.Errorf("Wait: %v", err)
	}
	if err := p.Signal(s.ctx, sandbox.Kill); err != nil {
		s.Error(err)
	}
	a, b := s.wait(p), s.wait(p)
	if a != b {
		s.Errorf("two waits give %+v and %+v", a, b)
	}
}

func closeProcess(s *suite) {
	p := s.start(sandbox.Command{Line: "echo x; " + s.script("sleep 300; true") + " & " + s.script("sleep 300; true")})
	for range 2 {
		if err := p.Close(s.ctx); err != nil {
			s.Errorf("Close: %v", err)
		}
	}
	s.gone()
	exit := s.wait(p)
	if exit.Code == 0 {
		s.Errorf("a process that was closed ended as %+v", exit)
	}
	if r := s.sh("echo ok"); string(r.Output) != "ok\n" {
		s.Errorf("the next command gave %q", r.Output)
	}
}
