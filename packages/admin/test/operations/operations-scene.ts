/** A binding with dead letters on a simulated cluster, and processes that run operations on them. */

import { Buffer } from 'node:buffer'
import { type Binding, type Connector, createConnector, type DeliveryContext } from '@waybill/connector'
import { type AuditEntry, NonRetryableError, noopLogger, type Runtime, runtimeWith } from '@waybill/core'
import { createMemoryOperationStore, type OperationStore, type StoredOperation } from '@waybill/core/internal'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { createSimCluster, createVirtualRuntime, type SimCluster } from '@waybill/sim'
import { eventually } from '@waybill/testkit'
import { createOperations, type Operations, type OperationsOptions } from '../../src/operations/create-operations.ts'

export const ana = { by: 'ana', reason: 'INC-311' }

class CarrierError extends NonRetryableError {}
class SchemaError extends NonRetryableError {}

/** See the file's comment. */
export class OperationsScene {
  readonly runtime: Runtime
  readonly sim: SimCluster
  readonly client: KafkaClient
  readonly connector: Connector
  readonly store: OperationStore
  readonly audit: AuditEntry[] = []
  /** Values of copies, in the order their handler got them. */
  readonly handled: string[] = []
  /** Decides whether the handler fails. */
  fails: (value: string, context: Pick<DeliveryContext, 'headers'>) => boolean = () => true
  readonly #operations: Operations[] = []

  constructor(runtime: Runtime, sim: SimCluster, client: KafkaClient, binding: Partial<Binding>) {
    this.runtime = runtime
    this.sim = sim
    this.client = client
    this.store = createMemoryOperationStore({ runtime })
    this.connector = createConnector({
      administration: { auditLog: { write: (entry) => void this.audit.push(entry) }, permits: () => true },
      clusters: { default: client },
      runtime,
      bindings: {
        shipping: {
          topic: 'orders',
          groupId: 'shipping',
          retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100 }] },
          handler: ({ value }, context) => {
            const text = String(value)
            if (this.fails(text, context)) throw text.startsWith('s') ? new SchemaError(text) : new CarrierError(text)
            this.handled.push(text)
          },
          ...binding,
        },
      },
    })
  }

  /** Writes values, and waits until they are dead letters. */
  async bury(values: readonly string[]): Promise<void> {
    await using producer = this.client.producer('EVENT')
    await Promise.all(
      values.map((value) => producer.send({ topic: 'orders', key: Buffer.from(value), value: Buffer.from(value) })),
    )
    await this.until(async () => {
      const { count } = await this.connector.admin.dltStats('shipping', ana)
      if (count < values.length) throw new Error(`only ${count} are dead`)
    })
  }

  /** Starts another process. */
  async operations(given: Partial<OperationsOptions> = {}): Promise<Operations> {
    const operations = createOperations({
      connector: this.connector,
      store: this.store,
      instance: `shop-${this.#operations.length}`,
      administration: { auditLog: { write: (entry) => void this.audit.push(entry) }, permits: () => true },
      leaseMs: 5_000,
      pollMs: 1_000,
      runtime: this.runtime,
      ...given,
    })
    this.#operations.push(operations)
    await operations.start()
    return operations
  }

  /** Waits until an operation is in a state. */
  async reached(id: string, state: StoredOperation['state']): Promise<StoredOperation> {
    await this.until(async () => {
      const operation = await this.store.get(id)
      if (operation?.state !== state) throw new Error(`it is ${operation?.state}: ${operation?.trouble?.message}`)
    })
    return (await this.store.get(id)) as StoredOperation
  }

  until(assertion: () => void | Promise<void>): Promise<void> {
    return eventually(assertion, { runtime: this.runtime, deadlineMs: 120_000 })
  }

  async stop(): Promise<void> {
    await Promise.all(this.#operations.map((operations) => operations.stop({ deadlineMs: 10_000 }).catch(() => {})))
    await this.connector.stop()
  }
}

/** Runs a program in a scene of its own, in virtual time. */
export async function inScene(
  program: (scene: OperationsScene) => Promise<void>,
  binding: Partial<Binding> = {},
): Promise<void> {
  const virtual = createVirtualRuntime(1)
  const runtime = runtimeWith({ ...virtual, logger: noopLogger })
  await virtual.run(async () => {
    const sim = createSimCluster({ brokers: 1, runtime })
    sim.createTopic('orders', { partitions: 2 })
    await using client = createKafkaClient({ brokers: sim.brokers, transport: sim.transport('shop'), runtime })
    const scene = new OperationsScene(runtime, sim, client, binding)
    try {
      await scene.connector.start()
      await program(scene)
    } finally {
      await scene.stop()
    }
  })
}
