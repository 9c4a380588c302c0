package attack

// WireManifest is wire.yaml.
var WireManifest = wireManifest
