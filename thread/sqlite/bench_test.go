package sqlite_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/sqlite"
	modernc "modernc.org/sqlite"
)

const benchData = 400

// bare runs an INSERT loop with nothing around it, the least that any store on this driver can cost, and reports ns/op.
func bare(b *testing.B, sync string) float64 {
	b.Helper()
	var d modernc.Driver
	c, err := d.Open("file:" + filepath.Join(b.TempDir(), "bare.db") + "?_pragma=journal_mode(WAL)&_pragma=synchronous(" + sync + ")")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ctx := context.Background()
	if _, err := c.(driver.ExecerContext).ExecContext(ctx, "CREATE TABLE r(id INTEGER PRIMARY KEY, data BLOB)", nil); err != nil {
		b.Fatal(err)
	}
	st, err := c.Prepare("INSERT INTO r(data) VALUES(?)")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	data := make([]byte, benchData)
	const n = 500
	from := time.Now()
	for range n {
		if _, err := st.(driver.StmtExecContext).ExecContext(ctx, []driver.NamedValue{{Ordinal: 1, Value: data}}); err != nil {
			b.Fatal(err)
		}
	}
	return float64(time.Since(from).Nanoseconds()) / n
}

func benchAppend(b *testing.B, durable bool, sync string) {
	base := bare(b, sync)
	s := open(b, filepath.Join(b.TempDir(), "threads.db"), sqlite.Options{})
	ctx := context.Background()
	r := rec("0123456789abcdef", benchData)
	a := thread.Append{ExpectSeq: -1, Durable: durable, Records: []thread.Record{r}}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if _, err := s.Append(ctx, "t", a); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/base, "x-bare-insert")
}

func BenchmarkAppendDurable(b *testing.B) { benchAppend(b, true, "FULL") }

func BenchmarkAppend(b *testing.B) { benchAppend(b, false, "NORMAL") }

// BenchmarkAppendParallel has 64 threads that append at once; compare with BenchmarkAppendDurable.
func BenchmarkAppendParallel(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "threads.db"), sqlite.Options{})
	var n atomic.Int64
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		id := fmt.Sprint("t", n.Add(1))
		a := thread.Append{ExpectSeq: -1, Durable: true, Records: []thread.Record{rec("0123456789abcdef", benchData)}}
		for p.Next() {
			if _, err := s.Append(context.Background(), id, a); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	st := s.Stats()
	b.ReportMetric(float64(st.Durable)/float64(st.DurableAppends), "syncs/append")
}

// turns fills a thread as 5 appends a turn would.
func turns(b *testing.B, s *sqlite.Store, n int) (data int64) {
	b.Helper()
	kinds := []thread.Kind{thread.KindModel, thread.KindCommit, thread.KindCallStarted, thread.KindCallEnded, thread.KindCommit}
	for i := range n {
		var rs []thread.Record
		for j, k := range kinds {
			r := rec(fmt.Sprintf("%016d", i*5+j), benchData)
			r.Kind, r.Step = k, i
			data += int64(len(r.Data))
			rs = append(rs, r)
		}
		if i%100 == 99 {
			r := rec("snapshot", benchData)
			r.Kind, r.Base = thread.KindSnapshot, int64(i*5)
			rs = append(rs, r)
		}
		if _, err := s.Append(context.Background(), "t", thread.Append{ExpectSeq: -1, Records: rs}); err != nil {
			b.Fatal(err)
		}
	}
	return data
}

func benchRead(b *testing.B, q thread.Query, warm bool) {
	path := filepath.Join(b.TempDir(), "threads.db")
	s := open(b, path, sqlite.Options{})
	turns(b, s, 1000)
	records := 0
	b.ReportAllocs()
	for b.Loop() {
		from := s
		if !warm {
			from = open(b, path, sqlite.Options{})
		}
		records = 0
		for _, err := range from.Read(context.Background(), "t", q) {
			if err != nil {
				b.Fatal(err)
			}
			records++
		}
		if !warm {
			if err := from.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(records), "records")
}

func BenchmarkReadAll(b *testing.B) { benchRead(b, thread.Query{Prefix: true}, true) }
func BenchmarkReadHead(b *testing.B) {
	benchRead(b, thread.Query{Prefix: true, FromSnapshot: true}, true)
}

func BenchmarkReadHeadCold(b *testing.B) {
	benchRead(b, thread.Query{Prefix: true, FromSnapshot: true}, false)
}

func BenchmarkReadCommits(b *testing.B) {
	benchRead(b, thread.Query{Kinds: []thread.Kind{thread.KindCommit}, Reverse: true}, true)
}

// BenchmarkSize reports the bytes of the file for each byte and each record of a 1,000-turn thread.
func BenchmarkSize(b *testing.B) {
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "threads.db")
		s := open(b, path, sqlite.Options{})
		data := turns(b, s, 1000)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Size())/float64(data), "file/data")
		b.ReportMetric(float64(info.Size()-data)/5010, "overhead-B/record")
	}
}

// BenchmarkFork finds a record in the middle of a thread of 5,000.
func BenchmarkFork(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "threads.db"), sqlite.Options{})
	turns(b, s, 1000)
	for b.Loop() {
		if _, err := s.Fork(context.Background(), "t", 0, thread.ID(fmt.Sprintf("%016d", 2500))); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList reads the first page of a listing of 10,000 threads.
func BenchmarkList(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "threads.db"), sqlite.Options{})
	for i := range 10000 {
		if _, err := s.Append(context.Background(), fmt.Sprint("t", i), thread.Append{Records: []thread.Record{rec("a", 10)}}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		n := 0
		for _, err := range s.List(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
			if n++; n == 100 {
				break
			}
		}
	}
}
