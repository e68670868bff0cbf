package sandbox

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// HostEnv is the list of names that a command gets from the environment of this program when nothing else is said.
func HostEnv() []string { return []string{"PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR"} }

// LooksSecret reports whether a variable looks like a credential, by the words of its name (TOKEN, SECRET, API_KEY, ...) or
// because its value is a URL with a password.
func LooksSecret(name, value string) bool {
	for _, word := range strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
		switch word {
		case "KEY", "KEYS", "AUTH", "DSN", "COOKIE", "PAT", "PASS", "PW", "CREDS":
			return true
		}
		for _, end := range []string{"TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "CREDENTIAL", "CREDENTIALS"} {
			if strings.HasSuffix(word, end) {
				return true
			}
		}
	}
	if !strings.Contains(value, "://") || !strings.Contains(value, "@") {
		return false
	}
	u, err := url.Parse(value)
	if err != nil || u.User == nil {
		return false
	}
	_, has := u.User.Password()
	return has
}

// CheckEnv refuses variables that cannot be set and, unless allow lists them, those that look like a secret.
func CheckEnv(env map[string]string, allow []string) error {
	names := make([]string, 0, len(env))
	for name := range env {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return fmt.Errorf("environment: %q cannot be a name", name)
		case strings.ContainsRune(env[name], 0):
			return fmt.Errorf("environment: the value of %s holds a NUL", name)
		case LooksSecret(name, env[name]) && !slices.Contains(allow, name):
			return fmt.Errorf("environment: %s looks like a secret; list it in AllowSecretEnv to pass it to commands", name)
		}
	}
	return nil
}
