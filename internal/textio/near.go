package textio

import (
	"bytes"
	"strings"
)

const (
	// nearLines and nearLine bound the search for a near miss.
	nearLines = 20_000
	nearLine  = 400
	// nearOld is how many lines of the old text are tried as anchors.
	nearOld = 40
	// nearScore is the least likeness, of 1000, that is worth telling.
	nearScore = 600
	// nearWhole is the likeness of a line that holds the text as part of it.
	nearWhole = 900
)

// Closest finds the line that the old text most likely meant: where a block that begins alike departs from it, else the line that is
// most like its first one. Lines count from 1; 0 means that nothing is near.
func Closest(b []byte, old string) (line int, shown string) {
	t := parse(b)
	lines := bytes.SplitN(t.norm, []byte{'\n'}, nearLines+1)
	if len(lines) > nearLines {
		lines = lines[:nearLines]
	}
	want := strings.Split(strings.Trim(t.fold(old), "\n"), "\n")
	if len(want) > nearOld {
		want = want[:nearOld]
	}
	if i, ok := departure(lines, want); ok {
		return i + 1, shorten(lines[i])
	}
	first := ""
	for _, w := range want {
		if first = strings.TrimSpace(w); first != "" {
			break
		}
	}
	if len(first) < 3 {
		return 0, ""
	}
	best, at := nearScore-1, -1
	lower := bytes.ToLower([]byte(first))
	grams := bigrams(lower)
	for i, l := range lines {
		if len(l) > nearLine {
			continue
		}
		l = bytes.ToLower(bytes.TrimSpace(l))
		s := likeness(grams, l, len(first))
		if bytes.Contains(l, lower) {
			s = max(s, nearWhole)
		}
		if s > best {
			best, at = s, i
		}
	}
	if at < 0 {
		return 0, ""
	}
	return at + 1, shorten(lines[at])
}

// departure finds the block of lines that has the most lines of want in place, and its first line that differs.
func departure(lines [][]byte, want []string) (int, bool) {
	if len(want) < 2 {
		return 0, false
	}
	index := map[string][]int{}
	for j, w := range want {
		if len(strings.TrimSpace(w)) >= 3 {
			index[w] = append(index[w], j)
		}
	}
	votes := map[int]int{}
	bestVotes, best := 0, 0
	for i, l := range lines {
		for _, j := range index[string(l)] {
			s := i - j
			votes[s]++
			if v := votes[s]; v > bestVotes || v == bestVotes && s < best {
				bestVotes, best = v, s
			}
		}
	}
	if bestVotes == 0 {
		return 0, false
	}
	for j, w := range want {
		if i := best + j; i >= 0 && i < len(lines) && string(lines[i]) != w {
			return i, true
		}
	}
	return 0, false
}

func bigrams(b []byte) map[[2]byte]int {
	m := make(map[[2]byte]int, len(b))
	for i := 0; i+1 < len(b); i++ {
		m[[2]byte{b[i], b[i+1]}]++
	}
	return m
}

// likeness is Dice's coefficient of the pairs of bytes, of 1000.
func likeness(grams map[[2]byte]int, l []byte, n int) int {
	if len(l) < 2 || len(l) > 3*n || n > 3*len(l) {
		return 0
	}
	other := bigrams(l)
	same := 0
	for g, c := range grams {
		same += min(c, other[g])
	}
	return 2000 * same / (n - 1 + len(l) - 1)
}

func shorten(l []byte) string {
	s, _ := Display(CutRunes(l, 200))
	return s
}
