import { Buffer } from 'node:buffer'
import {
  createMemoryLogger,
  createMemoryMetrics,
  type MemoryLogger,
  type MemoryMetrics,
  type Runtime,
} from '@waybill/core'
import { createKafkaClient, type KafkaClient, type KafkaRecord, type Producer } from '@waybill/kafka'
import { createSimCluster, createVirtualRuntime, type SimCluster, type VirtualRuntime } from '@waybill/sim'
import { type AcceptedCommit } from '@waybill/sim/internal'
import { eventually } from '@waybill/testkit'
import type { Connector, ConnectorOptions } from '../../src/api/connector.ts'
import { createConnector } from '../../src/engine/create-connector.ts'
import { openAdministration } from './open-administration.ts'

/** A connector on a simulated cluster in virtual time, and what a test does with it. */
export interface ConnectorWorld {
  readonly sim: SimCluster
  readonly runtime: VirtualRuntime
  readonly client: KafkaClient
  readonly logger: MemoryLogger
  readonly metrics: MemoryMetrics
  /** Every commit that the cluster accepted, in its order. */
  readonly commits: readonly AcceptedCommit[]
  /** A connector that is stopped at the end, whatever becomes of the test. */
  readonly connector: (
    options: Omit<ConnectorOptions, 'clusters' | 'runtime'>,
    runtime?: Runtime,
    client?: KafkaClient,
  ) => Connector
  /** Writes values to partition 0, or to another one; without a key unless one is made of the value. */
  readonly write: (
    topic: string,
    values: readonly string[],
    partition?: number,
    keyOf?: (value: string) => string | undefined,
  ) => Promise<void>
  readonly eventually: (assertion: () => void | Promise<void>) => Promise<void>
  readonly sleep: (ms: number) => Promise<void>
}

/** Runs a program in such a world. */
export async function connectorWorld(
  program: (world: ConnectorWorld) => Promise<void>,
  options: { readonly seed?: number; readonly brokers?: number } = {},
): Promise<void> {
  const logger = createMemoryLogger()
  const metrics = createMemoryMetrics()
  const runtime = createVirtualRuntime(options.seed ?? 4, { logger, metrics })
  await runtime.run(async () => {
    const commits: AcceptedCommit[] = []
    const onCommit = (commit: AcceptedCommit): void => void commits.push(commit)
    const sim = createSimCluster({ brokers: options.brokers ?? 1, runtime, onCommit })
    await using stack = new AsyncDisposableStack()
    const open = (name: string): KafkaClient =>
      stack.use(createKafkaClient({ brokers: sim.brokers, transport: sim.transport(name), clientId: name, runtime }))
    const [client, writing] = [open('connector'), open('test')]
    let producer: Producer | undefined
    await program({
      sim,
      runtime,
      client,
      logger,
      metrics,
      commits,
      connector(given, own = runtime, through = client) {
        const administration = { ...openAdministration, ...given.administration }
        const connector = createConnector({ ...given, administration, clusters: { default: through }, runtime: own })
        stack.defer(() => connector.stop({ deadlineMs: 1_000 }).catch(() => {}))
        return connector
      },
      async write(topic, values, partition = 0, keyOf = () => undefined) {
        const to = (producer ??= writing.producer('EVENT'))
        const sending = values.map((value) => {
          const key = keyOf(value)
          return to.send({
            topic,
            partition,
            key: key === undefined ? null : Buffer.from(key),
            value: Buffer.from(value),
          })
        })
        await Promise.all(sending)
      },
      eventually: (assertion) => eventually(assertion, { runtime, deadlineMs: 120_000 }),
      sleep: (ms) => runtime.timers.sleep(ms),
    })
  })
}

/** A handler that keeps what it got, in its order. */
export function collecting(): {
  readonly values: string[]
  readonly handler: (record: KafkaRecord) => Promise<void>
} {
  const values: string[] = []
  return {
    values,
    async handler(record) {
      values.push(record.value?.toString() ?? '')
    },
  }
}

/** A handler that always fails. */
export function failing(): Promise<void> {
  return Promise.reject(new Error('failed'))
}
