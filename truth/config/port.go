package config

// Replicas need no right to listen on low ports: these are moved to the end of
// the range of ports, behind a Service that maps them back.
const (
	lowPorts = 1024
	moved    = 1<<16 - lowPorts
	// LastPort is the highest that a listener may have: replicas need those
	// above.
	LastPort = moved - 1
	// AdminPort is where a replica tells about itself: what would serve port 0.
	AdminPort = moved
)

// ServingPort is where replicas listen for a listener's port.
func ServingPort(port int32) int32 {
	if port < lowPorts {
		return port + moved
	}
	return port
}
