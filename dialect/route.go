package dialect

// A Route sends all requests to a host to one Service.
type Route struct {
	Name, Namespace string
	// Gateway and Listener are what it attaches to, where the dialect has such.
	Gateway, Listener string
	// Class is the dialect's.
	Class string
	Host  string
	// Secret is the certificate's, of a route for HTTPS; empty for HTTP.
	Secret  string
	Service string
	Port    int

	// RequestHeader are fields that requests get on their way to the backend,
	// each a name and a value.
	RequestHeader [][2]string
	// CORS is an origin that may read answers, by GET, for ten minutes; or "".
	CORS string
	// ResponseHeader are fields that answers get.
	ResponseHeader [][2]string
	// Rewrite takes the place of the slash that the path begins with; or "".
	Rewrite string
}

// A Filter is what a route may do beside sending requests on.
type Filter string

// The filters.
const (
	RequestHeader  Filter = "requestHeader"
	CORS           Filter = "cors"
	ResponseHeader Filter = "responseHeader"
	Rewrite        Filter = "rewrite"
)

// AllFilters are those that there are.
var AllFilters = []Filter{RequestHeader, CORS, ResponseHeader, Rewrite}

// filters are those that a route has.
func (r *Route) filters() []Filter {
	var all []Filter
	for _, f := range []struct {
		has bool
		Filter
	}{
		{len(r.RequestHeader) > 0, RequestHeader}, {r.CORS != "", CORS},
		{len(r.ResponseHeader) > 0, ResponseHeader}, {r.Rewrite != "", Rewrite},
	} {
		if f.has {
			all = append(all, f.Filter)
		}
	}
	return all
}
