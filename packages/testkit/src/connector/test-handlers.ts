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
   * VIRTUAL: an hour of retries takes milliseconds, and a seed gives one history. SYSTEM: for handlers that wait for
   * something real, such as a socket or a database, which virtual time knows nothing of.
   * @defaultValue 'VIRTUAL'
   */
  readonly time?: 'VIRTUAL' | 'SYSTEM'
  /** Of virtual time: decides what happens first of what may happen at once. @defaultValue 1 */
  readonly seed?: number
  /** Topics of the first cluster, by name, with how many partitions each has. @defaultValue none */
  readonly topics?: Readonly<Record<string, number>>
  /** Names of the clusters, as bindings name them. The test itself is the first one. @defaultValue `['default']` */
  readonly clusters?: readonly string[]
  /** Nodes of each cluster. @defaultValue 1 */
  readonly brokers?: number
  /** How long a wait of the test lasts at most. @defaultValue 10,000; in virtual time half an hour */
  readonly deadlineMs?: number
  /** How long a connector has to stop at the end. @defaultValue 10,000 */
  readonly stopDeadlineMs?: number
}

/** What the program of a {@link testHandlers} gets: the first cluster, and what all clusters share. */
export interface HandlerTest extends TestCluster {
  /** For whatever else in the test takes time from a runtime. */
  readonly runtime: Runtime
  readonly logger: MemoryLogger
  readonly metrics: MemoryMetrics
  /** Another cluster of the test, by its name. */
  readonly cluster: (name: string) => TestCluster
  /** A connector on all clusters of the test, not started yet. It is stopped at the end, whatever becomes of the test. */
  readonly connector: (options: Omit<ConnectorOptions, 'clusters' | 'runtime'>) => Connector
  /** {@link containerStateAssertions} of a connector. */
  readonly states: (connector: Pick<Connector, 'getState'>) => ContainerStateAssertions
  /** {@link waitUntilSettled}: every record of its bindings has its outcome, whatever their handlers are. */
  readonly waitUntilSettled: (connector: Pick<Connector, 'audit' | 'listBindings'>) => Promise<readonly AuditRow[]>
  /** {@link eventually}, in the time of the test. */
  readonly eventually: <T>(assertion: () => T | Promise<T>) => Promise<T>
  /** Lets time pass, virtual time at once. */
  readonly sleep: (ms: number) => Promise<void>
}

const rules = {
  time: oneOf(['VIRTUAL', 'SYSTEM'], { default: 'VIRTUAL', because: 'most handlers under test wait for nothing real' }),
  seed: integer({ default: 1, because: 'any seed will do until one fails' }),
  topics: mapOf(integer({ min: 1 }), { default: {}, because: 'the cluster can be told later' }),
  clusters: list(text(), {
    default: ['default'],
    min: 1,
    because: 'a binding that names no cluster reads from this one',
  }),
  brokers: integer({ default: 1, min: 1, because: 'most programs need one' }),
  deadlineMs: optional(durationMs()),
  stopDeadlineMs: durationMs({ default: 10_000, because: 'handlers that heed their signal end at once' }),
}

/** Longer than the default tiers take all together; half an hour of an idle connector is a second or two of real time. */
const virtualDeadlineMs = 1_800_000
/** Looking is what costs in virtual time, not waiting. */
const virtualLookMs = 1_000
const systemLookMs = 10
/** A guard against a test that never ends: far more than half an hour needs. */
const mostEvents = 50_000_000

/**
 * Runs a test of handlers with everything it needs: simulated clusters, connectors, a journal of what was written and
 * handled, assertions, and a clean end. Belongs to no test runner; with any of them,
 * `test('…', () => testHandlers(async ({ write, connector }) => { … }))`.
 *
 * When the program is done its connectors are stopped and the clients closed. A connector that does not stop, because a
 * handler does not heed its signal, fails the test.
 *
 * @throws whatever the program throws
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
    const waits = { runtime, deadlineMs: resolved.deadlineMs ?? 10_000, everyMs: systemLookMs }
    return runIn({ ...parts, ...resolved, waits }, program)
  }
  const runtime = createVirtualRuntime(resolved.seed, parts)
  const waits = { runtime, deadlineMs: resolved.deadlineMs ?? virtualDeadlineMs, everyMs: virtualLookMs }
  try {
    return await runtime.run(() => runIn({ ...parts, ...resolved, waits }, program), mostEvents)
  } catch (error) {
    throw error instanceof SimulationError && runtime.pending === 0 ? waitsForTheRealWorld(error) : error
  }
}

/** No timer was left, so time could not go on: the trap of everybody's first test. */
function waitsForTheRealWorld(cause: SimulationError): StateError {
  return new StateError(
    'The test waits for something that virtual time knows nothing of: a socket, a database, a timer of the machine, or a ' +
      'promise that nobody settles.',
    { cause, hint: "Give it `time: 'SYSTEM'`, or let it wait by `sleep` and `eventually` of the test." },
  )
}

interface Scene extends Pick<HandlerTest, 'logger' | 'metrics'> {
  readonly waits: Required<EventuallyOptions>
  readonly clusters: readonly string[]
  readonly topics: Readonly<Record<string, number>>
  readonly brokers: number
  readonly stopDeadlineMs: number
}

/** What ends what the test has opened, in the order of opening. */
type Closers = (() => Promise<void>)[]

async function runIn<T>(scene: Scene, program: (test: HandlerTest) => Promise<T>): Promise<T> {
  const closers: Closers = []
  let result: T
  try {
    result = await program(openTest(scene, closers))
  } catch (error) {
    // What went wrong first is what the test is about; that its connector cannot stop either often follows from it.
    await closeAll(closers).catch((late: unknown) => scene.logger.error({ error: late }, 'the test did not end'))
    throw error
  }
  await closeAll(closers)
  return result
}

/** Closes everything, the last first, whatever fails; then rejects with what failed first. Node 22 has no stack for that. */
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
      throw new ArgumentError(`There is no cluster '${name}' in this test, only ${scene.clusters.join(', ')}.`, {
        hint: `Name it in \`clusters\` of the test.`,
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
