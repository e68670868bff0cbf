package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/policy"
)

// The values of --paths, --backend and --sandbox.
const (
	PathsHost    = "host"
	PathsVirtual = "virtual"
	BackendDisk  = "disk"
	BackendState = "state"
	SandboxNone  = "none"
)

// Settings are what a run works with. A thread remembers them, all of them as texts.
type Settings struct {
	// Dir is the root of the file tools and the working directory of commands, absolute.
	Dir string `json:"cwd"`
	// Paths, Backend and Sandbox are the values of the flags; an empty Sandbox means no commands.
	Paths   string `json:"paths"`
	Backend string `json:"backend"`
	Sandbox string `json:"sandbox"`
	Mode    string `json:"mode"`
	OnAsk   string `json:"on_ask"`
	// Model is a model spec. The path of a script is absolute.
	Model string `json:"model_spec"`
}

// Check completes the settings and reports the first value that is none.
func (s *Settings) Check() error {
	if _, err := policy.ParseMode(s.Mode); err != nil {
		return Usagef("--mode: %w", err)
	}
	if _, err := agent.ParseOnAsk(s.OnAsk); err != nil {
		return Usagef("--on-ask: %w", err)
	}
	if err := oneOf("--paths", s.Paths, PathsHost, PathsVirtual); err != nil {
		return err
	}
	if err := oneOf("--backend", s.Backend, BackendDisk, BackendState); err != nil {
		return err
	}
	if s.Sandbox != "" {
		if err := oneOf("--sandbox", s.Sandbox, SandboxNone); err != nil {
			return err
		}
	}
	if s.Backend == BackendState && s.Sandbox != "" {
		return Usagef("--backend state and --sandbox %s do not go together: the files would be in the thread, where no command can see them", s.Sandbox)
	}
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return Usagef("directory %s: %w", s.Dir, err)
	}
	s.Dir = dir
	if file, ok := strings.CutPrefix(s.Model, "script:"); ok && file != "" {
		if file, err = filepath.Abs(file); err != nil {
			return Usagef("script %s: %w", file, err)
		}
		s.Model = "script:" + file
	}
	return nil
}

// Policy returns the mode; Check has seen that it is one.
func (s *Settings) Policy() policy.Mode {
	m, err := policy.ParseMode(s.Mode)
	if err != nil {
		return policy.Plan
	}
	return m
}

func oneOf(flag, value string, values ...string) error {
	for _, v := range values {
		if v == value {
			return nil
		}
	}
	return Usagef("%s: unknown value %q: this build has: %s", flag, value, strings.Join(values, ", "))
}

// Meta is what the thread remembers: the settings and the version of this program.
func (s *Settings) Meta(version string) (map[string]json.RawMessage, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	meta := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &meta); err != nil {
		return nil, err
	}
	meta["version"], err = json.Marshal(version)
	return meta, err
}

// Remember replaces the settings that meta holds.
func (s *Settings) Remember(meta map[string]json.RawMessage) error {
	raw, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, s); err != nil {
		return fmt.Errorf("what the thread remembers of its last run cannot be read: %w", err)
	}
	return nil
}
