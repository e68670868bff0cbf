// Package host runs commands on this machine, in a directory, with the rights of this program: it is no isolation at all.
//
// What it does promise: a command never hangs the caller, its output is bounded in memory, its whole process tree ends at its time
// limit, with its context, and (on Linux) when this program is killed; and the environment of this program does not reach it,
// except for a short list of names. Two limits of that: a command can read what any program of this user can, and on Linux
// /proc/$PPID/environ shows it the environment that this program was itself started with, so start an agent without secrets in
// its environment, run it as another user, or use a sandbox with real walls.
package host
