package config

import gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

// PathMatchSuffix is a path's ending. No route can ask for it: it stands for a
// gRPC method of any service, which counts less than any method of a service.
const PathMatchSuffix gatewayv1.PathMatchType = "Suffix"
