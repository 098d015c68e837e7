/** Option names of other Kafka clients that are not spelled like ours. Near misspellings need no entry here. */
const foreignNames: Readonly<Record<string, string>> = Object.freeze({
  '["bootstrap.servers"]': 'brokers',
  authentication: 'sasl',
  bootstrapBrokers: 'brokers',
  bootstrapServers: 'brokers',
  ssl: 'tls: {}',
})

/** Returns the problem of an option that other clients have under another name; undefined for any other path. */
export function foreignOption(path: string): string | undefined {
  return Object.hasOwn(foreignNames, path) ? `is not an option; did you mean ${foreignNames[path]}?` : undefined
}
