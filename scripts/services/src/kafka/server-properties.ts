import { loopback } from '../port.ts'

/** One node of a Kafka cluster: broker and controller in one process. */
export interface KafkaNode {
  readonly id: number
  readonly port: number
  readonly controllerPort: number
  readonly folder: string
}

/**
 * Returns the configuration of one node. Every node is also a controller, so that any one may die and the rest
 * continue.
 */
export function serverProperties(node: KafkaNode, nodes: readonly KafkaNode[]): string {
  const replicas = Math.min(3, nodes.length)
  const inSync = Math.max(1, replicas - 1)
  const voters = nodes.map(({ id, controllerPort }) => `${id}@${loopback}:${controllerPort}`)
  const properties: Record<string, string | number | boolean> = {
    'process.roles': 'broker,controller',
    'node.id': node.id,
    listeners: `PLAINTEXT://${loopback}:${node.port},CONTROLLER://${loopback}:${node.controllerPort}`,
    'advertised.listeners': `PLAINTEXT://${loopback}:${node.port}`,
    'inter.broker.listener.name': 'PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
    'controller.quorum.voters': voters.join(','),
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
    'log.dirs': `${node.folder}/log`,
    // Small: a developer's machine runs everything else too.
    'num.network.threads': 2,
    'num.io.threads': 4,
    'log.cleaner.threads': 1,
    'log.cleaner.dedupe.buffer.size': 2 * 2 ** 20,
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.num.partitions': 4,
    // A misspelled topic must be an error here as it is in production.
    'auto.create.topics.enable': false,
    'num.partitions': 1,
    'default.replication.factor': replicas,
    'min.insync.replicas': inSync,
    'offsets.topic.replication.factor': replicas,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': inSync,
    'share.coordinator.state.topic.replication.factor': replicas,
    'share.coordinator.state.topic.min.isr': inSync,
    // Tests that kill a member wait for its session to expire: one second instead of six, and no wait for a first
    // rebalance.
    'group.min.session.timeout.ms': 1_000,
    'group.initial.rebalance.delay.ms': 0,
    // The same for tests that kill a broker: it is replaced, or may come back, after four seconds instead of nine.
    'broker.session.timeout.ms': 4_000,
    'broker.heartbeat.interval.ms': 500,
  }
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}
