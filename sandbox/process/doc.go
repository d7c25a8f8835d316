// Package process starts components that outlive the program, knows them again later without ever mistaking another
// process for one of them, and ends them.
package process
