import { type AuditRow, type Connector, type ConnectorOptions, createConnector } from '@waybill/connector'
import {
  ArgumentError,
  createMemoryLogger,
  createMemoryMetrics,
  type MemoryLogger,
  type MemoryMetrics,
  type Runtime,
  runtimeWith,
  StateError,
} from '@waybill/core'
import { durationMs, integer, list, mapOf, oneOf, optional, resolveOptions, text } from '@waybill/core/option'
import { createKafkaClient } from '@waybill/kafka'
import { createSimCluster, createVirtualRuntime, SimulationError } from '@waybill/sim'
import { requireFunction } from '../require-argument.ts'
import { type EventuallyOptions, eventually } from '../wait/eventually.ts'
import { type ContainerStateAssertions, containerStateAssertions } from './container-state-assertions.ts'
import { createTestCluster, type TestCluster } from './test-cluster.ts'
import { waitUntilSettled } from './wait-until-settled.ts'

/** Options of {@link testHandlers}. */
export interface HandlerTestOptions {
  /**
   * VIRTUAL: an hour of retries takes milliseconds, and a seed determines the run. SYSTEM: for handlers that wait for
   * something real, such as a socket or a database, which virtual time does not drive.
   * @defaultValue 'VIRTUAL'
   */
  readonly time?: 'VIRTUAL' | 'SYSTEM'
  /** Seed of virtual time: determines the order of simultaneous events. @defaultValue 1 */
  readonly seed?: number
  /** Partition counts of the topics of the first cluster, by name. @defaultValue none */
  readonly topics?: Readonly<Record<string, number>>
  /** Cluster names, as in bindings. The test itself uses the first one. @defaultValue `['default']` */
  readonly clusters?: readonly string[]
  /** Brokers of each cluster. @defaultValue 1 */
  readonly brokers?: number
  /** Longest wait of the test. @defaultValue 10,000; in virtual time half an hour */
  readonly deadlineMs?: number
  /** Time that a connector has to stop at the end. @defaultValue 10,000 */
  readonly stopDeadlineMs?: number
}

/** The argument of a {@link testHandlers} program: the first cluster, and what all clusters share. */
export interface HandlerTest extends TestCluster {
  /** Runtime, for any other code of the test that takes one. */
  readonly runtime: Runtime
  readonly logger: MemoryLogger
  readonly metrics: MemoryMetrics
  /** Returns another cluster of the test by name. */
  readonly cluster: (name: string) => TestCluster
  /**
   * Creates a connector on all clusters of the test, not started. It is stopped at the end, whatever the outcome of the
   * test.
   */
  readonly connector: (options: Omit<ConnectorOptions, 'clusters' | 'runtime'>) => Connector
  /** Creates state assertions for a connector. */
  readonly states: (connector: Pick<Connector, 'getState'>) => ContainerStateAssertions
  /** Waits until every record of the connector's bindings has its outcome, with any handlers. */
  readonly waitUntilSettled: (connector: Pick<Connector, 'audit' | 'listBindings'>) => Promise<readonly AuditRow[]>
  /** Repeats an assertion until it passes, in the time of the test. */
  readonly eventually: <T>(assertion: () => T | Promise<T>) => Promise<T>
  /** Waits; virtual time passes at once. */
  readonly sleep: (ms: number) => Promise<void>
}

const rules = {
  time: oneOf(['VIRTUAL', 'SYSTEM'], {
    default: 'VIRTUAL',
    because: 'most handlers under test do not wait for anything real',
  }),
  seed: integer({ default: 1, because: 'any seed works until one fails' }),
  topics: mapOf(integer({ min: 1 }), { default: {}, because: 'topics can be created later' }),
  clusters: list(text(), {
    default: ['default'],
    min: 1,
    because: 'a binding that names no cluster reads from this one',
  }),
  brokers: integer({ default: 1, min: 1, because: 'most programs need one' }),
  deadlineMs: optional(durationMs()),
  stopDeadlineMs: durationMs({ default: 10_000, because: 'handlers that observe their signal end at once' }),
}

/** Longer than all default tiers together. Half an hour of an idle connector takes one or two seconds of real time. */
const virtualDeadlineMs = 1_800_000
/** Interval of checks: in virtual time checks are expensive, waits are not. */
const virtualCheckMs = 1_000
const systemCheckMs = 10
/** Guards against a test that never ends: far more than half an hour needs. */
const mostEvents = 50_000_000

/**
 * Runs a test of handlers with everything it needs: simulated clusters, connectors, a journal of written and handled
 * records, assertions, and a clean end. Works with any test runner: `test('…', () => testHandlers(async ({ write,
 * connector }) => { … }))`.
 *
 * At the end it stops the connectors and closes the clients. A connector that does not stop, because a handler ignores
 * its signal, fails the test.
 *
 * @throws the error of the program
 */
export async function testHandlers<T>(
  program: (test: HandlerTest) => Promise<T>,
  options?: HandlerTestOptions,
): Promise<T> {
  requireFunction(
    'testHandlers()',
    'the test',
    program,
    'Write testHandlers(async ({ connector, write }) => { … }, { topics: { orders: 3 } }).',
  )
  const resolved = resolveOptions('testHandlers', rules, options)
  const parts = { logger: createMemoryLogger(), metrics: createMemoryMetrics() }
  if (resolved.time === 'SYSTEM') {
    const runtime = runtimeWith(parts)
    const waits = { runtime, deadlineMs: resolved.deadlineMs ?? 10_000, everyMs: systemCheckMs }
    return runIn({ ...parts, ...resolved, waits }, program)
  }
  const runtime = createVirtualRuntime(resolved.seed, parts)
  const waits = { runtime, deadlineMs: resolved.deadlineMs ?? virtualDeadlineMs, everyMs: virtualCheckMs }
  try {
    return await runtime.run(() => runIn({ ...parts, ...resolved, waits }, program), mostEvents)
  } catch (error) {
    throw error instanceof SimulationError && runtime.pending === 0 ? realWaitError(error) : error
  }
}

/** Explains why virtual time cannot advance: no timer is pending. This is a common mistake in first tests. */
function realWaitError(cause: SimulationError): StateError {
  return new StateError(
    'The test waits for something that virtual time does not drive: a socket, a database, a system timer, or a ' +
      'promise that never settles.',
    { cause, hint: "Set `time: 'SYSTEM'`, or wait with `sleep` and `eventually` of the test." },
  )
}

interface Scene extends Pick<HandlerTest, 'logger' | 'metrics'> {
  readonly waits: Required<EventuallyOptions>
  readonly clusters: readonly string[]
  readonly topics: Readonly<Record<string, number>>
  readonly brokers: number
  readonly stopDeadlineMs: number
}

/** Cleanup functions, in the order of opening. */
type Closers = (() => Promise<void>)[]

async function runIn<T>(scene: Scene, program: (test: HandlerTest) => Promise<T>): Promise<T> {
  const closers: Closers = []
  let result: T
  try {
    result = await program(openTest(scene, closers))
  } catch (error) {
    // The first error is the relevant one; a connector that cannot stop often follows from it.
    await closeAll(closers).catch((late: unknown) => scene.logger.error({ error: late }, 'Test cleanup failed'))
    throw error
  }
  await closeAll(closers)
  return result
}

/**
 * Closes everything in reverse order, despite failures; then rejects with the first one. Node 22 has no
 * AsyncDisposableStack.
 */
async function closeAll(closers: Closers): Promise<void> {
  const failures: unknown[] = []
  for (const close of closers.toReversed()) await close().catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw failures[0]
}

function openTest(scene: Scene, closers: Closers): HandlerTest {
  const { waits, logger, metrics, stopDeadlineMs } = scene
  const { runtime } = waits
  const clusters = new Map(scene.clusters.map((name) => [name, openCluster(name, scene, closers)]))
  const clients = Object.fromEntries([...clusters].map(([name, { client }]) => [name, client]))
  const cluster = (name: string): TestCluster => {
    const found = clusters.get(name)
    if (found === undefined)
      throw new ArgumentError(`This test has no cluster '${name}', only ${scene.clusters.join(', ')}.`, {
        hint: `Add it to \`clusters\` of the test.`,
      })
    return found
  }
  const first = cluster(scene.clusters[0] ?? 'default')
  for (const [topic, partitions] of Object.entries(scene.topics)) first.sim.createTopic(topic, { partitions })
  return {
    ...first,
    runtime,
    logger,
    metrics,
    cluster,
    connector(given) {
      const connector = createConnector({ ...given, clusters: clients, runtime })
      closers.push(() => connector.stop({ deadlineMs: stopDeadlineMs }))
      return connector
    },
    states: (connector) => containerStateAssertions(connector, waits),
    waitUntilSettled: (connector) => waitUntilSettled(connector, clients, waits),
    eventually: (assertion) => eventually(assertion, waits),
    sleep: (ms) => runtime.timers.sleep(ms),
  }
}

function openCluster(name: string, { brokers, waits }: Scene, closers: Closers): TestCluster {
  const { runtime } = waits
  const sim = createSimCluster({ brokers, runtime })
  const client = createKafkaClient({ brokers: sim.brokers, transport: sim.transport(name), clientId: name, runtime })
  closers.push(() => client.close())
  return createTestCluster(sim, client, waits)
}
