package sqlite

import "os"

// access asks whether a file may be read and written.
func access(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
