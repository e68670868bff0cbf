package deepagents

import (
	"context"
	"slices"

	"github.com/deepagents-go/deepagents/policy"
)

// DefaultDenies are the paths that an agent has no business with: environment files, keys, credentials, browser profiles, git's
// hooks and configuration, and our own. Names are still listed; only content is refused, reading and writing alike. They are meant
// for [Config.Advisory].
func DefaultDenies() policy.PathRules {
	return policy.PathRules{{
		Name: "default deny: credentials", Decision: policy.Deny, Listed: true,
		Paths: []string{
			"/**/.env*", "/**/.ssh/**", "/**/.aws/**", "/**/.config/gcloud/**",
			"/**/.mozilla/**", "/**/.config/google-chrome/**", "/**/.config/chromium/**", "/**/.config/BraveSoftware/**",
			"/**/.config/microsoft-edge/**", "/**/Library/Application Support/Google/Chrome/**",
			"/**/Library/Application Support/Firefox/**", "/**/Library/Safari/**",
		},
	}, {
		Name: "default deny: configuration", Decision: policy.Deny, Listed: true, Paths: configPaths(),
	}}
}

// DefaultWriteDenies is the smaller list for callers that answer for themselves: nothing may write git's hooks and configuration,
// through which a later command of git would run what was written, or our own configuration.
func DefaultWriteDenies() policy.PathRules {
	return policy.PathRules{{
		Name: "default deny: configuration", Kinds: []policy.Kind{policy.Write}, Decision: policy.Deny, Listed: true, Paths: configPaths(),
	}}
}

func configPaths() []string {
	return []string{"/**/.git/hooks/**", "/**/.git/config", "/**/.deepagents/**"}
}

// judges are what every action of a call goes through.
func (c *Config) judges(rules policy.PathRules) policy.Judges {
	js := slices.Clone(c.Judges)
	if c.Mode != "" {
		js = append(js, c.Mode)
	}
	if len(rules) > 0 {
		js = append(js, ruleJudge{rules, c.Mode})
	}
	return js
}

// ruleJudge judges the path that a call names; what lies below it, and where links lead, is judged by the guard of the file system.
type ruleJudge struct {
	rules policy.PathRules
	mode  policy.Mode
}

// Judge lets listings of a Listed path through, but no search in it. A denial that yolo mode does without says so.
func (j ruleJudge) Judge(_ context.Context, a policy.Action) policy.Verdict {
	if a.Kind != policy.Read && a.Kind != policy.Write {
		return policy.Verdict{}
	}
	v, rule := j.rules.Decide(a.Kind, a.Path)
	if rule.Listed && a.Kind == policy.Read && a.Subtree && a.Tool != "grep" {
		return policy.Verdict{}
	}
	if v.Decision != policy.Deny {
		return v
	}
	if j.mode != "" && j.mode != policy.Yolo && rule.Listed {
		if w, _ := DefaultWriteDenies().Decide(a.Kind, a.Path); w.Decision != policy.Deny {
			v.Fix = "--mode yolo"
		}
	}
	return v
}
