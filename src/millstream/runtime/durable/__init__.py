"""The durable host: epochs end in manifests, state lies in a checkpoint, and a restart goes on from there."""
