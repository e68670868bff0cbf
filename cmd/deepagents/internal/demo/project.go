package demo

import (
	"bytes"
	"embed"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/script"
)

// The files of the projects end in .txt, so that the go command takes none of them for code of this module.
//
//go:embed assets
var assets embed.FS

// project is what the script works on.
type project struct {
	// name is the directory and the script in assets; test is its test command.
	name, test string
}

// choose takes the project in Go where there is a go command, and a home directory for its cache (commands get no GOCACHE), else the
// one in POSIX shell.
func choose() project {
	_, err := exec.LookPath("go")
	if _, herr := os.UserHomeDir(); err == nil && herr == nil {
		return project{"go", "go test ./..."}
	}
	return project{"shell", "sh check.sh"}
}

// copyTo writes the project's files below dir.
func (p project) copyTo(dir string) error {
	root := "assets/" + p.name
	return fs.WalkDir(assets, root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := assets.ReadFile(path)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(strings.TrimPrefix(path, root+"/"), ".txt")))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		return os.WriteFile(file, b, 0o600)
	})
}

// script is the model that works on the project.
func (p project) script() (model.Model, error) {
	file := p.name + ".jsonl"
	b, err := assets.ReadFile("assets/" + file)
	if err != nil {
		return nil, err
	}
	m, err := script.Parse("demo/"+file, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return &polite{m}, nil
}
