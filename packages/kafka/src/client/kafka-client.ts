/**
 * The entry point: one client per cluster and process. It owns what its consumers and producers share, and nothing that
 * could make one of them wait for another.
 *
 *     metadata    one connection, shared            produce    one for each broker, shared
 *     admin       one for each broker, shared       consumer   coordinator and fetches of its own, each
 */

import { type Runtime, StateError, systemRuntime } from '@waybill/core'
import {
  hasMethods,
  instance,
  list,
  OptionsError,
  optional,
  type Rule,
  resolveOptions,
  text,
} from '@waybill/core/option'
import { createBrokerTransport } from '../wire/broker/broker-transport.ts'
import type { KafkaTransport, NodeAddress } from '../wire/broker/kafka-transport.ts'
import type { BrokerTransportOptions } from '../wire/broker/transport-options.ts'
import type { Admin } from './admin/admin.ts'
import { createAdmin } from './admin/create-admin.ts'
import { setClientFacts } from './cluster/client-facts.ts'
import { createCluster } from './cluster/cluster.ts'
import { createNodes, type Nodes, type NodesOptions } from './cluster/nodes.ts'
import { runtimeRule } from './cluster/optional-runtime.ts'
import type { Consumer } from './consume/consumer.ts'
import type { ConsumerOptions } from './consume/consumer-options.ts'
import { createGroupConsumer } from './consume/group-consumer.ts'
import { createRangeReader, type OffsetRange, type RangeReader } from './fetch/range-reader.ts'
import { foreignOption } from './foreign-names.ts'
import { createProducer } from './producer/create-producer.ts'
import { createFencedAppender, type FencedAppender } from './producer/fenced-appender.ts'
import type { Producer } from './producer/producer.ts'
import type { ProducerOptions, ProducerPreset, TransactionalProducerOptions } from './producer/producer-options.ts'
import { createTransactionalProducer, type TransactionalProducer } from './producer/transactional-producer.ts'

/** Options of {@link createKafkaClient}. */
export interface KafkaClientOptions extends Pick<BrokerTransportOptions, 'tls' | 'sasl'> {
  /** Some brokers, as `host:port`; the client discovers the others from them. */
  readonly brokers: readonly string[]
  /** Name of this client in broker logs and quotas. @defaultValue 'waybill' */
  readonly clientId?: string
  /**
   * Name of the cluster in the metrics of producers: its alias in `clusters` of `createConnector`. @defaultValue 'default'
   */
  readonly clusterLabel?: string
  /** Replaces TCP connections to brokers, for example with a simulated cluster. */
  readonly transport?: KafkaTransport
  /** @defaultValue the system runtime */
  readonly runtime?: Runtime
}

/** Creates the consumers, producers and admin calls of one cluster. */
export interface KafkaClient extends AsyncDisposable {
  consumer(options: ConsumerOptions): Consumer
  /** Creates a reader for tools that inspect a topic: it joins no group and commits nothing. */
  reader(ranges: readonly OffsetRange[]): RangeReader
  /**
   * Creates a producer. EVENT batches and compresses; DEAD_LETTER sends at once and retries until its delivery timeout.
   */
  producer(preset: ProducerPreset, options?: ProducerOptions): Producer
  /** Creates a producer that fences every earlier one with the same id once it begins. */
  transactionalProducer(transactionalId: string, options?: TransactionalProducerOptions): TransactionalProducer
  /**
   * Obtains the next epoch of the id. From its first append on, a partition refuses appends of every earlier epoch.
   * `signal` cancels the wait for the epoch: a process that no longer owns the id must not fence the next owner.
   */
  fencedAppender(transactionalId: string, options?: ProducerOptions, signal?: AbortSignal): Promise<FencedAppender>
  readonly admin: Admin
  /** Stops every consumer and producer of this client, then closes all connections. */
  close(): Promise<void>
}

const address = /^(?:\[[0-9a-f:]+\]|[^:\s[\]]+):(\d{1,5})$/i

function isAddress(value: unknown): boolean {
  const port = typeof value === 'string' ? Number(address.exec(value)?.[1]) : Number.NaN
  return port >= 1 && port <= 65_535
}

interface ResolvedKafkaClientOptions {
  readonly brokers: readonly string[]
  readonly clientId: string
  readonly clusterLabel: string
  readonly transport: KafkaTransport | undefined
  readonly runtime: Runtime | undefined
  readonly tls: KafkaClientOptions['tls']
  readonly sasl: KafkaClientOptions['sasl']
}

const defaultClientId = 'waybill'

/** The name of the options in errors. */
const subject = 'Kafka client'

const rules: { readonly [K in keyof ResolvedKafkaClientOptions]: Rule<ResolvedKafkaClientOptions[K]> } = {
  brokers: list(instance<string>('an address like host:port, the port from 1 to 65535', isAddress), { min: 1 }),
  clientId: text({
    pattern: /^.{1,249}$/s,
    called: 'a text of 1 to 249 characters',
    default: defaultClientId,
    because: 'one name for the whole application; set your own where quotas matter',
  }),
  clusterLabel: text({
    pattern: /^.{1,100}$/s,
    called: 'a text of 1 to 100 characters',
    default: 'default',
    because: 'most applications have one cluster',
  }),
  transport: optional(instance('a KafkaTransport', (value) => hasMethods(value, 'connect'))),
  runtime: runtimeRule,
  // The transport validates these.
  tls: optional(instance('TLS options', () => true)),
  sasl: optional(instance('SASL options', () => true)),
}

/** Creates a client. It connects on first use. @throws OptionsError with every violation. */
export function createKafkaClient(given: KafkaClientOptions): KafkaClient {
  const options = resolveClientOptions(given)
  const runtime = options.runtime ?? systemRuntime
  const transport = options.transport ?? createBrokerTransport({ ...pick(given, 'tls'), ...pick(given, 'sasl') })
  const mechanism = options.transport === undefined ? readableLogin(given) : undefined
  if (mechanism !== undefined)
    runtime.logger.warn({ mechanism }, 'SASL credentials sent without TLS, readable on the network')
  const nodes = (use?: NodesOptions): Nodes => createNodes(transport, options.clientId, runtime, use)
  const [metadataNodes, produceNodes, adminNodes] = [nodes({ isShared: true }), nodes(), nodes()]
  const cluster = createCluster(metadataNodes, options.brokers.map(parseAddress), runtime)
  const closing = new AbortController()
  const made = new Set<AsyncDisposable>()
  const producerDeps = { cluster, nodes: produceNodes, runtime, clusterLabel: options.clusterLabel }

  /** Tracks a resource until it ends, since a client may outlive thousands of consumers. */
  const keep = <T extends AsyncDisposable>(make: (ended: () => void) => T): T => {
    const one: T = make(() => made.delete(one))
    made.add(one)
    return one
  }
  const assertOpen = (): void => {
    if (closing.signal.aborted) throw new StateError('The Kafka client is closed. Create another one.')
  }
  const end = async (): Promise<void> => {
    closing.abort(new StateError('The Kafka client was closed during this call.', { hint: 'Create another client.' }))
    const results = await Promise.allSettled([...made].map((one) => one[Symbol.asyncDispose]()))
    for (const one of [adminNodes, produceNodes, metadataNodes]) one.close()
    const failure = results.find((result) => result.status === 'rejected')
    if (failure !== undefined) throw failure.reason
  }
  let ending: Promise<void> | undefined
  const close = (): Promise<void> => (ending ??= end())

  const client: KafkaClient = {
    consumer(consumerOptions) {
      assertOpen()
      const { clientId } = options
      return keep((ended) => createGroupConsumer({ transport, clientId, cluster, runtime, ended }, consumerOptions))
    },
    reader(ranges) {
      assertOpen()
      return keep((ended) => createRangeReader({ cluster, openNodes: nodes, runtime, ended }, ranges))
    },
    producer(preset, producerOptions) {
      assertOpen()
      return keep((ended) => createProducer({ ...producerDeps, ended }, preset, producerOptions))
    },
    transactionalProducer(transactionalId, producerOptions) {
      assertOpen()
      return keep((ended) => createTransactionalProducer({ ...producerDeps, ended }, transactionalId, producerOptions))
    },
    async fencedAppender(transactionalId, producerOptions, signal) {
      assertOpen()
      let appender: FencedAppender | undefined
      const ended = (): void => {
        if (appender !== undefined) made.delete(appender)
      }
      appender = await createFencedAppender({ ...producerDeps, ended }, transactionalId, producerOptions, signal)
      if (closing.signal.aborted) {
        await appender.close()
        throw closing.signal.reason
      }
      made.add(appender)
      return appender
    },
    admin: createAdmin({ cluster, nodes: adminNodes, runtime, signal: closing.signal }),
    close,
    [Symbol.asyncDispose]: close,
  }
  setClientFacts(client, {
    clusterName: clusterNameOf(options),
    partitionCount: (topic) => cluster.partitionCount(topic),
    timers: runtime.timers,
    tracer: runtime.tracer,
  })
  return client
}

/** Returns the mechanism of a login that anyone on the way can read. SCRAM proves a password without sending it. */
function readableLogin({ tls, sasl }: KafkaClientOptions): string | undefined {
  if (sasl === undefined || sasl === false || (tls !== undefined && tls !== false)) return undefined
  return sasl.mechanism === 'PLAIN' || sasl.mechanism === 'OAUTHBEARER' ? sasl.mechanism : undefined
}

function clusterNameOf({ brokers, clientId }: ResolvedKafkaClientOptions): string {
  return `kafka://${clientId === defaultClientId ? '' : `${clientId}@`}${brokers.join(',')}`
}

function resolveClientOptions(given: KafkaClientOptions): ResolvedKafkaClientOptions {
  try {
    return resolveOptions(subject, rules, given)
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error
    throw new OptionsError(
      subject,
      error.violations.map(({ path, problem }) => ({ path, problem: foreignOption(path) ?? problem })),
    )
  }
}

function parseAddress(broker: string): NodeAddress {
  const colon = broker.lastIndexOf(':')
  return { host: broker.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(broker.slice(colon + 1)) }
}

function pick<T extends object, K extends keyof T>(from: T, key: K): Partial<Pick<T, K>> {
  return from[key] === undefined ? {} : ({ [key]: from[key] } as Partial<Pick<T, K>>)
}
