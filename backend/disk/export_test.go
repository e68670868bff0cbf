package disk

// ForcePortable makes a disk open paths as systems without openat2 do.
func ForcePortable(d *Disk) error {
	if d.fast == nil {
		return nil
	}
	err := d.fast.close()
	d.fast = nil
	return err
}

// ForceFolds makes a disk look up the spelling of names as where case does not count.
func ForceFolds(d *Disk) { d.folds = true }
